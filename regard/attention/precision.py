"""What is summed, rounded or squared in half precision would lose what it is about."""

import torch


def wide(dtype: torch.dtype) -> torch.dtype:
    """The dtype itself, float32 at least: in bfloat16 a small weight added to a large sum is lost."""
    return torch.promote_types(dtype, torch.float32)
