"""A perceptron scores each pair; with one hidden layer it is "concat" of https://arxiv.org/abs/1508.04025."""

from typing import Annotated, Any, Literal

import torch
from torch import Tensor, nn

from regard.attention.kernels.chunked import additive_scores, in_slices
from regard.attention.parts import Score
from regard.config import Doc
from regard.config.bounds import Layers
from regard.config.common_settings import HiddenDim


class MlpScore(Score):
    """w · f(W_n … f(W_1 [query; key] + b_1) … + b_n), f = tanh or relu, n = `num_layers` hidden layers.

    W_1 is split, so that keys pass it once per sentence. One layer of tanh without `bias` is 'concat'.

    Cost: O(n·m·h + n·m·h²·(num_layers - 1))
    """

    aliases = "perceptron, multilayer_perceptron, 感知机, 多层感知机"

    def __init__(
        self,
        query_dim: int,
        key_dim: int,
        *,
        hidden_dim: HiddenDim = 256,
        num_layers: Annotated[Layers, Doc("Number of hidden layers.")] = 1,
        activation: Annotated[Literal["tanh", "relu"], Doc("Activation of the hidden layer.")] = "tanh",
        bias: Annotated[bool, Doc("Add a bias in each layer.")] = True,
    ) -> None:
        super().__init__()
        self.activation = activation
        self.from_query = nn.Linear(query_dim, hidden_dim, bias=bias)
        self.from_key = nn.Linear(key_dim, hidden_dim, bias=False)
        self.layers = nn.ModuleList(nn.Linear(hidden_dim, hidden_dim, bias=bias) for _ in range(num_layers - 1))
        self.to_score = nn.Linear(hidden_dim, 1, bias=False)

    def prepare(self, keys: Tensor) -> Tensor:
        """(..., key, key_dim) → the part of W_1 [query; key] that is theirs (..., key, hidden_dim)."""
        prepared: Tensor = self.from_key(keys)
        return prepared

    def forward(self, queries: Tensor, prepared: Tensor, past: Any) -> Tensor:
        ours = self.from_query(queries)
        if self.activation == "tanh" and not self.layers:
            return additive_scores(ours, prepared, self.to_score.weight[0])
        return in_slices(self._of_pairs, ours, prepared, prepared.shape[-1])

    def _of_pairs(self, queries: Tensor, keys: Tensor) -> Tensor:
        function = torch.tanh if self.activation == "tanh" else torch.relu
        hidden = function(queries[..., :, None, :] + keys[..., None, :, :])
        for layer in self.layers:
            hidden = function(layer(hidden))
        scores: Tensor = self.to_score(hidden).squeeze(-1)
        return scores
