"""A tokenizer as the SentencePiece model that Marian reads: </s> is its piece 0, <unk> its piece 1."""

import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from regard.errors import RegardError
from regard.pieces import BOS, EOS, PAD, UNK
from regard.text import Tokenizer
from regard.text.sentencepiece import SentencePieceTokenizer
from regard.text.subwords import SubwordTokenizer

MULTIPLE = 8  # intgemm's: pieces of a vocabulary, and words of a shortlist
UNUSED = -1
_PIECES, _TRAINER = 1, 2  # fields of a model
_PIECE, _SCORE, _TYPE = 1, 2, 3  # of a piece
_UNKNOWN, _CONTROL = 2, 3  # types
_SIZE, _UNK_ID, _BOS_ID, _EOS_ID, _PAD_ID = 4, 40, 41, 42, 43  # of the trainer
_NAMES = {45: b"<unk>", 46: b"<s>", 47: b"</s>", 48: b"<pad>"}


# fields of a protocol buffer: https://protobuf.dev/programming-guides/encoding
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_WIDTHS = {_FIXED64: 8, _FIXED32: 4}


class MessageField(NamedTuple):
    """One field: its number, its wire type and its value."""

    number: int
    kind: int
    value: int | bytes  # a varint, or the bytes of any other kind

    def content(self) -> bytes:
        """Return the bytes of a string or of a message within. Raises ValueError for a number."""
        if not isinstance(self.value, bytes):
            raise ValueError(f"field {self.number} is a number, not a string")
        return self.value


def message_fields(message: bytes) -> Iterator[MessageField]:
    """Yield the fields of a message in their order. Raises ValueError where it is cut off or of another format."""
    place = 0
    while place < len(message):
        key, place = _varint(message, place)
        number, kind = key >> 3, key & 7
        if kind == _VARINT:
            number_value, place = _varint(message, place)
            yield MessageField(number, kind, number_value)
            continue
        if kind == _BYTES:
            length, place = _varint(message, place)
        elif kind in _WIDTHS:
            length = _WIDTHS[kind]
        else:
            raise ValueError(f"byte {place} is not a field of a protocol buffer")
        if number == 0 or place + length > len(message):
            raise ValueError(f"cut off at byte {len(message)}")
        yield MessageField(number, kind, message[place : place + length])
        place += length


def write_fields(fields: Iterable[MessageField]) -> bytes:
    """Return the message that has these fields."""
    found = bytearray()
    for number, kind, value in fields:
        found += _as_varint(number << 3 | kind)
        if isinstance(value, int):
            found += _as_varint(value)
            continue
        found += (_as_varint(len(value)) if kind == _BYTES else b"") + value
    return bytes(found)


def number_field(number: int, value: int) -> MessageField:
    """Return a field of a whole number, in 64 bits if it is negative."""
    return MessageField(number, _VARINT, value & (1 << 64) - 1)


def bytes_field(number: int, value: bytes) -> MessageField:
    """Return a field of a string or a message."""
    return MessageField(number, _BYTES, value)


def float_field(number: int, value: float) -> MessageField:
    """Return a field of a float32."""
    return MessageField(number, _FIXED32, struct.pack("<f", value))


def _varint(message: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while shift < 64:
        if place >= len(message):
            raise ValueError(f"cut off at byte {len(message)}")
        byte = message[place]
        value, shift, place = value | (byte & 0x7F) << shift, shift + 7, place + 1
        if byte < 0x80:
            return value, place
    raise ValueError(f"byte {place} is not a field of a protocol buffer")


def _as_varint(value: int) -> bytes:
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


class MarianVocabulary(NamedTuple):
    """A vocabulary of Marian."""

    model: bytes  # vocab.spm
    order: list[int]  # our ids by Marian's; UNUSED for a piece that stands for none


def marian_vocabulary(tokenizer: Tokenizer | None) -> MarianVocabulary:
    """Return the vocabulary of a tokenizer. Raises RegardError for one that is not made of one SentencePiece model."""
    match tokenizer:
        case SubwordTokenizer():
            here = list(range(len(tokenizer)))
        case SentencePieceTokenizer() if tokenizer.writer is None and not tokenizer.listed.before:
            inverse = {there: ours for ours, there in enumerate(tokenizer.listed.order)}
            here = [inverse.get(number, UNK) for number in range(len(_pieces(tokenizer.model)))]
        case _:
            problem = "text.tokenizer: Marian reads pieces of one SentencePiece model (text.tokenizer=subwords)"
            raise RegardError(problem)
    return _reordered(tokenizer.model, here)


def _reordered(model: bytes, here: Sequence[int]) -> MarianVocabulary:
    """A model with the end first, the unknown piece next, without padding and beginning; `here`: our ids by its own."""
    pieces = _pieces(model)
    numbers = {ours: number for number, ours in enumerate(here)}
    if EOS not in numbers or UNK not in numbers:
        raise RegardError("text.tokenizer: the SentencePiece model has no end or no unknown piece")
    others = [number for number, ours in enumerate(here) if ours not in (PAD, BOS, EOS, UNK)]
    kept = [_piece("</s>", _CONTROL), _piece("<unk>", _UNKNOWN), *(pieces[number] for number in others)]
    order = [EOS, UNK, *(here[number] for number in others)]
    missing = -len(kept) % MULTIPLE
    kept += [_piece(f"<unused {number}>", _CONTROL) for number in range(missing)]
    order += [UNUSED] * missing
    return MarianVocabulary(write_fields(_rewritten(model, kept)), order)


def _rewritten(model: bytes, pieces: Sequence[bytes]) -> Iterator[MessageField]:
    yield from (bytes_field(_PIECES, piece) for piece in pieces)
    for field in message_fields(model):
        if field.number == _TRAINER:
            yield bytes_field(_TRAINER, write_fields(_trainer(field.content(), len(pieces))))
        elif field.number != _PIECES:
            yield field


def _trainer(message: bytes, size: int) -> Iterator[MessageField]:
    """The notes of the trainer with the new ids; -1: there is no such piece."""
    ids = {_SIZE: size, _UNK_ID: 1, _BOS_ID: -1, _EOS_ID: 0, _PAD_ID: -1}
    yield from (field for field in message_fields(message) if field.number not in {*ids, *_NAMES})
    yield from (number_field(number, value) for number, value in ids.items())
    yield from (bytes_field(number, name) for number, name in _NAMES.items())


def _pieces(model: bytes) -> list[bytes]:
    return [field.content() for field in message_fields(model) if field.number == _PIECES]


def _piece(text: str, kind: int) -> bytes:
    return write_fields([bytes_field(_PIECE, text.encode()), float_field(_SCORE, 0.0), number_field(_TYPE, kind)])
