"""Subword units by sentencepiece: BPE (https://arxiv.org/abs/1508.07909) or unigram (https://arxiv.org/abs/1804.10959).

Random segmentations depend on text and seed alone. sentencepiece samples from one generator per thread, which neither a
resumed run nor a second worker could repeat.
"""

import hashlib
import io
import itertools
import math
import os
import random
import re
import struct
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Literal

import sentencepiece

from regard.config import Doc, OneOrMany
from regard.config.bounds import NotNegative, Pieces
from regard.errors import CheckpointError, DataError, PartError
from regard.pieces import BOS, EOS, PAD, UNK
from regard.text.clean import clean
from regard.text.tokenizer import Recipe, Tokenizer
from regard.text.vocabulary import FIRST_PIECE, more_merges

_FILE = "subwords.model"
_SPACE = "\u2581"  # how sentencepiece writes a space, so it must not stand in the text itself
MAX_SENTENCES = 1_000_000  # learnt from at most, sampled from all of them: the text may be larger than memory
MAX_CHARACTERS = 10_000_000  # of one text that are learnt from: its first
_LONGEST = 1 << 16  # bytes of a training sentence: longer ones are cut, so that none is left out
MANY = 1024  # texts that several threads cut sooner than one

_ESCAPE = "\ue0fe"  # a private character that says the next one is meant otherwise
_ESCAPED = {_ESCAPE: _ESCAPE + "0", _SPACE: _ESCAPE + "1", "\0": _ESCAPE + "2"}
_UNESCAPED = {code: text for text, code in _ESCAPED.items()}
_TO_ESCAPE = re.compile("|".join(_ESCAPED))
_TO_UNESCAPE = re.compile("|".join(_UNESCAPED))
_TOO_LARGE = re.compile(r"<= (\d+)")
_TOO_SMALL = re.compile(r"(\d+) vs (\d+)")

_WORD = "\u2581*[^\u2581]+|\u2581+"
_WORD_PART = 200  # characters cut together; a longer "word" is taken in such parts
_LONGEST_PIECE = 16  # characters, sentencepiece's own limit


class SubwordsRecipe(Recipe):
    """`size` pieces of a kind. `sampling` > 0 segments training text again each time it is read: the fraction of merges
    left out (BPE-dropout, https://arxiv.org/abs/1910.13267) or the temperature of a unigram sample. A corpus too small
    for `size` pieces gets as many as it can have.
    """

    def __init__(
        self,
        *,
        size: Annotated[Pieces, Doc("Vocabulary size, in pieces; smaller for small corpora.")] = 8000,
        kind: Annotated[Literal["bpe", "unigram"], Doc("Subword algorithm.")] = "bpe",
        sampling: Annotated[
            NotNegative,
            Doc("Subword regularisation: BPE dropout probability, or the sampling temperature of unigram; 0: off."),
        ] = 0.0,
        reserved: Annotated[
            tuple[str, ...], OneOrMany(), Doc("User-defined pieces, such as <bt>, always in the vocabulary.")
        ] = (),
    ) -> None:
        """Raises PartError for a reserved word that is empty, has spaces or stands there twice."""
        if any(len(word.split()) != 1 or word.split()[0] != word for word in reserved):
            raise PartError("a reserved word is empty or has spaces", "words such as <bt>", setting="reserved")
        if len({*reserved}) < len(reserved):
            raise PartError("a reserved word stands there twice", "each once", setting="reserved")
        self.size, self.kind, self.sampling, self.reserved = size, kind, sampling, reserved

    def train(self, texts: Iterable[str]) -> Tokenizer:
        parts = [part for text in _drawn(texts) for part in _parts(_escape(clean(text))) if part.strip()]
        if not parts:
            raise DataError("training text", "there is nothing to learn subwords from", hint="is the file empty?")
        return SubwordTokenizer(_learn(parts, self.size, self.kind, self.reserved), self.sampling)

    @staticmethod
    def load(folder: Path) -> Tokenizer:
        try:
            sampling = float((folder / "sampling").read_text(encoding="utf-8"))
            model = (folder / _FILE).read_bytes()
            if not model:  # sentencepiece would take it, and fail at the first text
                raise ValueError("it is empty")
            return SubwordTokenizer(model, sampling)
        except (OSError, ValueError, RuntimeError) as error:
            raise CheckpointError(folder, f"cannot be read as a subword tokenizer: {error}") from error


