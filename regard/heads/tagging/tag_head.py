"""The contract of heads of taggers: p(tags | states of the words)."""

from abc import ABC, abstractmethod

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
    def best(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return the likeliest tags of each row together, (batch, word)."""
