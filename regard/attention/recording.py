"""Collects what every attention saw, by hooks alone: no architecture knows of pictures or penalties."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import nn

from regard.attention.attention import Attention
from regard.attention.parts import Attended
from regard.compat import uncompiled

_local = threading.local()


def is_recording() -> bool:
    """Whether this thread collects what attention sees: others would mix their calls into its order."""
    return getattr(_local, "depth", 0) > 0


@contextmanager
def recording(model: nn.Module) -> Iterator[dict[str, list[Attended]]]:
    """Asks every Attention in the model for its weights and collects each answer by the module's name, in call order.

    >>> with recording(model) as records:
    ...     model.nll(batch)
    >>> records["decoders.translate.blocks.0.cross"][0].weights  # (batch, head, query, key)

    Compiled models run uncompiled meanwhile: compiled code sees no hook.
    """
    records: dict[str, list[Attended]] = {}
    with ExitStack() as stack:
        _local.depth = getattr(_local, "depth", 0) + 1
        stack.callback(_leave)
        stack.enter_context(torch.compiler.set_stance("force_eager"))
        for name, module in uncompiled(model).named_modules():
            if not isinstance(module, Attention):  # not a question to a part: this is the one class that looks
                continue
            records[name] = []
            stack.callback(module.register_forward_pre_hook(_ask, with_kwargs=True).remove)
            stack.callback(module.register_forward_hook(_collect(records[name])).remove)
        yield records


def _leave() -> None:
    _local.depth -= 1


def _ask(module: nn.Module, arguments: Any, settings: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    return arguments, {**settings, "need_weights": True}


def _collect(answers: list[Attended]) -> Any:
    def hook(module: nn.Module, arguments: Any, answer: Attended) -> None:
        answers.append(answer)

    return hook
