"""What negative sampling learns of words: a vector to be told by, and how often each word was drawn."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from regard.layers.embedders.words import WordEmbedder


class DrawnWords(WordEmbedder):
    """Small vectors at the start. The drawn words of the first epoch are counted: the noise, for texts to come."""

    drawn: Tensor

    def __init__(self, vocab_size: int, dim: int) -> None:
        super().__init__(vocab_size, dim, scale=False, dropout=0.0)
        nn.init.uniform_(self.table, -0.5 / dim, 0.5 / dim)  # from 0, no other vector would learn at first
        self.register_buffer("drawn", torch.ones(vocab_size))  # how often, and once more

    def counted(self, ids: Tensor) -> Sequence[Tensor]:
        """The ids themselves."""
        return (ids,)

    def learn(self, counts: Sequence[tuple[Tensor, Tensor]]) -> None:
        """Keep how often each word was drawn."""
        for ids, often in counts:
            self.drawn.fill_(1.0)
            self.drawn[ids.to(self.drawn.device)] += often.to(self.drawn)
