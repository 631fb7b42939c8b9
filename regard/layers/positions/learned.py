"""Learned positions: https://arxiv.org/abs/1705.03122, section 3.1."""

from typing import Annotated, Literal

import torch
from torch import Tensor, nn

from regard.config import Doc
from regard.config.bounds import NotNegative, Size
from regard.errors import RegardError
from regard.layers.positions.position import Position


class LearnedPosition(Position):
    """A vector per place, initialised from N(0, std²), 1/dim for std² if it is null, like words.

    Beyond the last of `max_length` places it raises RegardError, or repeats that place's vector (beyond "clamp").

    Cost: O(n·d)
    """

    aliases = "learned_position, position_embedding, tpe, 可学习位置, 位置向量"

    def __init__(
        self,
        dim: int,
        *,
        max_length: Annotated[Size, Doc("Maximum number of positions.")] = 1024,
        beyond: Annotated[
            Literal["error", "clamp"], Doc("Beyond the last position: an error, or the last vector again.")
        ] = "error",
        std: Annotated[
            NotNegative | None, Doc("Standard deviation of the initial values; null: 1 / sqrt(dim).")
        ] = None,
    ) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.empty(max_length, dim))
        nn.init.normal_(self.table, std=dim**-0.5 if std is None else std)
        self.max_length = None if beyond == "clamp" else max_length

    def forward(self, start: int, length: int) -> Tensor:
        end = len(self.table)
        if start + length <= end:
            return self.table[start : start + length]
        if self.max_length is not None:
            problem = f"a sequence of {start + length} pieces, but positions were learned for {end}"
            raise RegardError(f"{problem} (shorten it, or train with a larger model.position.max_length)")
        return self.table[torch.arange(start, start + length, device=self.table.device).clamp(max=end - 1)]
