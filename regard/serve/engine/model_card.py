"""What a model has learnt: from how many examples, how well, and texts to try it with."""

import json
import warnings
from collections.abc import Sequence
from dataclasses import replace
from shlex import quote
from typing import Any

from regard.data.manifest import verify_file
from regard.data.sealed import SEAL, unseal
from regard.data.toy import pairs
from regard.errors import CheckpointError, RegardError
from regard.experiment import Experiment
from regard.results import as_line
from regard.runs import Run, RunFolder
from regard.runs.texts import dev_examples
from regard.tasks import Task

METRICS, DEMO = "metrics.jsonl", "demo.json"  # which lies beside a model that the demo has made
READ, SHOWN = 200, 4  # sentences that are read to choose from; that are chosen
SHORTEST, LONGEST = 8, 50  # characters of an example
STORY = 240  # characters of one of several columns, all together, at most
SEED = 1  # of the sentences of the demo's grammar


def learnt_of(run: Run, task: Task) -> dict[str, Any]:
    """Plain values: `pairs`, `scores` and `bleu` (of the dev part) where the run tells them, `demo`, `examples`."""
    experiment, demo = run.experiment, (run.path.resolve().parent / DEMO).is_file()
    scores = _scores(run, task, experiment.decoding.route or task.route)
    return {
        "pairs": _pairs(run.folder),
        "scores": scores,
        "bleu": scores.get("bleu"),
        "demo": demo,
        "examples": chosen(
            _grammar(experiment) if demo else _dev(experiment, task), LONGEST if len(task.inputs) == 1 else STORY
        ),
    }


def chosen(sentences: Sequence[str], longest: int = LONGEST) -> list[str]:
    """A few short ones, from the shortest to the longest."""
    short = sorted({one for one in sentences if SHORTEST <= len(one) <= longest}, key=lambda one: (len(one), one))
    step = max(len(short) // SHOWN, 1)
    return short[step // 2 :: step][:SHOWN]


def _grammar(experiment: Experiment) -> list[str]:
    _, target = experiment.data.language_pair()
    return [source for source, _ in pairs(target or "de", READ, SEED, part="test")]


def _dev(experiment: Experiment, task: Task) -> list[str]:
    """What is given in the dev part; none where its files are no longer there."""
    few = replace(experiment, training=replace(experiment.training, validate_lines=READ))
    try:
        found = dev_examples(few, task, lambda _: None)
    except (RegardError, OSError):
        return []
    if found is None:
        return []
    return [as_line(values) for values in zip(*(found[name] for name in task.inputs), strict=True)]


def _pairs(folder: RunFolder) -> int | None:
    """Of all corpora that lie in the run; None where they lie elsewhere."""
    contents = [unseal(seal.parent, only=()) for seal in folder.data.glob(f"*/{SEAL}")]
    return sum(content["kept"] for content in contents if content is not None) or None


def _scores(run: Run, task: Task, route: str) -> dict[str, float]:
    """As they were measured when the checkpoint that answers was made; of several pairs of languages those of one."""
    update = run.checkpoint.state["update"]
    try:
        verify_file(run.path / METRICS, f"regard evaluate {quote(str(run.path))} measures the scores")
    except CheckpointError as error:
        warnings.warn(f"{error}; its scores are not shown", stacklevel=2)
        return {}
    try:
        lines = (run.path / METRICS).read_text("utf-8").splitlines()
        told = [json.loads(line) for line in lines if line.startswith('{"event": "validation"')]
    except (OSError, ValueError):  # gone, or damaged
        return {}
    found: dict[str, Any] = next((one for one in reversed(told) if one.get("update") == update), {})
    own = {name: found.get(f"{name}-{route}", found.get(name)) for name in task.validates}
    return {name: round(value, 1) for name, value in own.items() if value is not None}
