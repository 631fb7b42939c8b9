"""Checks of what translations leave out. One file a row, built with the folder of a run."""

from regard.explain.adequacy.adequacy import Adequacy
from regard.explain.adequacy.attention import AttentionAdequacy
from regard.explain.adequacy.lexicon import LexiconAdequacy
from regard.registry import Registry

ADEQUACIES: Registry[Adequacy] = Registry(
    "decoding.adequacy",
    {
        "attention": AttentionAdequacy,
        "lexicon": LexiconAdequacy,
    },
)

__all__ = ["ADEQUACIES", "Adequacy"]
