"""Masks of the words on the sides of an attention, by its role."""

from torch import Tensor
from torch.nn import functional

from regard.attention import Role
from regard.errors import ConfigError
from regard.records import Batch


def column_mask(column: str, batch: Batch, rows: int) -> Tensor:
    """Return a column's mask (rows, length); `rows` may be several copies of the batch, one after another."""
    mask = batch.sequences(column).mask
    return mask.repeat(rows // len(mask), 1) if len(mask) else mask


def query_mask(role: Role, batch: Batch, rows: int, queries: int) -> Tensor | None:
    """Return which queries (rows, query) of an attention are words; None where they are not those of a column."""
    if role.queries is None or role.queries not in batch.columns:
        return None
    mask = column_mask(role.queries, batch, rows)
    return mask if mask.shape[-1] == queries else None


def fitted(of_source: Tensor, places: int, name: str) -> Tensor:
    """Return (..., source) with zeros behind it for the places that an encoder unfolds: (..., places).

    Raises ConfigError where the attention called `name` looks at fewer places than the source has words.
    """
    words = of_source.shape[-1]
    if places < words:
        problem = f"'{name}' looks at {places} places, and the source has {words} words"
        raise ConfigError("penalties", problem, "it needs an encoder that keeps a place a word")
    return functional.pad(of_source, (0, places - words))
