"""Recurrent networks whose output depends on their last few states, not on the current one alone.

Both are of https://arxiv.org/abs/1702.04521. They are cells of any recurrent encoder or decoder, with or without
a source.
"""

from collections.abc import Mapping
from typing import Annotated, Literal

from annotated_types import Ge
from torch import Tensor, nn

from regard.aliases import alias
from regard.attention import Memory
from regard.config import Doc
from regard.config.bounds import Size
from regard.layers.key_value import STATE_PARTS, KeyValueLayer
from regard.layers.ngram import NgramLayer
from regard.layers.recurrent.gru import GruLayer
from regard.layers.recurrent.lstm import LstmLayer
from regard.layers.recurrent.recurrent import Past, Recurrent, last
from regard.layers.recurrent.rnn import RnnLayer

Inner = Literal["gru", "lstm", "rnn"]
INNER: Mapping[Inner, type[GruLayer] | type[LstmLayer] | type[RnnLayer]] = {
    "gru": GruLayer,
    "lstm": LstmLayer,
    "rnn": RnnLayer,
}


class KeyValueCell(Recurrent):
    """tanh(W r_t + V p_t) of the states [k; v; p] of a recurrent network, r_t the context of k_t in the last `window`.

    The network is as wide as `mode` splits it: 3 · dim for "key_value_predict". See KeyValueLayer.
    """

    aliases = (
        "key_value_predict, kv, kvp, 键值, 键值对, 关键值, 键值预测",
        alias("plain_window, window_of_states", {"mode": "plain"}),
    )

    def __init__(
        self,
        input_dim: int,
        dim: int,
        *,
        mode: Annotated[
            Literal["plain", "key_value", "key_value_predict"],
            Doc("Split of the state: plain; key and value; or key, value and prediction."),
        ] = "key_value_predict",
        window: Annotated[Size, Doc("Window: number of past states to attend to.")] = 15,
        cell: Annotated[Inner, Doc("Inner recurrent cell.")] = "lstm",
    ) -> None:
        super().__init__()
        self.dim, self.parts = dim, STATE_PARTS[mode]
        self.inner = INNER[cell](input_dim, dim * self.parts)
        self.layer = KeyValueLayer(self.inner.dim, mode=mode, window=window)
        _widen(self.layer.from_context, self.layer.from_state)

    def forward(self, inputs: Tensor, mask: Tensor | None, past: Past | None = None) -> tuple[Tensor, Past]:
        """inputs (batch, n, input_dim) → outputs (batch, n, dim), (output, inner past, keys, values and their mask)."""
        before, *inner, keys, values, shown = self.nothing(inputs) if past is None else past
        states, after = self.inner(inputs, mask, tuple(inner))
        outputs, memory = self.layer(states, mask, Memory(keys, values, shown))
        return _seen(outputs, mask, before, (*after, *memory))

    def nothing(self, inputs: Tensor) -> Past:
        """Return an empty past: a full window of masked states."""
        none = inputs.new_zeros(len(inputs), self.layer.window, self.dim)
        zeros = inputs.new_zeros(len(inputs), self.dim)
        return zeros, *self.inner.nothing(inputs), none, none, none[..., 0].bool()

    def begun(self, state: Tensor) -> Past:
        _, *rest = self.nothing(state)
        begun = self.inner.begun(state.repeat(1, self.parts))
        return state, *begun, *rest[len(begun) :]


class NgramCell(Recurrent):
    """tanh(W [h_t^1; h_(t-1)^2; …]), the states h of a recurrent network split in `order` - 1 parts. See NgramLayer."""

    aliases = "ngram_rnn, ngram_recurrent"

    def __init__(
        self,
        input_dim: int,
        dim: int,
        *,
        order: Annotated[int, Ge(2), Doc("N-gram order: the last order - 1 states are concatenated.")] = 4,
        cell: Annotated[Inner, Doc("Inner recurrent cell.")] = "lstm",
    ) -> None:
        super().__init__()
        self.dim, self.parts = dim, max(1, order - 1)
        self.inner: Recurrent = INNER[cell](input_dim, dim * self.parts)
        self.layer = NgramLayer(self.inner.dim, order=order)
        _widen(self.layer.from_parts)

    def forward(self, inputs: Tensor, mask: Tensor | None, past: Past | None = None) -> tuple[Tensor, Past]:
        """inputs (batch, n, input_dim) → outputs (batch, n, dim), (output, inner past, the states before)."""
        before, *inner, earlier = self.nothing(inputs) if past is None else past
        states, after = self.inner(inputs, mask, tuple(inner))
        outputs, latest = self.layer(states, mask, earlier)
        return _seen(outputs, mask, before, (*after, latest))

    def nothing(self, inputs: Tensor) -> Past:
        earlier = inputs.new_zeros(len(inputs), self.parts - 1, self.inner.dim)
        return inputs.new_zeros(len(inputs), self.dim), *self.inner.nothing(inputs), earlier

    def begun(self, state: Tensor) -> Past:
        begun = self.inner.begun(state.repeat(1, self.parts))
        return state, *begun, self.nothing(state)[-1]


def _widen(*maps: nn.Linear) -> None:
    """Initialise weights that keep the variance through tanh: torch's own shrink it to a third."""
    for one in maps:
        nn.init.xavier_uniform_(one.weight, gain=nn.init.calculate_gain("tanh"))


def _seen(outputs: Tensor, mask: Tensor | None, before: Tensor, rest: Past) -> tuple[Tensor, Past]:
    """Return outputs, zero under padding, and the past: the last unpadded output, then `rest`."""
    shown = outputs if mask is None else outputs.masked_fill(~mask.unsqueeze(-1), 0.0)
    return shown, (last(outputs, mask, before), *rest)
