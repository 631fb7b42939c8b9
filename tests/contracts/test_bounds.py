"""Every number that a config may set says in its signature between which bounds it lies, or that any will do.

A value beyond them is refused with its place.
"""

import re
from collections.abc import Iterator
from typing import Annotated, Any, get_args, get_origin

import pytest

from regard.attention import SCORES, SPANS, WEIGHTINGS
from regard.config import FieldsOf
from regard.config.bounds import ANY
from regard.config.models import declared
from regard.decoders import DECODERS
from regard.encoders import ENCODERS
from regard.errors import ConfigError
from regard.experiment import MECHANISMS, TABLES, Experiment
from regard.heads import HEADS
from regard.layers.pooling import POOLINGS
from regard.layers.recurrent import RECURRENT
from regard.registry import Choice, Registry, Setting

ROWS = [(table, name) for table in {**TABLES, **MECHANISMS}.values() for name in table]
REFUSED = [  # row, change, place, what is said of the value
    (SCORES, "mlp", {"num_layers": 0}, "attention.score.num_layers", "must be at least 1, not 0"),
    (SCORES, "mlp", {"num_layers": -1}, "attention.score.num_layers", "must be at least 1, not -1"),
    (SCORES, "location", {"max_length": 0}, "attention.score.max_length", "must be at least 1, not 0"),
    (SCORES, "rotary", {"base": 0}, "attention.score.base", "must be greater than 0, not 0"),
    (SCORES, "cosine", {"beta": 0.0}, "attention.score.beta", "must be greater than 0, not 0.0"),
    (SCORES, "cosine", {"beta": -1.0}, "attention.score.beta", "must be greater than 0, not -1.0"),
    (SCORES, "euclidean", {"scale": 0.0}, "attention.score.scale", "must be greater than 0, not 0.0"),
    (SCORES, "euclidean", {"scale": -2.0}, "attention.score.scale", "must be greater than 0, not -2.0"),
    (SCORES, "coverage", {"fertility": -1.0}, "attention.score.fertility", "must be at least 0, not -1.0"),
    (WEIGHTINGS, "addressing", {"shift": -1}, "attention.weighting.shift", "must be at least 0, not -1"),
    (WEIGHTINGS, "entmax", {"alpha": 1.0}, "attention.weighting.alpha", "must be greater than 1, not 1.0"),
    (WEIGHTINGS, "entmax", {"alpha": 0.5}, "attention.weighting.alpha", "must be greater than 1, not 0.5"),
    (WEIGHTINGS, "entmax", {"alpha": 2.5}, "attention.weighting.alpha", "must be at most 2, not 2.5"),
    (
        WEIGHTINGS,
        "hard",
        {"soft_probability": 1.5},
        "attention.weighting.soft_probability",
        "must be at most 1, not 1.5",
    ),
    (WEIGHTINGS, "gumbel", {"temperature": 0.0}, "attention.weighting.temperature", "must be greater than 0, not 0.0"),
    (SPANS, "forced_forward", {"penalty": -1.0}, "attention.span.penalty", "must be at least 0, not -1.0"),
    (POOLINGS, "structured", {"hops": 0}, "pooling.hops", "must be at least 1, not 0"),
    (POOLINGS, "structured", {"hidden_dim": 0}, "pooling.hidden_dim", "must be at least 1, not 0"),
    (POOLINGS, "attention", {"hidden_dim": 0}, "pooling.hidden_dim", "must be at least 1, not 0"),
    (POOLINGS, "featurewise", {"eps": -1.0}, "pooling.eps", "must be at least 0, not -1.0"),
    (POOLINGS, "convolutional", {"kernel_sizes": ()}, "pooling.kernel_sizes", "needs 1 or more in it, but has 0"),
    (POOLINGS, "sliced", {"slices": 1}, "pooling.slices", "must be at least 2, not 1"),
    (POOLINGS, "sliced", {"depth": -1}, "pooling.depth", "must be at least 0, not -1"),
    (RECURRENT, "ngram", {"order": 1}, "cell.order", "must be at least 2, not 1"),
    (RECURRENT, "lstmn", {"memory_size": 0}, "cell.memory_size", "must be at least 1, not 0"),
    (DECODERS, "bytenet", {"kernel": 0}, "model.decoder.kernel", "must be at least 1, not 0"),
    (DECODERS, "bytenet", {"dilations": (1, 0)}, "model.decoder.dilations.1", "must be at least 1, not 0"),
    (ENCODERS, "unfolded", {"ratio": -1.0}, "model.encoder.ratio", "must be at least 0, not -1.0"),
    (ENCODERS, "bytenet", {"dilations": ()}, "model.encoder.dilations", "needs 1 or more in it, but has 0"),
    (ENCODERS, "sequential", {"encoders": ()}, "model.encoder.encoders", "needs 1 or more in it, but has 0"),
    (ENCODERS, "parallel", {"encoders": ()}, "model.encoder.encoders", "needs 1 or more in it, but has 0"),
    (HEADS, "pointer", {"keep": 0.0}, "model.head.keep", "must be greater than 0, not 0.0"),
    (HEADS, "pointer", {"keep": 1.0}, "model.head.keep", "must be less than 1, not 1.0"),
    (HEADS, "pointer", {"keep": -0.1}, "model.head.keep", "must be greater than 0, not -0.1"),
]
LIMITS = ("ge", "gt", "le", "lt")


def unbounded(annotation: Any, *, said: bool = False) -> Iterator[str]:
    """The numbers in a type that say nothing of their bounds."""
    if get_origin(annotation) is Annotated:
        annotation, *marks = get_args(annotation)
        said = any(mark is ANY or any(hasattr(mark, limit) for limit in LIMITS) for mark in marks)
        yield from unbounded(annotation, said=said)
    elif annotation in (int, float):
        yield from [] if said else [annotation.__name__]
    elif get_origin(annotation) is not None:
        for inner in get_args(annotation):
            yield from unbounded(inner)


def open_numbers(settings: dict[str, Setting]) -> list[str]:
    return [name for name, setting in settings.items() if list(unbounded(setting.annotation))]


@pytest.mark.parametrize(("table", "name"), ROWS, ids=lambda value: value if isinstance(value, str) else value.place)
def test_numbers_of_a_row_say_their_bounds(table: Registry[Any], name: str):
    assert open_numbers(table.settings(name)) == []


def groups(group: FieldsOf) -> Iterator[FieldsOf]:
    """A group of settings and those inside."""
    yield group
    for setting in declared(group.kind, group.types).values():
        for mark in get_args(setting.annotation):
            if isinstance(mark, FieldsOf):
                yield from groups(mark)


@pytest.mark.parametrize("group", [*groups(FieldsOf(Experiment))], ids=lambda group: group.kind.__name__)
def test_numbers_of_a_group_say_their_bounds(group: FieldsOf):
    assert open_numbers(declared(group.kind, group.types)) == []


@pytest.mark.parametrize(("table", "name", "change", "place", "said"), REFUSED)
def test_a_value_beyond_its_bounds_is_refused(table, name, change, place, said):
    with pytest.raises(ConfigError, match=f"^{re.escape(f'{place}: {said}')}$"):
        table.build(Choice(name, change))
