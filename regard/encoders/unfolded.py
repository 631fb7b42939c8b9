"""Only dynamic unfolding: the first part of a chain that makes any encoder one for a coupling by position."""

from typing import Annotated

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.attention import Sockets
from regard.config import Doc, note
from regard.config.bounds import AnyFloat, NotNegative
from regard.encoders.encoder import Encoder
from regard.layers.pooling.mean import MeanPooling
from regard.records import Encoded, Sequences


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


class UnfoldedEncoder(Encoder):
    """The vectors themselves, |t| = ratio · |s| + extra of them (https://arxiv.org/abs/1610.10099, section 3.2).

    Recurrent ByteNet reads its source by [unfolded, recurrent] in sequence. `final` is the mean.
    """

    aliases = "dynamic_unfolding, 动态展开"

    def __init__(
        self,
        input_dim: int,
        sockets: Sockets,
        *,
        ratio: Annotated[
            NotNegative, Doc("Length of the unfolded target, as a multiple of the source pieces; `extra` is added.")
        ] = 1.2,
        extra: Annotated[AnyFloat, Doc("Positions added to `ratio` times the source.")] = 0.0,
    ) -> None:
        super().__init__()
        self.dim = input_dim
        self.unfolding = Unfolding(input_dim, ratio=ratio, extra=extra)
        self.mean: nn.Module = MeanPooling(input_dim)

    def forward(self, source: Sequences) -> Encoded:
        """vectors (batch, source, dim) → (batch, |t|, dim)."""
        items, mask = self.unfolding(source)
        return Encoded(items, mask, self.mean(items, mask))
