"""Chooses how the recurrence is computed."""

import torch
from torch import Tensor

from regard.layers.recurrent.kernels.loop import linear_loop, loop
from regard.layers.recurrent.kernels.parts import Ended, Parts
from regard.layers.recurrent.kernels.scan import linear_scan, scan
from regard.layers.recurrent.kernels.sru import fused, may_fuse
from regard.ops.plain import is_plain

SHORT = 4  # steps up to which one after the other is quickest, as measured
_HALF = (torch.float16, torch.bfloat16)


def recurrence(parts: Parts) -> Ended:
    """The compiled pass where it is there; else all steps at once if the gates allow; else one by one.

    Under `attention.plain` always one by one: for proofs, relevance propagation and double backward. Numbers of half
    precision are summed up in single precision.
    """
    if parts.products.dtype in _HALF:
        ended = recurrence(_wide(parts))
        return ended._replace(outputs=ended.outputs.to(parts.products.dtype))
    if is_plain():
        return loop(parts)
    if not torch.compiler.is_compiling() and may_fuse(parts):
        return fused(parts)
    return loop(parts) if parts.peepholes is not None or parts.products.shape[1] <= SHORT else scan(parts)


def linear_recurrence(decays: Tensor, added: Tensor, start: Tensor) -> Tensor:
    """decays and added (batch, n, dim), start (batch, dim) → c (batch, n, dim), c_t = decay_t · c_(t-1) + added_t.

    c is of single precision at least.
    """
    if added.dtype in _HALF:
        return linear_recurrence(decays.float(), added.float(), start.float())
    one_by_one = is_plain() or added.shape[1] <= SHORT
    return linear_loop(decays, added, start) if one_by_one else linear_scan(decays, added, start)


def _wide(parts: Parts) -> Parts:
    peepholes = None if parts.peepholes is None else parts.peepholes.float()
    return parts._replace(
        products=parts.products.float(),
        inputs=parts.inputs.float(),
        peepholes=peepholes,
        biases=parts.biases.float(),
        start=parts.start.float(),
    )
