"""Gain of pre-training on raw text, by the number of labels: from scratch against pre-trained."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console

from regard.config import write_atomically, write_yaml
from regard.data import READERS
from regard.data.examples import ColumnTexts, position
from regard.data.readers.lines import read_lines
from regard.errors import ConfigError, nearest
from regard.experiment import read_experiment, text_settings
from regard.experiment.initial import continued
from regard.reports.compare.compare import Request, compare_configs
from regard.reports.compare.statistics import Figure, mean_and_spread
from regard.reports.compare.summary import Compared
from regard.reports.table import DASH, Cell, Table
from regard.runs import Run, RunFolder, train_run
from regard.runs.rehearsal import Rehearsal
from regard.runs.resuming import check_resumed

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


MARK, REPORT, PRETRAINED = "pretrain_finetune.json", "report.md", "pretrained"
LABELS, QUICK_LABELS = ("100", "500", "2000", ALL), ("100", "500")
_PIECES, QUICK_PIECES = 8_000, 1_000
_EPOCHS, MIN_FINE_TUNING_UPDATES, MOST_UPDATES, _VALIDATIONS = 20, 200, 1_000, 10  # of fine-tuning
DEV_FRACTION = 0.2  # of the labels, for the selection of checkpoints
_QUICK = ["model.dim=32", "training.max_updates=60", "training.schedule={name: cosine, updates: 60, warmup: 10}"]


class Method(NamedTuple):
    """A pre-training method, and the tasks that start from it."""

    changes: Sequence[str]  # settings of the pre-training
    tasks: Sequence[str]
    objective: str = "likelihood"


_SHARED = (
    "model.dim=128",
    "model.dropout=0.1",
    "model.self_attention={score: scaled_dot, num_heads: 4}",
    "training.batch_tokens=2048",
    "training.learning_rate=0.003",
    "training.max_updates=3000",
    "training.schedule={name: cosine, updates: 3000, warmup: 200}",
    "training.validate_every=500",
    "training.validate_lines=500",
)
BLOCKS = "{name: transformer, num_layers: 3, feedforward_dim: 512}"
READING = Method((*_SHARED, f"model.encoder={BLOCKS}"), ("classification", "pairs"))
PRETRAININGS = {  # by the task of pre-training
    "language_model": Method(
        (*_SHARED, f"model.decoder={BLOCKS}", "task.window=64"),
        ("classification",),
        "with_language_model",
    ),
    "masked_language_model": READING,
    "next_sentence": READING,
}


@dataclass(frozen=True)
class PretrainingRequest:
    """A request. Either `text` is used for pre-training, or `start` is a run of one of PRETRAININGS."""

    labelled: Path
    folder: Path
    text: Path | None = None
    start: Path | None = None
    method: str = "language_model"
    labels: Sequence[str] = LABELS
    seeds: int = 3
    changes: Sequence[str] = ()  # to both trainings
    quick: bool = False
    command: str = ""


def pretrain_finetune(request: PretrainingRequest, *, quiet: bool = False) -> Table | None:
    """Pre-train, cut the labels, train with each number of them from scratch and pre-trained, and compare both.

    The same call resumes. Returns None where pre-training is interrupted now, and saved. Raises ConfigError for invalid
    requests, Interrupted where a later training is interrupted.
    """
    console = Console(stderr=True, highlight=False, soft_wrap=True, markup=False, emoji=False, quiet=quiet)
    _make_room(request)
    task, examples = labelled_examples(
        request.labelled, {one for method in PRETRAININGS.values() for one in method.tasks}
    )
    parts = cut(examples, request.labels)
    if request.start is None:
        _check_method(request.method, task)
    start = request.start or _pretrained(request, quiet, console)
    if start is None:
        return None
    files = {name: write_part(request.folder / "texts" / f"{name}.jsonl", rows) for name, rows in parts.items()}
    found = dict[str, Compared]()
    for name in [one for one in parts if one != "test"]:
        console.print(f"{len(parts[name]):,} labels: from scratch, and from {start}")
        data = {one: reader_of(files[one], parts["test"]) for one in (name, "test")}
        settings = finetuning(start, task, data[name], data["test"], len(parts[name]))
        found[name] = _compared(request, name, settings, quiet)
    table = table_of(found, {name: len(parts[name]) for name in found})
    notes = [f"{len(parts['test']):,} test examples", *_overlap(request.text, parts["test"])]
    write_atomically(request.folder / REPORT, f"{table.markdown()}\n" + "".join(f"- {one}\n" for one in notes))
    values = {"command": request.command, "labels": {name: one.values() for name, one in found.items()}}
    write_atomically(request.folder / MARK, json.dumps(values, indent=1))
    return table


# Trainings


def finetuning(
    start: Path, task: str, train: Mapping[str, Any], test: Mapping[str, Any], labels: int
) -> dict[str, Any]:
    """Return the config of a training on some labels that starts from a run; without `init` it is from scratch.

    Raises ConfigError for a run that cannot start this task.
    """
    before = Run.open(start).experiment
    if before.task.name not in PRETRAININGS:
        raise ConfigError("--from", f"is a run of the task '{before.task.name}'", f"one of {', '.join(PRETRAININGS)}")
    _check_method(before.task.name, task)
    settings = continued(start, {"task": task})
    updates = max(MIN_FINE_TUNING_UPDATES, min(MOST_UPDATES, _EPOCHS * labels // BATCH))
    return {
        **settings,
        "init": {"run": str(start.absolute())},
        "data": {"train": train, "test": test, "dev_fraction": DEV_FRACTION, "max_length": before.data.max_length},
        "objective": {"name": PRETRAININGS[before.task.name].objective, "label_smoothing": 0.0},
        "training": {
            "batch_sentences": BATCH,
            "learning_rate": 1e-3,
            **settings.get("training", {}),
            "schedule": {"name": "linear", "warmup": updates // 10, "updates": updates},
            "max_updates": updates,
            "validate_every": max(1, updates // _VALIDATIONS),
            "average": 1,
            "keep_best": 1,
        },
    }


def _check_method(name: str, task: str) -> None:
    """Raise ConfigError for an unknown pre-training method, or one that cannot start the task."""
    if name not in PRETRAININGS:
        raise ConfigError("--method", f"there is no '{name}'", nearest(name, PRETRAININGS))
    if task not in PRETRAININGS[name].tasks:
        others = ", ".join(other for other, one in PRETRAININGS.items() if task in one.tasks)
        raise ConfigError("--method", f"'{name}' does not become a model of '{task}'", others)


def _pretrained(request: PretrainingRequest, quiet: bool, console: Console) -> Path | None:
    """Return the pre-trained run, trained or resumed now; None where interrupted.

    Raises ConfigError for one with another text or another method.
    """
    folder = RunFolder(request.folder / PRETRAINED)
    changes = [
        f"task.name={request.method}",
        f"text.tokenizer={{name: subwords, size: {QUICK_PIECES if request.quick else _PIECES}}}",
        f"run={json.dumps(str(folder))}",
        *PRETRAININGS[request.method].changes,
        *(_QUICK if request.quick else ()),
    ]
    experiment, resume = read_experiment(None, changes, text=str(request.text)), folder.started
    if resume:
        try:
            check_resumed(Rehearsal(experiment), Run.open(folder), console.print)
        except ConfigError as error:
            hint = "choose another folder: --run FOLDER"
            raise ConfigError.of(fault._replace(hint=hint) for fault in error.faults) from None
    if folder.finished:
        return folder.path
    console.print(f"{'Resuming' if resume else 'Starting'} a {request.method} of {request.text}")
    return folder.path if train_run(experiment, resume=resume, quiet=quiet) else None


def _compared(request: PretrainingRequest, name: str, settings: Mapping[str, Any], quiet: bool) -> Compared:
    """Run the trainings of one number of labels."""
    configs = request.folder / "configs" / name
    configs.mkdir(parents=True, exist_ok=True)
    scratch = {group: one for group, one in settings.items() if group != "init"}
    ways = {"scratch": scratch, "pretrained": dict(settings)}
    for way, one in ways.items():
        write_yaml(configs / f"{way}.yaml", one)
    comparison = Request(
        configs=[configs / f"{way}.yaml" for way in ways],
        changes=request.changes,
        folder=request.folder / f"labels-{name}",
        seeds=request.seeds,
        command=request.command,
    )
    return compare_configs(comparison, quiet=quiet)


def _make_room(request: PretrainingRequest) -> None:
    if (request.text is None) == (request.start is None):
        raise ConfigError("--text", "must be given, or --from a run that was pre-trained", "one of them")
    folder = request.folder
    if folder.exists() and not (folder / MARK).is_file() and any(folder.iterdir()):
        raise ConfigError("--run", f"'{folder}' exists and was not made by this recipe", "choose another folder")
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / MARK).is_file():
        write_atomically(folder / MARK, json.dumps({"command": request.command}))


# The table


def table_of(found: Mapping[str, Compared], counts: Mapping[str, int]) -> Table:
    """Return a row for each number of labels: both scores with their intervals, and the gain of pre-training."""
    metric = next(iter(found.values())).metrics[0]
    columns = ["labels", f"from scratch: {metric}", "95 %", "pre-trained", "95 %", "difference", "95 %", "p", "seeds"]
    return Table(columns, [[Cell(f"{counts[name]:,}"), *_cells(one)] for name, one in found.items()])


def _cells(compared: Compared) -> Iterator[Cell]:
    figures = {row.name: row.figures[0] for row in compared.rows}
    scratch, pretrained = figures.get("scratch"), figures.get("pretrained")
    yield from chain(_figure(scratch), _figure(pretrained))
    difference = None if pretrained is None else pretrained.difference
    if difference is None:
        yield from [Cell(DASH)] * 3
    else:
        yield Cell(f"{difference.value:+.2f}", difference.value)
        yield Cell(f"{difference.interval.low:+.2f} to {difference.interval.high:+.2f}")
        yield Cell(f"{difference.p_value:.3f}", difference.p_value)
    yield Cell(str(min(len(row.results) for row in compared.rows)))


def _figure(figure: Figure | None) -> Iterator[Cell]:
    if figure is None:
        yield from [Cell(DASH)] * 2
        return
    yield Cell(mean_and_spread(figure.values), figure.mean)
    yield Cell(f"{figure.interval.low:.2f} to {figure.interval.high:.2f}")


def _overlap(text: Path | None, test: Sequence[ColumnTexts]) -> list[str]:
    """Return a note on test texts that occur in the corpus, where they have no labels."""
    if text is None:
        return []
    tested = {value.strip() for texts in test for value in inputs_of(texts)}
    known = tested & {line.strip() for line in read_lines(text)}
    return [f"{len(known):,} texts of them also occur in {text.name}, without labels"] if known else []
