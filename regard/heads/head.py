"""The contract of heads: from decoder states to words."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from torch import Tensor, nn

from regard.ops.kernels.vocabulary import PackedTable
from regard.ops.topk import best_words
from regard.records import Decoded, Encoded


class Head(nn.Module, ABC):
    """Built with (dim, vocab_size, weight): weight is an embedder's table to share, or None."""

    needs_weights = False  # True: reads the decoder's alignment
    reads_source = False  # True: reads `encoded`, so a search must keep a row of it per row being written
    copies = False  # True: takes ids of the source for words of the target, so both need one vocabulary

    @abstractmethod
    def log_probs(self, decoded: Decoded, encoded: Encoded | None) -> Tensor:
        """states (rows, n, dim) → log-probabilities (rows, n, vocab).

        `encoded` has one row per row of `decoded`; it may be None for a head that does not read the source.
        """

    def scores(self, decoded: Decoded, encoded: Encoded | None, mask: Tensor) -> Tensor:
        """mask (rows, n) → scores (item, vocab) at its places, whose softmax has the probabilities.

        They are log-probabilities where a head does not have simpler ones.
        """
        return self.log_probs(decoded, encoded)[mask]

    def best(
        self,
        decoded: Decoded,
        encoded: Encoded | None,
        count: int,
        forbidden: Sequence[int] = (),
        included: Sequence[int] = (),
    ) -> tuple[Tensor, Tensor]:
        """states (rows, 1, dim) → the `count` likeliest words and their log-probabilities (rows, count), falling.

        Of equal ones the first comes first; `forbidden` words come last, with -inf. Behind them stand the words
        in `included`, however unlikely they are.
        """
        return best_words(self.log_probs(decoded, encoded)[:, -1], count, forbidden, included)

    def packed(self) -> PackedTable | None:
        """Return the table that `best` reads in compiled code; None where it does not."""
        return None

    @abstractmethod
    def nll(self, decoded: Decoded, encoded: Encoded | None, targets: Tensor, *, smoothing: float = 0.0) -> Tensor:
        """targets (rows, n) → (rows, n) losses in nats, 0 where the target is PAD.

        smoothing e: (1 - e) · -log p(target) + e · mean over the vocabulary of -log p.
        """
