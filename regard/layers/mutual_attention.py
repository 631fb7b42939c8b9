"""Attention between two sentences: the step "attend" of https://arxiv.org/abs/1606.01933, section 3.1."""

from torch import Tensor, nn

from regard.attention import OWN, Attention, Role, stamped
from regard.attention.parts import READ


class MutualAttention(nn.Module):
    """beta_i = sum_j softmax_j(e_ij) b_j and alpha_j = sum_i softmax_i(e_ij) a_i, e_ij = score(F a_i, F b_j).

    F is a feed-forward network of each word. Each direction has its own attention, so that plots distinguish them;
    without learned weights, as with the paper's dot product, both have the same scores.
    """

    aliases = "co_attention, decomposable, inter_sentence, 互, 协同"

    def __init__(self, project: nn.Module, forth: Attention, back: Attention) -> None:
        super().__init__()
        self.project = project
        self.forth, self.back = stamped(forth, Role(OWN, READ)), stamped(back, Role(READ, OWN))

    def forward(
        self,
        first: Tensor,
        second: Tensor,
        first_mask: Tensor | None = None,
        second_mask: Tensor | None = None,
        values: tuple[Tensor, Tensor] | None = None,
    ) -> tuple[Tensor, Tensor]:
        """first (batch, n, dim), second (batch, m, dim) → beta (batch, n, dim), alpha (batch, m, dim).

        `values`, those of the first (batch, n, …) and of the second (batch, m, …), are read in place of the words.
        """
        ours, theirs = (first, second) if values is None else values
        compared = self.project(first), self.project(second)
        beta = self.forth(compared[0], self.forth.remember(compared[1], theirs, second_mask)).context
        alpha = self.back(compared[1], self.back.remember(compared[0], ours, first_mask)).context
        return beta, alpha
