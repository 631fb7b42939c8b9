"""A text and its ciphertext: unpaired banks for training, aligned pairs for evaluation."""

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Annotated, Literal

from annotated_types import Ge

from regard.config import Doc, PartOf
from regard.config.bounds import Size
from regard.data.examples import Example
from regard.data.readers.documents import DocumentPart, part_of
from regard.data.readers.lines import read_lines
from regard.data.readers.reader import FileName, FileReader, check_columns
from regard.errors import DataError, PartError
from regard.registry import Choice
from regard.text.ciphers import CIPHERS, cut_symbols, join_symbols
from regard.text.ciphers.cipher import Symbols

OTHER_SYMBOL = {"characters": "\ufffd", "words": "<unk>"}  # replaces all rare symbols
_BRAILLE, _PRIVATE = 0x2801, 0xF0000  # cipher symbols of their own: Braille patterns, then a plane for private use
_PATTERNS, _OWN = 255, 100_000  # Braille patterns that are not blank; symbols of their own, at most
_Stretch = tuple[int, list[int]]  # the line that it begins in, and symbols from 0
StretchCycle = Annotated[
    int, Ge(3), Doc("Length of a split cycle, in stretches: the last of each cycle is test, the one before is dev.")
]


class CipheredReader(FileReader):
    """Stretches of `length` symbols of a text, and their ciphertext; the key restarts with each stretch.

    The alphabet has the `size` most frequent symbols of the file in the order of their code points. In the training
    set each second stretch is enciphered and paired with the stretch before it, so no plaintext is paired with its own
    ciphertext. In the dev and test sets it is. An example has the number of the first line of its plaintext.
    https://arxiv.org/abs/1801.04883, section 5.
    """

    def __init__(
        self,
        columns: tuple[str, ...],
        *,
        file: FileName,
        cipher: Annotated[Choice, PartOf(CIPHERS), Doc("Cipher applied to the symbols.")] = Choice("shift"),
        symbols: Annotated[Symbols, Doc("Unit of text that is one symbol.")] = "characters",
        rare: Annotated[
            Literal["dropped", "joined"],
            Doc("Rare symbols: leave them out, or map them to one unknown symbol."),
        ] = "dropped",
        size: Annotated[int, Ge(2), Doc("Alphabet size: the most frequent symbols.")] = 100,
        length: Annotated[Size, Doc("Length of a stretch, in symbols.")] = 100,
        disjoint: Annotated[bool, Doc("Write ciphertext in symbols that do not occur in plaintext.")] = False,
        part: DocumentPart = "train",
        every: StretchCycle = 10,
    ) -> None:
        check_columns(columns, 2, "makes a ciphertext and a plaintext", "task=cipher")
        if disjoint and size > _OWN:
            problem = f"is {size:,}, too many for ciphertext symbols that do not occur in plaintext"
            raise PartError(problem, f"at most {_OWN:,}", setting="size")
        super().__init__(columns, file)
        self.cipher, self._symbols, self._size, self._rare = CIPHERS.build(cipher), symbols, size, rare
        self._disjoint, self._length, self._part, self._every = disjoint, length, part, every
        self._key = f"{cipher.name} {sorted(cipher.settings.items())}"

    def key(self) -> str:
        how = f"{self._symbols} {self._size} {self._rare} {self._disjoint} {self._length} {self._part} {self._every}"
        return f"ciphered {self.columns} {self._key} {how}"

    def __iter__(self) -> Iterator[Example]:
        alphabet = self._alphabet()
        written = [*map(_own_symbol, range(len(alphabet)))] if self._disjoint else alphabet
        for line, plain, enciphered in self._pairs(alphabet):
            ids = self.cipher.encrypt(enciphered, len(alphabet))
            texts = (self._text(ids, written), self._text(plain, alphabet))
            yield Example(line, dict(zip(self.columns, texts, strict=True)))

    def _pairs(self, alphabet: list[str]) -> Iterator[tuple[int, list[int], list[int]]]:
        """Yield the line of each plaintext, the plaintext, and the plaintext to encipher."""
        stretches = (one for number, one in enumerate(self._stretches(alphabet)) if self._holds(number))
        if self._part != "train":
            yield from ((line, plain, plain) for line, plain in stretches)
            return
        for line, plain in stretches:
            for _, enciphered in islice(stretches, 1):  # the next one
                yield line, plain, enciphered

    def _holds(self, number: int) -> bool:
        return part_of(number, self._every) == self._part

    def _alphabet(self) -> list[str]:
        """Return the symbols in order, the one for rare symbols last. Raises DataError for fewer than two."""
        counts = Counter(one for text in self._lines() for one in cut_symbols(text, self._symbols))
        joined = self._rare == "joined" and len(counts) > self._size
        found = sorted(one for one, _ in counts.most_common(self._size - joined))
        found += [OTHER_SYMBOL[self._symbols]] * joined
        if len(found) < 2:
            raise DataError(self.path, f"has {len(found)} different {self._symbols}", hint="two are needed at least")
        return found

    def _stretches(self, alphabet: list[str]) -> Iterator[_Stretch]:
        """Yield stretches of equal length of the text, line ends as spaces; an incomplete last one is dropped."""
        known, held, first = {one: number for number, one in enumerate(alphabet)}, list[int](), 0
        other = known.get(OTHER_SYMBOL[self._symbols]) if self._rare == "joined" else None
        for line, text in enumerate(self._lines(), start=1):
            if not held:
                first = line
            for one in cut_symbols(text, self._symbols):
                number = known.get(one, other)
                if number is None:
                    continue
                held.append(number)
                if len(held) == self._length:
                    yield first, held
                    held, first = [], line

    def _lines(self) -> Iterator[str]:
        return (f"{text} " for text in read_lines(self.path))

    def _text(self, ids: list[int], alphabet: list[str]) -> str:
        return join_symbols([alphabet[one] for one in ids], self._symbols)


def _own_symbol(number: int) -> str:
    """Return a character that is not a space and is kept by normalisation."""
    return chr(_BRAILLE + number if number < _PATTERNS else _PRIVATE + number - _PATTERNS)
