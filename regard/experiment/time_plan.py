"""Plans a network and a schedule for the minutes that there are, by the speed of this machine."""

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, cast

import torch

from regard.config import lay
from regard.data.columns import Columns
from regard.experiment.settings import Experiment
from regard.experiment.sizes import LARGE, PIECES, SIZES, Size, settings_of_size, size_for
from regard.models import MODELS, ROUTE
from regard.records import UNK, Batch, Sequences
from regard.registry import Choice

MIN_UPDATES = 1_000  # below which a smaller network learns more in the same time
SECONDS = 2.0  # of updates that are measured, for each network
TRAINING = 0.85  # of the time; the rest goes to validations
FEW_EPOCHS = 10  # below which a network forgets nothing by heart and needs little dropout

Say = Callable[[str], None]


class TimePlan(NamedTuple):
    """What fits into a time."""

    size: Size
    updates: int
    tokens_per_second: float  # of batches, padding counted


class _Vocabulary:
    """Stands for a column of which only the size matters."""

    def __init__(self, pieces: int) -> None:
        self.pieces = pieces

    def __len__(self) -> int:
        return self.pieces


def may_be_planned(settings: Mapping[str, Any], experiment: Experiment) -> bool:
    """Return whether a person has left network, vocabulary and batches to us, and has given a time."""
    training, model = settings.get("training", {}), settings.get("model", {})
    timed = any(training.get(limit) for limit in ("max_minutes", "max_core_minutes"))
    free = (
        not {"batch_tokens", "batch_sentences", "accumulate", "schedule", "learning_rate", "max_updates"}
        & training.keys()
    )
    free = free and means_cpu(experiment.device)  # of a GPU nothing is measured
    texts = all(kind == "text" for kind in experiment.columns.values())
    return timed and free and texts and model.keys() <= {"name"} and "text" not in settings and not experiment.init


def means_cpu(device: str) -> bool:
    """Return whether a setting of the device means the processor here."""
    return device == "cpu" or (device == "auto" and not torch.cuda.is_available())


def planned_defaults(experiment: Experiment, pairs: int, say: Say) -> dict[str, Any]:
    """Return settings, as a file would say them, for so many pairs in the time of the experiment."""
    training = experiment.training
    cores = training.max_core_minutes and training.max_core_minutes / torch.get_num_threads()
    minutes = min(one for one in (training.max_minutes, cores) if one)
    say(f"measuring how fast this machine trains, to plan {minutes:g} minutes")
    plan = plan_for(pairs, minutes * 60, lambda size: measured_speed(experiment, size))
    size, epochs = plan.size, plan.updates * plan.size.batch_tokens / max(1, pairs * PIECES)
    rounds = f" or {epochs:.1f} epochs" if pairs < LARGE else ""  # beyond, pairs are not counted
    say(
        f"planned: {size.num_layers} + {size.num_layers} layers of {size.dim}, {size.pieces:,} pieces, about "
        f"{plan.updates:,} updates{rounds} ({plan.tokens_per_second:,.0f} tokens/s)"
    )
    changes: dict[str, Any] = {
        "model": {"dropout": 0.1} if epochs < FEW_EPOCHS else {},
        "training": {
            "schedule": {"warmup": min(size.warmup, max(50, plan.updates // 10))},
            "validate_every": min(500, max(50, plan.updates // 8)),
        },
    }
    return lay(settings_of_size(size, pairs), changes)


def plan_for(pairs: int, seconds: float, speed_of: Callable[[Size], float]) -> TimePlan:
    """Return the largest network, not larger than the data ask for, that takes enough updates in a time."""
    largest = SIZES.index(size_for(pairs))
    for size in (*reversed(SIZES[1 : largest + 1]), SIZES[0]):
        speed = speed_of(size)
        updates = round(seconds * TRAINING * speed / size.batch_tokens)
        if updates >= MIN_UPDATES:
            break
    return TimePlan(size, max(1, updates), speed)


def measured_speed(experiment: Experiment, size: Size) -> float:
    """Return the tokens of a batch, padding counted, that a network of a size learns from in a second."""
    known = MODELS.settings(experiment.model.name)
    sized = {name: value for name, value in settings_of_size(size, 0)["model"].items() if name in known}
    vocabulary = _Vocabulary(size.pieces)
    columns = cast(Columns, dict.fromkeys(experiment.columns, vocabulary))
    model = MODELS.build(Choice(experiment.model.name, sized), columns).train()
    rows = size.batch_tokens // PIECES
    ids = torch.randint(UNK + 1, size.pieces, (rows, PIECES))
    texts = Sequences(ids, torch.ones_like(ids, dtype=torch.bool))
    batch = Batch(dict.fromkeys(experiment.columns, texts), ROUTE, torch.arange(rows), ids.numel())
    updates, start = -1, time.perf_counter()
    while updates < 1 or time.perf_counter() - start < SECONDS:
        model.nll(batch, smoothing=0.1).sum().backward()
        updates += 1
        if not updates:
            start = time.perf_counter()  # the first one warms up
    return updates * ids.numel() / (time.perf_counter() - start)
