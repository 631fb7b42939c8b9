"""Made-up grids: what their cells say is what the caption says."""

import pytest

from regard.data.readers import READERS
from regard.data.readers.grids import BETWEEN, COLOURS, SHAPES
from regard.errors import ConfigError
from regard.registry import Choice
from regard.text.numbers import read_rows

COLUMNS = ("source", "target")


def build(**settings):
    return READERS.build(Choice("grids", {"examples": 100, **settings}), COLUMNS)


@pytest.mark.parametrize(("size", "marked"), [(4, 3), (1, 1), (2, 4)])
def test_a_caption_names_the_marked_cells_in_their_order(size, marked):
    for _, texts in build(size=size, marked=marked):
        cells = read_rows(texts["source"])
        assert cells.shape == (size * size, 9)
        assert cells[:, :4].sum(axis=1).tolist() == cells[:, 4:8].sum(axis=1).tolist() == [1] * size * size
        named = [f"{COLOURS[row[:4].argmax()]} {SHAPES[row[4:8].argmax()]}" for row in cells if row[8]]
        assert texts["target"].split(BETWEEN) == named
        assert len(named) == marked


def test_seeds_alone_decide():
    assert list(build()) == list(build()) != list(build(seed=2))
    assert list(build(examples=3)) == list(build())[:3]


def test_all_cells_colours_and_shapes_come_up():
    """Of 1,200 draws of 16 each comes up."""
    rows = [read_rows(texts["source"]) for _, texts in build(examples=400)]
    seen = sum(rows)
    assert bool((seen[:, :9] > 0).all())


def test_more_marks_than_cells_are_refused():
    with pytest.raises(ConfigError, match=r"data\.reader\.marked: is 5, and a grid has 4 cells"):
        build(size=2, marked=5)
