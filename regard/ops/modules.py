"""Typed lists and dictionaries of modules, as torch's own forget what they hold; and a module as it is in use."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeVar, cast

from torch import nn

_M = TypeVar("_M", bound=nn.Module)


def module_list(items: Iterable[_M]) -> Sequence[_M]:
    """An nn.ModuleList, typed by what is in it."""
    return cast(Sequence[_M], nn.ModuleList(items))


def module_dict(items: Mapping[str, _M]) -> Mapping[str, _M]:
    """An nn.ModuleDict, typed by what is in it."""
    return cast(Mapping[str, _M], nn.ModuleDict(dict(items)))


@contextmanager
def evaluating(module: nn.Module) -> Iterator[None]:
    """Switch a module to evaluation, as without dropout; behind it the module is as it was."""
    before = [(one, one.training) for one in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for one, training in before:
            one.training = training
