"""The first metric by the length of the texts, and whether a lead grows with it."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from regard.evaluation.scripts import words
from regard.reports.compare.measure import Judge
from regard.reports.compare.statistics import Difference, Figure, Tables, figures, gains
from regard.reports.evaluation import length_buckets

LEAST = 30  # sentences of a bucket: of fewer, an interval is too wide to tell anything


class Bucket(NamedTuple):
    """Sentences of about one length."""

    words: str  # 6-10
    sentences: int
    figures: list[Figure]  # row by row


class Halves(NamedTuple):
    """The test part, cut at the length that leaves about as many on either side."""

    words: int  # the longer half has more than these
    shorter: int  # sentences
    longer: int
    gains: list[Difference | None]  # row by row: its lead over the baseline in the longer half less that in the other


def buckets_of(tables: Tables, judge: Judge, baseline: str) -> list[Bucket]:
    """Neighbours are one where there are few sentences."""
    metric, found = judge.metrics[0], []
    for label, lines in length_buckets(_lengths(judge), LEAST):
        some = {name: [table[lines] for table in several] for name, several in tables.items()}
        found.append(Bucket(label, len(lines), list(figures(metric, some, baseline).values())))
    return found


def halves_of(tables: Tables, judge: Judge, baseline: str) -> Halves | None:
    """None where there are few sentences, or nobody to compare."""
    lengths = _lengths(judge)
    edge = min(set(lengths), key=lambda edge: (abs(2 * sum(length > edge for length in lengths) - len(lengths)), edge))
    longer = [place for place, length in enumerate(lengths) if length > edge]
    shorter = [place for place, length in enumerate(lengths) if length <= edge]
    if min(len(longer), len(shorter)) < LEAST:
        return None
    found = gains(judge.metrics[0], tables, baseline, longer, shorter)
    return Halves(edge, len(shorter), len(longer), [found.get(name) for name in tables]) if found else None


def _lengths(judge: Judge) -> list[int]:
    """Words of each given text."""
    return [len(words(text)) for text in next(iter(judge.test.values()))]


def bucket_values(bucket: Bucket, names: Sequence[str]) -> dict[str, Any]:
    """As JSON values, by the names of the rows."""
    named = dict(zip(names, bucket.figures, strict=True))
    return {
        "words": bucket.words,
        "sentences": bucket.sentences,
        "values": {name: figure.mean for name, figure in named.items()},
        "intervals": {name: list(figure.interval) for name, figure in named.items()},
        "differences": difference_values({name: figure.difference for name, figure in named.items()}),
    }


def halves_values(halves: Halves | None, names: Sequence[str]) -> dict[str, Any] | None:
    """As JSON values, by the names of the rows."""
    if halves is None:
        return None
    found = difference_values(dict(zip(names, halves.gains, strict=True)))
    return {"more_words_than": halves.words, "shorter": halves.shorter, "longer": halves.longer, "gains": found}


def difference_values(found: Mapping[str, Difference | None]) -> dict[str, Any]:
    """As JSON values, of those that there are."""
    return {
        name: {"difference": one.value, "interval": list(one.interval), "p_value": one.p_value}
        for name, one in found.items()
        if one is not None
    }
