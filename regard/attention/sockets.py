"""What the wiring hands to encoders and decoders so that they can put attention where they need it."""

from collections.abc import Callable
from typing import NamedTuple

from regard.attention.attention import Attention


class Sockets(NamedTuple):
    """Makers of attention; `Attention.context_dim` tells how wide its context will be."""

    cross: Callable[[int, int], Attention]  # (query_dim, key_dim) of a decoder that looks at an encoder
    itself: Callable[[int], Attention]  # (dim) of a sequence that looks at itself, all of it
    causal: Callable[[int], Attention]  # (dim) of a sequence that looks at its own past
