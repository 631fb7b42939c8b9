"""States of networks, nested tuples, as flat tables of tensors by name, and back."""

from collections.abc import Iterator, Mapping
from typing import Any

from torch import Tensor


def leaves(tree: Any, path: str = "") -> Iterator[tuple[str, Tensor | int]]:
    """Yield tensors and counters of nested tuples with their paths, such as `layers.0.own.keys`."""
    if isinstance(tree, Tensor) or type(tree) is int:
        yield path, tree
    elif isinstance(tree, tuple):
        for name, one in zip(_names(tree), tree, strict=True):
            yield from leaves(one, f"{path}.{name}".lstrip("."))


def tensors(tree: Any) -> dict[str, Tensor]:
    """Return the tensors of nested tuples by their paths."""
    return {path: one for path, one in leaves(tree) if isinstance(one, Tensor)}


def rebuilt(tree: Any, values: Mapping[str, Any], path: str = "") -> Any:
    """Return nested tuples with these values in the places of tensors and counters, by path; others stay."""
    if isinstance(tree, Tensor) or type(tree) is int:
        return values.get(path, tree)
    if not isinstance(tree, tuple):
        return tree
    items = [rebuilt(one, values, f"{path}.{name}".lstrip(".")) for name, one in zip(_names(tree), tree, strict=True)]
    return type(tree)(*items) if hasattr(tree, "_fields") else tuple(items)


def _names(tree: Any) -> Any:
    return getattr(tree, "_fields", range(len(tree)))
