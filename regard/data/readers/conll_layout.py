"""Which fields of CoNLL columns are the word and its tag, told by the rows."""

import re
from collections.abc import Sequence
from itertools import chain, islice
from pathlib import Path

from regard.data.readers.conll import NO_WORD, conll_sentences
from regard.data.readers.label_table import Fields, TableLayout

LOOKED_AT = 20_000  # sentences whose tags are collected
CONLLU = 10  # fields of CoNLL-U: a number, the word, its lemma, its universal tag …
SPAN = re.compile(r"O|[BIESLU](-.*)?")  # a tag of a span, or of none


def conll_layout(path: Path, columns: Sequence[str], like: Fields | None = None) -> TableLayout:
    """Return where the words and their tags stand: `columns` are their names.

    Of CoNLL-U fields 2 and 4; of other rows the first field, and the last one where all its values are tags of spans
    (B-PER I-PER O), else the second. With `like`, the fields of another file of the same data, these. Raises DataError
    for a file that is not there or empty.
    """
    text, tags = columns
    rows = [row.cells for row in chain.from_iterable(islice(conll_sentences(path), LOOKED_AT))]
    fields = dict(like) if like is not None else dict(zip((text, tags), _places(rows), strict=True))
    known = {row[fields[tags] - 1] for row in rows if len(row) >= fields[tags]}
    return TableLayout(fields, False, tuple(sorted(known)))


def _places(rows: Sequence[Sequence[str]]) -> tuple[int, int]:
    """The fields, from 1, of the word and of its tag."""
    least = min(map(len, rows), default=2)
    if least >= CONLLU and all(row[0].isdigit() or NO_WORD.fullmatch(row[0]) for row in rows):
        return 2, 4
    spans = least > 2 and all(SPAN.fullmatch(row[-1]) for row in rows)
    return 1, least if spans else 2
