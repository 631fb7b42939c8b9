"""Addressing by content and by place (Graves et al. 2014, https://arxiv.org/abs/1410.5401, section 3.3)."""

from typing import Annotated, Any

from torch import Tensor, nn

from regard.attention.addressing import interpolate, positive, sharpen, shift
from regard.attention.kernels.softmax import masked_softmax
from regard.attention.parts import Attended, Memory, View, Weighting
from regard.attention.weightings.hard import at_first
from regard.config import Doc
from regard.config.bounds import Count
from regard.ops.functional import wide


class AddressingWeighting(Weighting):
    """weights ~ (s * (g softmax(beta · scores) + (1 - g) last weights))^gamma, * a circular convolution.

    Equations 5 to 9 of the paper; beta >= 0, 0 < g < 1, gamma >= 1 and the distribution s over moves by at most
    `shift` keys come from the query. The paper scores by cosine. It starts at the first key; keys that are not seen
    are left out of the circle.

    Cost: O(n·m·log m), query by query
    """

    aliases = "ntm, memory_addressing, content_and_location, neural_turing_machine, 寻址"
    sequential = True
    whole = True

    def __init__(
        self, query_dim: int, *, shift: Annotated[Count, Doc("Maximum shift of the focus in one step.")] = 1
    ) -> None:
        super().__init__()
        self.shift = shift
        self.from_query = nn.Linear(query_dim, 3 + 2 * shift + 1)

    def begin(self, queries: Tensor, memory: Memory) -> Tensor:
        return at_first(memory, queries.dtype)

    def forward(self, scores: Tensor, view: View, queries: Tensor, past: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """scores (..., 1, key) → weights of the same shape."""
        if not scores.shape[-1]:
            return scores, {}
        exact = wide(scores.dtype)
        address = self.from_query(queries).to(exact)
        beta, gate, gamma, moves = address.split([1, 1, 1, 2 * self.shift + 1], dim=-1)
        content = masked_softmax(positive(beta) * scores, view.mask)
        weights = interpolate(content, past.to(exact).unsqueeze(-2).expand_as(content), gate.squeeze(-1).sigmoid())
        weights = shift(weights, moves.softmax(dim=-1), view.mask)
        return sharpen(weights, 1 + positive(gamma.squeeze(-1))).to(scores.dtype), {}

    def after(self, past: Tensor, attended: Attended, scores: Any) -> Tensor:
        if attended.weights is None or not attended.weights.shape[-2]:
            return past
        return attended.weights[..., -1, :]
