"""Masks of the words on the sides of an attention, by its role."""

from torch import Tensor

from regard.attention import Role
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
