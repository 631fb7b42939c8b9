"""Windows over long rows: each place is read once, in the window with the most context, by a loop over windows."""

import pytest
import torch
from torch.testing import assert_close

from regard.models.reader import PlaceWindows, in_windows
from regard.records import Sequences


def read(some):
    """States that show what was read with a place: the sums of all places before it, and behind it, in its window."""
    shown = some.items * some.mask.unsqueeze(-1)
    before = shown.cumsum(dim=1)
    return torch.cat([before, shown.sum(dim=1, keepdim=True) - before], dim=-1)


def by_hand(row, size, stride):
    """States of one row (n, 1) without padding."""
    n = len(row)
    count = 1 if n <= size else -(-(n - size) // stride) + 1
    spans = [(number * stride, min(number * stride + size, n)) for number in range(count)]
    found = []
    for place in range(n):
        inside = [span for span in spans if span[0] <= place < span[1]]
        start, end = max(inside, key=lambda span: min(place - span[0], span[1] - 1 - place))
        found.append([row[start : place + 1].sum(), row[place + 1 : end].sum()])
    return torch.tensor(found)


@pytest.mark.parametrize(("size", "stride"), [(4, 2), (5, 5), (5, 1), (3, 2), (6, 4), (100, 7)])
def test_places_have_the_widest_context(size, stride):
    torch.manual_seed(size)
    lengths = [17, 1, size, size + 1, 12, 5]
    n = max(lengths)
    items, mask = torch.randn(len(lengths), n, 1), torch.arange(n) < torch.tensor(lengths).unsqueeze(1)
    found = in_windows(read, Sequences(items, mask), PlaceWindows(size, stride))
    for row, length in enumerate(lengths):
        assert_close(found[row, :length], by_hand(items[row, :length, 0], size, stride))


def test_batch_mates_and_padding_do_not_matter():
    items, mask = torch.randn(3, 20, 2), torch.arange(20) < torch.tensor([[20], [9], [4]])
    whole = in_windows(read, Sequences(items, mask), PlaceWindows(8, 3))
    alone = in_windows(read, Sequences(items[1:2, :9], mask[1:2, :9]), PlaceWindows(8, 3))
    assert_close(whole[1, :9], alone[0])
    padded = Sequences(items.masked_fill(~mask.unsqueeze(-1), 1e3), mask)
    assert_close(in_windows(read, padded, PlaceWindows(8, 3))[mask], whole[mask])
