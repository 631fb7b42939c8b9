"""Tells the format of a file by its first lines, where its name does not."""

from collections.abc import Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Any

from regard.data.readers import READERS
from regard.data.readers.conll import conll_sentences
from regard.errors import ConfigError
from regard.experiment.data import PARTS, by_ending

UNCLEAR = {("conll", "tsv")}  # a kind of reader, and an ending that its files often have
_SENTENCES, LONGEST_WORD = 200, 60  # that tell a format, and characters of a word


def read_alike(data: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings of data in which files that are named alone are read as the training part is.

    `said` are the same as they were written: a file's name alone is a text. A name whose ending tells another format
    keeps it. Raises ConfigError for a file whose format neither tells.
    """
    found, train = dict(data), data.get("train")
    like = train if isinstance(train, Mapping) else {}
    kind = str(like.get("name", ""))
    takes = kind in READERS and "file" in READERS.settings(kind)
    for part in PARTS:
        name = said.get(part)
        if not isinstance(name, str) or READERS.find(name) is not None:
            continue
        ending = by_ending(name)
        if takes and part != "train" and (ending is None or (kind, ending["name"]) in UNCLEAR):
            found[part] = {**{setting: value for setting, value in like.items() if setting != "header"}, "file": name}
        elif ending is None and Path(name).expanduser().is_file():
            columns = [*like.get("files", like)]
            hint = "a table is .tsv, .csv or .jsonl, words with tags .conll; else a file for each column"
            if len(columns) == 1:
                hint = f"a text: data.{part}.{columns[0]}={name}"
            raise ConfigError(f"data.{part}", f"is '{name}', whose ending tells no format", hint)
    return found


def holds_sentences(path: Path) -> bool:
    """Whether a file of fields between tabs has a word and its tags a line: empty lines part groups of several rows.

    The first field is one word in nine rows of ten; half of the groups, and two at least, have several rows.
    """
    sentences = [*islice(conll_sentences(path, "\t"), _SENTENCES)]
    rows = [row.cells for row in chain.from_iterable(sentences)]
    several = sum(len(one) > 1 for one in sentences)
    fields = min(map(len, rows), default=0)
    words = sum(" " not in row[0].strip() and len(row[0]) <= LONGEST_WORD for row in rows)
    return fields > 1 and several >= max(2, len(sentences) / 2) and 10 * words >= 9 * len(rows)
