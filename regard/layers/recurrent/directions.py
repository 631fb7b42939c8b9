"""Right-to-left and bidirectional recurrence."""

from typing import Literal

import torch
from torch import Tensor, nn

from regard.attention import turn_around
from regard.layers.recurrent.recurrent import Past, Recurrent


class Bidirectional(nn.Module):
    """[left to right; right to left] (https://doi.org/10.1109/78.650093). Not a Layer: it needs all of a sequence.

    merge "add" is their sum, which needs equal widths (https://aclanthology.org/P16-2034).
    """

    def __init__(
        self, forwards: Recurrent, backwards: Recurrent, *, merge: Literal["concatenate", "add"] = "concatenate"
    ) -> None:
        super().__init__()
        turn_around(backwards)
        self.forwards, self.backwards, self.adds = forwards, backwards, merge == "add"
        self.dim = forwards.dim if self.adds else forwards.dim + backwards.dim

    def forward(self, inputs: Tensor, mask: Tensor) -> tuple[Tensor, Past]:
        """inputs (batch, n, input_dim) → outputs (batch, n, dim) and the pasts of both ways, merged as the outputs."""
        ahead, end = self.forwards(inputs, mask)
        back, start = self.backwards(reverse(inputs, mask), mask)
        merged = tuple(self._merge(*both) for both in zip(end, start, strict=True))
        return self._merge(ahead, reverse(back, mask)), merged

    def _merge(self, ahead: Tensor, back: Tensor) -> Tensor:
        return ahead + back if self.adds else torch.cat([ahead, back], dim=-1)


def reverse(items: Tensor, mask: Tensor) -> Tensor:
    """Reverse (batch, n, …) within the true length of each row; padding stays in place."""
    places = torch.arange(mask.shape[1], device=mask.device)
    turned = mask.sum(dim=1, keepdim=True) - 1 - places
    index = torch.where(mask, turned, places)
    return items.gather(1, index.view(*index.shape, *[1] * (items.dim() - 2)).expand_as(items))
