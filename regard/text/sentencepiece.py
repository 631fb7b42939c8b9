"""Subword units of a SentencePiece model that another program trained, with ids of that program's own."""

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import sentencepiece

from regard.config import Doc, parse_json
from regard.errors import CheckpointError, PartError
from regard.pieces import BOS, EOS, PAD, SPECIALS, UNK, byte_of
from regard.text.clean import without_surrogates
from regard.text.offsets import TextPlace, trimmed
from regard.text.subwords import MANY
from regard.text.tokenizer import Recipe, Tokenizer

READ_FILE, WRITE_FILE, PIECES_FILE = "read.spm", "write.spm", "pieces.json"
_SPACE = "\u2581"
_OPEN, _CLOSE = ">>", "<<"  # around the code of a target language, in front of a source text


@dataclass(frozen=True)
class PieceList:
    """The vocabulary of a SentencePiece model, in Regard's order: padding, beginning, end and unknown come first."""

    pieces: tuple[str, ...]  # by id here, as the other program spells them
    order: tuple[int, ...]  # by id here, the id there; that of the beginning is what its decoder starts from
    before: tuple[str, ...] = ()  # pieces in front of every text, such as the code of its language
    unwritten: frozenset[str] = frozenset()  # pieces that stand for no text, besides the specials
    codes: bool = False  # `>>de<<` in front of a text is one piece

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        specials: Sequence[int],
        *,
        before: Iterable[str] = (),
        unwritten: Iterable[str] = (),
        codes: bool = False,
    ) -> "PieceList":
        """Return the list for pieces by their ids there; `specials` are ids of padding, start, end and unknown.

        The start may have another role, too, as padding has in Marian: it then has two ids here.
        """
        order = (*specials, *(one for one in range(len(names)) if one not in specials))
        return cls(tuple(names[one] for one in order), order, tuple(before), frozenset(unwritten), codes)

    @property
    def copies_start(self) -> bool:
        """Return whether the beginning is a second id of another special."""
        return self.order[BOS] in (self.order[PAD], self.order[EOS], self.order[UNK])

    def dump(self) -> bytes:
        """Return it as JSON."""
        fields = {"pieces": self.pieces, "order": self.order, "before": self.before, "codes": self.codes}
        return json.dumps({**fields, "unwritten": sorted(self.unwritten)}, ensure_ascii=False).encode()

    @classmethod
    def load(cls, content: bytes) -> "PieceList":
        """Return what `dump` wrote. Raises ValueError for anything else."""
        found = parse_json(content)
        try:
            texts, numbers = (tuple(found[name]) for name in ("pieces", "order"))
            before, unwritten = tuple(found["before"]), frozenset(found["unwritten"])
            made = cls(texts, numbers, before, unwritten, bool(found["codes"]))
        except (KeyError, TypeError) as error:
            raise ValueError(f"{PIECES_FILE} has no {error}") from error
        if len(texts) != len(numbers) or len(texts) <= UNK or not all(isinstance(one, str) for one in texts):
            raise ValueError(f"{PIECES_FILE} is not a list of pieces with their ids")
        return made


class SentencePieceRecipe(Recipe):
    """The pieces of a SentencePiece model as they are: nothing is learnt. Characters without a piece are <unk>."""

    lossless = False
    aliases = "spm, sentencepiece_model"

    def __init__(
        self, *, file: Annotated[Path | None, Doc("Path of the SentencePiece model (.spm, .model); required.")] = None
    ) -> None:
        self.file = file

    def train(self, texts: Iterable[str]) -> Tokenizer:
        """Read the file. Raises PartError where there is none, CheckpointError for one that cannot be used."""
        file = self.file
        if file is None:
            raise PartError("must be given", "file: source.spm", setting="file")
        return SentencePieceTokenizer(model := _read(file), own_pieces(model, file))

    @staticmethod
    def load(folder: Path) -> Tokenizer:
        try:
            listed = PieceList.load(_read(folder / PIECES_FILE))
            other = folder / WRITE_FILE
            return SentencePieceTokenizer(_read(folder / READ_FILE), listed, _read(other) if other.exists() else None)
        except (ValueError, RuntimeError) as error:
            raise CheckpointError(folder, f"cannot be read as a SentencePiece model: {error}") from error


