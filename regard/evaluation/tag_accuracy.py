"""Accuracy of tags: the share of words that have the right one."""

import numpy as np

from regard.evaluation.metric import Corpus, Rate, Statistics


class TagAccuracy(Rate):
    """100 · words whose tag equals the reference / words. Tags are parted by spaces.

    A tag that is missing or too many, as in a file of another tokenization, is a word that is wrong.
    """

    name = "tag accuracy"
    answer_kind = "tags"

    def statistics(self, corpus: Corpus) -> Statistics:
        """[right words, words] of each sentence; of several references the first counts."""
        rows = []
        for text, (reference, *_) in zip(corpus.hypotheses, corpus.references, strict=True):
            given, wanted = text.split(), reference.split()
            right = sum(one == other for one, other in zip(given, wanted, strict=False))
            rows.append([right, max(len(given), len(wanted))])
        return np.array(rows, np.float64)

    def signature(self, corpus: Corpus) -> str:
        return f"tags:{len({tag for several in corpus.references for tag in several[0].split()})}"
