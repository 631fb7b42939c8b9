"""Only dynamic unfolding: the first part of a chain that makes any encoder one for a coupling by position."""

from typing import Annotated

from torch import nn

from regard.attention import Sockets
from regard.config import Doc
from regard.config.bounds import AnyFloat, NotNegative
from regard.encoders.encoder import Encoder
from regard.layers.pooling.mean import MeanPooling
from regard.layers.unfolding import Unfolding
from regard.records import Encoded, Sequences


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
