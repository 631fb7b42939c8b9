"""Files of word vectors, whichever program wrote them: word2vec, GloVe, fastText."""

import zlib
from collections.abc import Collection
from pathlib import Path

from regard.errors import DataError
from regard.text.fasttext_format import MAGIC, read_fasttext
from regard.text.vector_table import VectorTable
from regard.text.word2vec_format import opened, read_word2vec


def read_vectors(path: Path, words: Collection[str] | None = None, *, rows: int | None = None) -> VectorTable:
    """Return the vectors of `words`, None being all, among the first `rows`; a file that ends in .gz is compressed.

    A model of fastText's (.bin) spells words that it lacks by their n-grams. Raises DataError, with the line, for a
    file that cannot be read.
    """
    known = None if words is None else frozenset(words)
    try:
        with opened(path) as file:
            if file.read(len(MAGIC)) == MAGIC:
                return read_fasttext(path, file, known)
            file.seek(0)
            return read_word2vec(path, file, known, rows)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(path, f"cannot be read: {getattr(error, 'strerror', None) or error}") from error
