"""What a server tells of a model."""

from typing import Any, cast

from regard.data.columns import Column, TextColumn
from regard.explain.relevance import quick_methods
from regard.models import AttentionSettings
from regard.predictor import Predictor
from regard.registry import Choice
from regard.runs.measurements import CALIBRATION
from regard.serve.engine.model_card import learnt_of


def info_of(predictor: Predictor) -> dict[str, Any]:
    """Plain values: what it predicts from what, sizes, parts, and the SHA-256 of the file of weights."""
    run, experiment = predictor.run, predictor.run.experiment
    model, task = experiment.model.settings, predictor.task
    parts = {name: model[name] for name in ("encoder", "decoder", "pooling") if model.get(name)}
    attention = model.get("attention")
    translated = task.translated
    source, target = (None, None) if translated is None else experiment.data.language_pair()
    return {
        "task": experiment.task.name,
        "given": list(task.inputs),
        "predicted": task.last,
        "answers": task.answer.name,
        "translates": translated is not None,
        "read_together": task.read_together,
        "source": source,
        "target": target,
        "parameters": sum(parameter.numel() for parameter in predictor.model.parameters()),
        "attention": "" if attention is None else _attention(attention),
        **{name: part.name for name, part in parts.items()},
        "layers": {name: _layers(part) for name, part in parts.items() if name != "pooling"},
        "heads": None if attention is None else attention.num_heads,
        "vocabulary": {name: len(column) for name, column in task.vocabularies.items()},
        "methods": quick_methods(),  # by which words may be weighed
        "grades": run.measurements.grades(),
        "calibration": None if predictor.calibration is None else run.measurements.kept(CALIBRATION),
        "pieces": predictor.max_source - 1,  # that a text may have
        "search": experiment.decoding.search.name,
        "device": predictor.model.device.type,
        "sha256": run.weights_digest,
        "alphabet": "" if translated is None else _alphabet(task.vocabularies[translated]),
        **learnt_of(run, task),
    }


def _attention(parts: AttentionSettings) -> str:
    """Its parts by name; a span or a weighting is told where it is not the usual one."""
    spans = [span.name for span in parts.span if span.name != "everywhere"]
    weighting = [parts.weighting.name] if parts.weighting.name != "softmax" else []
    return " + ".join([parts.score.name, *spans, *weighting])


def _alphabet(texts: Column) -> str:
    return "".join(sorted(cast(TextColumn, texts).alphabet))


def _layers(part: Choice) -> int:
    return int(part.settings.get("num_layers", 1))
