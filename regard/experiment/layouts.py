"""Settings of data that name little, completed by what the files themselves tell."""

from collections.abc import Callable, Container, Mapping
from pathlib import Path
from typing import Any

from regard.config import quoted
from regard.data.readers import READERS
from regard.data.readers.label_table import holds_pairs, label_field
from regard.experiment.data import PARTS, by_ending
from regard.experiment.formats import holds_sentences
from regard.experiment.settings import Experiment

TASKS_OF = {"label": "classification", "tags": "tagging"}  # by what files hold beside texts
UNSAID = {"fields": (None,), "header": (False,), "delimiter": (None,)}  # who says others of them knows the table


def with_layouts(
    settings: Mapping[str, Any],
    experiment: Experiment,
    say: Callable[[str], None] | None = None,
    parts: Container[str] = PARTS,
) -> dict[str, Any]:
    """Return settings in which the tables of `parts` have fields, where the task can tell them; `say` hears which.

    `experiment` is what the settings say. Raises DataError for a table that does not tell.
    """
    data, like = dict(settings.get("data") or {}), None
    for part in PARTS:
        choice = experiment.reader(part)
        if choice is None:
            continue
        fields = choice.settings.get("fields")
        path = Path(str(choice.settings.get("file", "")))
        if (
            part in parts
            and _tells(choice.name) == experiment.task_class.answers
            and path.is_file()
            and all(choice.settings.get(name, usual[0]) in usual for name, usual in UNSAID.items())
        ):
            layout = experiment.task_class.layout(path, choice.name, like)
            if layout is not None:
                fields, data[part] = layout.fields, {"name": choice.name, **choice.settings, **layout.settings()}
                if say is not None:
                    say(f"{path.name}: {layout}")
        like = fields if part == "train" else like
    return {**settings, "data": data} if data else dict(settings)


def text_settings(text: str | None) -> tuple[list[str], list[str]]:
    """Return changes that name the task for what `--text` gives, and changes that name its data.

    A table or a folder of folders holds labels and texts for a classifier, a table with two texts beside the label is
    one of pairs, CoNLL columns hold words and tags for a tagger, also in a .tsv with empty lines between sentences,
    any other file holds the text of a language model.
    """
    if text is None:
        return [], []
    reader = by_ending(text)
    kind = "" if reader is None else reader["name"]
    tells = _tells(kind) if kind else ""
    task = TASKS_OF.get(tells)
    path = Path(text).expanduser()
    if kind == "tsv" and path.is_file() and holds_sentences(path):
        return ["task.name=tagging"], [f"data.train={{name: conll, file: {quoted(text)}}}"]
    if tells == "label" and path.is_file() and holds_pairs(path, kind):
        task = "pairs"
    if task is not None:
        return [f"task.name={task}"], [f"data.train={quoted(text)}"]
    return ["task.name=language_model"], [f"data.train.text={quoted(text)}"]


def forgotten_label(experiment: Experiment) -> str:
    """Return a warning where a table that a translator is to learn from has a field that looks like a label, or ""."""
    choice = experiment.reader("train")
    texts = all(kind == "text" for kind in experiment.columns.values())
    if choice is None or not texts or _tells(choice.name) != "label" or "file" not in choice.settings:
        return ""
    path = Path(str(choice.settings["file"]))
    field = label_field(path, choice.name)
    said = choice.settings.get("fields")
    if field not in (said.values() if said else (*range(1, len(experiment.columns) + 1), *experiment.columns)):
        return ""
    return f"field {field} of {path.name} looks like a label: for a classifier regard train --text {path}"


def _tells(kind: str) -> str:
    reader: Any = READERS[kind]
    return str(reader.tells)
