"""Examples by column: the form of sets to evaluate on."""

from collections.abc import Mapping, Sequence

Examples = Mapping[str, Sequence[str]]  # values by column, all columns of one length


def as_rows(examples: Examples) -> list[dict[str, str]]:
    """Return the examples one by one, each with its values by column."""
    return [dict(zip(examples, values, strict=True)) for values in zip(*examples.values(), strict=True)]


def count_of(examples: Examples) -> int:
    """Return the number of examples."""
    return len(next(iter(examples.values())))
