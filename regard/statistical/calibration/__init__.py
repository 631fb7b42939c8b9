"""Probabilities that a model gives → probabilities that tell how often it is right. One file a row."""

from regard.registry import Registry
from regard.statistical.calibration.bias_corrected import BiasCorrected
from regard.statistical.calibration.calibration import Calibration, Calibrations
from regard.statistical.calibration.temperature import Temperature

CALIBRATIONS: Registry[Calibration] = Registry(
    "calibration",
    {
        "bias_corrected": BiasCorrected,
        "temperature": Temperature,
    },
)

__all__ = ["CALIBRATIONS", "Calibration", "Calibrations"]
