"""Temperature scaling: https://arxiv.org/abs/1706.04599, section 4.2."""

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from annotated_types import Gt

from regard.arrays import Floats, Longs
from regard.config import Doc
from regard.statistical.calibration.calibration import Calibration, logarithms, normalised

_COLDEST, HOTTEST = 0.05, 20.0
HALVINGS = 50


class Temperature(Calibration):
    """p' ∝ p^(1 / temperature): above 1 less sure, below 1 surer. The likeliest choice stays the likeliest."""

    def __init__(
        self, *, temperature: Annotated[float, Gt(0), Doc("Temperature: divisor of the log-probabilities.")] = 1.0
    ) -> None:
        self.temperature = temperature

    def fitted(self, probabilities: Floats, right: Longs) -> "Temperature":
        """Minimise the mean negative log-likelihood of the right choices.

        It is convex in 1 / temperature, so the interval is halved by the sign of its slope.
        """
        logs = logarithms(probabilities)
        given = np.take_along_axis(logs, right[:, None], axis=-1).mean()
        low, high = np.log([1 / HOTTEST, 1 / _COLDEST])
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            expected = (normalised(np.exp(middle) * logs) * logs).sum(axis=-1).mean()
            low, high = (low, middle) if expected > given else (middle, high)
        return Temperature(temperature=float(np.exp(-(low + high) / 2)))

    def apply(self, probabilities: Floats) -> Floats:
        """Raise to the power and normalise again."""
        if self.temperature == 1.0:
            return probabilities
        return normalised(logarithms(probabilities) / self.temperature)

    def values(self) -> Mapping[str, Any]:
        return {"temperature": self.temperature}
