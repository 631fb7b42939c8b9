"""Detection of formats, fields and tasks from files, to complete short settings of data."""

from collections.abc import Callable, Container, Mapping
from functools import reduce
from itertools import chain, islice
from operator import getitem
from pathlib import Path
from typing import Any

from regard.attention.recipes import as_yaml
from regard.config import merge, quoted
from regard.data.readers import FILES_OF_LANGUAGES, READERS, reader_class
from regard.data.readers.conll import conll_sentences
from regard.errors import ConfigError
from regard.experiment.data import CORPORA, DATA_PARTS, ROUTES, by_ending
from regard.experiment.settings import Experiment
from regard.tasks import TASKS, Task, task_class
from regard.text.column_names import column_names, names_line

UNSAID = {"fields": (None,), "header": (False,), "delimiter": (None,)}  # other values turn detection off
UNCLEAR = {("conll", "tsv")}  # a kind of reader, and an ending that its files often have
_ALL_PARTS = (*DATA_PARTS, *(group.rstrip(".") for group in (CORPORA, ROUTES)))
_SENTENCES, LONGEST_WORD = 200, 60  # sentences that a format is detected from, and characters of a word


def with_layouts(
    settings: Mapping[str, Any],
    experiment: Experiment,
    say: Callable[[str], None] | None = None,
    parts: Container[str] = _ALL_PARTS,
) -> dict[str, Any]:
    """Return settings with fields and headers of the tables of `parts`, where detected; `say` reports them.

    Where a task detects none, a dev or test set has the fields of the training set. `experiment` has the settings.
    Raises DataError for a table whose fields cannot be detected.
    """
    data, like, kind, task = dict(settings.get("data") or {}), None, "", experiment.task_class
    for part in DATA_PARTS:
        choice = experiment.reader(part)
        if choice is None:
            continue
        fields = choice.settings.get("fields")
        path = Path(str(choice.settings.get("file", "")))
        if (
            part in parts
            and path.is_file()
            and all(choice.settings.get(name, usual[0]) in usual for name, usual in UNSAID.items())
        ):
            detects = holds_answers(choice.name, task)
            layout = task.files.layout(tuple(task.columns), path, choice.name, like) if detects else None
            if layout is not None:
                fields, data[part] = layout.fields, {"name": choice.name, **choice.settings, **layout.settings()}
                if say is not None:
                    say(f"{path.name}: {layout}")
            elif like is not None and choice.name == kind:
                data[part] = {"name": choice.name, **choice.settings, "fields": dict(like)}
        like, kind = (fields, choice.name) if part == "train" else (like, kind)
    data = _with_headers(data, experiment, say, parts)
    return {**settings, "data": data} if data else dict(settings)


def _with_headers(
    data: dict[str, Any], experiment: Experiment, say: Callable[[str], None] | None, parts: Container[str]
) -> dict[str, Any]:
    """Return settings of data with `header: true` for tables of pairs whose first line has column names.

    An explicit `header`, true or false, is kept.
    """
    if tuple(experiment.columns) != ("source", "target"):
        return data
    for part, choice in experiment.data.readers().items():
        keys, path = _keys(part), Path(str(choice.settings.get("file", "")))
        given: Any = reduce(getitem, keys, data)
        unsaid = "header" in READERS.settings(choice.name) and (isinstance(given, str) or "header" not in given)
        if keys[0] not in parts or not unsaid or not path.is_file():
            continue
        reader = READERS.build(choice, tuple(experiment.columns), place=f"data.{part}")
        if names := column_names([str(text) for text in one.texts.values()] for one in reader):
            found: dict[str, Any] = {"name": choice.name, **choice.settings, "header": True}
            for key in reversed(keys):
                found = {key: found}
            data = merge(data, found)
            if say is not None:
                say(f"{names_line(path, names)} (if they are a pair: data.{part}.header=false)")
    return data


def _keys(part: str) -> list[str]:
    """Return the names of the groups around the settings of a part: corpora, NAME."""
    group, _, rest = part.partition(".")
    return [group, *(rest.rsplit(".", 1) if group == ROUTES.rstrip(".") else [rest] if rest else [])]


