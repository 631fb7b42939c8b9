"""Language models in a comparison: figures whose statistics, line by line, come from a model and not from texts."""

import math
from typing import NamedTuple

import numpy as np

from regard.evaluation.metric import Corpus, Statistics
from regard.tasks.language_model import COLUMNS


class Likelihood(NamedTuple):
    """exp(nll / count), or with `bits` the bits of each. A `Measure` of COLUMNS."""

    name: str
    per: str
    bits: bool = False

    @property
    def higher_is_better(self) -> bool:
        """No."""
        return False

    def value(self, sums: Statistics) -> float:
        """The figure of a text with these sums (COLUMNS,)."""
        each = float(sums[0]) / max(1.0, float(sums[COLUMNS.index(self.per)]))
        return each / math.log(2) if self.bits else math.exp(min(each, 50.0))

    def signature(self, corpus: Corpus) -> str:
        """What is counted."""
        return f"per:{self.per}|line ends:counted"

    def comparable(self, one: Statistics, other: Statistics) -> bool:
        """Where both divide by the same counts: a perplexity of long pieces is high whatever the model knows."""
        column = COLUMNS.index(self.per)
        return bool(np.array_equal(one[:, column], other[:, column]))


LIKELIHOODS = (
    Likelihood("bits per character", "characters", bits=True),  # first: it compares models of whatever pieces
    Likelihood("perplexity", "pieces"),
    Likelihood("word perplexity", "words"),
)
