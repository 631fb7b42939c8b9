"""The block of https://arxiv.org/abs/1706.03762, section 3.1; normalised before (arXiv:2002.04745) or after."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, NamedTuple

import torch
from torch import Tensor, nn

from regard.attention import Attended, Attention, Memory, extend
from regard.config import Doc
from regard.errors import PartError
from regard.layers.feedforwards.feedforward import FeedForward
from regard.layers.layer import Layer
from regard.layers.shared_source import Reading, begin, read_source
from regard.ops.dropout import Dropout
from regard.ops.fused_dropout import add_dropped
from regard.ops.kernels.transformer import StandardAttention, StandardBlock, StandardRecurrence
from regard.ops.linear import Linear
from regard.ops.recompute import recomputed
from regard.records import Encoded

DeepNetInit = Annotated[bool, Doc("DeepNet's initialisation for norm post: smaller weights in deeper networks.")]


class BlockPast(NamedTuple):
    """State of generated rows in a block."""

    own: Memory | None = None  # keys and values of the words so far, where attention reads them
    own_past: Any = None  # of that attention, or of its replacement
    feedforward: Any = None


class TransformerBlock(Layer):
    """x = x + Drop(self-attention), then cross-attention where there is one, then feed-forward; each with a LayerNorm.

    pre: x + Drop(f(LN(x))); post, as in the paper: LN(x + Drop(f(x))). Another layer may replace self-attention:
    `history`.
    """

    def __init__(
        self,
        dim: int,
        own: Attention | None,
        cross: Attention | None,
        feedforward: FeedForward,
        *,
        history: Layer | None = None,
        context_dim: int | None = None,
        norm: Literal["pre", "post"] = "pre",
        norm_eps: float = 1e-5,
        dropout: float = 0.1,
    ) -> None:
        """`context_dim` is the width of the cross-attention's contexts, which are projected if it is not `dim`."""
        super().__init__()
        if (own is None) == (history is None):
            raise ValueError("a block needs either self-attention or a history: give one of them")
        self.dim, self.pre = dim, norm == "pre"
        self.own, self.history, self.cross, self.feedforward = own, history, cross, feedforward
        self.own_norm, self.feedforward_norm = (nn.LayerNorm(dim, eps=norm_eps) for _ in range(2))
        self.cross_norm = None if cross is None else nn.LayerNorm(dim, eps=norm_eps)
        fits = context_dim in (None, dim)
        self.from_context = nn.Identity() if fits else Linear(context_dim or dim, dim)
        self.dropout = Dropout(dropout)
        self.gradient_checkpointing = False  # set by training

    def forward(self, inputs: Tensor, mask: Tensor | None, past: BlockPast | None = None) -> tuple[Tensor, BlockPast]:
        """inputs (batch, n, dim) → outputs (batch, n, dim), for a block without a source."""
        outputs, past, _ = self.run(inputs, mask, past or BlockPast())
        return outputs, past

    def standard(self) -> StandardBlock | None:
        """Return the layers of a standard block, as in the paper or with an SSRU; None for others."""
        own: StandardAttention | StandardRecurrence | None = None if self.own is None else self.own.standard()
        own = own if self.history is None else self.history.recurrence()
        cross = None if self.cross is None else self.cross.standard()
        feedforward, joined = self.feedforward.standard(), isinstance(self.from_context, nn.Identity)
        if own is None or feedforward is None or not joined or (cross is None and self.cross is not None):
            return None
        norms = self.own_norm, self.cross_norm, self.feedforward_norm
        return StandardBlock(own, cross, feedforward, norms, self.pre)

    def begin(self, encoded: Encoded) -> Reading:
        """Return the source for this block: keys and values projected once per sentence."""
        if self.cross is None:
            raise ValueError("this block was built without attention to a source")
        return begin(self.cross, self.dim, encoded.states, encoded.read, encoded.mask)

    def run(
        self,
        inputs: Tensor,
        mask: Tensor | None,
        past: BlockPast,
        source: Reading | None = None,
        *,
        need_weights: bool = False,
    ) -> tuple[Tensor, BlockPast, Attended | None]:
        """Return outputs, past and attention to the source (with weights on request), for inputs (rows, n, dim).

        Where the source is folded, inputs must be one word long (n = 1).
        """
        return recomputed(self, self._run, inputs, mask, past, source, need_weights)

    def _run(
        self, inputs: Tensor, mask: Tensor | None, past: BlockPast, source: Reading | None, need_weights: bool
    ) -> tuple[Tensor, BlockPast, Attended | None]:
        seen, own, own_past = self._look_back(self._enter(inputs, self.own_norm), mask, past)
        outputs, looked = self._leave(inputs, seen, self.own_norm), None
        if self.cross is not None and self.cross_norm is not None and source is not None:
            looked = read_source(self.cross, self._enter(outputs, self.cross_norm), source, need_weights=need_weights)
            outputs = self._leave(outputs, self.from_context(looked.context), self.cross_norm)
        states, after = self.feedforward(self._enter(outputs, self.feedforward_norm), mask, past.feedforward)
        outputs = self._leave(outputs, states, self.feedforward_norm)
        return outputs, BlockPast(own, own_past, after), looked

    def _look_back(self, states: Tensor, mask: Tensor | None, past: BlockPast) -> tuple[Tensor, Memory | None, Any]:
        if self.history is not None:
            seen, after = self.history(states, mask, past.own_past)
            return seen, None, after
        assert self.own is not None  # one of the two, as built
        memory = extend(past.own, self.own.remember(states, mask=mask))
        itself = self.own(states, memory, past.own_past)
        return itself.context, memory, itself.past

    def _enter(self, states: Tensor, norm: nn.LayerNorm) -> Tensor:
        return norm(states) if self.pre else states

    def _leave(self, before: Tensor, change: Tensor, norm: nn.LayerNorm) -> Tensor:
        states = add_dropped(before, change, self.dropout)
        return states if self.pre else norm(states)


def init_deepnet(blocks: Sequence[TransformerBlock], alpha: float, beta: float) -> None:
    """Initialise as DeepNet (https://arxiv.org/abs/2203.00555, figure 2): values, outputs and feed-forward times beta.

    Its blocks are LN(alpha · x + f(x)) = LN(x + f(x) / alpha): alpha goes into the outputs here, so that the blocks
    stay those of norm post. Raises PartError for others.
    """
    if any(block.pre for block in blocks):
        raise PartError("is for blocks of norm post", "norm=post, or leave it out", setting="deepnet_init")
    with torch.no_grad():
        for name, weight in (pair for block in blocks for pair in block.named_parameters()):
            if name.endswith(("from_value.weight", "to_hidden.weight")):
                weight.mul_(beta)
            elif name.endswith("to_out.weight"):
                weight.mul_(beta / alpha)
