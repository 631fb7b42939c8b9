"""The contract of heads of taggers: p(tags | states of the words)."""

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn


class TagHead(nn.Module, ABC):
    """Built with (dim, num_tags); tags count from 0.

    Every method takes states (batch, word, dim) and mask (batch, word), True for words, which come before the padding.
    What it returns of padding means nothing, and padding changes nothing of what it returns of words.
    """

    @abstractmethod
    def log_probs(self, states: Tensor, mask: Tensor, tags: Tensor) -> Tensor:
        """Return log p(tag of a word | the tags before it), (batch, word, tag), where `tags` (batch, word) are those.

        So what it gives to the tags themselves sums to the log-probability of all of them.
        """

    @abstractmethod
    def marginals(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return log p(tag of a word), whatever the others are, (batch, word, tag)."""

    @abstractmethod
    def best(self, states: Tensor, mask: Tensor, moves: Tensor) -> Tensor:
        """Return the likeliest tags of each row together, (batch, word), of those that `moves` allow.

        `moves` (tag + 1, tag + 1): 0 where the second tag may follow on the first, else -inf. The last row is what may
        begin a text, the last column what may end one.
        """


def viterbi(scores: Tensor, mask: Tensor, moves: Tensor) -> Tensor:
    """Return the tags (batch, word) of the highest sum of scores (batch, word, tag) and moves (tag + 1, tag + 1)."""
    begin, between, end = moves[-1, :-1], moves[:-1, :-1], moves[:-1, -1]
    most, following = end.expand(len(scores), -1), list[Tensor]()
    for word in range(scores.shape[1] - 1, 0, -1):
        best = (between + (scores[:, word] + most).unsqueeze(-2)).max(dim=-1)  # (batch, tag before)
        most = torch.where(mask[:, word, None], best.values, most)
        following.append(best.indices)
    tags = [(begin + scores[:, 0] + most).argmax(dim=-1, keepdim=True)]
    for indices in reversed(following):
        tags.append(indices.gather(1, tags[-1]))
    return torch.cat(tags, dim=1)
