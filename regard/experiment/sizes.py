"""Defaults by the size of the data, for `regard train --source a --target b` without other settings.

| pairs       | pieces | dim | layers | feed-forward | heads | dropout | tokens a batch | warm-up | updates |
|-------------|-------:|----:|-------:|-------------:|------:|--------:|---------------:|--------:|--------:|
| < 500       |  2,000 | 128 |      2 |          256 |     4 |     0.3 |          1,024 |     200 |   5,000 |
| < 4,000     |  1,000 | 128 |      2 |          256 |     4 |     0.2 |          1,024 |     300 |   5,000 |
| < 20,000    |  2,000 | 128 |      3 |          512 |     4 |     0.2 |          2,048 |     400 |  10,000 |
| < 60,000    | 10,000 | 128 |      4 |          256 |     4 |     0.3 |          4,096 |   1,000 |  10,000 |
| < 500,000   |  8,000 | 256 |      4 |          512 |     4 |     0.3 |          4,096 |   1,000 |  40,000 |
| more        | 32,000 | 512 |      6 |        2,048 |     8 |     0.1 |          8,192 |   4,000 | 200,000 |

Where the time allows fewer than 2,000 updates of these (3,000 of wider networks), 20,000 pairs and more have 4 layers
of 128, 5,000 pieces, and batches of 1,536 tokens; the learning rate falls in a line to 0 at the end of the time. A
training that the time limits to 10 epochs has a dropout of 0.1.

From 500 to 20,000 pairs, where there is time for 45 epochs, two thirds of the batches are of pairs with recombined
phrases, pieces are sampled by BPE-dropout, and the learning rate has a cosine decay (docs/results/little-text.md). Up
to 2,000 pairs, at most a twentieth, are held out as a dev set where there is none, and as many as a test set.
Validations come about once an epoch, every 50 to 500 updates; fewer than 500 pairs are read 60 times at most. Training
stops early when the dev score no longer improves. Every number can be overridden; a run keeps its own.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from regard.config import lay
from regard.tasks import Task

LARGE_DATA = 500_000  # pairs; more need not be counted


SENTENCE_PIECES = 16  # estimated pieces of a sentence
_EPOCHS = 60  # maximum, of few pairs
MANY_PAIRS = 20_000  # from here on, a training in a short time has settings of its own
FEW_PAIRS = range(500, 20_000)  # pairs to recombine: fewer are aligned badly, and more were not measured
COPIES = 20  # maximum recombined copies of each pair
_SHARE, _BPE_DROPOUT, _FLOOR = 0.67, 0.1, 0.05
_RECOMBINED_EPOCHS = 45  # minimum epochs for recombination to help: of 35 it lost, of 50 it gained
_VALIDATIONS = 20


class DataSize(NamedTuple):
    """A network and a training for a size of data."""

    pairs: int  # fewer than these
    pieces: int
    dim: int
    num_layers: int
    feedforward_dim: int
    num_heads: int
    dropout: float
    batch_tokens: int
    warmup: int
    updates: int
    learning_rate: float


DATA_SIZES = (
    DataSize(500, 2_000, 128, 2, 256, 4, 0.3, 1_024, 200, 5_000, 5e-3),
    DataSize(4_000, 1_000, 128, 2, 256, 4, 0.2, 1_024, 300, 5_000, 5e-3),
    DataSize(20_000, 2_000, 128, 3, 512, 4, 0.2, 2_048, 400, 10_000, 5e-3),
    DataSize(60_000, 10_000, 128, 4, 256, 4, 0.3, 4_096, 1_000, 10_000, 5e-3),
    DataSize(LARGE_DATA, 8_000, 256, 4, 512, 4, 0.3, 4_096, 1_000, 40_000, 2e-3),
    DataSize(0, 32_000, 512, 6, 2_048, 8, 0.1, 8_192, 4_000, 200_000, 7e-4),
)


SHORT_TRAINING = DataSize(0, 5_000, 128, 4, 256, 4, 0.3, 1_536, 400, 10_000, 3e-3)  # of many pairs


def defaults_for(pairs: int, updates: int | None = None) -> dict[str, Any]:
    """Return settings, in the form of a file, for a training set of `pairs` sentence pairs; `updates`: a limit."""
    size = size_for(pairs)
    return settings_of_size(size, pairs, min(updates or size.updates, size.updates))


_OPEN = {"name", "dim", "dropout", "naive_bayes_start"}  # settings of a model that do not determine its network


def task_defaults(task: type[Task], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the defaults of a task, with its usual network where settings name neither its parts nor a run."""
    model = settings.get("model", {})
    network = task.spec.default_network.get("model", {})
    named = isinstance(model, Mapping) and any(
        name not in _OPEN and not _refines(network.get(name), value) for name, value in model.items()
    )
    other = model if isinstance(model, str) else model.get("name", task.spec.model)
    if named or settings.get("init") or other != task.spec.model:
        return dict(task.spec.defaults)
    found: dict[str, Any] = lay(task.spec.defaults, task.spec.default_network)
    if "task" in found:
        named = settings["task"]
        found["task"] = {"name": named if isinstance(named, str) else named["name"], **found["task"]}
    return found


