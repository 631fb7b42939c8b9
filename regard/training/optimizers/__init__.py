"""Optimizers: torch's own, built with (parameters); the learning rate comes from a schedule."""

from collections.abc import Callable, Iterable

from torch import nn, optim

from regard.config.bounds import Fraction, NotNegative
from regard.registry import Registry
from regard.training.optimizers.nesterov import nesterov

Parameters = Iterable[nn.Parameter]


def adam(
    parameters: Parameters,
    *,
    betas: tuple[Fraction, Fraction] = (0.9, 0.98),
    eps: NotNegative = 1e-9,
    weight_decay: NotNegative = 0.0,
) -> optim.Optimizer:
    """Adam (https://arxiv.org/abs/1412.6980) with the betas of https://arxiv.org/abs/1706.03762."""
    kept = list(parameters)
    return optim.Adam(kept, betas=betas, eps=eps, weight_decay=weight_decay, fused=_fusable(kept))


def adamw(
    parameters: Parameters,
    *,
    betas: tuple[Fraction, Fraction] = (0.9, 0.98),
    eps: NotNegative = 1e-8,
    weight_decay: NotNegative = 0.01,
) -> optim.Optimizer:
    """Adam with decoupled weight decay (https://arxiv.org/abs/1711.05101)."""
    kept = list(parameters)
    return optim.AdamW(kept, betas=betas, eps=eps, weight_decay=weight_decay, fused=_fusable(kept))


def sgd(parameters: Parameters, *, momentum: NotNegative = 0.0, nesterov: bool = False) -> optim.Optimizer:
    """Stochastic gradient descent; `nesterov` with a momentum is Nesterov's accelerated gradient."""
    return optim.SGD(parameters, lr=1.0, momentum=momentum, nesterov=nesterov)


def _fusable(parameters: list[nn.Parameter]) -> bool:
    """torch's fused step refuses complex numbers."""
    return not any(parameter.is_complex() for parameter in parameters)


_TABLE: dict[str, Callable[..., optim.Optimizer]] = {
    "adam": adam,
    "adamw": adamw,
    "nesterov": nesterov,
    "sgd": sgd,
}
OPTIMIZERS: Registry[optim.Optimizer] = Registry("training.optimizer", _TABLE)
