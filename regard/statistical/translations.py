"""How often each source word is translated by what: counts of links, and the entropy of what they say."""

import gzip
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from regard.data.readers.lines import read_lines
from regard.errors import DataError
from regard.evaluation.alignments import Link
from regard.statistical.bitext import Words

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

    def entropy(self, word: str) -> float:
        """Return -sum_k p(t_k | word) log p(t_k | word) in nats, no translation being one of them; 0 if never seen.

        The translation entropy of https://doi.org/10.1609/aaai.v33i01.3301451.
        """
        counts = self.counts.get(word, {}).values()
        total = sum(counts)
        return math.fsum(count / total * math.log(total / count) for count in counts)

    def ambiguous(self, share: float, *, least: int = 10) -> list[str]:
        """Return the `share` of the words seen `least` times or more whose entropy is highest, the highest first."""
        often = [word for word in self.counts if self.count(word) >= least]
        return sorted(often, key=lambda word: (-self.entropy(word), word))[: round(share * len(often))]

    def write(self, path: Path) -> None:
        """Write lines of source word, translation and count with tabs between them, gzipped."""
        with gzip.open(path, "wt", encoding="utf-8") as file:
            for word, counts in self.counts.items():
                file.writelines(f"{word}\t{target}\t{count}\n" for target, count in counts.items())

    @classmethod
    def read(cls, path: Path) -> "Translations":
        """Read what `write` wrote. Raises DataError with the line that is no count."""
        counts: dict[str, dict[str, int]] = {}
        for number, line in enumerate(read_lines(path), start=1):
            word, *rest = line.split("\t")
            if len(rest) != 2 or not (rest[1].isascii() and rest[1].isdigit() and int(rest[1]) > 0):
                problem = f"'{line:.60}' is no count of a translation: the line is cut off, or of another file"
                raise DataError(path, problem, line=number, hint="word, translation and count, with tabs between")
            counts.setdefault(word, {})[rest[0]] = int(rest[1])
        return cls(counts)


def linked(links: Iterable[Link], size: int) -> list[list[int]]:
    """Return the target places of each of `size` source words, rising."""
    places: list[list[int]] = [[] for _ in range(size)]
    for source, target in sorted(links):
        places[source].append(target)
    return places
