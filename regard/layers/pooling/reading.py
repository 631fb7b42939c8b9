"""Shared code of poolings with attention: the socket, and its pooled vector."""

from typing import Annotated

from torch import Tensor

from regard.attention import OWN, SCORES, Attention, Role, Score, stamped
from regard.attention.spans.everywhere import EverywhereSpan
from regard.attention.weightings.softmax import SoftmaxWeighting
from regard.config import PartOf
from regard.registry import Choice

ScoreChoice = Annotated[Choice, PartOf(SCORES)]


def query_socket(score: Score) -> Attention:
    """Return soft attention with this score over the whole sequence."""
    attention = Attention(score, EverywhereSpan(1, 1), SoftmaxWeighting(1))  # neither depends on a width
    return stamped(attention, Role(keys=OWN))


def read_by(attention: Attention, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
    """queries (batch, hop, query_dim), keys and values (batch, n, ...) → (batch, hop · value_dim), hop after hop."""
    context: Tensor = attention(queries, attention.remember(keys, values, mask)).context
    return context.flatten(1)
