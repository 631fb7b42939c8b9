"""Synthetic images with captions: grids of coloured shapes, of which the marked ones are named."""

from typing import Annotated

import numpy as np

from regard.config import Doc
from regard.config.bounds import Size
from regard.data.readers.synthetic import ExampleCount, SampleSeed, SyntheticReader
from regard.errors import PartError
from regard.text.numbers import write_rows

COLOURS = ("red", "green", "blue", "yellow")
SHAPES = ("circle", "square", "triangle", "star")
BETWEEN = " and "  # two of the things that a caption names


class GridsReader(SyntheticReader):
    """Cells of a grid, row by row, with a caption of the marked ones: `red circle and blue star and green square`.

    A cell is a vector of colours + shapes + 1 numbers: 1 at its colour, at its shape, and at the last place if it is
    marked; 0 elsewhere. So it stands for a place of a convolutional network's last feature map
    (https://arxiv.org/abs/1502.03044, section 3.1.1).
    """

    def __init__(
        self,
        columns: tuple[str, ...],
        *,
        size: Annotated[Size, Doc("Number of rows and of columns of a grid.")] = 4,
        marked: Annotated[Size, Doc("Number of marked cells.")] = 3,
        examples: ExampleCount = 10_000,
        seed: SampleSeed = 1,
    ) -> None:
        if marked > size * size:
            raise PartError(f"is {marked}, and a grid has {size * size} cells", "fewer", setting="marked")
        super().__init__(columns, 2, f"grids of {size} by {size} cells, {marked} marked", examples, seed)
        self._cells, self._marked = size * size, marked

    def make(self, rng: np.random.Generator) -> tuple[str, ...]:
        colours, shapes = (rng.integers(len(kinds), size=self._cells) for kinds in (COLOURS, SHAPES))
        marked = np.sort(rng.choice(self._cells, self._marked, replace=False))
        cells = np.zeros((self._cells, len(COLOURS) + len(SHAPES) + 1))
        every = np.arange(self._cells)
        cells[every, colours] = cells[every, len(COLOURS) + shapes] = 1
        cells[marked, -1] = 1
        caption = BETWEEN.join(f"{COLOURS[colours[cell]]} {SHAPES[shapes[cell]]}" for cell in marked)
        return write_rows(cells.tolist()), caption
