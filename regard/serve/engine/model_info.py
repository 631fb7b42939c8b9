"""What a server tells of a model."""

import json
from typing import Any, cast

from regard.data.columns import TextColumn
from regard.data.sealed import SEAL
from regard.experiment import Experiment
from regard.predictor import Predictor
from regard.registry import Choice
from regard.runs import RunFolder
from regard.serve.engine.model_card import learnt_of
from regard.training.checkpoint import MODEL


def info_of(predictor: Predictor, experiment: Experiment, folder: RunFolder) -> dict[str, Any]:
    """Plain values: sizes, parts, and the SHA-256 of the file of weights."""
    model = experiment.model.settings
    columns = predictor.task.vocabularies
    source, target = experiment.data.language_pair()
    return {
        "source": source,
        "target": target,
        "parameters": sum(parameter.numel() for parameter in predictor.model.parameters()),
        "attention": _attention(experiment),
        "encoder": model["encoder"].name,
        "decoder": model["decoder"].name,
        "layers": {"encoder": _layers(model["encoder"]), "decoder": _layers(model["decoder"])},
        "heads": model["attention"].num_heads,
        "vocabulary": {"source": len(columns["source"]), "target": len(columns["target"])},
        "pieces": predictor.max_source - 1,  # that a text may have
        "search": experiment.decoding.search.name,
        "device": predictor.model.device.type,
        "sha256": _digest(folder),
        "alphabet": "".join(sorted(cast(TextColumn, columns["source"]).alphabet)),
        **learnt_of(experiment, folder, predictor.task),
    }


def _attention(experiment: Experiment) -> str:
    """Its parts by name; a span or a weighting is told where it is not the usual one."""
    parts = experiment.model.settings["attention"]
    spans = [span.name for span in parts.span if span.name != "everywhere"]
    weighting = [parts.weighting.name] if parts.weighting.name != "softmax" else []
    return " + ".join([parts.score.name, *spans, *weighting])


def _layers(part: Choice) -> int:
    return int(part.settings.get("num_layers", 1))


def _digest(folder: RunFolder) -> str:
    """Of the weights, as the seal of the checkpoint tells it, which was verified when they were read."""
    seal = json.loads((folder.checkpoint().folder / SEAL).read_text(encoding="utf-8"))
    return str(seal["files"][MODEL][1])
