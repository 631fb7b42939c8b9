"""Constructors of attention, passed to encoders and decoders."""

from collections.abc import Callable

from torch import nn

from regard.attention.attention import Attention, attentions_in
from regard.attention.parts import OWN, READ, Role

Cross = Callable[[int, int], Attention]  # (query_dim, key_dim)
Own = Callable[[int], Attention]  # (dim)


class Sockets:
    """Constructors of attention that set its role; `Attention.context_dim` returns the width of its context."""

    def __init__(self, cross: Cross, itself: Own, causal: Own) -> None:
        """`cross` attends to an encoder's states, `itself` to its own sequence, `causal` to the past of that."""
        self.cross: Cross = lambda query_dim, key_dim: stamped(cross(query_dim, key_dim), Role(OWN, READ))
        self.itself: Own = lambda dim: stamped(itself(dim), Role(OWN, OWN))
        self.causal: Own = lambda dim: stamped(causal(dim), Role(OWN, OWN, causal=True))


def stamped(attention: Attention, role: Role) -> Attention:
    """Return the attention with this role."""
    attention.role = role
    return attention


def name_columns(part: nn.Module, own: str, read: str | None = None) -> None:
    """Set the columns of every attention in a module: `own`, and `read` beside it."""
    columns = {OWN: own, READ: read}
    for attention in attentions_in(part).values():
        queries, keys, *_ = attention.role
        attention.role = attention.role._replace(
            queries=columns.get(queries or "", queries), keys=columns.get(keys or "", keys)
        )


def turn_around(part: nn.Module) -> None:
    """Mark the sequence of every attention in a module as reversed."""
    for attention in attentions_in(part).values():
        attention.role = attention.role._replace(reversed=not attention.role.reversed)