def text_settings(text: str, task: str = "", *, before: str = "") -> tuple[list[str], list[str]]:
    """Return changes that name the task of the file of `--text`, and changes that name its data.

    A table or a folder of folders holds labels and texts for a classifier; a table with two texts and a label is one of
    pairs, and one with two texts alone, as a translation memory (.tmx) or messages (.po), is for a translator; CoNLL
    columns, also in a .tsv with empty lines between sentences, hold words and tags for a tagger; a .json (SQuAD) holds
    questions for a reader. Any other file holds plain text, for the task `before` of a run to start from if that learns
    from plain text, else for a language model. A given `task` is not changed.
    """
    reader = by_ending(text)
    kind = "" if reader is None else reader["name"]
    found_task = default_task_of(kind) if kind else None
    path = Path(text).expanduser()
    tags = not task or holds_answers("conll", task_class(task))
    if tags and kind == "tsv" and path.is_file() and holds_sentences(path):
        found_task, data = default_task_of("conll"), [f"data.train={{name: conll, file: {quoted(text)}}}"]
    elif found_task is not None:
        found_task, data = task_class(found_task).files.task(path, kind) or found_task, [f"data.train={quoted(text)}"]
    elif kind in FILES_OF_LANGUAGES:
        found_task, data = "translation", [f"data.train={quoted(text)}"]
    else:
        goes_on = before and _parts_of_text(task_class(before), text) is not None
        found_task = before if goes_on else "language_model"
        data = _plain_settings(text, task or found_task)
    return [] if task else [f"task.name={found_task}"], data


def _plain_settings(text: str, task: str) -> list[str]:
    """Return changes that name a plain text as training data of a task."""
    kind = task_class(task)
    data = _parts_of_text(kind, text) or {"train": {next(iter(kind.columns)): text}}
    return [
        f"data.{part}.{name}={quoted(value) if isinstance(value, str) else as_yaml(value)}"
        for part, settings in data.items()
        for name, value in settings.items()
    ]


def _parts_of_text(task: type[Task], text: str) -> Mapping[str, Mapping[str, Any]] | None:
    return task.files.parts_of_text(tuple(task.columns), text)


def forgotten_label(experiment: Experiment) -> str:
    """Return a warning where a translator's training table has a field that looks like a label, or ""."""
    choice = experiment.reader("train")
    texts = all(kind == "text" for kind in experiment.columns.values())
    kind = None if choice is None else default_task_of(choice.name)
    if choice is None or not texts or kind is None or "file" not in choice.settings:
        return ""
    path = Path(str(choice.settings["file"]))
    field = task_class(kind).files.label_field(path, choice.name)
    explicit = choice.settings.get("fields")
    if field not in (explicit.values() if explicit else (*range(1, len(experiment.columns) + 1), *experiment.columns)):
        return ""
    return f"field {field} of {path.name} looks like a label: for a classifier regard train --text {path}"


def holds_answers(kind: str, task: type[Task]) -> bool:
    """Return whether files of a `kind` of reader hold answers of a task beside texts."""
    return task.answer.form in reader_class(kind).answers


def default_task_of(kind: str) -> str | None:
    """Return the default row of TASKS for files of a `kind` of reader; None where they may hold anything."""
    tasks = {name: task_class(name) for name in TASKS}
    return next((name for name, task in tasks.items() if task.files.default and holds_answers(kind, task)), None)


def has_readers(task: type[Task]) -> bool:
    """Return whether there are readers whose files hold the answers of a task beside texts."""
    return any(holds_answers(kind, task) for kind in READERS)


def read_alike(data: Mapping[str, Any], explicit: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings of data in which files given by name alone are read like the training set.

    `explicit` are the settings as written: a file's name alone is a string. A name with the ending of another format
    keeps that. Raises ConfigError for a file whose format cannot be determined.
    """
    found, train = dict(data), data.get("train")
    like = train if isinstance(train, Mapping) else {}
    kind = str(like.get("name", ""))
    takes = kind in READERS and "file" in READERS.settings(kind)
    for part in DATA_PARTS:
        name = explicit.get(part)
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
            raise ConfigError(f"data.{part}", f"is '{name}', whose ending is not that of a format", hint)
    return found


def holds_sentences(path: Path) -> bool:
    """Return True if each line of a tab-separated file is a word and its tags: empty lines separate groups of rows.

    The first field is one word in nine of ten rows; half of the groups, and at least two, have several rows.
    """
    sentences = [*islice(conll_sentences(path, "\t"), _SENTENCES)]
    rows = [row.cells for row in chain.from_iterable(sentences)]
    several = sum(len(one) > 1 for one in sentences)
    fields = min(map(len, rows), default=0)
    words = sum(" " not in row[0].strip() and len(row[0]) <= LONGEST_WORD for row in rows)
    return fields > 1 and several >= max(2, len(sentences) / 2) and 10 * words >= 9 * len(rows)
