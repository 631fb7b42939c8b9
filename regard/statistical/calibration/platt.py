"""Platt scaling, of any number of choices: temperature scaling with a bias for each (https://arxiv.org/abs/1901.06852)."""

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
import torch
from annotated_types import Gt
from torch.nn import functional

from regard.arrays import Floats, Longs
from regard.config import Doc
from regard.config.bounds import AnyFloat
from regard.statistical.calibration.calibration import Calibration, logarithms, normalised

_STEPS = 200


class PlattScaling(Calibration):
    """p' ∝ p^(1 / temperature) · exp(bias of the choice): also mends how often each choice is right."""

    aliases = "bias_corrected, bcts"

    def __init__(
        self,
        *,
        temperature: Annotated[float, Gt(0), Doc("Temperature: divisor of the log-probabilities.")] = 1.0,
        bias: Annotated[tuple[AnyFloat, ...], Doc("Bias added to the log-probability of each class; none: 0.")] = (),
    ) -> None:
        self.temperature, self.bias = temperature, bias

    def fitted(self, probabilities: Floats, right: Longs) -> "PlattScaling":
        """Minimise the negative log-likelihood of the right choices, in which half the square of each bias counts.

        That keeps the bias of a choice finite which is never right.
        """
        logs, wanted = torch.from_numpy(logarithms(probabilities)), torch.from_numpy(right)
        slope = torch.zeros((), dtype=torch.float64, requires_grad=True)  # the logarithm of 1 / temperature
        bias = torch.zeros(logs.shape[-1], dtype=torch.float64, requires_grad=True)
        optimizer = torch.optim.LBFGS(
            [slope, bias], max_iter=_STEPS, tolerance_grad=1e-9, line_search_fn="strong_wolfe"
        )

        def loss() -> torch.Tensor:
            optimizer.zero_grad()
            nats = functional.cross_entropy(slope.exp() * logs + bias, wanted, reduction="sum")
            mean = (nats + bias.square().sum() / 2) / len(logs)
            mean.backward()
            return mean

        optimizer.step(loss)
        found = bias.detach() - bias.detach().mean()
        return PlattScaling(temperature=float((-slope.detach()).exp()), bias=tuple(found.tolist()))

    def apply(self, probabilities: Floats) -> Floats:
        if self.temperature == 1.0 and not any(self.bias):
            return probabilities
        return normalised(logarithms(probabilities) / self.temperature + np.array(self.bias or 0.0))

    def values(self) -> Mapping[str, Any]:
        return {"temperature": self.temperature, "bias": [*self.bias]}