class SubwordTokenizer(Tokenizer):
    """A trained sentencepiece model."""

    kind = "subwords"

    def __init__(self, model: bytes, sampling: NotNegative = 0.0) -> None:
        self.model, self.sampling = model, sampling
        self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        self.samples = sampling > 0
        self._listed = [self._processor.id_to_piece(number) for number in range(len(self))]
        bytes_ = filter(self._processor.is_byte, range(len(self)))
        self._bytes = {number: int(self._listed[number][3:5], 16) for number in bytes_}
        self._sampler = self._make_sampler(sampling) if self.samples else None

    @property
    def listed(self) -> Sequence[str]:
        """All pieces by id."""
        return self._listed

    @cached_property
    def mergeable(self) -> Mapping[str, float]:
        """Score of each piece but specials, reserved ones and bytes."""
        first = min(self._bytes)  # sentencepiece puts reserved pieces before the bytes
        numbers = (number for number in range(first + 1, len(self)) if number not in self._bytes)
        return {self._listed[number]: float(self._processor.get_score(number)) for number in numbers}

    @property
    def ranked(self) -> bool:
        """Return whether pieces are merges: sentencepiece scores those of BPE by rank, 0, -1, -2 …"""
        return all(score == int(score) for score in itertools.islice(self.mergeable.values(), 1000))

    def _make_sampler(self, sampling: float) -> "Sampler":
        first = min(self._bytes)
        reserved = {self._listed[number]: number for number in range(UNK + 1, first)}
        scores = self.mergeable
        numbers = {piece: number for number, piece in enumerate(self._listed) if number > first}
        ids = {piece: numbers[piece] for piece in scores}
        bytes_ = {byte: number for number, byte in self._bytes.items()}
        kind = BpeSampler if self.ranked else UnigramSampler
        return kind(ids, scores, bytes_, sampling, reserved)

    def parts(self, piece: str) -> list[int]:
        """Return the ids that this vocabulary cuts a piece of another one into, by merges alone."""
        return self._merger.cut(piece, 0)

    @cached_property
    def _merger(self) -> "Sampler":
        """Cuts without chance; made once, since it reads the whole vocabulary."""
        return self._make_sampler(0.0)

    def words(self, text: str) -> list[tuple[str, ...]]:
        """Return the pieces of a text word by word; a character without a piece stands for its bytes."""
        found, raw = list[list[str]](), bytearray()

        def add(symbols: str | Sequence[str]) -> None:
            for symbol in symbols:
                if symbol.startswith(_SPACE) or not found:
                    found.append([])
                found[-1].append(symbol)

        for number in self.encode(text):
            if number in self._bytes:
                raw.append(self._bytes[number])
                continue
            add(raw.decode(errors="replace"))
            raw.clear()
            add([self._listed[number]])
        add(raw.decode(errors="replace"))
        return [tuple(word) for word in found]

    def followed_by(self, pieces: Sequence[str]) -> "SubwordTokenizer":
        """Return this BPE tokenizer with more pieces, each of the next lower rank."""
        least = min(self.mergeable.values(), default=0.0)
        more = (_proto_piece(piece, least - rank) for rank, piece in enumerate(pieces, start=1))
        return SubwordTokenizer(self.model + b"".join(more), self.sampling)

    def __len__(self) -> int:
        return int(self._processor.get_piece_size())

    def encode(self, text: str) -> list[int]:
        ids: list[int] = self._processor.encode(_escape(clean(text)))
        return ids

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        plain = [text if text.isascii() and "\0" not in text else _escape(clean(text)) for text in texts]
        encode = self._processor.encode
        if len(plain) < MANY:  # a list makes sentencepiece start a thread, which a request would wait for
            return [encode(text) for text in plain]
        rows: list[list[int]] = encode(plain, num_threads=os.cpu_count() or 1)
        return rows

    def sample(self, text: str, seed: int) -> list[int]:
        """Return a segmentation sampled with the seed; `encode` where sampling is off."""
        if self._sampler is None:
            return self.encode(text)
        marked = _escape(clean(text)).replace(" ", _SPACE)
        return self._sampler.cut(_SPACE + marked, seed) if marked else []

    def decode(self, ids: Sequence[int]) -> str:
        raw = bytearray()
        for number in ids:
            if number in self._bytes:
                raw.append(self._bytes[number])
            elif UNK < number < len(self._listed):
                raw += self._listed[number].encode()
        text = raw.decode(errors="replace").removeprefix(_SPACE).replace(_SPACE, " ")
        return unescape(text)

    def pieces(self, ids: Sequence[int]) -> list[str]:
        return [self._listed[number] if 0 <= number < len(self._listed) else "<unk>" for number in ids]

    def spelt(self, text: str) -> list[str]:
        return [_escape(character).replace(" ", _SPACE) for character in text]

    def key(self) -> str:
        return hashlib.sha256(self.model + repr(self.sampling).encode()).hexdigest()

    def files(self) -> dict[str, bytes]:
        return {_FILE: self.model, "sampling": repr(self.sampling).encode()}


