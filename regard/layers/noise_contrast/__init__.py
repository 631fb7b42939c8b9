"""Negative sampling loss (https://arxiv.org/abs/1310.4546, section 2.2)."""

from torch import Tensor

from regard.layers.noise_contrast.kernel import fused_contrast, may_fuse_contrast
from regard.layers.noise_contrast.plain import plain_contrast
from regard.ops.plain import is_plain


def noise_contrast(inputs: Tensor, outputs: Tensor, contexts: Tensor, targets: Tensor, *, mean: bool) -> Tensor:
    """Return -log σ(v · u_right) - sum of log σ(-v · u) over negatives, in nats (place,); 0 without inputs.

    v are the rows of `inputs` (rows, dim) that `contexts` (place, width) names, -1 for none: the loss is summed over
    them, or with `mean` it is that of their mean. u are the rows of `outputs` (rows, dim) that `targets`
    (place, choice) names, the right one first.
    """
    compute = (
        fused_contrast if not is_plain() and may_fuse_contrast(inputs, outputs, contexts, targets) else plain_contrast
    )
    return compute(inputs, outputs, contexts, targets, mean=mean)


__all__ = ["noise_contrast"]
