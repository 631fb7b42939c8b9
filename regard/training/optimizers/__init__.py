"""Optimizers: torch's own, built with (parameters); the learning rate comes from a schedule."""

from collections.abc import Callable, Iterable
from typing import Annotated

from torch import nn, optim

from regard.config import Doc
from regard.config.bounds import Fraction, NotNegative
from regard.config.common_settings import AdamBetas, AdamEps, Momentum, WeightDecay
from regard.registry import Registry
from regard.training.optimizers.lazy_adam import LazyAdam
from regard.training.optimizers.low_rank_adam import LowRankAdam

Parameters = Iterable[nn.Parameter]


def adadelta(
    parameters: Parameters,
    *,
    rho: Annotated[Fraction, Doc("Decay rate of the running means of squared gradients and updates.")] = 0.95,
    eps: Annotated[NotNegative, Doc("Epsilon added to both means; it sets the first steps.")] = 1e-6,
    weight_decay: WeightDecay = 0.0,
) -> optim.Optimizer:
    """Adadelta (https://arxiv.org/abs/1212.5701), whose learning rate is 1.

    A gradient is multiplied by the root of the running mean of the squared steps over that of the squared gradients.
    """
    return optim.Adadelta(parameters, lr=1.0, rho=rho, eps=eps, weight_decay=weight_decay)


def adam(
    parameters: Parameters,
    *,
    betas: AdamBetas = (0.9, 0.98),
    eps: AdamEps = 1e-9,
    weight_decay: WeightDecay = 0.0,
) -> optim.Optimizer:
    """Adam (https://arxiv.org/abs/1412.6980) with the betas of https://arxiv.org/abs/1706.03762."""
    kept = list(parameters)
    return optim.Adam(kept, betas=betas, eps=eps, weight_decay=weight_decay, fused=_fusable(kept))


def adamw(
    parameters: Parameters,
    *,
    betas: AdamBetas = (0.9, 0.98),
    eps: AdamEps = 1e-8,
    weight_decay: WeightDecay = 0.01,
) -> optim.Optimizer:
    """Adam with decoupled weight decay (https://arxiv.org/abs/1711.05101)."""
    kept = list(parameters)
    return optim.AdamW(kept, betas=betas, eps=eps, weight_decay=weight_decay, fused=_fusable(kept))


def sgd(
    parameters: Parameters,
    *,
    momentum: Momentum = 0.0,
    nesterov: Annotated[bool, Doc("Use Nesterov momentum.")] = False,
) -> optim.Optimizer:
    """Stochastic gradient descent; `nesterov` with a momentum is Nesterov's accelerated gradient."""
    made = optim.SGD(parameters, lr=1.0, momentum=momentum, nesterov=nesterov)
    made.defaults["takes_rows"] = momentum == 0  # a momentum would be as sparse as the gradient, and grow
    return made


def nesterov(parameters: Parameters, *, momentum: Momentum = 0.99, weight_decay: WeightDecay = 0.0) -> optim.Optimizer:
    """v = momentum · v - rate · gradient at w + momentum · v; w = w + v.

    Nesterov's accelerated gradient (https://proceedings.mlr.press/v28/sutskever13.html). What the model holds is
    w + momentum · v, the place where the gradient is taken. ConvS2S has a momentum of 0.99, a rate of 0.25, gradients
    no longer than 0.1, and a tenth of the rate whenever validation stalls (https://arxiv.org/abs/1705.03122, 4.2).
    """
    return optim.SGD(parameters, lr=1.0, momentum=momentum, nesterov=True, weight_decay=weight_decay)


def rmsprop(
    parameters: Parameters,
    *,
    alpha: Annotated[Fraction, Doc("Decay rate of the running mean of squared gradients.")] = 0.99,
    eps: AdamEps = 1e-8,
    momentum: Momentum = 0.0,
    centered: Annotated[bool, Doc("Centered variant: normalise by the estimated variance of the gradient.")] = False,
    weight_decay: WeightDecay = 0.0,
) -> optim.Optimizer:
    """Gradients over the root of the running mean of their squares; `centered` as in https://arxiv.org/abs/1308.0850."""
    return optim.RMSprop(
        parameters, lr=1.0, alpha=alpha, eps=eps, momentum=momentum, centered=centered, weight_decay=weight_decay
    )


def takes_rows(optimizer: optim.Optimizer) -> bool:
    """Return whether it reads sparse gradients and moves their rows alone; others need dense ones."""
    return bool(optimizer.defaults.get("takes_rows", False))


def _fusable(parameters: list[nn.Parameter]) -> bool:
    """torch's fused step refuses complex numbers."""
    return not any(parameter.is_complex() for parameter in parameters)


_TABLE: dict[str, Callable[..., optim.Optimizer]] = {
    "adadelta": adadelta,
    "adam": adam,
    "adamw": adamw,
    "lazy_adam": LazyAdam,
    "low_rank_adam": LowRankAdam,
    "nesterov": nesterov,
    "rmsprop": rmsprop,
    "sgd": sgd,
}
OPTIMIZERS: Registry[optim.Optimizer] = Registry("training.optimizer", _TABLE)