def with_new_pieces(tokenizer: Tokenizer, texts: Iterable[str], count: int) -> SubwordTokenizer | None:
    """Return a BPE tokenizer with at most `count` more pieces, behind the known ones; None for one of another kind."""
    if not isinstance(tokenizer, SubwordTokenizer) or not tokenizer.ranked:
        return None
    words = Counter(word for text in texts for word in tokenizer.words(text))
    return tokenizer.followed_by(more_merges(words, tokenizer.mergeable, count, _LONGEST_PIECE))


def _proto_piece(piece: str, score: float) -> bytes:
    """Return a piece as sentencepiece's file stores it: a message in field 1 of a model, with text and score."""
    text = piece.encode()
    message = b"\x0a" + bytes([len(text)]) + text + b"\x15" + struct.pack("<f", score)
    return b"\x0a" + bytes([len(message)]) + message


def _escape(text: str) -> str:
    """Clean text → text without U+2581 and NUL, which sentencepiece would change."""
    return _TO_ESCAPE.sub(lambda found: _ESCAPED[found.group()], text)


def unescape(text: str) -> str:
    """Undo `_escape`; a torn escape, as a model may write, is left as it is."""
    return _TO_UNESCAPE.sub(lambda found: _UNESCAPED[found.group()], text)


def _drawn(texts: Iterable[str]) -> list[str]:
    """At most MAX_SENTENCES of them, each as likely as any other and the same ones each time (reservoir sampling)."""
    stream, rng = iter(texts), random.Random(0)
    kept = list(itertools.islice(stream, MAX_SENTENCES))
    for count, text in enumerate(stream, start=MAX_SENTENCES + 1):
        place = rng.randrange(count)
        if place < MAX_SENTENCES:
            kept[place] = text
    return kept


def _parts(text: str) -> Iterator[str]:
    step = _LONGEST // 4  # a character has at most four bytes
    text = text[:MAX_CHARACTERS]
    return (text[place : place + step] for place in range(0, len(text), step))


def _learn(parts: Sequence[str], size: int, kind: str, reserved: Sequence[str]) -> bytes:
    try:
        return _run(parts, size, kind, reserved)
    except RuntimeError as error:  # the message names the largest size these sentences allow, or the least
        largest, least = _TOO_LARGE.search(str(error)), _TOO_SMALL.search(str(error))
        if least is not None and int(least[1]) == size < int(least[2]):
            problem = f"is {size}, but this text needs {_needed(parts, int(least[2]))} at least"
            hint = f"{FIRST_PIECE} for bytes and specials, and one for each character; left out, the size fits"
            raise PartError(problem, hint, setting="size") from error
        if largest is None or int(largest[1]) >= size:
            raise DataError("training text", f"sentencepiece cannot learn from it: {error}") from error
        return _run(parts, int(largest[1]), kind, reserved)


