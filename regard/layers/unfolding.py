"""Dynamic unfolding: number of positions of a network over a source, for a target of another length."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.config import note
from regard.records import Sequences


class Unfolding(nn.Module):
    """|t| = ratio · |s| + extra, rounded, at least |s|; a learned vector is at each place after the source's end.

    See https://arxiv.org/abs/1610.10099, section 3.2; the paper's English to German characters have ratio 1.2, extra 0.
    Empty sources stay empty.
    """

    def __init__(self, dim: int, *, ratio: float = 1.2, extra: float = 0.0) -> None:
        super().__init__()
        if ratio <= 1 and extra <= 0 and (ratio, extra) != (1, 0):
            note("ratio", f"{ratio:g} with extra {extra:g} changes nothing: no source is made shorter")
        self.ratio, self.extra = ratio, extra
        self.padding = nn.Parameter(torch.zeros(dim))

    def lengths(self, lengths: Tensor) -> Tensor:
        """Return the unfolded lengths (batch,) of source lengths (batch,)."""
        wanted = (lengths.double() * self.ratio + self.extra).round().long()
        return torch.where(lengths > 0, torch.maximum(wanted, lengths), 0)

    def forward(self, source: Sequences) -> Sequences:
        """vectors (batch, source, dim) → (batch, |t| of the longest, dim), and the mask of these places."""
        lengths = self.lengths(source.mask.sum(dim=1))
        width = max(source.mask.shape[1], int(lengths.max()) if len(lengths) else 0)
        more = width - source.mask.shape[1]
        known = functional.pad(source.mask, (0, more))
        mask = torch.arange(width, device=known.device) < lengths.unsqueeze(-1)
        items = functional.pad(source.items, (0, 0, 0, more))
        items = torch.where(known.unsqueeze(-1), items, self.padding.to(items.dtype))
        return Sequences(items.masked_fill(~mask.unsqueeze(-1), 0.0), mask)
