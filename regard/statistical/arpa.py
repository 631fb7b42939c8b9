"""N-gram models in ARPA's text format, as KenLM and SRILM write and read it: logarithms to the base of ten.

`\\data\\`, a line `ngram 1=COUNT` for each length, then `\\1-grams:` with lines `log p`, tab, words, tab, `back-off
weight`, and so on; `\\end\\` at last. https://www.seas.ucla.edu/spapl/weichu/htkbook/node243_mn.html
"""

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from regard.data.readers.lines import read_lines
from regard.errors import DataError
from regard.packed import write_packed
from regard.statistical.ngram_model import BEGIN, EMPTY_STATE, END_WORD, UNKNOWN_WORD, NgramModel, Ngrams

TEN = math.log(10)
_LOWEST = -100.0  # log10 of what a file gives no probability
CUT = "the file is cut off, or no ARPA file"


def read_arpa(path: Path) -> NgramModel:
    """Read a model. Raises DataError with the line of what is cut off, missing or no number.

    A file without the unknown word, <s> or </s> gives them 10⁻¹⁰⁰.
    """
    return _Reader(path).model()


def write_arpa(model: NgramModel, path: Path) -> None:
    """Write a model; a name that ends in .gz is compressed. Raises DataError for words that have spaces in them."""
    for word in model.words:
        if not word or word.split() != [word]:
            raise DataError(path, f"the word {word!r} cannot stand in an ARPA file", hint="leave out spaces in words")
    lines: list[list[str]] = [[] for _ in range(model.order)]
    waiting = [(EMPTY_STATE, "")]
    while waiting:
        state, context = waiting.pop()
        length = int(model.lengths[state])
        for arc in range(model.firsts[state], model.firsts[state + 1]):
            ngram = context + model.words[model.arcs[arc]]
            after, line = int(model.nexts[arc]), f"{model.log_probs[arc] / TEN:.8g}\t{ngram}"
            if model.lengths[after] == length + 1:
                line += f"\t{model.backoffs[after] / TEN:.8g}"
                waiting.append((after, f"{ngram} "))
            lines[length].append(line)
    counts = [f"ngram {length}={len(some)}" for length, some in enumerate(lines, start=1)]
    with write_packed(path) as file:
        file.write("\n".join(["\\data\\", *counts, ""]))
        for length, some in enumerate(lines, start=1):
            file.write("\n".join(["", f"\\{length}-grams:", *some, ""]))
        file.write("\n\\end\\\n")


class _Reader:
    """State of reading a file."""

    def __init__(self, path: Path) -> None:
        self.path, self.number, self.counts = path, 0, list[int]()
        self.words = dict[str, int]()
        self.nodes = dict[tuple[int, int], int]()  # (node, word) → the node of one word more
        self.parents, self.added, self.suffixes, self.lengths = [0], [0], [0], [0]
        self.log_probs, self.backoffs = [0.0], [0.0]

    def model(self) -> NgramModel:
        """Read all of it."""
        lines = self._lines()
        if next(lines, "") != "\\data\\":
            raise self._fault("does not begin with \\data\\", CUT)
        line = next(lines, "")
        while line.startswith("ngram"):
            self._count(line)
            line = next(lines, "")
        if not self.counts:
            raise self._fault("says no counts: 'ngram 1=…'", CUT)
        for length, count in enumerate(self.counts, start=1):
            if line != f"\\{length}-grams:":
                raise self._fault(f"\\{length}-grams: is missing", CUT)
            line = self._section(lines, length, count)
        if line != "\\end\\":
            raise self._fault("\\end\\ is missing", CUT)
        longs = (np.array(one, np.int64) for one in (self.parents, self.added, self.suffixes, self.lengths))
        parents, added, suffixes, lengths = longs
        ngrams = Ngrams(parents, added, suffixes, np.array(self.log_probs), np.array(self.backoffs), lengths)
        return NgramModel.of(list(self.words), ngrams)

    def _lines(self) -> Iterator[str]:
        """Each line that is not empty; what stands before the counts is a comment."""
        begun = False
        for raw in read_lines(self.path):
            self.number += 1
            line = raw.strip("\r\n ")
            begun = begun or line == "\\data\\"
            if line and begun:
                yield line

    def _count(self, line: str) -> None:
        """`ngram 2=40`"""
        length, _, count = line.removeprefix("ngram").partition("=")
        if not (length.strip() == str(len(self.counts) + 1) and count.strip().isdecimal()):
            raise self._fault(f"'{line:.60}' is not a count", f"ngram {len(self.counts) + 1}=COUNT")
        self.counts.append(int(count))

    def _section(self, lines: Iterator[str], length: int, count: int) -> str:
        """N-grams of one length; the line behind them is returned."""
        found, line = 0, next(lines, "")
        while line and not line.startswith("\\"):
            self._entry(line, length)
            found, line = found + 1, next(lines, "")
        if found != count:
            raise self._fault(f"has {found:,} {length}-grams, and its counts say {count:,}", CUT)
        if length == 1:
            for word in (UNKNOWN_WORD, BEGIN, END_WORD):
                if word not in self.words:
                    self._add([word], _LOWEST, 0.0)
        return line

    def _entry(self, line: str, length: int) -> None:
        separator = "\t" if "\t" in line else " "
        value, _, rest = line.partition(separator)
        fields = rest.replace("\t", " ").split(" ")
        backoff = fields.pop() if len(fields) == length + 1 else "0"
        if len(fields) != length or not all(fields):
            raise self._fault(f"'{line:.60}' is not a {length}-gram", f"log10 p, {length} words, back-off weight")
        try:
            numbers = float(value), float(backoff)
        except ValueError as error:
            raise self._fault(f"'{line:.60}' has no number where one must stand", "log10 p, words, weight") from error
        if not (numbers[0] <= 0 and math.isfinite(numbers[1])):
            raise self._fault(f"{value} is not a log-probability, or {backoff} not a weight", "both are logarithms")
        self._add(fields, *numbers)

    def _add(self, fields: list[str], log_prob: float, backoff: float) -> None:
        if len(fields) == 1:
            self.words.setdefault(fields[0], len(self.words))
        words = [self.words.get(word, -1) for word in fields]
        parent = self._node(words[:-1])
        if parent is None or words[-1] < 0:
            raise self._fault(f"'{' '.join(fields)}' stands before what it is made of", "shorter n-grams come first")
        if self.nodes.setdefault((parent, words[-1]), len(self.parents)) != len(self.parents):
            raise self._fault(f"'{' '.join(fields)}' stands there twice")
        suffixes = (self._node(words[start:]) for start in range(1, len(words) + 1))
        self.parents.append(parent)
        self.added.append(words[-1])
        self.suffixes.append(next(node for node in suffixes if node is not None))
        self.log_probs.append(max(log_prob, _LOWEST) * TEN)
        self.backoffs.append(max(backoff, _LOWEST) * TEN)
        self.lengths.append(len(words))

    def _node(self, words: list[int]) -> int | None:
        node: int | None = 0
        for word in words:
            node = None if node is None else self.nodes.get((node, word))
        return node

    def _fault(self, problem: str, hint: str = "") -> DataError:
        return DataError(self.path, problem, line=max(self.number, 1), hint=hint)
