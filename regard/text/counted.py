"""Tokenizers whose vocabulary is counted: the ways of cutting differ, the rest is one."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, ClassVar, NamedTuple

from regard.config import Doc, parse_json
from regard.config.bounds import Count
from regard.errors import CheckpointError, DataError, PartError
from regard.text.clean import clean
from regard.text.tokenizer import Recipe, Tokenizer
from regard.text.vocabulary import FIRST_PIECE, Vocabulary

_FILE = "vocabulary.json"

Fewest = Annotated[Count, Doc("Minimum frequency of a vocabulary entry.")]


class Cut(NamedTuple):
    """A way of cutting texts."""

    pieces: Callable[[str], list[str]]  # of a text; joined again they are the text behind the prefix
    prefix: str = ""  # what it puts before a text


class CountedTokenizer(Tokenizer):
    """Cuts a text into pieces and looks each up."""

    def __init__(self, kind: str, cut: Cut, vocabulary: Vocabulary) -> None:
        self.kind, self.cut, self.vocabulary = kind, cut, vocabulary

    def __len__(self) -> int:
        return len(self.vocabulary)

    def encode(self, text: str) -> list[int]:
        return [number for piece in self.cut.pieces(clean(text)) for number in self.vocabulary.ids(piece)]

    def decode(self, ids: Sequence[int]) -> str:
        return self.vocabulary.text(ids).removeprefix(self.cut.prefix)

    def pieces(self, ids: Sequence[int]) -> list[str]:
        return [self.vocabulary.shown(number) for number in ids]

    def key(self) -> str:
        return hashlib.sha256(json.dumps([self.kind, self.vocabulary.listed]).encode()).hexdigest()

    def files(self) -> dict[str, bytes]:
        return {_FILE: json.dumps(self.vocabulary.listed, ensure_ascii=False).encode()}


class CountedRecipe(Recipe):
    """Counts the pieces of one way of cutting."""

    kind: ClassVar[str]
    cut: ClassVar[Cut]

    def __init__(self, size: int, min_count: int) -> None:
        self.size, self.min_count = size, min_count

    def train(self, texts: Iterable[str]) -> Tokenizer:
        learnt = count_pieces(self.kind, self.cut, texts, self.size, self.min_count)
        return CountedTokenizer(self.kind, self.cut, learnt)

    @classmethod
    def load(cls, folder: Path) -> Tokenizer:
        return CountedTokenizer(cls.kind, cls.cut, load_vocabulary(folder))


def count_pieces(kind: str, cut: Cut, texts: Iterable[str], size: int, min_count: int) -> Vocabulary:
    """Count pieces. Raises PartError where `size` or `min_count` leaves none, DataError where there is none."""
    if size <= FIRST_PIECE:
        hint = f"{FIRST_PIECE} for bytes and specials, and one for each of the {kind}"
        raise PartError(f"is {size}, but {FIRST_PIECE + 1} are needed at least", hint, setting="size")
    counts = Counter(piece for text in texts for piece in cut.pieces(clean(text)))
    if not counts:
        raise DataError("training text", f"there are no {kind} to learn", hint="is the file empty?")
    often = max(counts.values())
    if often < min_count:
        problem = f"is {min_count}, but of the {kind} of this text none is there more than {often} times"
        raise PartError(problem, f"{often} or less", setting="min_count")
    return Vocabulary.count(counts, size, min_count)


def load_vocabulary(folder: Path) -> Vocabulary:
    """Read what a tokenizer saved. Raises CheckpointError where it is damaged."""
    try:
        return Vocabulary([str(piece) for piece in parse_json((folder / _FILE).read_text(encoding="utf-8"))])
    except (OSError, ValueError, TypeError) as error:
        raise CheckpointError(folder / _FILE, f"cannot be read as a vocabulary: {error}") from error
