"""Gradient checkpointing (https://arxiv.org/abs/1604.06174): compute again for gradients what is then not kept."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar, cast

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from regard.ops.linear import are_halved, half_products

_T = TypeVar("_T")
_SWITCH = "gradient_checkpointing"  # an attribute of modules that know `recomputed`


def recomputed(module: nn.Module, function: Callable[..., _T], *given: Any) -> _T:
    """Return function(*given); in training with gradient checkpointing, keep only the inputs.

    The backward pass computes the rest again, with the same dropout masks and the same rounding of products.
    """
    if not (getattr(module, _SWITCH) and module.training and torch.is_grad_enabled()):
        return function(*given)
    halved = are_halved()

    def contexts() -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
        return nullcontext(), half_products() if halved else nullcontext()

    more: dict[str, Any] = {} if torch.compiler.is_compiling() else {"context_fn": contexts}
    return cast(_T, checkpoint(function, *given, use_reentrant=False, **more))


def checkpoint_gradients(model: nn.Module) -> int:
    """Switch it on in all blocks of a model that know it, and return how many there are."""
    found = [module for module in model.modules() if hasattr(module, _SWITCH)]
    for module in found:
        setattr(module, _SWITCH, True)
    return len(found)
