"""The table of steps of `regard best`, in the order in which they are tried."""

from collections.abc import Mapping
from types import MappingProxyType

from regard.recipes.best.combinations import NetworksTogether, Reranked
from regard.recipes.best.networks import BackTranslated, Distilled, Network, SelfTaught, Taught
from regard.recipes.best.phrases import PhrasesOfBackTranslations, PhrasesOfPairs
from regard.recipes.best.step import BestStep

BEST_STEPS: Mapping[str, BestStep] = MappingProxyType(
    {
        "phrases": PhrasesOfPairs(),
        "phrases_of_back": PhrasesOfBackTranslations(),
        "network": Network(),
        "reranked": Reranked(),
        "taught": Taught(),
        "back": BackTranslated(),
        "self_taught": SelfTaught(),
        "together": NetworksTogether(),
        "reranked_again": Reranked(),
        "distilled": Distilled(),
    }
)
