"""Probabilities that a model gives → the frequency with which it is right. One file a row."""

from regard.registry import Registry
from regard.statistical.calibration.calibration import Calibration, Calibrations
from regard.statistical.calibration.platt import PlattScaling
from regard.statistical.calibration.temperature import Temperature

CALIBRATIONS: Registry[Calibration] = Registry(
    "calibration",
    {
        "platt": PlattScaling,
        "temperature": Temperature,
    },
)

__all__ = ["CALIBRATIONS", "Calibration", "Calibrations"]
