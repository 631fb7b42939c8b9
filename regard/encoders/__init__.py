"""Encoders: what reads a source. One file a row, each built with (input_dim, sockets).

Those that are not made of encoders stand in `plain.py`, so that the others can be made of them.
"""

from regard.encoders.encoder import Encoder
from regard.encoders.parallel import ParallelEncoder
from regard.encoders.plain import PLAIN
from regard.encoders.sequential import SequentialEncoder
from regard.registry import Registry

ENCODERS: Registry[Encoder] = Registry(
    "model.encoder",
    {
        **{name: PLAIN[name] for name in PLAIN},
        "parallel": ParallelEncoder,
        "sequential": SequentialEncoder,
    },
)

__all__ = ["ENCODERS", "Encoder"]
