"""Base of the three metrics of sacrebleu: its own statistics, values and signatures."""

from abc import abstractmethod
from itertools import zip_longest
from typing import Any

import numpy as np

from regard.evaluation.metric import Corpus, Metric, Statistics


def sacrebleu() -> Any:
    """sacrebleu's metrics, loaded when a figure is first wanted: they load eight libraries more."""
    from sacrebleu import metrics

    return metrics


class SacreMetric(Metric):
    """A metric of https://aclanthology.org/W18-6319 (sacrebleu); the figures are equal to the last digit."""

    @abstractmethod
    def sacre_metric(self, corpus: Corpus) -> Any:
        """The sacrebleu metric, fit for the script of the corpus."""

    @abstractmethod
    def value_of(self, sums: list[float]) -> float:
        """sacrebleu's figure for summed statistics, from 0 to 100 (TER: may be above)."""

    def statistics(self, corpus: Corpus) -> Statistics:
        """sacrebleu's sufficient statistics of each sentence."""
        sacre_metric = self.sacre_metric(corpus)
        streams = list(zip_longest(*corpus.references))  # None fills where a sentence has fewer
        return np.array(sacre_metric._extract_corpus_statistics(corpus.hypotheses, streams), dtype=np.float64)

    def value(self, sums: Statistics) -> float:
        return float(self.value_of(sums.tolist()))

    def signature(self, corpus: Corpus) -> str:
        """sacrebleu's signature, with the number of references and its version."""
        sacre_metric = self.sacre_metric(corpus)
        counts = {len(several) for several in corpus.references}
        sacre_metric.num_refs = counts.pop() if len(counts) == 1 else -1  # -1 is written as nrefs:var
        return str(sacre_metric.get_signature())
