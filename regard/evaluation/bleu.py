"""BLEU: https://aclanthology.org/P02-1040, computed by sacrebleu."""

from typing import Annotated, Any, Literal

from regard.config import Doc
from regard.config.common_settings import Lowercase
from regard.errors import ConfigError
from regard.evaluation.metric import Corpus
from regard.evaluation.sacre import SacreMetric, sacrebleu
from regard.evaluation.tokenization import bleu_tokenizer

Tokenize = Literal["13a", "intl", "zh", "char", "none", "ja-mecab", "ko-mecab"]


class Bleu(SacreMetric):
    """100 · brevity penalty · geometric mean of the 1- to 4-gram precisions; `exp` smoothing as everywhere.

    `tokenize` None chooses by the script of the references: `zh` for Chinese, `char` for Japanese, Thai and the like,
    else `13a`. The signature names it.
    """

    name = "BLEU"

    def __init__(
        self,
        *,
        tokenize: Annotated[
            Tokenize | None, Doc("Tokenizer of sacreBLEU; null: chosen by the script of the references.")
        ] = None,
        lowercase: Lowercase = False,
    ) -> None:
        self.tokenize, self.lowercase = tokenize, lowercase
        self._plain: Any = sacrebleu().BLEU(tokenize="none")

    def sacre_metric(self, corpus: Corpus) -> Any:
        """sacrebleu's BLEU. Raises ConfigError when the tokenizer needs software that is not there."""
        tokenize = self.tokenize or bleu_tokenizer(several[0] for several in corpus.references)
        try:
            return sacrebleu().BLEU(tokenize=tokenize, lowercase=self.lowercase, force=True)
        except (ImportError, RuntimeError) as error:
            language = tokenize.partition("-")[0]
            raise ConfigError(
                "evaluation.metrics.bleu.tokenize",
                f"'{tokenize}' needs software that is not installed",
                f"pip install 'sacrebleu[{language}]', or use 'char'",
            ) from error

    def value_of(self, sums: list[float]) -> float:
        """BLEU of summed [hypothesis length, reference length, 4 matches, 4 totals]."""
        return float(self._plain._compute_score_from_stats(sums).score)
