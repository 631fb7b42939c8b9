"""Tape of the operations that a model computes from the vectors of words."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils._mode_utils import no_dispatch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_unflatten

from regard.errors import RegardError

OP = "aten::"  # before the name of every operation of torch
_CONSTANTS = ("empty", "full", "ones", "zeros")
MADE = {made for kind in _CONSTANTS for made in (kind, f"{kind}_like", f"new_{kind}")}  # constants, to be written into


class TapeStep(NamedTuple):
    """One operation, as it was called."""

    name: str
    function: Any
    leaves: list[Any]  # its arguments, flat
    shape: Any  # of the arguments
    active: list[int]  # which leaves depend on the words
    inputs: list[int]  # their numbers on the tape
    outputs: list[int | None]  # numbers of what it returned; None: of what has no numbers with a point

    def again(self, values: Sequence[Tensor]) -> list[Any]:
        """Return what it returns for other values of what depends on the words."""
        leaves = list(self.leaves)
        for place, value in zip(self.active, values, strict=True):
            leaves[place] = value
        return _listed(_called(self.function, leaves, self.shape))


class Tape(TorchDispatchMode):
    """Values, those that depend on the words and constants made beside them, and the steps that made the former.

    Inside its context every operation on a `Traced` is written down.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # torch's own
        self.values: list[Tensor] = []
        self.constants: set[int] = set()  # numbers of values that do not depend on the words, so far
        self.steps: list[TapeStep] = []
        self.marked: set[int] = set()  # numbers of values that somebody marked

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """False: nothing in here is compiled; to skip the compiler torch would first import it, with 80 MB."""
        return False

    def start(self, value: Tensor) -> "Traced":
        """Return a tensor whose operations are written down."""
        self.values.append(value)
        return Traced(self, len(self.values) - 1)

    def mark(self, value: Any) -> None:
        """Mark a value, if it is on the tape."""
        if isinstance(value, Traced):
            self.marked.add(value.number)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operation as it is, or write it down."""
        keywords = kwargs or {}
        made = func._schema.name.removeprefix(OP) in MADE
        if made or any(isinstance(one, Traced) for one in tree_flatten((args, keywords))[0]):
            return self.call(func, args, keywords)
        return func(*args, **keywords)

    def call(self, function: Any, arguments: Any, keywords: Mapping[str, Any]) -> Any:
        """Run an operation; what it changes in place becomes a new value under the same name."""
        if torch.Tag.inplace_view in function.tags:
            with no_dispatch():  # shape and strides of the stand-in itself
                function(*arguments, **keywords)
        changed = [
            given for argument, given in zip(function._schema.arguments, arguments, strict=False) if _written(argument)
        ]
        changed += [
            keywords[argument.name]
            for argument in function._schema.arguments
            if _written(argument) and argument.kwarg_only
        ]
        if changed and not any(map(self._depends, tree_flatten((arguments, keywords))[0])):
            leaves, shape = tree_flatten((arguments, keywords))
            _called(function, [self._value(one) for one in leaves], shape)  # memory of constants is written into
            return changed[0]
        if changed:
            function, keywords = _unchanging(function), {key: one for key, one in keywords.items() if key != "out"}
        leaves, shape = tree_flatten((arguments, dict(keywords)))
        name = function._schema.name.removeprefix(OP)
        active = [place for place, one in enumerate(leaves) if self._depends(one) and name not in MADE]
        inputs = [leaves[place].number for place in active]
        leaves = [self._value(one) for one in leaves]
        result = _called(function, leaves, shape)
        found = [self._kept(one) for one in _listed(result)]
        numbers = [one.number if isinstance(one, Traced) else None for one in found]
        if active:
            self.steps.append(TapeStep(name, function, leaves, shape, active, inputs, numbers))
        else:
            self.constants.update(number for number in numbers if number is not None)
        if changed:
            return _renamed(changed, found, name)
        return found[0] if isinstance(result, Tensor) else type(result)(found)

    def _value(self, one: Any) -> Any:
        return self.values[one.number] if isinstance(one, Traced) else one

    def _depends(self, value: Any) -> bool:
        return isinstance(value, Traced) and value.number not in self.constants

    def _kept(self, value: Any) -> Any:
        return self.start(value) if isinstance(value, Tensor) and value.is_floating_point() else value


class Traced(Tensor):
    """Stand-in for a value on a tape: all operations on it are recorded."""

    tape: Tape
    number: int
    __torch_function__: Any = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, tape: Tape, number: int) -> "Traced":
        """Return a tensor of the value's shape, without numbers of its own."""
        value = tape.values[number]
        made: Traced = Tensor._make_wrapper_subclass(
            cls,
            value.shape,
            strides=value.stride(),
            storage_offset=value.storage_offset(),
            dtype=value.dtype,
            device=value.device,
        )
        return made

    def __init__(self, tape: Tape, number: int) -> None:
        self.tape, self.number = tape, number

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # type: ignore[override]  # torch calls it so
        """Run an operation through the tape, the only way to run one."""
        raise RuntimeError(f"{func} was called outside of the tape")


def _called(function: Any, leaves: Sequence[Any], shape: Any) -> Any:
    arguments, keywords = tree_unflatten(list(leaves), shape)
    return function(*arguments, **keywords)


def _listed(result: Any) -> list[Any]:
    return list(result) if isinstance(result, tuple | list) else [result]


def _written(argument: Any) -> bool:
    return argument.alias_info is not None and argument.alias_info.is_write


def _unchanging(function: Any) -> Any:
    """Return the functional form of an operation: `add` for `add_`, and without `out`."""
    packet = getattr(torch.ops.aten, function._schema.name.removeprefix(OP).removesuffix("_"))
    wanted = [one.name for one in function._schema.arguments if one.name != "out"]
    known = (getattr(packet, name) for name in packet.overloads())
    kinds = [str(one.type) for one in function._schema.arguments if one.name != "out"]
    return next(
        one
        for one in known
        if [each.name for each in one._schema.arguments] == wanted
        and [str(each.type) for each in one._schema.arguments] == kinds
    )


def _renamed(changed: Sequence[Any], found: Sequence[Any], name: str) -> Any:
    """Return the tensor that was changed in place, which stands for its new value from now on."""
    (old,), (new,) = changed, found
    if not isinstance(old, Traced):
        raise RegardError(f"relevance: this model writes into memory of its own ({name}), and no word is found there")
    old.number = new.number
    return old
