"""Words in lower case for models that read texts and write none."""

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

from regard.config import Doc, parse_json
from regard.config.bounds import Pieces
from regard.errors import CheckpointError
from regard.pieces import UNK
from regard.text.clean import clean
from regard.text.counted import CountedTokenizer, Cut, Fewest, count_pieces, load_vocabulary
from regard.text.offsets import TextPlace, given_places
from regard.text.tokenizer import Recipe, Tokenizer
from regard.text.vocabulary import Vocabulary
from regard.text.words import cut_words, stands_alone

SIGNS = "signs.json"  # beside the vocabulary
_KIND = "uncased_words"
_INSIDE = re.compile(r"(?<=\w)'(?=\w)")  # the apostrophe of don't
_MARK = re.compile(r"(</?\w+>)")  # of a word: <e1>, </e1>


class UncasedWordsTokenizer(CountedTokenizer):
    """Words in lower case, don't as dont; punctuation is kept only with `signs`."""

    lossless = keeps_words = False

    def __init__(self, vocabulary: Vocabulary, *, signs: bool) -> None:
        super().__init__(_KIND, _cut(signs=signs), vocabulary)
        self.signs = signs

    def encode(self, text: str) -> list[int]:
        """One id per piece, that of <unk> for those that are not known."""
        found = (self.vocabulary.ids(piece) for piece in self.cut.pieces(clean(text)))
        return [ids[0] if len(ids) == 1 else UNK for ids in found]

    def offsets(self, text: str) -> list[TextPlace]:
        """Return places of words in their own case, with their apostrophes; unknown ones, too."""
        read = clean(text)
        lowered = read.lower()
        lost = {found.start() for found in _INSIDE.finditer(lowered)}
        origins = [place for place, letter in enumerate(read) for _ in letter.lower()]  # of each letter in lower case
        origins = [place for number, place in enumerate(origins) if number not in lost]
        left, found, end = _INSIDE.sub("", lowered), list[TextPlace](), 0
        for piece in map(str.strip, cut_signs(read)):
            start = left.index(piece, end)  # between two pieces are spaces alone
            end = start + len(piece)
            if self.signs or _is_word(piece):
                found.append((origins[start], origins[end - 1] + 1))
        return given_places(text, found)

    def decode(self, ids: Sequence[int]) -> str:
        return super().decode(ids).strip(" ")

    def key(self) -> str:
        return f"{super().key()} {self.signs}"

    def files(self) -> dict[str, bytes]:
        return {**super().files(), SIGNS: json.dumps(self.signs).encode()}


class UncasedWordsRecipe(Recipe):
    """Words in lower case; rarer ones are one unknown piece. For models that only read, as classifiers do.

    Most published classifiers of texts read such words: a text has fewer of them than pieces that lose nothing. A mark
    such as <e1> is a word, and a marked word the same as elsewhere.
    """

    lossless = False
    aliases = "lowercase_words, lowercased_words, uncased"

    def __init__(
        self,
        *,
        size: Annotated[Pieces, Doc("Maximum vocabulary size, in words; rarer ones are unknown.")] = 30000,
        min_count: Fewest = 1,
        signs: Annotated[bool, Doc("Keep punctuation marks as tokens of their own.")] = True,
    ) -> None:
        self.size, self.min_count, self.signs = size, min_count, signs

    def train(self, texts: Iterable[str]) -> Tokenizer:
        learnt = count_pieces(_KIND, _cut(signs=self.signs), texts, self.size, self.min_count)
        return UncasedWordsTokenizer(learnt, signs=self.signs)

    @staticmethod
    def load(folder: Path) -> Tokenizer:
        learnt = load_vocabulary(folder)
        try:
            signs = parse_json((folder / SIGNS).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise CheckpointError(folder / SIGNS, f"cannot be read: {error}") from error
        return UncasedWordsTokenizer(learnt, signs=bool(signs))


def cut_signs(text: str) -> list[str]:
    """'Don't <b>stop</b> !' → ' dont', ' <b>', ' stop', ' </b>', '!'.

    A character of a script without spaces is the same piece anywhere.
    """
    parts = _MARK.split(_INSIDE.sub("", text.lower()))  # every other one is a mark
    found = ([part] if number % 2 else cut_words(part) for number, part in enumerate(parts))
    pieces = (piece.strip() for part in found for piece in part)
    return [f" {piece}" if _is_word(piece) and not stands_alone(piece) else piece for piece in pieces if piece]


def cut_plain(text: str) -> list[str]:
    """'Don't stop !' → ' dont', ' stop'."""
    return [piece for piece in cut_signs(text) if _is_word(piece)]


def _cut(*, signs: bool) -> Cut:
    return Cut(cut_signs if signs else cut_plain, prefix=" ")


def _is_word(piece: str) -> bool:
    return any(map(str.isalnum, piece))
