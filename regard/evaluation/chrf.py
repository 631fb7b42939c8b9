"""chrF: https://aclanthology.org/W15-3049, computed by sacrebleu."""

from typing import Annotated, Any

from regard.config import Doc
from regard.config.bounds import Count, Size
from regard.config.common_settings import Lowercase
from regard.evaluation.metric import Corpus
from regard.evaluation.sacre import SacreMetric, sacrebleu


class Chrf(SacreMetric):
    """100 · F2 of character n-grams (1 to `character_order`), spaces left out; `word_order` 2 makes it chrF++.

    Needs no tokenizer, so it fits every script.
    """

    name = "chrF"

    def __init__(
        self,
        *,
        character_order: Annotated[Size, Doc("Maximum character n-gram order.")] = 6,
        word_order: Annotated[Count, Doc("Maximum word n-gram order; 2 is chrF++.")] = 0,
        lowercase: Lowercase = False,
    ) -> None:
        self.character_order, self.word_order, self.lowercase = character_order, word_order, lowercase
        self._plain = self._judge()

    def sacre_metric(self, corpus: Corpus) -> Any:
        return self._judge()

    def value_of(self, sums: list[float]) -> float:
        """chrF of summed [hypothesis, reference, matches] of each order."""
        return float(self._plain._compute_f_score(sums))

    def _judge(self) -> Any:
        return sacrebleu().CHRF(char_order=self.character_order, word_order=self.word_order, lowercase=self.lowercase)
