"""Subword units by sentencepiece: BPE (https://arxiv.org/abs/1508.07909) or unigram (https://arxiv.org/abs/1804.10959)."""

import hashlib
import io
import itertools
import os
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal

import sentencepiece

from regard.config import Doc
from regard.config.bounds import NotNegative, Pieces
from regard.errors import CheckpointError, DataError, PartError
from regard.pieces import BOS, EOS, PAD, UNK
from regard.text.clean import clean
from regard.text.sampling import BpeSampler, Sampler, UnigramSampler
from regard.text.tokenizer import Recipe, Tokenizer
from regard.text.vocabulary import FIRST_PIECE

FILE = "subwords.model"
_SPACE = "\u2581"  # how sentencepiece writes a space, so it must not stand in the text itself
SENTENCES = 1_000_000  # learnt from at most, drawn from all of them: the text may be larger than memory
CHARACTERS = 10_000_000  # of one text that are learnt from: its first
_LONGEST = 1 << 16  # bytes of a training sentence: longer ones are cut, so that none is left out
MANY = 1024  # texts that several threads cut sooner than one

_ESCAPE = "\ue0fe"  # a private character that says the next one is meant otherwise
_ESCAPED = {_ESCAPE: _ESCAPE + "0", _SPACE: _ESCAPE + "1", "\0": _ESCAPE + "2"}
_UNESCAPED = {code: text for text, code in _ESCAPED.items()}
_TO_ESCAPE = re.compile("|".join(_ESCAPED))
_TO_UNESCAPE = re.compile("|".join(_UNESCAPED))
_TOO_LARGE = re.compile(r"<= (\d+)")
_TOO_SMALL = re.compile(r"(\d+) vs (\d+)")


class SubwordsRecipe(Recipe):
    """`size` pieces of a kind. `sampling` > 0 cuts training text anew each time it is read: the share of merges left
    out (BPE-dropout, https://arxiv.org/abs/1910.13267) or the temperature of a unigram draw. A corpus too small for
    `size` pieces gets as many as it can have.
    """

    def __init__(
        self,
        *,
        size: Annotated[
            Pieces, Doc("Pieces of the vocabulary, fewer where the texts are too small for as many.")
        ] = 8000,
        kind: Annotated[Literal["bpe", "unigram"], Doc("How pieces are learnt.")] = "bpe",
        sampling: Annotated[
            NotNegative,
            Doc("Above 0: cut training text anew each time; share of merges left out, of unigram a temperature."),
        ] = 0.0,
    ) -> None:
        self.size, self.kind, self.sampling = size, kind, sampling

    def train(self, texts: Iterable[str]) -> Tokenizer:
        parts = [part for text in _drawn(texts) for part in _parts(_escape(clean(text))) if part.strip()]
        if not parts:
            raise DataError("training text", "there is nothing to learn subwords from", hint="is the file empty?")
        return SubwordTokenizer(_learn(parts, self.size, self.kind), self.sampling)

    @staticmethod
    def load(folder: Path) -> Tokenizer:
        try:
            sampling = float((folder / "sampling").read_text(encoding="utf-8"))
            model = (folder / FILE).read_bytes()
            if not model:  # sentencepiece would take it, and fail at the first text
                raise ValueError("it is empty")
            return SubwordTokenizer(model, sampling)
        except (OSError, ValueError, RuntimeError) as error:
            raise CheckpointError(folder, f"cannot be read as a subword tokenizer: {error}") from error


