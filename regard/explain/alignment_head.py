"""One head of the attention to the source, by whose weights words are linked."""

from collections.abc import Sequence
from typing import NamedTuple

from regard.explain.alignment_view import mean_of_heads
from regard.results import AttentionMap

_Rows = list[list[float]]  # (target piece, source piece)


class AlignmentHead(NamedTuple):
    """A head of a layer. The one that aligns best differs between models: chosen on a dev set in arXiv:2004.14837."""

    layer: int
    head: int | None = None  # None: the mean of the layer's heads
    ahead: bool = False  # link a word by the attention of the next step, at which the model has read it

    def weights(self, maps: Sequence[AttentionMap]) -> _Rows:
        """Return the weights (target, source) of this head, from all attention maps of one sentence."""
        layer = _crossing(maps)[self.layer]
        rows = mean_of_heads(layer) if self.head is None else layer.weights[self.head]
        return [*rows[1:], *rows[-1:]] if self.ahead else rows

    def __str__(self) -> str:
        head = "mean of the heads" if self.head is None else f"head {self.head + 1}"
        return f"layer {self.layer + 1}, {head}{', a step ahead' if self.ahead else ''}"


def heads_of(maps: Sequence[AttentionMap]) -> list[AlignmentHead]:
    """Return all heads that attend to the source, and their means, each at the step of a piece and at the next step."""
    return [
        AlignmentHead(layer, head, ahead)
        for layer, each in enumerate(_crossing(maps))
        for head in (None, *range(len(each.weights)))
        for ahead in (False, True)
    ]


def _crossing(maps: Sequence[AttentionMap]) -> list[AttentionMap]:
    return [each for each in maps if each.kind == "cross" and each.keys == "source"]
