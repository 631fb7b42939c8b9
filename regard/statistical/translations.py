"""Translations of each source word: counts of links, the entropy of what they say, pseudo-tokens of ambiguous words."""

import gzip
import math
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from regard.data.readers.lines import read_lines
from regard.errors import DataError
from regard.evaluation.alignments import Link
from regard.statistical.bitext import Words

_SUFFIX = "4s"  # of a pseudo-token: house → house4s
DROPPED = ""  # the translation of an occurrence without a link


class Translations:
    """Counts of the translations of each source word.

    The translation of an occurrence is all target words that it is linked to, in their order, with spaces between.
    """

    def __init__(self, counts: Mapping[str, Mapping[str, int]]) -> None:
        self.counts = counts

    @classmethod
    def of(cls, pairs: Iterable[tuple[Words, Words]], links: Iterable[Sequence[Link]]) -> "Translations":
        """Count sentence pairs with their links (source, target)."""
        counts: dict[str, Counter[str]] = {}
        for (source, target), row in zip(pairs, links, strict=True):
            for word, places in zip(source, linked(row, len(source)), strict=True):
                counts.setdefault(word, Counter())[" ".join(target[place] for place in places)] += 1
        return cls(counts)

    def count(self, word: str) -> int:
        """Return how often a source word was seen."""
        return sum(self.counts.get(word, {}).values())

    def suggestion(self, word: str) -> str:
        """Return what a source word is most often translated by; "" where it was never seen."""
        counts = self.counts.get(word, {})
        return max((one for one in counts if one != DROPPED), key=lambda one: counts[one], default="")

    def is_usual(self, word: str, *, min_confidence: float, min_count: int) -> bool:
        """Return whether a word was seen `min_count` times, and `min_confidence` of them with a usual translation."""
        counts = self.counts.get(word, {})
        total, usual = sum(counts.values()), sum(count for one, count in counts.items() if one and count > 1)
        return total >= min_count and usual >= max(min_confidence * total, 1)

    def is_covered(self, word: str, written: set[str] | frozenset[str], min_count: int = 2) -> bool:
        """Return whether words have a source word as it is, or as it was translated `min_count` times or more."""
        return word in written or any(
            count >= min_count and one and written.issuperset(one.split())
            for one, count in self.counts.get(word, {}).items()
        )

    @cached_property
    def origins(self) -> dict[str, Counter[str]]:
        """Counts of the source words that each target word came of."""
        found = dict[str, Counter[str]]()
        for source, counts in self.counts.items():
            for target, count in counts.items():
                for word in target.split():
                    found.setdefault(word, Counter())[source] += count
        return found

    @cached_property
    def read_total(self) -> int:
        """Number of occurrences of source words."""
        return sum(map(self.count, self.counts))

    @cached_property
    def written_total(self) -> int:
        """Number of occurrences of target words that came of a source word."""
        return sum(sum(counts.values()) for counts in self.origins.values())

    def usual_origins(self, word: str) -> set[str]:
        """Return the source words that a target word translated twice or more."""
        return {source for source, count in self.origins.get(word, {}).items() if count > 1}

    def entropy(self, word: str) -> float:
        """Return -sum_k p(t_k | word) log p(t_k | word) in nats, no translation being one of them; 0 if never seen.

        The translation entropy of https://doi.org/10.1609/aaai.v33i01.3301451.
        """
        counts = self.counts.get(word, {}).values()
        total = sum(counts)
        return math.fsum(count / total * math.log(total / count) for count in counts)

    def ambiguous(self, fraction: float, *, min_count: int = 10) -> list[str]:
        """Return the `fraction` of the words seen at least `min_count` times with the highest entropy, falling."""
        often = [word for word in self.counts if self.count(word) >= min_count]
        return sorted(often, key=lambda word: (-self.entropy(word), word))[: round(fraction * len(often))]

    def write(self, path: Path) -> None:
        """Write lines of source word, translation and count with tabs between them, gzipped."""
        with gzip.open(path, "wt", encoding="utf-8") as file:
            for word, counts in self.counts.items():
                file.writelines(f"{word}\t{target}\t{count}\n" for target, count in counts.items())

    @classmethod
    def read(cls, path: Path) -> "Translations":
        """Read what `write` wrote. Raises DataError with the line that is not a count."""
        counts: dict[str, dict[str, int]] = {}
        for number, line in enumerate(read_lines(path), start=1):
            word, *rest = line.split("\t")
            if len(rest) != 2 or not (rest[1].isascii() and rest[1].isdigit() and int(rest[1]) > 0):
                problem = f"'{line:.60}' is not a count of a translation: the line is truncated, or of another file"
                raise DataError(path, problem, line=number, hint="word, translation and count, with tabs between")
            counts.setdefault(word, {})[rest[0]] = int(rest[1])
        return cls(counts)


def linked(links: Iterable[Link], size: int) -> list[list[int]]:
    """Return the target places of each of `size` source words, rising."""
    places: list[list[int]] = [[] for _ in range(size)]
    for source, target in sorted(links):
        places[source].append(target)
    return places


def pseudo_target(source: Words, target: Words, links: Sequence[Link], ambiguous: Container[str]) -> list[str]:
    """Return a target in which each translation of an `ambiguous` source word is its pseudo-token (Zhao et al. 2019).

    So the entropy of that word is 0, as far as it is linked (https://doi.org/10.1609/aaai.v33i01.3301451). Adjacent
    target words of one source word become one pseudo-token, behind the space before the first of them, where words come
    with one; of several source words the first one has the target word.
    """
    owners: list[int | None] = [None] * len(target)
    for number, places in enumerate(linked(links, len(source))):
        for place in places:
            if source[number] in ambiguous and owners[place] is None:
                owners[place] = number
    words, before = list[str](), None
    for word, owner in zip(target, owners, strict=True):
        if owner is None:
            words.append(word)
        elif owner != before:
            words.append(word[: len(word) - len(word.lstrip())] + source[owner] + _SUFFIX)
        before = owner
    return words
