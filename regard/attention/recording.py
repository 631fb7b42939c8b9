"""Record the weights of every attention by hooks, so architectures need no code for plots or penalties."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

from torch import nn

from regard.attention.attention import attentions_in
from regard.attention.parts import Attended, Role
from regard.ops.plain import without_compiler

_local = threading.local()


class Recorded(NamedTuple):
    """Role of one attention, and its outputs in the order of the calls."""

    role: Role
    answers: list[Attended]


Records = Mapping[str, Recorded]  # by the name of the module


def fitting(records: Records, widths: Mapping[str, int]) -> Records:
    """Leave out attentions with more keys than their column has places; `widths`: padded width by column.

    This happens when an encoder has more states than words (`ratio`): the extra states belong to no word.
    """
    return {
        name: one
        for name, one in records.items()
        if all(_width(answer) <= widths.get(one.role.keys or "", _width(answer)) for answer in one.answers)
    }


def _width(answer: Attended) -> int:
    return 0 if answer.weights is None else answer.weights.shape[-1]


def is_recording() -> bool:
    """Return whether this thread records attention: calls of other threads would mix into its order."""
    return getattr(_local, "depth", 0) > 0


@contextmanager
def recording(
    model: nn.Module, of: Callable[[str, Role], bool] = lambda name, role: True
) -> Iterator[dict[str, Recorded]]:
    """Record the weights of every Attention in the model, with its role and outputs, by the module's name.

    `of` selects attentions by name and role; others have no answers.

    >>> with recording(model) as records:
    ...     model.nll(batch)
    >>> (cross,) = (one for one in records.values() if one.role == ("target", "source", False, False))
    >>> cross.answers[0].weights  # (batch, head, query, key)

    Compiled models run uncompiled meanwhile: compiled code runs no hooks.
    """
    records: dict[str, Recorded] = {}
    with ExitStack() as stack:
        _local.depth = getattr(_local, "depth", 0) + 1
        stack.callback(_leave)
        stack.enter_context(without_compiler())
        for name, attention in attentions_in(model).items():
            records[name] = Recorded(attention.role, [])
            if not of(name, attention.role):
                continue
            stack.callback(attention.register_forward_pre_hook(_ask, with_kwargs=True).remove)
            stack.callback(attention.register_forward_hook(_collect(records[name].answers)).remove)
        yield records


def is_hidden() -> bool:
    """Return whether this thread is inside `unrecorded`."""
    return getattr(_local, "hidden", False)


@contextmanager
def unrecorded() -> Iterator[None]:
    """Hide computations inside, for example of a draft, from every `recording` and relevance method of this thread."""
    before, _local.hidden = is_hidden(), True
    try:
        yield
    finally:
        _local.hidden = before


def _leave() -> None:
    _local.depth -= 1


def _ask(module: nn.Module, arguments: Any, settings: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    return arguments, {**settings, "need_weights": True}


def _collect(answers: list[Attended]) -> Any:
    def hook(module: nn.Module, arguments: Any, answer: Attended) -> None:
        if not is_hidden():
            answers.append(answer)

    return hook
