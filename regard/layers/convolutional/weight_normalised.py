"""Weights as a length and a direction (https://arxiv.org/abs/1602.07868)."""

import torch
from torch import Tensor, nn

from regard.ops.linear import linear


class WeightNormalised(nn.Module):
    """x Wᵀ + b, row o of W = gain_o · direction_o / |direction_o|; it starts as N(0, std²), b as 0."""

    def __init__(self, in_dim: int, out_dim: int, *, std: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(out_dim, in_dim))  # the directions
        nn.init.normal_(self.weight, std=std)
        self.gain = nn.Parameter(self.weight.detach().norm(dim=1))
        self.bias = nn.Parameter(torch.zeros(out_dim))

    def forward(self, inputs: Tensor) -> Tensor:
        """(..., in_dim) → (..., out_dim). What is smaller is scaled: the weight, or the products of few inputs."""
        scale = self.gain / self.weight.norm(dim=1)
        if inputs[..., 0].numel() < self.weight.shape[1]:
            return linear(inputs, self.weight) * scale + self.bias
        return linear(inputs, self.weight * scale.unsqueeze(-1), self.bias)
