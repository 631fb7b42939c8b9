"""Searches: from a writer to targets. One file a row, built with nothing but its settings."""

from regard.decoding.beam import BeamSearch
from regard.decoding.engine import Answering, Engine, SearchEngine
from regard.decoding.features import FEATURES, Feature
from regard.decoding.forced import forced
from regard.decoding.greedy import GreedySearch
from regard.decoding.sampling import SamplingSearch
from regard.decoding.search import Hypothesis, Search, Unwanted
from regard.registry import Registry

SEARCHES: Registry[Search] = Registry(
    "decoding.search",
    {
        "beam": BeamSearch,
        "greedy": GreedySearch,
        "sampling": SamplingSearch,
    },
)

__all__ = [
    "FEATURES",
    "SEARCHES",
    "Answering",
    "BeamSearch",
    "Engine",
    "Feature",
    "GreedySearch",
    "Hypothesis",
    "Search",
    "SearchEngine",
    "Unwanted",
    "forced",
]
