"""The decomposable attention model: attend, compare, aggregate (https://arxiv.org/abs/1606.01933)."""

from typing import Annotated

import torch
from torch import Tensor

from regard.attention import EACH, Role, stamped
from regard.config import Doc
from regard.config.bounds import Size
from regard.config.common_settings import DropoutProbability
from regard.errors import PartError
from regard.layers.mutual_attention import MutualAttention
from regard.models.build import build_attention
from regard.models.comparisons.comparison import Comparison, rectified, stacked, unstacked
from regard.models.settings import AttentionChoice, AttentionSettings
from regard.records import Sequences
from regard.registry import Choice

_PLACE = "model.comparison"


class DecomposableComparison(Comparison):
    """H([sum_i G([a_i; beta_i]); sum_j G([b_j; alpha_j])]): beta_i are the words of b aligned with a_i.

    The alignment is the attention score(F a_i, F b_j); F, G and H are networks of two layers. With `intra` each word is
    first concatenated with its self-attention context, score(F' a_i, F' a_j) (section 3.4); the paper's is
    {score: dot, span: distance_bias}. With `differences` G also reads a_i - beta_i and a_i · beta_i, as in
    https://arxiv.org/abs/1609.06038, equation 14: so equality of words need not be learnt word by word. The end of a
    text is one of its words, and serves as the alignment of words without a counterpart.
    """

    aliases = "parikh, attend_compare_aggregate"

    def __init__(
        self,
        dim: int,
        *,
        hidden_dim: Annotated[Size, Doc("Width of the feed-forward networks F, G and H.")] = 200,
        attention: Annotated[AttentionChoice, Doc("Attention between the words of both texts.")] = (
            AttentionSettings(score=Choice("dot"))
        ),
        intra: Annotated[
            AttentionChoice | None, Doc("Self-attention of each text before the comparison; null: none.")
        ] = None,
        differences: Annotated[
            bool, Doc("Compare words by difference and product as well as by concatenation.")
        ] = False,
        dropout: DropoutProbability = 0.1,
    ) -> None:
        super().__init__()
        self.intra, self.differences = None, differences
        if intra is not None:
            own = build_attention(intra, hidden_dim, hidden_dim, place=f"{_PLACE}.intra")
            self.intra, self.from_words = stamped(own, Role(EACH, EACH)), rectified(dim, hidden_dim, dropout)
            dim += own.context_dim(dim)
        forth, back = (
            build_attention(attention, hidden_dim, hidden_dim, place=f"{_PLACE}.attention") for _ in range(2)
        )
        self.attend = MutualAttention(rectified(dim, hidden_dim, dropout), forth, back)
        found = forth.context_dim(dim)
        if differences and found != dim:
            problem = f"needs one width for words and aligned words, not {dim} and {found}"
            raise PartError(problem, "attention.num_heads: 1", setting="differences")
        self.compare = rectified((dim + found) * (2 if differences else 1), hidden_dim, dropout)
        self.aggregate = rectified(2 * hidden_dim, hidden_dim, dropout)
        self.out_dim = hidden_dim

    def forward(self, first: Sequences, second: Sequences) -> Tensor:
        """States (batch, n, dim) and (batch, m, dim) → (batch, hidden_dim)."""
        first, second = self._beside_own(first, second)
        beta, alpha = self.attend(first.items, second.items, first.mask, second.mask)
        sums = [
            self.compare(self._pairs(words.items, aligned)).masked_fill(~words.mask.unsqueeze(-1), 0.0).sum(1)
            for words, aligned in ((first, beta), (second, alpha))
        ]
        features: Tensor = self.aggregate(torch.cat(sums, dim=-1))
        return features

    def _pairs(self, words: Tensor, aligned: Tensor) -> Tensor:
        """Return the input of G for each word: (batch, n, 2 · dim), or (batch, n, 4 · dim)."""
        more = [words - aligned, words * aligned] if self.differences else []
        return torch.cat([words, aligned, *more], dim=-1)

    def _beside_own(self, first: Sequences, second: Sequences) -> tuple[Sequences, Sequences]:
        """Return [a_i; a'_i], a' the context of the intra-sentence attention."""
        if self.intra is None:
            return first, second
        words, mask = stacked(first, second)
        compared = self.from_words(words)
        seen = self.intra(compared, self.intra.remember(compared, words, mask)).context
        return unstacked(Sequences(torch.cat([words, seen], dim=-1), mask))
