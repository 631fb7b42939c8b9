"""The numbers in which compiled code multiplies with the weights of a model."""

import warnings

from torch import nn

from regard.ops.kernels.packed import Precision, caches_of
from regard.ops.kernels.transformer import compiled_transformer


def set_precision(model: nn.Module, precision: Precision) -> None:
    """Let a model multiply with its weights in this precision from now on.

    What is not compiled stays float32. So does everything, with a warning, where there are no 8-bit products.
    In 8 bits each row of a weight has a scale of its own, and so has each row that it is multiplied with.
    """
    problem = None if precision == "float32" else _problem(model)
    if problem is not None:
        warnings.warn(f"decoding.precision: {problem}, so weights stay float32", stacklevel=3)
        precision = "float32"
    for cache in caches_of(model):
        cache.forget()
        cache.precision = precision


def _problem(model: nn.Module) -> str | None:
    """Say why there are no 8-bit products for a model; None where there are."""
    if devices := {one.device.type for one in model.parameters()} - {"cpu"}:
        return f"8-bit products are for a CPU, not for {min(devices)}"
    if (kernel := compiled_transformer()) is None:
        return "no compiler is here"
    return None if kernel.multiplies_eight() else "this processor has no 8-bit products (VNNI)"
