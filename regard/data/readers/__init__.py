"""Readers: sources of examples, one file per format, and wrappers of other readers; each built with (columns,)."""

from typing import cast

from regard.data.readers.adding import AddingReader
from regard.data.readers.babi import BabiReader
from regard.data.readers.checked_reader import CheckedReader
from regard.data.readers.ciphered import CipheredReader
from regard.data.readers.conll import ConllReader
from regard.data.readers.consecutive import ConsecutiveReader
from regard.data.readers.copying import CopyingReader
from regard.data.readers.counting import CountingReader
from regard.data.readers.csv import CsvReader
from regard.data.readers.document_sentences import DocumentSentencesReader
from regard.data.readers.documents import DocumentsReader
from regard.data.readers.excerpt import ExcerptReader
from regard.data.readers.folders import FoldersReader
from regard.data.readers.grids import GridsReader
from regard.data.readers.jsonl import JsonlReader
from regard.data.readers.next_sentence import NextSentenceReader
from regard.data.readers.numbered import NumberedReader
from regard.data.readers.parallel import ParallelReader
from regard.data.readers.part import HoldOut
from regard.data.readers.po import PoReader
from regard.data.readers.reader import Reader
from regard.data.readers.sentence_order import SentenceOrderReader
from regard.data.readers.squad import SquadReader
from regard.data.readers.suggestions import SuggestionsReader
from regard.data.readers.tmx import TmxReader
from regard.data.readers.tsv import TsvReader
from regard.data.readers.unpaired import UnpairedReader
from regard.registry import Registry

READERS: Registry[Reader] = Registry(
    "data.reader",
    {
        "adding": AddingReader,
        "babi": BabiReader,
        "ciphered": CipheredReader,
        "conll": ConllReader,
        "consecutive": ConsecutiveReader,
        "copying": CopyingReader,
        "counting": CountingReader,
        "csv": CsvReader,
        "document_sentences": DocumentSentencesReader,
        "documents": DocumentsReader,
        "excerpt": ExcerptReader,
        "folders": FoldersReader,
        "grids": GridsReader,
        "jsonl": JsonlReader,
        "next_sentence": NextSentenceReader,
        "numbered": NumberedReader,
        "parallel": ParallelReader,
        "po": PoReader,
        "sentence_order": SentenceOrderReader,
        "suggestions": SuggestionsReader,
        "squad": SquadReader,
        "tmx": TmxReader,
        "tsv": TsvReader,
        "unpaired": UnpairedReader,
    },
    within="data.train={part}",
)
FILES_OF_PAIRS = ("tsv", "csv", "jsonl", "tmx", "po")  # readers of files with a text and its translation
FILES_OF_LANGUAGES = ("tmx", "po")  # of them, files that name the languages of their texts


def reader_class(kind: str) -> type[Reader]:
    """Return the class of a row."""
    return cast(type[Reader], READERS[kind])


__all__ = ["FILES_OF_LANGUAGES", "FILES_OF_PAIRS", "READERS", "CheckedReader", "HoldOut", "Reader", "reader_class"]
