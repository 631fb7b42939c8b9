"""Typed lists and dictionaries of modules: torch's own forget what they hold."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar, cast

from torch import nn

M = TypeVar("M", bound=nn.Module)


def module_list(items: Iterable[M]) -> Sequence[M]:
    """An nn.ModuleList, typed by what is in it."""
    return cast(Sequence[M], nn.ModuleList(items))


def module_dict(items: Mapping[str, M]) -> Mapping[str, M]:
    """An nn.ModuleDict, typed by what is in it."""
    return cast(Mapping[str, M], nn.ModuleDict(dict(items)))