class SentencePieceTokenizer(Tokenizer):
    """A SentencePiece model that cuts texts, the model that joins pieces, and the list that numbers them.

    Texts are normalised as the model says, which may change characters and drops spaces at both ends.
    """

    kind = "sentencepiece_file"
    lossless, writes = False, True

    def __init__(self, model: bytes, listed: PieceList, writer: bytes | None = None) -> None:
        """`writer` is the model that joins pieces, where it is not the one that cuts. Raises RuntimeError for bytes
        that are not a model.
        """
        self.model, self.listed, self.writer = model, listed, writer
        self._reads = load_model_proto(model)
        self._writes = self._reads if writer is None else load_model_proto(writer)
        self._ids = {piece: number for number, piece in enumerate(listed.pieces) if number != BOS}
        self._ids.update({listed.pieces[number]: number for number in (PAD, EOS, UNK)})
        known = (self._reads.id_to_piece(number) for number in range(self._reads.get_piece_size()))
        self._here = [self._ids.get(piece, UNK) for piece in known]  # by id in the model
        self._unknown = self._reads.unk_id()
        self.first = tuple(self._ids[piece] for piece in listed.before)
        self.keeps_words = any(byte_of(piece) is not None for piece in listed.pieces)

    def __len__(self) -> int:
        return len(self.listed.pieces)

    def encode(self, text: str) -> list[int]:
        code, rest = self._code(text)
        return [*self.first, *code, *self._numbered(self._reads.encode(rest), rest)]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        if len(texts) < MANY:
            return [self.encode(text) for text in texts]
        cut = [self._code(text) for text in texts]
        rows = self._reads.encode([rest for _, rest in cut], num_threads=os.cpu_count() or 1)
        return [[*self.first, *code, *self._numbered(row, rest)] for (code, rest), row in zip(cut, rows, strict=True)]

    def decode(self, ids: Sequence[int]) -> str:
        """Join pieces as the model that writes does; specials and codes of languages are left out."""
        pieces = (self.listed.pieces[one] for one in ids if UNK < one < len(self))
        text: str = self._writes.decode_pieces([one for one in pieces if one not in self.listed.unwritten])
        return text.replace(_SPACE, " ").strip()

    def pieces(self, ids: Sequence[int]) -> list[str]:
        size = len(self)
        return [
            self.listed.pieces[one] if UNK < one < size else SPECIALS[one if 0 <= one < UNK else UNK] for one in ids
        ]

    def offsets(self, text: str) -> list[TextPlace]:
        code, rest = self._code(text)
        start = len(text) - len(rest)
        found = self._reads.encode(rest, return_type="offset_mapping")["offsets"]
        places: list[TextPlace] = [None for _ in self.first]
        places += [(0, start) for _ in code]
        return [*places, *(trimmed(text, start + first, start + last) for first, last in found)]

    def key(self) -> str:
        return hashlib.sha256(b"\0".join(self.files().values())).hexdigest()

    def files(self) -> dict[str, bytes]:
        other = {} if self.writer is None else {WRITE_FILE: self.writer}
        return {READ_FILE: self.model, PIECES_FILE: self.listed.dump(), **other}

    def _code(self, text: str) -> tuple[list[int], str]:
        """The piece of a language's code in front of a text, if any, and the rest, without lone surrogates."""
        text = without_surrogates(text)
        if not self.listed.codes or not text.startswith(_OPEN) or (end := text.find(_CLOSE)) < 0:
            return [], text
        end += len(_CLOSE)
        return [self._ids.get(text[:end], UNK)], text[end:]

    def _numbered(self, row: list[int], text: str) -> list[int]:
        """Ids of the model → ids here. What the model does not know may stand in the list, spelt as it is."""
        if self._unknown in row:
            return [self._ids.get(piece, UNK) for piece in self._reads.encode(text, out_type=str)]
        return [self._here[one] for one in row]


def own_pieces(model: bytes, file: Path) -> PieceList:
    """Return the pieces of a model by its own ids. Raises CheckpointError for one without an unknown piece or an end.

    Padding and beginning that the model does not have are rows that no text uses.
    """
    try:
        found = load_model_proto(model)
    except RuntimeError as error:
        raise CheckpointError(file, f"is not a SentencePiece model: {error}") from error
    names = [found.id_to_piece(number) for number in range(found.get_piece_size())]
    specials = [found.pad_id(), found.bos_id(), found.eos_id(), found.unk_id()]
    for place, number in enumerate(specials):
        if number < 0 and place in (EOS, UNK):
            raise CheckpointError(file, f"has no piece {SPECIALS[place]}", "train it with one")
        if number < 0:
            specials[place] = len(names)
            names.append(SPECIALS[place])
    return PieceList.of(names, specials)


def load_model_proto(model: bytes) -> sentencepiece.SentencePieceProcessor:
    """Load a model. Raises RuntimeError for bytes that are not one."""
    if not model:  # sentencepiece would take it, and fail at the first text
        raise RuntimeError("it is empty")
    return sentencepiece.SentencePieceProcessor(model_proto=model)


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise CheckpointError(file, f"cannot be read: {error.strerror or error}") from error
