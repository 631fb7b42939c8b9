"""A file with the sentences to translate taken out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from regard.documents.document import Document
from regard.documents.size_budget import Room
from regard.results import Prediction

SENTENCES, MARKS = 20_000, 200_000  # of a file, which are read in a second or two


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
    rebuild: "Rebuild"


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
