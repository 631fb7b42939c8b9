"""A file with the sentences to translate taken out."""

import codecs
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from regard.documents.document import Document
from regard.documents.size_budget import Room
from regard.errors import RegardError
from regard.results import Prediction

SENTENCES, MARKS = 20_000, 200_000  # of a file, which are read in a second or two
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_HINT = "save it as UTF-8"


class FileError(RegardError):
    """A file cannot be read; one line for whoever sent it."""


class Rebuild(Protocol):
    """Writes a file again."""

    def __call__(self, predictions: Sequence[Prediction], pair: tuple[str, str] | None = None) -> bytes:
        """The file in the other language. Raises ValueError unless there is one prediction per text.

        `pair`: codes of source and target, for a file that says which language it is in.
        """
        ...


@dataclass(frozen=True)
class FileDocument:
    """Sentences of a file, and how a file with their translations is written."""

    texts: list[str]
    explain: bool  # whether alignments help to keep placeholders and formatting in place
    rebuild: Rebuild


def file_room() -> Room:
    """What there may be in a file."""
    return Room(sentences=SENTENCES, marks=MARKS)


def file_of(documents: Sequence[Document], rebuild: Rebuild) -> FileDocument:
    """A file of many small documents."""
    texts = [text for document in documents for text in document.texts]

    def checked(predictions: Sequence[Prediction], pair: tuple[str, str] | None = None) -> bytes:
        if len(predictions) != len(texts):
            raise ValueError(f"{len(predictions)} predictions for {len(texts)} texts")
        return rebuild(predictions, pair)

    return FileDocument(texts, any(document.explain for document in documents), checked)


def rebuilt(documents: Sequence[Document], predictions: Sequence[Prediction]) -> Iterator[str]:
    """The text of each document, which takes its predictions in turn."""
    first = 0
    for document in documents:
        last = first + len(document.texts)
        yield document.rebuild(predictions[first:last])
        first = last


def decoded(data: bytes, declared: str | None = None) -> tuple[str, str]:
    """(text, encoding): what the byte order mark says, else UTF-8, else what the file declares. Raises FileError."""
    marked = next((name for mark, name in _BYTE_ORDER_MARKS if data.startswith(mark)), None)
    for name in [marked] if marked else ["utf-8", *([declared] if declared else [])]:
        try:
            return data.decode(name), name
        except UnicodeError:  # not of decoding alone: some encodings fail in ways of their own
            continue
        except LookupError:
            break
    raise FileError(f"the file is not readable text ({_HINT})")
