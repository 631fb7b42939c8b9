"""Attention of a language model to its own last states, split by their use (https://arxiv.org/abs/1702.04521)."""

from typing import Any, Literal

import torch
from torch import Tensor, nn

from regard.aliases import alias
from regard.attention import OWN, Attention, Memory, Role, Span, View, extend, stamped
from regard.attention.parts import Window
from regard.attention.scores.additive import AdditiveScore
from regard.attention.weightings.softmax import SoftmaxWeighting
from regard.config.bounds import Size
from regard.errors import PartError
from regard.layers.layer import Layer
from regard.ops.functional import gathered

STATE_PARTS = {"plain": 1, "key_value": 2, "key_value_predict": 3}  # in how many a state is split


class KeyValueLayer(Layer):
    """tanh(W r_t + V p_t), r_t = sum a_i v_i over the `window` states before t, a = softmax(w · tanh(Y k_i + Q k_t)).

    A state is [k; v; p]: key, value, prediction. In the mode "key_value" v predicts as well, in "plain" the whole state
    does all three. So `dim` is that of a part. The first state has nothing to read: r = 0.
    """

    aliases = (
        "key_value_layer",
        alias(
            "structured_text, structured_text_representation",
            note="a split of states in keys and values; no tree of a text",
        ),
    )

    def __init__(
        self,
        input_dim: int,
        *,
        mode: Literal["plain", "key_value", "key_value_predict"] = "key_value_predict",
        window: Size = 15,
    ) -> None:
        super().__init__()
        parts = STATE_PARTS[mode]
        if input_dim % parts:
            problem = f"'{mode}' splits states in {parts} equal parts, but their dim is {input_dim}"
            raise PartError(problem, f"choose a dim that is a multiple of {parts}", setting="mode")
        self.dim, self.window = input_dim // parts, window
        score = AdditiveScore(self.dim, self.dim, hidden_dim=self.dim)
        own = Attention(score, _Preceding(window), SoftmaxWeighting(self.dim))
        self.own = stamped(own, Role(OWN, OWN, causal=True))
        self.from_context = nn.Linear(self.dim, self.dim, bias=False)
        self.from_state = nn.Linear(self.dim, self.dim, bias=False)

    def forward(self, inputs: Tensor, mask: Tensor | None, past: Memory | None = None) -> tuple[Tensor, Memory]:
        """states (batch, n, input_dim), mask (batch, n) → outputs (batch, n, dim), and the last `window` states."""
        parts = inputs.split(self.dim, dim=-1)
        keys, values, predicting = parts[0], parts[min(1, len(parts) - 1)], parts[-1]
        memory = extend(past, self.own.remember(keys, values, mask))
        read = self.own(keys, memory).context
        return torch.tanh(self.from_context(read) + self.from_state(predicting)), _latest(memory, self.window)


class _Preceding(Span):
    """The `width` keys before the query; the queries are the last of the keys."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    def window(self, queries: Tensor, memory: Memory, past: Any) -> Window:
        """The `width` places that end before the query."""
        return Window(_places(queries, memory) - self.width, self.width, steady=True)

    def view_at(self, queries: Tensor, memory: Memory, past: Any, places: Tensor) -> View:
        """places (..., query, key) or (key) → which of them come before, and are near enough."""
        query = _places(queries, memory).unsqueeze(-1)
        return View((places < query) & (places >= query - self.width))


def _places(queries: Tensor, memory: Memory) -> Tensor:
    """(query): which of the keys each query is."""
    num_keys = memory.keys.shape[-2]
    return torch.arange(num_keys - queries.shape[-2], num_keys, device=queries.device)


def _latest(memory: Memory, count: int) -> Memory:
    """Return the last `count` unpadded states of each row, moved to the end, so that the next ones follow."""
    keys, values, mask = memory
    if mask is None:
        return Memory(keys[:, -count:], values[:, -count:], None)
    return Memory(*gathered(mask, count, keys, values))
