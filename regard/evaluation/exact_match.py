"""Exact match: the share of texts that equal a reference."""

import unicodedata
from typing import Annotated

from regard.config import Doc
from regard.config.common_settings import Lowercase
from regard.evaluation.metric import Corpus, MeanMetric


class ExactMatch(MeanMetric):
    """100 · texts that equal one of their references / texts, after NFC and with runs of whitespace as one space.

    `ignore_spaces` compares without any whitespace, so that it does not matter how a text was cut into tokens.
    """

    name = "exact match"

    def __init__(
        self,
        *,
        ignore_spaces: Annotated[bool, Doc("Remove spaces before comparing.")] = False,
        lowercase: Lowercase = False,
    ) -> None:
        self.ignore_spaces, self.lowercase = ignore_spaces, lowercase

    def of_one(self, text: str, reference: str) -> float:
        return float(self._normal(text) == self._normal(reference))

    def signature(self, corpus: Corpus) -> str:
        spaces = "ignored" if self.ignore_spaces else "joined"
        return f"case:{'lc' if self.lowercase else 'mixed'}|spaces:{spaces}|norm:nfc"

    def _normal(self, text: str) -> str:
        joined = ("" if self.ignore_spaces else " ").join(unicodedata.normalize("NFC", text).split())
        return joined.lower() if self.lowercase else joined
