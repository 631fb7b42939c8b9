"""Low-rank adaptation (LoRA): Adam on two thin factors of the change of each matrix."""

import math
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import torch
from torch import Tensor, nn, optim

from regard.config import Doc
from regard.config.bounds import Positive, Size
from regard.config.common_settings import AdamBetas, AdamEps

_FACTORS = ("down", "up")  # A and B of the paper


class LowRankAdam(optim.Optimizer):
    """W = W₀ + scale · B A, where Adam moves A (rank, input) and B (output, rank) alone.

    LoRA, https://arxiv.org/abs/2106.09685, section 4.1; B starts at 0 and A at random. The gradients of the factors
    follow from that of W, so a model needs no other layers, and its weights hold the change at every moment. Biases and
    gains stay as they are. A matrix whose thinner side is at most `rank` has as many directions as a full update.
    """

    aliases = "lora, low_rank, low_rank_adapters, peft"

    def __init__(
        self,
        parameters: Iterable[nn.Parameter],
        *,
        rank: Annotated[Size, Doc("Rank of the change of each matrix.")] = 8,
        scale: Annotated[Positive, Doc("Factor of the change: alpha / rank of LoRA.")] = 2.0,
        betas: AdamBetas = (0.9, 0.98),
        eps: AdamEps = 1e-9,
    ) -> None:
        super().__init__(parameters, {"lr": 1e-3, "rank": rank, "scale": scale, "betas": betas, "eps": eps})

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> None:  # type: ignore[override]  # no closure is used
        """Move every matrix that has a gradient."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None and parameter.dim() == 2:
                    self._move(parameter, parameter.grad, group)

    def _move(self, weight: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        state, scale = self.state[weight], group["scale"]
        if not state:
            state.update(_initial(weight, group["rank"]))
        state["step"] += 1
        down, up = state["down"], state["up"]
        gradients = {"down": scale * up.T @ gradient, "up": scale * gradient @ down.T}
        for name in _FACTORS:
            _adam(state[name], gradients[name], state[f"{name}_mean"], state[f"{name}_square"], state["step"], group)
        torch.addmm(state["start"], up, down, alpha=scale, out=weight)


def _initial(weight: Tensor, rank: int) -> dict[str, Tensor]:
    """Return the state of a matrix (output, input): its start, both factors, and their moments."""
    rows, columns = weight.shape
    down, up = weight.new_empty(rank, columns), weight.new_zeros(rows, rank)
    nn.init.uniform_(down, -1 / math.sqrt(columns), 1 / math.sqrt(columns))
    moments = {
        f"{name}_{kind}": torch.zeros_like(factor)
        for name, factor in zip(_FACTORS, (down, up), strict=True)
        for kind in ("mean", "square")
    }
    return {"step": torch.zeros((), dtype=torch.float64), "start": weight.clone(), "down": down, "up": up, **moments}


def _adam(value: Tensor, gradient: Tensor, mean: Tensor, square: Tensor, step: Tensor, group: dict[str, Any]) -> None:
    """Move a factor by Adam, https://arxiv.org/abs/1412.6980, algorithm 1."""
    (first, second), count = group["betas"], float(step)
    mean.lerp_(gradient, 1 - first)
    square.mul_(second).addcmul_(gradient, gradient, value=1 - second)
    size = group["lr"] * (1 - second**count) ** 0.5 / (1 - first**count)
    value.addcdiv_(mean, square.sqrt().add_(group["eps"] * (1 - second**count) ** 0.5), value=-size)
