"""Which tags, or which types of spans, are taken for which."""

import re
from collections.abc import Iterator, Sequence

from regard.evaluation.confusion import NOTHING, Confusion, confusion_of
from regard.evaluation.span_f1 import OUTSIDE, spans

SPAN = re.compile(r"O|[BIESLU]-.+")  # a tag of IOB1, IOB2, IOBES or BILOU with a type, or of no span


def tag_confusion(answers: Sequence[str], references: Sequence[str]) -> Confusion:
    """Return it of the types of spans where all tags of the references tell of some, else of the tags of words.

    A span that is given another type counts as taken for it. One that is missing, too many or of other words is taken
    for NOTHING, or NOTHING for it; so each type has the precision and recall of `span_f1`. A tag that is missing
    counts alike.
    """
    tags = {tag for reference in references for tag in reference.split()}
    pair = _spans if tags - {OUTSIDE[0]} and all(map(SPAN.fullmatch, tags)) else _words
    pairs = [one for texts in zip(answers, references, strict=True) for one in pair(*map(str.split, texts))]
    return confusion_of([given for given, _ in pairs], [wanted for _, wanted in pairs])


def _spans(given: Sequence[str], wanted: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The types of spans of the same words."""
    one, other = ({(span.start, span.end): span.type for span in spans(tags)} for tags in (given, wanted))
    return ((one.get(place, NOTHING), other.get(place, NOTHING)) for place in {**one, **other})


def _words(given: Sequence[str], wanted: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The tags of the words of the reference."""
    return ((given[place] if place < len(given) else NOTHING, tag) for place, tag in enumerate(wanted))
