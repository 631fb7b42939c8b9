"""TER, translation edit rate: https://aclanthology.org/2006.amta-papers.25, computed by sacrebleu."""

from typing import Annotated, Any

from regard.config import Doc
from regard.config.common_settings import Lowercase
from regard.evaluation.metric import Corpus
from regard.evaluation.sacre import SacreMetric, sacrebleu
from regard.evaluation.tokenization import bleu_tokenizer


class Ter(SacreMetric):
    """100 · edits (insert, delete, substitute, shift a phrase) / average reference length. Lower is better.

    `characters` counts Chinese and Japanese by character; None does so where the references are in such a script.
    An empty hypothesis costs one edit per word of its reference: 100.
    """

    name = "TER"
    higher_is_better = False

    def __init__(
        self,
        *,
        characters: Annotated[
            bool | None,
            Doc("Score Chinese and Japanese by characters; null: chosen by the script of the references."),
        ] = None,
        lowercase: Lowercase = True,
    ) -> None:
        self.characters, self.lowercase = characters, lowercase
        self._plain: Any = sacrebleu().TER()

    def sacre_metric(self, corpus: Corpus) -> Any:
        apart = self.characters
        if apart is None:
            apart = bleu_tokenizer(several[0] for several in corpus.references) != "13a"
        return sacrebleu().TER(normalized=apart, asian_support=apart, case_sensitive=not self.lowercase)

    def value_of(self, sums: list[float]) -> float:
        """TER of summed [edits, average reference length]."""
        return float(self._plain._compute_score_from_stats(sums).score)