def _needed(parts: Sequence[str], size: int) -> int:
    """The least size, where a size was needed before the rarest characters counted: with more room they do."""
    characters = set[str]().union(*parts)
    return max(size, FIRST_PIECE + len(characters | {_SPACE})) if _coverage(parts, size) == 1 else size


def _coverage(parts: Sequence[str], size: int) -> float:
    """The share of all characters that get a piece: the rarest do where most of the vocabulary is left for others."""
    return 1.0 if len(set[str]().union(*parts)) < size // 4 else 0.9995


def _run(parts: Sequence[str], size: int, kind: str, reserved: Sequence[str]) -> bytes:
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(parts),
        model_writer=written,
        vocab_size=size,
        model_type=kind,
        pad_id=PAD,
        bos_id=BOS,
        eos_id=EOS,
        unk_id=UNK,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        byte_fallback=True,
        character_coverage=_coverage(parts, size),
        user_defined_symbols=[_SPACE + _escape(word) for word in reserved],
        max_sentence_length=_LONGEST,
        num_threads=1,
        minloglevel=2,
    )
    return written.getvalue()


class Sampler(ABC):
    """Cuts words at random into known pieces; characters without a piece are spelt in bytes."""

    def __init__(
        self,
        ids: Mapping[str, int],
        scores: Mapping[str, float],
        bytes_: Mapping[int, int],
        strength: float,
        reserved: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        """`reserved` are words that are never cut, with their ids."""
        self.ids, self.scores, self.bytes, self.strength, self.reserved = ids, scores, bytes_, strength, reserved
        self._word = re.compile("|".join([*map(re.escape, reserved), _WORD]), re.DOTALL)

    def cut(self, text: str, seed: int) -> list[int]:
        """Text with spaces as U+2581 → ids."""
        rng = random.Random(seed)
        found = []
        for word in self._word.findall(text):
            if word in self.reserved:
                found.append(self.reserved[word])
                continue
            for place in range(0, len(word), _WORD_PART):
                for piece in self.pieces(word[place : place + _WORD_PART], rng):
                    known = self.ids.get(piece)
                    found += [known] if known is not None else [self.bytes[byte] for byte in piece.encode()]
        return found

    @abstractmethod
    def pieces(self, word: str, rng: random.Random) -> list[str]:
        """One word cut at random; joined again the pieces are the word."""


class BpeSampler(Sampler):
    """BPE-dropout (https://arxiv.org/abs/1910.13267): each merge is left out with probability `strength`."""

    def pieces(self, word: str, rng: random.Random) -> list[str]:
        parts = list(word)
        while len(parts) > 1:
            best, place = -math.inf, -1
            for left in range(len(parts) - 1):
                score = self.scores.get(parts[left] + parts[left + 1])
                if score is not None and score > best and rng.random() >= self.strength:
                    best, place = score, left
            if place < 0:
                break
            parts[place : place + 2] = [parts[place] + parts[place + 1]]
        return parts


class UnigramSampler(Sampler):
    """Sample a segmentation with probability ∝ p(segmentation)^strength: forward filtering, backward sampling over all
    segmentations of the word (https://arxiv.org/abs/1804.10959, section 3.3).
    """

    UNKNOWN = -20.0  # log-probability of a character without a piece, below all others

    def pieces(self, word: str, rng: random.Random) -> list[str]:
        before: list[list[tuple[int, float]]] = [[] for _ in range(len(word) + 1)]
        total = [0.0] + [-math.inf] * len(word)
        for end in range(1, len(word) + 1):
            for start in range(max(0, end - _LONGEST_PIECE), end):
                score = self.scores.get(word[start:end])
                if score is None and end - start == 1:
                    score = self.UNKNOWN
                if score is not None:
                    before[end].append((start, total[start] + self.strength * score))
            total[end] = _log_sum(ways for _, ways in before[end])
        parts, end = [], len(word)
        while end > 0:
            chances = [math.exp(ways - total[end]) for _, ways in before[end]]
            ((start, _),) = rng.choices(before[end], chances)
            parts.append(word[start:end])
            end = start
        return parts[::-1]


def _log_sum(values: Iterable[float]) -> float:
    found = list(values)
    top = max(found)
    return top + math.log(sum(math.exp(value - top) for value in found))
