"""The numbers in which compiled code multiplies with the weights of a model."""

import warnings

from torch import nn

from regard.ops.kernels.packed import Kept, Precision
from regard.ops.kernels.transformer import compiled_transformer


def set_precision(model: nn.Module, precision: Precision) -> None:
    """From now on; what is not compiled stays float32, and all of it where the processor knows no 8-bit products.

    In 8 bits each row of a weight has a scale of its own, and so has each row that it is multiplied with.
    """
    kernel = compiled_transformer() if precision != "float32" else None
    if precision != "float32" and not (kernel is not None and kernel.multiplies_eight()):
        problem = "no compiler is here" if kernel is None else "this processor has no 8-bit products (VNNI)"
        warnings.warn(f"decoding.precision: {problem}, so weights stay float32", stacklevel=3)
        precision = "float32"
    for module in model.modules():
        for kept in vars(module).values():
            if isinstance(kept, Kept):
                kept.forget()
                kept.precision = precision
