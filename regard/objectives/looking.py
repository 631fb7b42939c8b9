"""What objectives read of the records of attention."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from regard.attention import Attended
from regard.records import Batch

Records = Mapping[str, Sequence[Attended]]  # of `recording`: every answer of each attention, by its name

QUERIES = {
    "encoders": "source",
    "decoders": "target",
    "decoder": "text",
}  # what is read where, by the first word of an attention's name


def joined(tensors: Sequence[Tensor], dim: int) -> Tensor:
    """One call per word, or one for all words, as one tensor."""
    return tensors[0] if len(tensors) == 1 else torch.cat(list(tensors), dim=dim)


def mask_of(column: str, batch: Batch, rows: int) -> Tensor:
    """A column's mask (rows, length); `rows` may be several copies of the batch, one after another."""
    mask = batch.sequences(column).mask
    return mask.repeat(rows // len(mask), 1) if len(mask) else mask


def looks_at_source(name: str) -> bool:
    """Whether an attention looks at what an encoder made, by its name: in no encoder, and no look at own words."""
    return not name.startswith("encoders.") and name.rpartition(".")[2] != "own"


def query_mask(name: str, batch: Batch, rows: int, queries: int) -> Tensor | None:
    """Which queries (rows, query) of an attention stand for words; None where they do not stand for a column's."""
    column = QUERIES.get(name.partition(".")[0])
    if column is None or column not in batch.columns:
        return None
    mask = mask_of(column, batch, rows)
    return mask if mask.shape[-1] == queries else None
