"""The block of https://arxiv.org/abs/1706.03762, section 3.1; normalised before (arXiv:2002.04745) or after."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from torch import Tensor, nn

from regard.attention import Attention, Memory, extend
from regard.dropout import Dropout
from regard.layers.feedforward import FeedForward
from regard.layers.layer import Layer


class BlockPast(NamedTuple):
    """What a block remembers of the rows it writes."""

    own: Memory | None = None  # keys and values of the words so far
    own_past: tuple[Any, ...] | None = None
    source_past: tuple[Any, ...] | None = None


class TransformerBlock(Layer):
    """x = x + Drop(own attention), then cross attention where there is one, then feed-forward; each with a LayerNorm.

    pre: x + Drop(f(LN(x))); post, as in the paper: LN(x + Drop(f(x))).
    """

    def __init__(
        self,
        dim: int,
        own: Attention,
        cross: Attention | None,
        feedforward: FeedForward,
        *,
        norm: Literal["pre", "post"] = "pre",
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        self.dim, self.pre = dim, norm == "pre"
        self.own, self.cross, self.feedforward = own, cross, feedforward
        self.own_norm, self.feedforward_norm = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.cross_norm = None if cross is None else nn.LayerNorm(dim)
        self.dropout = Dropout(dropout)

    def forward(self, inputs: Tensor, mask: Tensor | None, past: BlockPast | None = None) -> tuple[Tensor, BlockPast]:
        """inputs (batch, n, dim) → outputs (batch, n, dim), for a block that looks at its own sequence only."""
        outputs, past, _ = self.run(inputs, mask, past or BlockPast())
        return outputs, past

    def run(
        self,
        inputs: Tensor,
        mask: Tensor | None,
        past: BlockPast,
        source: Memory | None = None,
        *,
        fold: int = 1,
        need_weights: bool = False,
    ) -> tuple[Tensor, BlockPast, Tensor | None]:
        """inputs (rows, n, dim), and the source's memory → outputs, past, cross weights (..., n, source) if asked.

        With `fold` > 1 the memory has one row per `fold` rows of inputs, which then must be one word long (n = 1).
        """
        after: dict[str, Any] = {}
        weights: list[Tensor | None] = [None]

        def look_at_itself(states: Tensor) -> Tensor:
            own = extend(past.own, self.own.remember(states, mask=mask))
            attended = self.own(states, own, past.own_past)
            after.update(own=own, own_past=attended.past)
            context: Tensor = attended.context
            return context

        def look_at_source(states: Tensor) -> Tensor:
            shape = states.shape
            folded = states.view(-1, fold, shape[-1]) if fold > 1 else states
            attended = self.cross(folded, source, past.source_past, need_weights=need_weights)  # type: ignore[misc]  # called only when there is one
            after.update(source_past=attended.past)
            weights[0] = attended.weights
            return attended.context.view(shape)

        states = self._sublayer(inputs, self.own_norm, look_at_itself)
        if self.cross is not None and self.cross_norm is not None:
            states = self._sublayer(states, self.cross_norm, look_at_source)
        return self._sublayer(states, self.feedforward_norm, self.feedforward), BlockPast(**after), weights[0]

    def _sublayer(self, states: Tensor, norm: nn.LayerNorm, change: Callable[[Tensor], Tensor]) -> Tensor:
        if self.pre:
            return states + self.dropout(change(norm(states)))
        normed: Tensor = norm(states + self.dropout(change(states)))
        return normed
