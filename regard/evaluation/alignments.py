"""Word alignments against gold links: the alignment error rate of https://aclanthology.org/J03-1002."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from regard.errors import DataError, RegardError
from regard.packed import open_packed

Link = tuple[int, int]  # (source, target) word positions, from 0
_LINK = re.compile(r"([1-9][0-9]{0,8})([-p])([1-9][0-9]{0,8})", re.ASCII)


class GoldAlignment(NamedTuple):
    """Gold links of one sentence pair. Every sure link is possible as well."""

    sure: frozenset[Link]
    possible: frozenset[Link]


def alignment_error_rate(
    links: Sequence[Collection[Link]], sure: Sequence[Collection[Link]], possible: Sequence[Collection[Link]]
) -> float:
    """AER = 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|), from 0 (best) to 1, with sums over the sentences.

    A: `links`; S: `sure`; P: `possible`, to which S is added. A corpus without any link has an error rate of 0.
    Raises RegardError when the counts of sentences differ.
    """
    if not len(links) == len(sure) == len(possible):
        raise RegardError(f"alignments: {len(links)} sentences, but gold links of {len(sure)} and {len(possible)}")
    hits = total = 0
    for found, safe, loose in zip(map(set, links), map(set, sure), map(set, possible), strict=True):
        hits += len(found & safe) + len(found & (loose | safe))
        total += len(found) + len(safe)
    return 1 - hits / total if total else 0.0


class LinkRates(NamedTuple):
    """Agreement of links with gold ones, from 0 to 1."""

    error_rate: float  # AER
    precision: float  # share of the links that are possible
    recall: float  # share of the sure links that were found


def link_rates(links: Sequence[Collection[Link]], gold: Sequence[GoldAlignment]) -> LinkRates:
    """Return the AER with precision and recall, over all sentences; where there is nothing to find, all is found.

    Raises RegardError when the counts of sentences differ.
    """
    rate = alignment_error_rate(links, [one.sure for one in gold], [one.possible for one in gold])
    pairs = [(set(found), one) for found, one in zip(links, gold, strict=True)]
    found, sure = sum(len(one) for one, _ in pairs), sum(len(one.sure) for _, one in pairs)
    possible = sum(len(one & (theirs.possible | theirs.sure)) for one, theirs in pairs)
    safe = sum(len(one & theirs.sure) for one, theirs in pairs)
    return LinkRates(rate, possible / found if found else 1.0, safe / sure if sure else 1.0)


def read_gold(path: Path | str) -> list[GoldAlignment]:
    """A gold file, plain or `.gz`: a line per sentence with `3-1` for a sure link and `3p1` for a possible one, both
    counted from 1, source first. Raises DataError with the line of a link that cannot be read.
    """
    try:
        with open_packed(Path(path)) as file:
            return [_alignment(path, number, line) for number, line in _lines(path, file)]
    except (OSError, EOFError) as error:
        raise DataError(path, f"cannot be read: {error}") from error


def _lines(path: Path | str, file: Iterable[bytes]) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(file, start=1):
        try:
            yield number, line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise DataError(path, f"is not UTF-8 at byte {error.start + 1} of the line", line=number) from error


def _alignment(path: Path | str, number: int, line: str) -> GoldAlignment:
    sure, possible = set(), set()
    for item in line.split():
        match = _LINK.fullmatch(item)
        if match is None:
            raise DataError(path, f"'{item}' is not a link", line=number, hint="3-1 or 3p1, both from 1")
        link = (int(match[1]) - 1, int(match[3]) - 1)
        possible.add(link)
        if match[2] == "-":
            sure.add(link)
    return GoldAlignment(frozenset(sure), frozenset(possible))
