"""The official score of SemEval-2010 task 8, relations between two words (https://aclanthology.org/S10-1006)."""

import re
from typing import Annotated

import numpy as np

from regard.config import Doc
from regard.evaluation.metric import Corpus, Metric, Statistics

_DIRECTION = re.compile(r"\(\w+,\s*\w+\)$")


class RelationF1(Metric):
    """100 · mean over the relations of 2 · right / (given + wanted), which is 2PR / (P + R) of the relation.

    The scorer calls it "(9+1)-way evaluation with directionality taken into account: macro-averaged F1". A label is a
    relation with its direction, as Cause-Effect(e2,e1). Both directions are one relation, and only a label with the
    right direction is right: the wrong one costs precision and recall of that relation. The label that stands for no
    relation is given and wanted like others, but left out of the mean. Relations are those of the references; of
    resampled examples, those that are given or wanted there.
    """

    name = "relation F1"
    answer_kind = "label"

    def __init__(self, *, none: Annotated[str, Doc('Label of "no relation".')] = "Other") -> None:
        self.none = none

    def statistics(self, corpus: Corpus) -> Statistics:
        """(example, 3 · relations): whether it is rightly given a relation, is given it, and is of it."""
        relations = self._relations(corpus)
        found = np.zeros((len(corpus.hypotheses), 3, len(relations)))
        for row, (given, several) in enumerate(zip(corpus.hypotheses, corpus.references, strict=True)):
            wanted = several[0].strip()
            for kind, label in ((1, given.strip()), (2, wanted)):
                if (place := relations.get(relation_of(label))) is not None:
                    found[row, kind, place] = 1
                    found[row, 0, place] = given.strip() == wanted
        return found.reshape(len(found), -1)

    def value(self, sums: Statistics) -> float:
        right, given, wanted = sums.reshape(3, -1)
        there = given + wanted > 0
        return float(100 * (2 * right[there] / (given + wanted)[there]).sum() / max(1, there.sum()))

    def signature(self, corpus: Corpus) -> str:
        return f"average:macro|relations:{len(self._relations(corpus))}|left out:{self.none}"

    def _relations(self, corpus: Corpus) -> dict[str, int]:
        names = {relation_of(several[0].strip()) for several in corpus.references} - {self.none}
        return {name: number for number, name in enumerate(sorted(names))}


def relation_of(label: str) -> str:
    """Return a label without its direction.

    >>> relation_of("Cause-Effect(e2,e1)")
    'Cause-Effect'
    """
    return _DIRECTION.sub("", label)
