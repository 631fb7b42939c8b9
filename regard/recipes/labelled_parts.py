"""A labelled file, cut into a test set and training sets with increasing numbers of labels."""

import json
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from regard.config import write_atomically
from regard.data import READERS
from regard.data.examples import ColumnTexts, position
from regard.errors import ConfigError
from regard.experiment import read_experiment, text_settings

ALL = "all"
MOST_TESTED, MIN_TESTED = 2_000, 20  # bounds of the test set, otherwise a fifth of all examples
BATCH = 32  # texts
SPLIT_SEED = 1  # seed other than that of dev sets, which would be the first in this order


def labelled_examples(file: Path, tasks: Collection[str]) -> tuple[str, list[ColumnTexts]]:
    """Return the task of a labelled file, one of `tasks`, and its examples in an order by their texts alone.

    Raises ConfigError for a file of another task, and for one that is not a table.
    """
    task, data = text_settings(str(file))
    name = task[0].partition("=")[2] if task else ""
    if name not in tasks:
        raise ConfigError(
            str(file), "holds no labels of texts", f"a table (.tsv, .csv, .jsonl) for {' or '.join(sorted(tasks))}"
        )
    experiment = read_experiment(None, [*task, *data])
    choice, columns = experiment.reader("train"), tuple(experiment.columns)
    if choice is None:
        raise ConfigError(str(file), "cannot be read as a table of labels and texts")
    found = [one.texts for one in READERS.build(choice, columns) if all(text.strip() for text in one.texts.values())]
    return name, sorted(found, key=lambda texts: position("\t".join(inputs_of(texts)), SPLIT_SEED))


def cut(examples: Sequence[ColumnTexts], labels: Sequence[str]) -> dict[str, Sequence[ColumnTexts]]:
    """Return the test set, and for each number of labels the first ones of the rest: smaller sets are in larger ones.

    Equal texts stay on one side. Raises ConfigError for an invalid number, and for too few examples.
    """
    count = min(MOST_TESTED, len(examples) // 5)
    if count < MIN_TESTED:
        problem = f"has {len(examples)} examples, of which a fifth is the test set"
        raise ConfigError("LABELLED", problem, f"{5 * MIN_TESTED} at least")
    test = examples[:count]
    tested = set(map(inputs_of, test))
    rest = [texts for texts in examples[count:] if inputs_of(texts) not in tested]
    parts: dict[str, Sequence[ColumnTexts]] = {"test": test}
    for one in labels:
        if one != ALL and not (one.isdecimal() and int(one) >= BATCH):
            raise ConfigError("--labels", f"'{one}' is not a number of labels", f"{BATCH} at least, or {ALL}")
        if one == ALL or int(one) < len(rest):
            parts[one] = rest if one == ALL else rest[: int(one)]
    if len(parts) == 1:
        raise ConfigError("--labels", f"there are {len(rest)} labels beside the test set", f"fewer, or {ALL}")
    return parts


def inputs_of(texts: ColumnTexts) -> tuple[str, ...]:
    """Return all texts but the label, which is the last."""
    return tuple(texts.values())[:-1]


def write_part(file: Path, rows: Sequence[ColumnTexts]) -> Path:
    """Write examples as JSON lines."""
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(file, "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows))
    return file


def reader_of(file: Path, rows: Sequence[ColumnTexts]) -> dict[str, Any]:
    """Return the settings that read such a file."""
    return {"name": "jsonl", "file": str(file.absolute()), "fields": {name: name for name in rows[0]}}
