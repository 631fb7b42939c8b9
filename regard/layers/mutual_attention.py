"""Two sentences look at each other: the step "attend" of https://arxiv.org/abs/1606.01933, section 3.1."""

from torch import Tensor, nn

from regard.attention import Attention


class MutualAttention(nn.Module):
    """beta_i = sum_j softmax_j(e_ij) b_j and alpha_j = sum_i softmax_i(e_ij) a_i, e_ij = score(F a_i, F b_j).

    F is a feed-forward network of each word; the scores are those of both directions if the score is symmetric, as the
    dot product of the paper is.
    """

    aliases = "co_attention, decomposable, inter_sentence, 互, 协同"

    def __init__(self, project: nn.Module, attention: Attention) -> None:
        super().__init__()
        self.project, self.attention = project, attention

    def forward(
        self, first: Tensor, second: Tensor, first_mask: Tensor | None = None, second_mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """first (batch, n, dim), second (batch, m, dim) → beta (batch, n, dim), alpha (batch, m, dim)."""
        compared = self.project(first), self.project(second)
        beta = self.attention(compared[0], self.attention.remember(compared[1], second, second_mask)).context
        alpha = self.attention(compared[1], self.attention.remember(compared[0], first, first_mask)).context
        return beta, alpha
