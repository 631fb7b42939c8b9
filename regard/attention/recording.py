"""Collects what every attention saw, by hooks alone: no architecture knows of pictures or penalties."""

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
    """What one attention is for, and what it answered at each call, in their order."""

    role: Role
    answers: list[Attended]


Records = Mapping[str, Recorded]  # by the name of the module


def fitting(records: Records, widths: Mapping[str, int]) -> Records:
    """Leave out what looked at more keys than its column has places: `widths` are those of padded columns, by name.

    So it is where an encoder makes more states than there are words (`ratio`): these belong to no word.
    """
    return {
        name: one
        for name, one in records.items()
        if all(_width(answer) <= widths.get(one.role.keys or "", _width(answer)) for answer in one.answers)
    }


def _width(answer: Attended) -> int:
    return 0 if answer.weights is None else answer.weights.shape[-1]


def is_recording() -> bool:
    """Return whether this thread collects what attention sees: others would mix their calls into its order."""
    return getattr(_local, "depth", 0) > 0


@contextmanager
def recording(
    model: nn.Module, of: Callable[[str, Role], bool] = lambda name, role: True
) -> Iterator[dict[str, Recorded]]:
    """Asks every Attention in the model for its weights and collects its role and answers by the module's name.

    `of` chooses by name and role: others have no answers.

    >>> with recording(model) as records:
    ...     model.nll(batch)
    >>> (cross,) = (one for one in records.values() if one.role == ("target", "source", False, False))
    >>> cross.answers[0].weights  # (batch, head, query, key)

    Compiled models run uncompiled meanwhile: compiled code sees no hook.
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
    """Hide what is computed inside, as a draft, from every `recording` of this thread, and from relevance methods."""
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
