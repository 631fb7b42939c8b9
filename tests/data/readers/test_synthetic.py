"""Readers of examples that a rule and a seed make: what each makes by hand, and that seeds alone decide."""

from itertools import islice

import pytest

from regard.data.readers import READERS, Reader
from regard.data.readers.grids import BETWEEN, COLOURS, SHAPES
from regard.registry import Choice
from regard.text.numbers import read_rows

COLUMNS = {"adding": ("given", "wanted"), "copying": ("given", "wanted"), "counting": ("text",)}


def build(name: str, **settings) -> Reader:
    return READERS.build(Choice(name, {"examples": 200, "length": 6, **settings}), COLUMNS[name])


def texts(reader: Reader) -> list[tuple[str, ...]]:
    return [tuple(example.texts.values()) for example in reader]


@pytest.mark.parametrize("name", COLUMNS)
def test_seeds_alone_decide(name):
    assert list(build(name)) == list(build(name))
    assert texts(build(name, length=9)) != texts(build(name, length=9, seed=2))
    assert len({build(name).key(), build(name, seed=2).key(), build(name, length=7).key()}) == 3


@pytest.mark.parametrize("name", COLUMNS)
def test_more_examples_begin_with_the_same(name):
    few, many = build(name, examples=5), build(name, examples=9)
    assert list(few) == list(islice(many, 5))
    assert [example.line for example in many] == list(range(1, 10))
    assert [many.count(most) for most in (0, 5, 9, 10)] == [0, 5, 9, 9] and many.count() == 9
    assert few.files == ()


@pytest.mark.parametrize(("shortest", "lengths"), [(2, {2, 3, 4, 5, 6}), (6, {6})])
def test_lengths_are_those_asked_for(shortest, lengths):
    for name in ("adding", "copying"):
        assert {len(read_rows(given)) for given, _ in texts(build(name, min_length=shortest))} == lengths
    assert {line.split().count("a") for (line,) in texts(build("counting", min_length=shortest))} == lengths


def test_copies_are_of_random_bits():
    rows = texts(build("copying", width=3, min_length=6))
    bits = [number for given, wanted in rows for number in read_rows(given).ravel()]
    assert all(given == wanted for given, wanted in rows)
    assert set(bits) == {0, 1}
    assert abs(sum(bits) / len(bits) - 0.5) < 0.05  # five standard deviations of 3,600 draws are 0.042
    assert {read_rows(given).shape for given, _ in rows} == {(6, 3)}


def test_counts_of_both_letters_are_equal():
    for (line,) in texts(build("counting")):
        count = line.count("a")
        assert line.split() == ["a"] * count + ["b"] * count


@pytest.mark.parametrize(
    ("operation", "right", "least"), [("add", lambda x, y: 0.5 + (x + y) / 4, -1), ("multiply", lambda x, y: x * y, 0)]
)
def test_answers_are_of_the_two_marked_values(operation, right, least):
    """Targets as https://github.com/craffel/ff-attention has them."""
    values, places = [], set()
    for given, wanted in texts(build("adding", operation=operation, length=4)):
        rows = read_rows(given)
        marked = [place for place, (_, marker) in enumerate(rows) if marker]
        assert set(rows[:, 1]) == {0, 1}
        assert len(marked) == 2
        assert read_rows(wanted).item() == pytest.approx(right(*rows[marked, 0]), abs=1e-6)
        values += rows[:, 0].tolist()
        places.add(tuple(marked))
    assert len(places) == 6  # all pairs of four places
    assert least <= min(values) < least + 0.02
    assert 0.98 < max(values) <= 1


GRID_COLUMNS = ("source", "target")


def grids(**settings):
    return READERS.build(Choice("grids", {"examples": 100, **settings}), GRID_COLUMNS)


@pytest.mark.parametrize(("size", "marked"), [(4, 3), (1, 1), (2, 4)])
def test_a_caption_names_the_marked_cells_in_their_order(size, marked):
    for _, texts in grids(size=size, marked=marked):
        cells = read_rows(texts["source"])
        assert cells.shape == (size * size, 9)
        assert cells[:, :4].sum(axis=1).tolist() == cells[:, 4:8].sum(axis=1).tolist() == [1] * size * size
        named = [f"{COLOURS[row[:4].argmax()]} {SHAPES[row[4:8].argmax()]}" for row in cells if row[8]]
        assert texts["target"].split(BETWEEN) == named
        assert len(named) == marked


def test_seeds_alone_decide_a_grid():
    assert list(grids()) == list(grids()) != list(grids(seed=2))
    assert list(grids(examples=3)) == list(grids())[:3]


def test_all_cells_colours_and_shapes_come_up():
    """Of 1,200 draws of 16 each comes up."""
    rows = [read_rows(texts["source"]) for _, texts in grids(examples=400)]
    seen = sum(rows)
    assert bool((seen[:, :9] > 0).all())
