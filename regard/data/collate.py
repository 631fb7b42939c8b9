"""Id lists → padded tensors, EOS at the end of every row."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from regard.records import EOS, PAD, Sequences


def collate(rows: Sequence[Sequence[int]]) -> Sequences:
    """Ids without EOS → (batch, longest + 1), EOS added, padded on the right."""
    lengths = np.array([len(row) for row in rows], np.int64)
    return padded(np.fromiter(chain.from_iterable(rows), np.int64, int(lengths.sum())), lengths)


def padded(flat: NDArray[Any], lengths: NDArray[np.int64]) -> Sequences:
    """The same for rows that lie one after the other."""
    places = np.arange(lengths.max(initial=0) + 1)
    ends = lengths[:, None]
    ids = np.full((len(lengths), len(places)), PAD, np.int64)
    ids[places < ends] = flat
    np.put_along_axis(ids, ends, EOS, axis=1)
    return Sequences(torch.from_numpy(ids), torch.from_numpy(places <= ends))
