"""Heads: from decoder states to words. One file a row, each built with (dim, vocab_size, weight)."""

from regard.heads.head import Head
from regard.heads.linear import LinearHead
from regard.heads.pointer import PointerHead
from regard.heads.transform import TransformedHead
from regard.registry import Registry

HEADS: Registry[Head] = Registry(
    "model.head", {"linear": LinearHead, "pointer": PointerHead, "transformed": TransformedHead}
)
