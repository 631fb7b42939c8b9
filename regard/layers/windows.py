"""Long sequences read in overlapping windows (https://arxiv.org/abs/1810.04805: the document strides of its code)."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from regard.records import Sequences


class PlaceWindows(NamedTuple):
    """The size of windows, and the distance of their starts; neither is in any unit but places."""

    size: int
    stride: int


def in_windows(read: Callable[[Sequences], Tensor], whole: Sequences, windows: PlaceWindows) -> Tensor:
    """Vectors (batch, n, dim) → states (batch, n, out_dim), `read` window by window.

    A row of at most `size` places is one window. A longer one has windows from 0, stride, 2 · stride … on, the last of
    which ends with the row. The state of a place is that of the window in which the smaller of its distances to both
    ends is the largest; of equal ones the first. So a row does not depend on the others of its batch.
    """
    size, stride = windows
    n = whole.mask.shape[1]
    if n <= size:
        return read(whole)
    lengths = whole.mask.sum(dim=1, keepdim=True)  # (batch, 1)
    starts = torch.arange(0, n - size + stride, stride, device=lengths.device)  # (window,)
    present = starts < (lengths - size + stride).clamp(min=1)  # (batch, window)
    places = starts.unsqueeze(1) + torch.arange(size, device=starts.device)  # (window, size)
    inside = places.clamp(max=n - 1)
    rows, numbers = present.nonzero(as_tuple=True)
    mask = whole.mask[rows.unsqueeze(1), inside[numbers]] & (places < n)[numbers]
    states = read(Sequences(whole.items[rows.unsqueeze(1), inside[numbers]], mask))
    best = _widest(starts, present, lengths, n, size)  # (batch, n)
    index = present.flatten().cumsum(0).view_as(present) - 1  # of each window among those that were read
    shift = torch.arange(n, device=starts.device) - starts[best]
    found: Tensor = states[index.gather(1, best), shift.clamp(0, size - 1)]
    return found.masked_fill(~whole.mask.unsqueeze(-1), 0.0)


def _widest(starts: Tensor, present: Tensor, lengths: Tensor, n: int, size: int) -> Tensor:
    """Return the window (batch, n) of each place with the most context on its poorer side."""
    place = torch.arange(n, device=starts.device)
    ends = torch.minimum(starts + size, lengths)  # (batch, window)
    left = place - starts.unsqueeze(1)  # (window, n)
    right = ends.unsqueeze(-1) - 1 - place  # (batch, window, n)
    context = torch.minimum(left, right).masked_fill(~present.unsqueeze(-1), -n)
    return context.argmax(dim=1)
