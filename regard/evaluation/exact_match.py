"""Exact match: the share of texts that equal a reference."""

import unicodedata
from typing import Annotated

import numpy as np

from regard.config import Doc
from regard.config.common_settings import Lowercase
from regard.evaluation.metric import Corpus, Metric, Statistics


class ExactMatch(Metric):
    """100 · texts that equal one of their references / texts, after NFC and with runs of whitespace as one space.

    `ignore_spaces` compares without any whitespace, so that it does not matter how a text was cut into tokens.
    """

    name = "exact match"

    def __init__(
        self,
        *,
        ignore_spaces: Annotated[bool, Doc("Compare without any spaces.")] = False,
        lowercase: Lowercase = False,
    ) -> None:
        self.ignore_spaces, self.lowercase = ignore_spaces, lowercase

    def statistics(self, corpus: Corpus) -> Statistics:
        """[1 or 0, 1] for each sentence."""
        pairs = zip(corpus.hypotheses, corpus.references, strict=True)
        hits = [self._normal(text) in map(self._normal, several) for text, several in pairs]
        return np.array([[float(hit), 1.0] for hit in hits])

    def value(self, sums: Statistics) -> float:
        return float(100 * sums[0] / sums[1])

    def signature(self, corpus: Corpus) -> str:
        spaces = "ignored" if self.ignore_spaces else "joined"
        return f"case:{'lc' if self.lowercase else 'mixed'}|spaces:{spaces}|norm:nfc"

    def _normal(self, text: str) -> str:
        joined = ("" if self.ignore_spaces else " ").join(unicodedata.normalize("NFC", text).split())
        return joined.lower() if self.lowercase else joined
