"""Ids → padded tensors."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from regard.records import EOS, PAD, Sequences


def collate(rows: Sequence[Sequence[int]]) -> Sequences:
    """Id lists as they are → (batch, longest), padded on the right."""
    lengths = np.array([len(row) for row in rows], np.int64)
    return padded(np.fromiter(chain.from_iterable(rows), np.int64, int(lengths.sum())), lengths)


def padded(flat: NDArray[Any], lengths: NDArray[np.int64], *, min_length: int = 0) -> Sequences:
    """Rows that lie one after the other → (batch, longest), padded on the right; at least `min_length` places."""
    mask = np.arange(lengths.max(initial=min_length)) < lengths[:, None]
    ids = np.full(mask.shape, PAD, np.int64)
    ids[mask] = flat
    return Sequences(torch.from_numpy(ids), torch.from_numpy(mask))


def ended(flat: NDArray[Any], lengths: NDArray[np.int64]) -> Sequences:
    """Rows that lie one after the other → (batch, longest + 1), EOS after each."""
    places, ends = np.arange(lengths.max(initial=0) + 1), lengths[:, None]
    mask = places <= ends
    ids = np.where(mask, EOS, PAD)
    ids[places < ends] = flat
    return Sequences(torch.from_numpy(ids), torch.from_numpy(mask))
