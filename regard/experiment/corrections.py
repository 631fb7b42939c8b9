"""Corrections, as `regard serve --suggestions` writes them, as training data."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from regard.config import quoted, read_settings, read_yaml, settings_file
from regard.data.readers.suggestions import SuggestionsReader, holds_suggestions
from regard.errors import ConfigError
from regard.experiment.data import CORPORA, FILE_SETTINGS, DataSettings, by_ending
from regard.experiment.huggingface import is_huggingface
from regard.experiment.sizes import SENTENCE_PIECES
from regard.experiment.upgrade import upgraded
from regard.registry import Choice

KIND, CORPUS = "suggestions", "corrections"  # the reader, and the corpus beside the old texts
TAKEN = ("train", "dev", "test", "corpora", "dev_fraction", "test_fraction", "folds", "fold", "fold_seed", "max_length")
UPDATES, READINGS = 400, 30  # of a training on corrections: minimum updates, and minimum epochs
_OLD = 3  # batches of old text per batch of corrections
_TOKENS, RATE = 1_024, 3e-4  # of its batches, and of its updates
_VALIDATIONS = 8
ENOUGH, HELD_OUT = 40, 0.2  # minimum corrections for a held-out dev set, and its fraction


def names_corrections(text: str) -> bool:
    """Return whether a training file holds corrections."""
    named, path = by_ending(text), Path(text).expanduser()
    return named is not None and named["name"] == "jsonl" and path.is_file() and holds_suggestions(path)


def as_changes(text: str) -> list[str]:
    """Return the changes that name a file of corrections as training data."""
    return [f"data.corpora.{CORPUS}={quoted(text)}"]


def with_corrections(said: dict[str, Any], start: Path | None, say: Callable[[str], None] | None) -> dict[str, Any]:
    """Return settings that read files of corrections, beside the training texts of the run `start`.

    `say` gets the number of corrections. Settings with faults stay unchanged, and their reader reports the faults.
    """
    try:
        data = read_settings(DataSettings, said.get("data", {}))
    except ConfigError:
        return said
    readers = {part: choice for part, choice in data.readers().items() if _holds(choice)}
    if not readers:
        return said
    found, before = dict(said["data"]), {} if start is None or is_huggingface(start) else texts_of(start)
    languages = data.languages or before.get("languages") or None
    for part, choice in readers.items():
        settings = {"name": KIND, "file": choice.settings["file"], **({"languages": [*languages]} if languages else {})}
        if say is not None:
            reader = SuggestionsReader(("source", "target"), file=settings["file"], languages=languages)
            say(f"{Path(settings['file']).name}: {reader.summary()}")
        group, _, name = part.rpartition(".")
        if group == CORPORA.rstrip("."):
            found["corpora"] = {**found.get("corpora", {}), name: settings}
        elif not group:
            found[name] = settings
    if languages:
        found.setdefault("languages", [*languages])
    found = _mixed(found, before, start, say)
    return {**said, "data": found}


def correction_corpora(data: DataSettings) -> list[str]:
    """Return the names of the training corpora that hold corrections; "train" is one."""
    named = {"train": data.train, **data.corpora}
    return [name for name, choice in named.items() if choice is not None and choice.name == KIND]


def correction_defaults(data: DataSettings) -> dict[str, Any]:
    """Return settings, in the form of a file, for a training on the corrections among data; {} without any."""
    found = data.readers()
    choices = [found[name if name == "train" else f"{CORPORA}{name}"] for name in correction_corpora(data)]
    if not choices:
        return {}
    count = sum(1 for one in choices for _ in SuggestionsReader(("source", "target"), **one.settings))
    mixed = data.train is not None and data.train.name != KIND
    batches = -(-count * SENTENCE_PIECES // _TOKENS) * (1 + _OLD if mixed else 1)
    updates = max(UPDATES, READINGS * batches)
    held = {} if mixed else {"dev_fraction": HELD_OUT if count >= ENOUGH else 0.0, "test_fraction": 0.0}
    return {
        "data": held,
        "training": {
            "batch_tokens": _TOKENS,
            "max_updates": updates,
            "max_epochs": None,
            "learning_rate": RATE,
            "schedule": {"name": "linear", "updates": updates, "warmup": updates // 10},
            "validate_every": max(1, updates // _VALIDATIONS),
            "average": 1,
        },
    }


def _holds(choice: Choice) -> bool:
    """Return whether a reader is of a file of corrections, without settings of fields."""
    path = Path(str(choice.settings.get("file", "")))
    return choice.name == "jsonl" and not choice.settings.get("fields") and path.is_file() and holds_suggestions(path)


def texts_of(run: Path) -> dict[str, Any]:
    """Return the texts of a run, from its settings, where their files exist, and its languages."""
    data = upgraded(read_yaml(settings_file(run))).get("data", {})
    known = read_settings(DataSettings, data)
    there = {part for part, choice in known.readers().items() if _is_there(choice)}
    taken = {name: data[name] for name in TAKEN if name in data}
    for part in ("train", "dev", "test"):
        if part not in there:
            taken.pop(part, None)
    corpora = taken.pop("corpora", None) or {}
    taken["corpora"] = {name: value for name, value in corpora.items() if f"{CORPORA}{name}" in there}
    source, target = known.language_pair()
    return {**taken, **({"languages": (source, target)} if source and target else {})}


def _is_there(choice: Choice) -> bool:
    files = [choice.settings.get(name) for name in FILE_SETTINGS if choice.settings.get(name) is not None]
    paths = [path for one in files for path in (one.values() if isinstance(one, Mapping) else [one])]
    return bool(paths) and all(Path(str(path)).expanduser().exists() for path in paths)


def _mixed(
    data: dict[str, Any], before: Mapping[str, Any], start: Path | None, say: Callable[[str], None] | None
) -> dict[str, Any]:
    """Return corrections as a corpus beside old texts, which make most batches; alone where there are none."""
    corpora, train = dict(data.get("corpora", {})), data.get("train")
    if isinstance(train, Mapping) and train.get("name") == KIND:
        corpora[CORPUS], train = train, None
    if train is None and "train" in before:
        old = {name: value for name, value in before["corpora"].items() if value.get("file") != corpora[CORPUS]["file"]}
        rest = {name: value for name, value in before.items() if name not in ("corpora", "languages")}
        data, corpora = {**rest, **data, "train": before["train"]}, {**old, **corpora}
        if say is not None:
            say(f"{_OLD} of {_OLD + 1} batches are of the texts that {start} was trained on, against forgetting")
    elif train is None:
        train = corpora.pop(CORPUS)
        if start is not None and say is not None:
            say(
                f"the texts that {start} was trained on are missing, so forgetting cannot be measured; "
                "give them: --source FILE --target FILE"
            )
        return {**data, "train": train, "corpora": corpora}
    data = {**data, "corpora": corpora}
    if "weights" not in data and not data.get("routes"):
        others = ["train", *(name for name, one in corpora.items() if one.get("name") != KIND)]
        share = _OLD / len(others)
        data["weights"] = {**dict.fromkeys(others, share), **dict.fromkeys(set(corpora) - set(others), 1.0)}
    return data
