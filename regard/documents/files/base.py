"""Shared parts of all kinds of files: FileDocument, FileError, the size budget and the decoding of text."""

import codecs
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from regard.documents.document import Document
from regard.documents.glossary_formats import LanguagePair
from regard.documents.size_budget import SizeBudget
from regard.errors import RegardError
from regard.results import Prediction
from regard.text.byte_text import ENCODING_HEAD, decoded_text
from regard.text.language_codes import bare_language

MOST_SENTENCES, MARKS = 20_000, 200_000  # most in a file; they are read in a second or two
XML_TOKENS = 3 * MARKS  # a unit of XLIFF has about 12 besides its marks
_UNSAID = frozenset({"", "und", "mul", "mis", "zxx"})  # codes of no language (ISO 639)


class FileError(RegardError):
    """A file cannot be read; the message is one line for the client."""


class Rebuild(Protocol):
    """Writes the translated file."""

    def __call__(self, predictions: Sequence[Prediction], pair: tuple[str, str] | None = None) -> bytes:
        """Return the translated file. Raises ValueError unless there is one prediction per text.

        `pair`: language codes (source, target), to update the language label of a file.
        """


@dataclass(frozen=True)
class FileDocument:
    """The sentences of a file, and a function that writes the file with their translations."""

    texts: list[str]
    originals: list[str]  # the same sentences as they were written, for a translation memory
    explain: bool  # whether alignments help to place placeholders and formatting
    rebuild: Rebuild
    checked: Callable[[Sequence[Prediction]], list[Prediction]]  # with warnings on numerals, as Document.checked
    marked: Sequence[int]  # places of sentences with markup, which attention helps to place
    labels: frozenset[LanguagePair] = frozenset()  # languages that the file itself names
    notes: Sequence[str] = ()  # lines on translations that stay as they are

    @property
    def source(self) -> str:
        """The language that the file says it is from; "": it does not say so. Of several languages the first."""
        return min((said for said, _ in self.labels if said), default="")

    def check_languages(self, languages: LanguagePair) -> None:
        """Raise FileError if the file is from or into other languages than these, where both are known."""
        for label in self.labels:
            for said, asked, end in zip(label, languages, ("from", "into"), strict=True):
                if said and asked and bare_language(said) != bare_language(asked):
                    hint = f"choose a model {end} {said}, or change the label"
                    raise FileError(f"the file says that it is {end} '{said:.40}', not {end} '{asked}' ({hint})")


def file_budget() -> SizeBudget:
    """Return a fresh budget for one file."""
    return SizeBudget(sentences=MOST_SENTENCES, marks=MARKS, tokens=XML_TOKENS)


def join_documents(
    documents: Sequence[Document], rebuild: Rebuild, labels: Iterable[LanguagePair] = (), notes: Sequence[str] = ()
) -> FileDocument:
    """Return a file that consists of several documents; `labels`: languages that it names; `notes`: of what stays."""
    texts = [text for document in documents for text in document.texts]

    def complete(predictions: Sequence[Prediction], pair: tuple[str, str] | None = None) -> bytes:
        if len(predictions) != len(texts):
            raise ValueError(f"{len(predictions)} predictions for {len(texts)} texts")
        return rebuild(predictions, pair)

    def checked(predictions: Sequence[Prediction]) -> list[Prediction]:
        waiting = iter(predictions)
        return [one for each in documents for one in each.checked([next(waiting) for _ in each.texts])]

    originals = [text for document in documents for text in document.originals]
    explain = any(document.explain for document in documents)
    marked = [place for place, one in enumerate(p for each in documents for p in each.passages) if one.nodes]
    said = frozenset(map(_said, labels))
    return FileDocument(texts, originals, explain, complete, checked, marked, said, notes)


def _said(label: LanguagePair) -> LanguagePair:
    """Return a label without the codes that name no language."""
    source, target = (None if bare_language(code or "") in _UNSAID else code for code in label)
    return source, target


def rebuild_each(
    documents: Sequence[Document], predictions: Sequence[Prediction], pair: tuple[str, str] | None = None
) -> Iterator[str]:
    """Yield the translated text of each document; the predictions are in document order."""
    for document, some in shared_out(documents, predictions):
        yield document.rebuild(some, pair)


def shared_out(
    documents: Sequence[Document], predictions: Sequence[Prediction]
) -> Iterator[tuple[Document, Sequence[Prediction]]]:
    """Yield each document with its predictions, which are in document order."""
    first = 0
    for document in documents:
        last = first + len(document.texts)
        yield document, predictions[first:last]
        first = last


def decode_text(data: bytes, declared: str | None = None) -> tuple[str, str]:
    """Return (text, encoding) as `decoded_text` does. Raises FileError."""
    try:
        return decoded_text(data, declared)
    except ValueError as error:
        raise FileError(f"the file is {error}") from error


def encode_text(text: str, encoding: str, declaration: re.Pattern[str], errors: str) -> bytes:
    """Return the bytes of a file, where its head names another encoding than UTF-8 with this name corrected.

    `declaration` matches what precedes the name, and the name. `errors` treats characters that the encoding lacks;
    "replace" writes the file in UTF-8 instead.
    """
    if errors == "replace":
        try:
            text.encode(encoding)
        except UnicodeEncodeError:
            encoding = "utf-8"
    found = declaration.search(text, 0, ENCODING_HEAD)
    if found and encoding.startswith("utf-8") and not _is_utf8(found[2]):
        text = f"{text[: found.start(2)]}UTF-8{text[found.end(2) :]}"
    return text.encode(encoding, errors)


def _is_utf8(name: str) -> bool:
    try:
        return codecs.lookup(name).name == "utf-8"
    except LookupError:
        return False