def _refines(part: Any, given: Any) -> bool:
    """Return whether settings refine a part, such as another order of n-grams, and name no other part."""
    if not isinstance(part, Mapping) or not isinstance(given, Mapping):
        return False
    return given.keys() <= part.keys() and given.get("name", part["name"]) == part["name"]


def held_out_fraction(pairs: int) -> float:
    """Return the fraction of `pairs` for the dev set, and for the test set."""
    return round(min(2_000, pairs / 20) / max(pairs, 1), 6)


def size_for(pairs: int) -> DataSize:
    """Return the size of network for `pairs`, without a time limit."""
    return next((size for size in DATA_SIZES if pairs < size.pairs), DATA_SIZES[-1])


def settings_of_size(size: DataSize, pairs: int, updates: int | None = None) -> dict[str, Any]:
    """Return settings, in the form of a file, of a size; `updates`: those of a training with a limit."""
    blocks = {"name": "transformer", "num_layers": size.num_layers, "feedforward_dim": size.feedforward_dim}
    attention = {"score": "scaled_dot", "num_heads": size.num_heads}
    settings = {
        "data": dict.fromkeys(("dev_fraction", "test_fraction"), held_out_fraction(pairs)),
        "text": {"tokenizer": {"name": "subwords", "size": size.pieces}},
        "model": {
            "dim": size.dim,
            "dropout": size.dropout,
            "encoder": blocks,
            "decoder": blocks,
            "attention": attention,
            "self_attention": attention,
        },
        "training": {
            "batch_tokens": size.batch_tokens,
            "max_updates": size.updates,
            **({"max_epochs": _EPOCHS} if pairs < FEW_PAIRS.start else {}),
            "validate_every": min(500, max(50, pairs * SENTENCE_PIECES // size.batch_tokens)),
            "learning_rate": size.learning_rate,
            "schedule": {"name": "inverse_sqrt", "warmup": size.warmup},
        },
    }
    if size is SHORT_TRAINING:
        schedule = {"name": "linear", "warmup": size.warmup}
        settings = lay(settings, {"training": {"schedule": schedule}})
    updates = updates or size.updates
    often = updates * size.batch_tokens >= _RECOMBINED_EPOCHS * pairs * SENTENCE_PIECES
    return lay(settings, _of_few_pairs(size, updates)) if pairs in FEW_PAIRS and often else settings


def _of_few_pairs(size: DataSize, updates: int) -> dict[str, Any]:
    return {
        "data": {"recombination": {"copies": COPIES, "fraction": _SHARE}},
        "text": {"tokenizer": {"sampling": _BPE_DROPOUT}},
        "training": {
            "validate_every": min(500, max(50, updates // _VALIDATIONS)),
            "schedule": {"name": "cosine", "warmup": size.warmup, "floor": _FLOOR},
        },
    }
