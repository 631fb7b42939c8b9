"""F1 of spans, such as names: those that tags of words mark (B-PER I-PER O), by the rules of seqeval and conlleval."""

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Annotated, Literal, NamedTuple

import numpy as np

from regard.config import Doc
from regard.evaluation.metric import Corpus, Metric, Statistics

OUTSIDE_LETTERS = "O."  # first letters of tags of no span
NO_TYPE = "_"  # of a tag that is a letter alone
_SPAN = re.compile(r"O|[BIESLU]-.+")  # a tag of IOB1, IOB2, IOBES or BILOU with a type, or of no span
SAME_LETTER = {"L": "E", "U": "S"}  # of BILOU and of IOBES


class TaggedSpan(NamedTuple):
    """Words in succession, of one type."""

    type: str
    start: int  # its first word, from 0
    end: int  # the first word behind it


class SpanF1(Metric):
    """100 · 2 · right / (given + wanted) spans; one is right that has the first word, the last word and the type.

    Tags are those of IOB1, IOB2 (BIO), IOBES and BILOU: a letter, a hyphen and a type. As in seqeval, unless it is
    strict, a span begins at B or S, at another letter behind O, E or S, and where the type changes; so an I may begin
    one.
    `macro` is the mean over the types of the references, and one more for all others that answers have.
    """

    name = "span f1"
    answer_kind = "tags"

    def __init__(
        self,
        *,
        average: Annotated[
            Literal["micro", "macro"], Doc("Averaging: micro over spans, or macro over span types.")
        ] = "micro",
    ) -> None:
        self.average = average

    def statistics(self, corpus: Corpus) -> Statistics:
        """(sentence, 3 · (types + 1)): spans that are right, given, and wanted, of each type of the references."""
        types = _types(corpus)
        found = np.zeros((len(corpus.hypotheses), 3, len(types) + 1))
        for row, (text, (reference, *_)) in enumerate(zip(corpus.hypotheses, corpus.references, strict=True)):
            given, wanted = set(spans(text.split())), set(spans(reference.split()))
            for place, some in enumerate((given & wanted, given, wanted)):
                for span in some:
                    found[row, place, types.get(span.type, len(types))] += 1
        return found.reshape(len(found), -1)

    def value(self, sums: Statistics) -> float:
        right, given, wanted = sums.reshape(3, -1)
        if self.average == "micro":
            return float(200 * right.sum() / max(1.0, given.sum() + wanted.sum()))
        there = given + wanted > 0
        return float(np.mean(200 * right[there] / (given + wanted)[there])) if there.any() else 0.0

    def signature(self, corpus: Corpus) -> str:
        return f"average:{self.average}|types:{len(_types(corpus))}|scheme:lenient"


def spans(tags: Sequence[str]) -> Iterator[TaggedSpan]:
    """Return the spans that tags mark, first to last."""
    start: int | None = None
    before, kind = "O", ""
    for place, tag in enumerate([*tags, "O"]):
        letter, this = SAME_LETTER.get(tag[0], tag[0]), tag[1:].split("-", 1)[-1] or NO_TYPE
        if start is not None and (
            before in "ES" or (before in "BI" and letter in "BSO") or (before not in OUTSIDE_LETTERS and this != kind)
        ):
            yield TaggedSpan(kind, start, place)
            start = None
        if letter in "BS" or (letter in "EI" and before in "OES") or (letter not in OUTSIDE_LETTERS and this != kind):
            start = place
        before, kind = letter, this


def mark_spans(tags: Collection[str]) -> bool:
    """Return whether all tags mark spans, or words outside of them, and some mark spans."""
    return bool({*tags} - {OUTSIDE_LETTERS[0]}) and all(map(_SPAN.fullmatch, tags))


def _types(corpus: Corpus) -> dict[str, int]:
    found = {span.type for several in corpus.references for span in spans(several[0].split())}
    return {kind: number for number, kind in enumerate(sorted(found))}
