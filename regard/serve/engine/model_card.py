"""The card of a model on a server: architecture, scores on the dev set, and example texts."""

import json
import warnings
from collections.abc import Sequence
from dataclasses import replace
from shlex import quote
from typing import Any, cast

from regard.data.columns import TextColumn
from regard.data.manifest import verify_file
from regard.data.sealed import SEAL, unseal
from regard.data.toy import pairs
from regard.errors import CheckpointError, RegardError
from regard.experiment import Experiment
from regard.explain.relevance import quick_methods
from regard.models import AttentionSettings
from regard.ops.modules import count_parameters
from regard.predictor import Predictor
from regard.results import as_line
from regard.runs import Run, RunFolder
from regard.runs.measurements import CALIBRATION
from regard.runs.texts import dev_examples
from regard.tasks import Task

_METRICS, DEMO = "metrics.jsonl", "demo.json"  # beside a model of `regard demo`
READ_SENTENCES, _SHOWN = 200, 4  # candidate sentences; chosen ones
SHORTEST, _LONGEST = 8, 50  # characters of an example
STORY = 240  # characters of one of several columns, all together, at most
SEED = 1  # of the sentences of the demo's grammar


def card_of(predictor: Predictor) -> dict[str, Any]:
    """Return plain values: input and output, sizes, architecture, and the SHA-256 of the weights file."""
    run, experiment = predictor.run, predictor.run.experiment
    model, task = experiment.model.settings, predictor.task
    explains = "explanations" in predictor.setup.abilities.supported
    parts = {name: model[name] for name in ("encoder", "decoder", "pooling") if model.get(name)}
    attention = model.get("attention")
    translated = task.spec.translated
    source, target = (None, None) if translated is None else experiment.data.language_pair()
    context, exported = predictor.setup.context, run.exported or {}
    return {
        "task": experiment.task.name,
        "given": list(task.inputs),
        "predicted": task.last,
        "answers": task.answer.name,
        "read_together": task.texts.window,
        "reads_memory": None if not context.reads_memory else [context.min_percent, context.most_matches],
        "languages": [] if translated is None else [source or "", target or ""],
        "parameters": exported.get("parameters", count_parameters(predictor.model)),
        "attention": "" if attention is None else _attention(attention),
        **{name: part.name for name, part in parts.items()},
        "layers": {name: int(part.settings.get("num_layers", 1)) for name, part in parts.items() if name != "pooling"},
        "heads": None if attention is None else attention.num_heads,
        "vocabulary": {name: len(column) for name, column in task.vocabularies.items()},
        "explains": explains,  # False: the engine has no attention weights
        "methods": quick_methods() if explains else [],
        "grades": run.measurements.grades(),
        "calibration": None if predictor.setup.calibration is None else run.measurements.kept(CALIBRATION),
        "pieces": predictor.encoder.max_source - 1,  # maximum of a text
        "search": experiment.decoding.search.name,
        "device": predictor.model.device.type,
        "sha256": run.weights_digest,
        "alphabet": ""
        if translated is None
        else "".join(sorted(cast(TextColumn, task.vocabularies[translated]).alphabet)),
        **_learnt_of(run, task),
    }


def _attention(parts: AttentionSettings) -> str:
    """Return the parts of an attention by name; span and weighting only if they are not the usual ones."""
    spans = [span.name for span in parts.span if span.name != "everywhere"]
    weighting = [parts.weighting.name] if parts.weighting.name != "softmax" else []
    return " + ".join([parts.score.name, *spans, *weighting])


def _learnt_of(run: Run, task: Task) -> dict[str, Any]:
    """Return plain values: `pairs`, `scores` and `bleu` (dev set) if the run records them, `demo`, `examples`."""
    experiment, demo = run.experiment, (run.path.resolve().parent / DEMO).is_file()
    scores = _scores(run, task, experiment.decoding.route or task.route)
    return {
        "pairs": _pairs(run.folder),
        "scores": scores,
        "bleu": scores.get("bleu"),
        "demo": demo,
        "examples": chosen(
            _grammar(experiment) if demo else _dev(experiment, task), _LONGEST if len(task.inputs) == 1 else STORY
        ),
    }


def chosen(sentences: Sequence[str], longest: int = _LONGEST) -> list[str]:
    """Return a few short examples, from the shortest to the longest."""
    short = sorted({one for one in sentences if SHORTEST <= len(one) <= longest}, key=lambda one: (len(one), one))
    step = max(len(short) // _SHOWN, 1)
    return short[step // 2 :: step][:_SHOWN]


def _grammar(experiment: Experiment) -> list[str]:
    _, target = experiment.data.language_pair()
    return [source for source, _ in pairs(target or "de", READ_SENTENCES, SEED, part="test")]


def _dev(experiment: Experiment, task: Task) -> list[str]:
    """Return the inputs of the dev set; none if its files no longer exist."""
    few = replace(experiment, training=replace(experiment.training, validate_lines=READ_SENTENCES))
    try:
        found = dev_examples(few, task, lambda _: None)
    except (RegardError, OSError):
        return []
    if found is None:
        return []
    return [as_line(values) for values in zip(*(found[name] for name in task.inputs), strict=True)]


def _pairs(folder: RunFolder) -> int | None:
    """Return the training examples in the run, without derived copies; None if they are stored elsewhere."""
    contents = [unseal(seal.parent, only=()) for seal in folder.data.glob(f"*/{SEAL}")]
    return sum(one["kept"] for one in contents if one is not None and not one.get("derived")) or None


def _scores(run: Run, task: Task, route: str) -> dict[str, float]:
    """Return the metrics of the current checkpoint, for one pair of languages if there are several."""
    if run.exported is not None:  # its measures are those of the run, of which it has no log
        return {}
    update = run.checkpoint.state["update"]
    try:
        verify_file(run.path / _METRICS, f"regard evaluate {quote(str(run.path))} measures them again")
    except CheckpointError as error:
        warnings.warn(f"{error}; its scores are not shown", stacklevel=2)
        return {}
    try:
        lines = (run.path / _METRICS).read_text("utf-8").splitlines()
        validations = [json.loads(line) for line in lines if line.startswith('{"event": "validation"')]
    except (OSError, ValueError):  # gone, or damaged
        return {}
    found: dict[str, Any] = next((one for one in reversed(validations) if one.get("update") == update), {})
    own = {name: found.get(f"{name}-{route}", found.get(name)) for name in task.spec.validates}
    return {name: round(value, 1) for name, value in own.items() if value is not None}
