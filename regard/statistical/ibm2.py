"""IBM model 2 of https://aclanthology.org/J93-2003: a table of positions."""

from collections.abc import Mapping, Sequence

from regard.arrays import Floats
from regard.statistical.alignment_model import Shape, ZeroOrder
from regard.statistical.ibm1 import Ibm1

_Table = Mapping[Shape, Floats]


class Ibm2(ZeroOrder[_Table]):
    """p(i | j, I, J), a number for each: many, so it wants many sentences of each length."""

    def start(self, shapes: Sequence[Shape]) -> _Table:
        return {shape: Ibm1().prior(None, shape) for shape in shapes}

    def prior(self, positions: _Table, shape: Shape) -> Floats:
        """Uniform for a shape that was not learnt from."""
        return positions[shape] if shape in positions else Ibm1().prior(None, shape)

    def maximise(self, positions: _Table, counts: Mapping[Shape, Floats]) -> _Table:
        return {shape: count / count.sum(axis=1, keepdims=True) for shape, count in counts.items()}
