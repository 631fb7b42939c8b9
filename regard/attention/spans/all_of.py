"""Several spans at once, as a decoder needs when its own attention is, say, causal and windowed."""

from typing import Any

from torch import Tensor

from regard.attention.parts import Attended, Memory, Span, View, Window
from regard.ops.modules import module_list


class AllOf(Span):
    """A key is seen if every span shows it; biases and read values add up, gains multiply."""

    def __init__(self, spans: list[Span]) -> None:
        super().__init__()
        self.spans = module_list(spans)
        self.sequential = any(span.sequential for span in spans)
        self.whole = any(span.whole for span in spans)
        self.by_place = any(span.by_place for span in spans)

    def begin(self, queries: Tensor, memory: Memory) -> tuple[Any, ...]:
        return tuple(span.begin(queries, memory) for span in self.spans)

    def after(self, past: tuple[Any, ...], attended: Attended, scores: Tensor | None) -> tuple[Any, ...]:
        return tuple(span.after(old, attended, scores) for span, old in zip(self.spans, past, strict=True))

    def window(self, queries: Tensor, memory: Memory, past: tuple[Any, ...]) -> Window | None:
        """The narrowest, as the others can but take from it."""
        told = (span.window(queries, memory, old) for span, old in zip(self.spans, past, strict=True))
        return min((window for window in told if window is not None), key=lambda window: window.width, default=None)

    def view_at(self, queries: Tensor, memory: Memory, past: tuple[Any, ...], places: Tensor) -> View:
        joined = View()
        for span, old in zip(self.spans, past, strict=True):
            joined = _joined(joined, span.view_at(queries, memory, old, places))
        return joined


def _joined(first: View, second: View) -> View:
    return View(
        mask=_join(first.mask, second.mask, lambda a, b: a & b),
        bias=_join(first.bias, second.bias, lambda a, b: a + b),
        gain=_join(first.gain, second.gain, lambda a, b: a * b),
        values=_join(first.values, second.values, lambda a, b: a + b),
    )


def _join(first: Tensor | None, second: Tensor | None, how: Any) -> Tensor | None:
    if first is None or second is None:
        return second if first is None else first
    joined: Tensor = how(first, second)
    return joined
