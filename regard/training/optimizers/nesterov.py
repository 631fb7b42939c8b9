"""Nesterov's accelerated gradient (https://proceedings.mlr.press/v28/sutskever13.html)."""

from collections.abc import Iterable

from torch import nn, optim

from regard.config.common_settings import Momentum, WeightDecay


def nesterov(
    parameters: Iterable[nn.Parameter], *, momentum: Momentum = 0.99, weight_decay: WeightDecay = 0.0
) -> optim.Optimizer:
    """v = momentum · v - rate · gradient at w + momentum · v; w = w + v.

    What the model holds is w + momentum · v, the place where the gradient is taken. ConvS2S has a momentum of 0.99, a
    rate of 0.25, gradients no longer than 0.1, and a tenth of the rate whenever validation stalls
    (https://arxiv.org/abs/1705.03122, section 4.2).
    """
    return optim.SGD(parameters, lr=1.0, momentum=momentum, nesterov=True, weight_decay=weight_decay)
