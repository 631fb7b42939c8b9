"""Typed lists and dictionaries of modules, modules without random initial values, and modules in evaluation."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar, cast

from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

_M = TypeVar("_M", bound=nn.Module)
_DRAWS = frozenset({nn.init.uniform_, nn.init.normal_, nn.init.kaiming_uniform_, Tensor.uniform_, Tensor.normal_})


def count_parameters(module: nn.Module) -> int:
    """Return the number of weights of a module."""
    return sum(one.numel() for one in module.parameters())


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


class skip_init(TorchFunctionMode):  # noqa: N801  used as a context manager, as `torch.no_grad` is
    """Leave tensors as they are inside, instead of filling them with random numbers.

    >>> with skip_init():
    ...     model = nn.Linear(512, 512)
    >>> model.load_state_dict(weights)

    Filling 20 million numbers takes a tenth of a second. Every parameter must be loaded before it is used.
    On the meta device it saves a third of the time: torch samples them there in Python, and keeps nothing.
    """

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        given = kwargs or {}
        if func in _DRAWS:
            return given["tensor"] if "tensor" in given else args[0]
        return func(*args, **given)
