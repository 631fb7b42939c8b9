"""Columns: the fields of an example. One file a row."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from regard.data.columns.column import Column
from regard.data.columns.document import DocumentColumn
from regard.data.columns.label import LabelColumn
from regard.data.columns.label_set import LabelSetColumn
from regard.data.columns.labels import LabelsColumn
from regard.data.columns.masked_text import MaskedTextColumn
from regard.data.columns.number import NumberColumn
from regard.data.columns.numbers import NumbersColumn
from regard.data.columns.sentences import SentencesColumn
from regard.data.columns.symbols import SymbolsColumn
from regard.data.columns.text import TextColumn
from regard.data.columns.words import WordsColumn
from regard.data.examples import Example
from regard.errors import ConfigError
from regard.registry import Choice, Registry

COLUMNS: Registry[Column] = Registry(
    "column",
    {
        "document": DocumentColumn,
        "label": LabelColumn,
        "label_set": LabelSetColumn,
        "labels": LabelsColumn,
        "masked_text": MaskedTextColumn,
        "number": NumberColumn,
        "numbers": NumbersColumn,
        "sentences": SentencesColumn,
        "symbols": SymbolsColumn,
        "text": TextColumn,
        "words": WordsColumn,
    },
)
Columns = Mapping[str, Column]


def learn_columns(
    kinds: Mapping[str, str],
    corpora: Sequence[Iterable[Example]],
    tokenizer: Choice,
    *,
    shared: bool,
    known: Columns = MappingProxyType({}),
) -> dict[str, Column]:
    """Return a column of each name, learnt from corpora, which are read once for each vocabulary.

    Examples that are empty on one side only are skipped, as in training. An example counts for the names that it has.
    Columns in `known` are not learnt; it has all names of a vocabulary or none.
    """
    learnt: dict[str, Column] = {}
    for folder, names in _by_folder(kinds, shared).items():
        if names[0] in known:
            learnt[folder] = known[names[0]]
            continue
        examples = (one.texts for corpus in corpora for one in corpus if not _one_sided(one))
        values = (texts[name] for texts in examples for name in names if name in texts)
        learnt[folder] = _row(kinds[names[0]]).learn(values, tokenizer)
    return _by_name(kinds, learnt, shared)


def save_columns(columns: Columns, kinds: Mapping[str, str], folder: Path, *, shared: bool) -> None:
    """Write each vocabulary into a folder of its own."""
    for place, names in _by_folder(kinds, shared).items():
        columns[names[0]].save(folder / place)


def vocabulary_folders(kinds: Mapping[str, str], *, shared: bool) -> dict[str, str]:
    """Return the name of the folder that keeps the vocabulary of each column; columns of one folder are one."""
    return {name: folder for folder, names in _by_folder(kinds, shared).items() for name in names}


def load_columns(kinds: Mapping[str, str], folder: Path, *, shared: bool) -> dict[str, Column]:
    """Return what `save_columns` wrote. Raises CheckpointError."""
    places = _by_folder(kinds, shared)
    return _by_name(
        kinds, {place: _row(kinds[names[0]]).load(folder / place) for place, names in places.items()}, shared
    )


def small_columns(kinds: Mapping[str, str], *, shared: bool) -> dict[str, Column]:
    """Return columns learnt from their example values alone: for rehearsals."""
    examples = [
        Example(number + 1, {name: _row(kind).examples[number] for name, kind in kinds.items()}) for number in (0, 1)
    ]
    columns = learn_columns(kinds, [examples], Choice("characters"), shared=shared)
    for column in columns.values():
        column.stands_in = True
    return columns


def own_name(name: str, language: str) -> str:
    """Return the name of a column's vocabulary for one language: target-fr."""
    return f"{name}-{language}"


def is_own(name: str) -> bool:
    """Return whether a vocabulary belongs to one language of several."""
    return "-" in name


def of_language(columns: Columns, language: str | None) -> dict[str, Column]:
    """Return the columns of texts in one language: its own vocabularies where it has any, else the shared ones."""
    return {name: columns.get(own_name(name, language or ""), one) for name, one in columns.items() if not is_own(name)}


def longest_read(columns: Columns, ids: Mapping[str, Sequence[int]]) -> int:
    """Return the length of the longest sequence that a model reads of an example, in ids."""
    return max(columns[name].longest(row) for name, row in ids.items())


def check_one_vocabulary(columns: Columns, what: str) -> None:
    """Raise ConfigError where languages have vocabularies of their own: `what` supports only a shared one."""
    if own := [name.partition("-")[2] for name in columns if is_own(name)]:
        problem = f"gives {', '.join(own)} a vocabulary of its own, and {what} reads one of all languages"
        raise ConfigError("text.own_vocabularies", problem, "train with text.own_vocabularies=[]")


def learnt_things(kinds: Iterable[str], tokenizer: str) -> list[str]:
    """Return the units that columns of these kinds learn, each once: subwords, label …; `tokenizer` names its row."""
    return list(dict.fromkeys(_row(kind).learns(tokenizer) or kind for kind in kinds))


def closed_columns(kinds: Mapping[str, str]) -> list[str]:
    """Return the names of the columns with a closed set of values."""
    return [name for name, kind in kinds.items() if _row(kind).closed]


def example_values(kinds: Mapping[str, str], times: int = 1) -> dict[str, list[str]]:
    """Return the example values of each column, `times` times as long where they have a length."""
    rows = {name: _row(kind) for name, kind in kinds.items()}
    return {name: [row.repeated(value, times) for value in row.examples] for name, row in rows.items()}


def _row(kind: str) -> Any:
    """Return the class of a row, before anything is learnt."""
    return COLUMNS[kind]


def _one_sided(example: Example) -> bool:
    filled = [bool(text.strip()) for text in example.texts.values()]
    return any(filled) and not all(filled)


def _by_folder(kinds: Mapping[str, str], shared: bool) -> dict[str, list[str]]:
    places: dict[str, list[str]] = {}
    for name, kind in kinds.items():
        places.setdefault(_folder(kind, name, shared), []).append(name)
    return places


def _by_name(kinds: Mapping[str, str], learnt: Columns, shared: bool) -> dict[str, Column]:
    return {name: learnt[_folder(kind, name, shared)] for name, kind in kinds.items()}


def _folder(kind: str, name: str, shared: bool) -> str:
    folder: str = _row(kind).folder(name, shared=shared and not is_own(name))
    return folder


__all__ = [
    "COLUMNS", "Column", "Columns", "TextColumn", "check_one_vocabulary", "closed_columns", "example_values", "is_own",
    "learn_columns", "learnt_things", "load_columns", "longest_read", "of_language", "own_name", "save_columns",
    "small_columns", "vocabulary_folders",
]  # fmt: skip