class SubwordTokenizer(Tokenizer):
    """A trained sentencepiece model."""

    def __init__(self, model: bytes, sampling: NotNegative = 0.0) -> None:
        self.model, self.sampling = model, sampling
        self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        self.samples = sampling > 0
        self._listed = [self._processor.id_to_piece(number) for number in range(len(self))]
        self._bytes = {
            number: int(self._listed[number][3:5], 16) for number in range(len(self)) if self._is_byte(number)
        }
        self._sampler = self._make_sampler() if self.samples else None

    def _is_byte(self, number: int) -> bool:
        return bool(self._processor.is_byte(number))

    def _make_sampler(self) -> Sampler:
        ids = {piece: number for number, piece in enumerate(self._listed) if number > UNK and number not in self._bytes}
        scores = {piece: float(self._processor.get_score(number)) for piece, number in ids.items()}
        bytes_ = {byte: number for number, byte in self._bytes.items()}
        # sentencepiece scores BPE pieces by their rank: whole numbers 0, -1, -2 …
        ranked = all(score == int(score) for score in itertools.islice(scores.values(), 1000))
        kind = BpeSampler if ranked else UnigramSampler
        return kind(ids, scores, bytes_, self.sampling)

    def __len__(self) -> int:
        return int(self._processor.get_piece_size())

    def encode(self, text: str) -> list[int]:
        """The likeliest cutting."""
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
        """A cutting drawn from the seed; `encode` where sampling is off."""
        if self._sampler is None:
            return self.encode(text)
        marked = _escape(clean(text)).replace(" ", _SPACE)
        return self._sampler.cut(_SPACE + marked, seed) if marked else []

    def decode(self, ids: Sequence[int]) -> str:
        """Pieces and bytes joined, the space that stands before the first word taken off."""
        raw = bytearray()
        for number in ids:
            if number in self._bytes:
                raw.append(self._bytes[number])
            elif UNK < number < len(self._listed):
                raw += self._listed[number].encode()
        text = raw.decode(errors="replace").removeprefix(_SPACE).replace(_SPACE, " ")
        return unescape(text)

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """As sentencepiece writes them: U+2581 before a word."""
        return [self._listed[number] if 0 <= number < len(self._listed) else "<unk>" for number in ids]

    def spelt(self, text: str) -> list[str]:
        """Characters escaped, U+2581 for a space."""
        return [_escape(character).replace(" ", _SPACE) for character in text]

    def key(self) -> str:
        return hashlib.sha256(self.model + repr(self.sampling).encode()).hexdigest()

    def save(self, folder: Path) -> None:
        """sentencepiece's own file, and ours beside it."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / FILE).write_bytes(self.model)
        (folder / "sampling").write_text(repr(self.sampling), encoding="utf-8")
        (folder / "kind").write_text("subwords", encoding="utf-8")


def _escape(text: str) -> str:
    """Clean text → text without U+2581 and NUL, which sentencepiece would change."""
    return _TO_ESCAPE.sub(lambda found: _ESCAPED[found.group()], text)


def unescape(text: str) -> str:
    """The way back; a torn escape, as a model may write, is left as it is."""
    return _TO_UNESCAPE.sub(lambda found: _UNESCAPED[found.group()], text)


def _drawn(texts: Iterable[str]) -> list[str]:
    """At most SENTENCES of them, each as likely as any other and the same ones each time (reservoir sampling)."""
    stream, draws = iter(texts), random.Random(0)
    kept = list(itertools.islice(stream, SENTENCES))
    for count, text in enumerate(stream, start=SENTENCES + 1):
        place = draws.randrange(count)
        if place < SENTENCES:
            kept[place] = text
    return kept


def _parts(text: str) -> Iterator[str]:
    step = _LONGEST // 4  # a character has at most four bytes
    text = text[:CHARACTERS]
    return (text[place : place + step] for place in range(0, len(text), step))


def _learn(parts: Sequence[str], size: int, kind: str) -> bytes:
    try:
        return _run(parts, size, kind)
    except RuntimeError as error:  # the message names the largest size these sentences allow, or the least
        largest, least = _TOO_LARGE.search(str(error)), _TOO_SMALL.search(str(error))
        if least is not None and int(least[1]) == size < int(least[2]):
            problem = f"is {size}, but this text needs {_needed(parts, int(least[2]))} at least"
            hint = f"{FIRST_PIECE} for bytes and specials, and one for each character"
            raise PartError(problem, hint, setting="size") from error
        if largest is None or int(largest[1]) >= size:
            raise DataError("training text", f"sentencepiece cannot learn from it: {error}") from error
        return _run(parts, int(largest[1]), kind)


def _needed(parts: Sequence[str], size: int) -> int:
    """The least size, where a size was needed before the rarest characters counted: with more room they do."""
    characters = set[str]().union(*parts)
    return max(size, FIRST_PIECE + len(characters | {_SPACE})) if _coverage(parts, size) == 1 else size


def _coverage(parts: Sequence[str], size: int) -> float:
    """The share of all characters that get a piece: the rarest do where most of the vocabulary is left for others."""
    return 1.0 if len(set[str]().union(*parts)) < size // 4 else 0.9995


def _run(parts: Sequence[str], size: int, kind: str) -> bytes:
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
        max_sentence_length=_LONGEST,
        num_threads=1,
        minloglevel=2,
    )
    return written.getvalue()
