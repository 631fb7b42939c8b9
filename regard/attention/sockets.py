"""What the wiring hands to encoders and decoders so that they can put attention where they need it."""

from collections.abc import Callable

from torch import nn

from regard.attention.attention import Attention, attentions_in
from regard.attention.parts import OWN, READ, Role

Cross = Callable[[int, int], Attention]  # (query_dim, key_dim)
Own = Callable[[int], Attention]  # (dim)


class Sockets:
    """Makers of attention that stamp its role; `Attention.context_dim` tells how wide its context will be."""

    def __init__(self, cross: Cross, itself: Own, causal: Own) -> None:
        """`cross` reads what an encoder saw, `itself` all of the own sequence, `causal` its past alone."""
        self.cross: Cross = lambda query_dim, key_dim: stamped(cross(query_dim, key_dim), Role(OWN, READ))
        self.itself: Own = lambda dim: stamped(itself(dim), Role(OWN, OWN))
        self.causal: Own = lambda dim: stamped(causal(dim), Role(OWN, OWN, causal=True))


def stamped(attention: Attention, role: Role) -> Attention:
    """Return the attention with this role."""
    attention.role = role
    return attention


def name_columns(part: nn.Module, own: str, read: str | None = None) -> None:
    """Say which column a part of a model works on, and which one it reads beside it, to every attention in it."""
    columns = {OWN: own, READ: read}
    for attention in attentions_in(part).values():
        queries, keys, *_ = attention.role
        attention.role = attention.role._replace(
            queries=columns.get(queries or "", queries), keys=columns.get(keys or "", keys)
        )


def turn_around(part: nn.Module) -> None:
    """Say to every attention in a part that its sequence comes from the other end."""
    for attention in attentions_in(part).values():
        attention.role = attention.role._replace(reversed=not attention.role.reversed)
