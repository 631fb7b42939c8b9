"""Heads of a memory step by step: what a terminal and a picture show of their maps."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from regard.answers import show
from regard.explain import svg_of, to_json
from regard.explain.alignment_view import alignment_views
from regard.results import AttentionMap, ColumnLink, Explanation, Prediction, TokenRole, Tokens

WRITES = [[0.97, 0.02, 0.0, 0.0, 0.01], [0.04, 0.0, 0.0, 0.0, 0.96], [0.0, 0.0, 0.0, 0.9, 0.1]]
READS = [[1.0, 0.0, 0.0, 0.0, 0.0], [0.7, 0.3, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 1.0]]
COLUMNS = {
    "given": Tokens(["1,0"], TokenRole.GIVEN),
    "wanted": Tokens(["1,0"], TokenRole.ITEMS),
    "steps": Tokens(["1,0", "·", "1,0"], TokenRole.DERIVED),
    "slots": Tokens(["0", "1", "2", "3", "4"], TokenRole.DERIVED),
    "read": Tokens(["1,0", "·"]),
}
FOUND = Explanation(
    COLUMNS,
    [ColumnLink("read", "wanted", [(0, 0)], [[1.0, 0.0]])],
    [
        AttentionMap("write_head.0", "memory", 0, [WRITES], "steps", "slots"),
        AttentionMap("read_head.0", "memory", 0, [READS], "steps", "slots"),
    ],
)


def test_slots_that_no_head_was_at_are_left_out():
    """The slots are a circle: it is opened where it is emptiest."""
    alignment, writes, reads = alignment_views(FOUND)
    assert alignment.weights == FOUND.link.weights
    for seen, weights in ((writes, WRITES), (reads, READS)):
        assert (seen.columns, seen.rows) == (["3", "4", "0", "1"], COLUMNS["steps"].texts)
        assert seen.weights == [[row[slot] for slot in (3, 4, 0, 1)] for row in weights]
    assert [seen.about.split(":")[0] for seen in (writes, reads)] == ["write_head.0", "read_head.0"]


@pytest.mark.parametrize("slots", [1, 5])
def test_a_head_that_was_everywhere_shows_all_slots(slots):
    rows = [[1 / slots] * slots] * 3
    found = replace(FOUND, maps=[AttentionMap("w", "memory", 0, [rows], "steps", "slots")])
    assert alignment_views(found)[1].columns == COLUMNS["slots"].texts[:slots]


def test_a_terminal_and_a_picture_show_each_head():
    file = io.StringIO()
    show([Prediction("1 0", "1 0", -0.1, explanation=FOUND)], Console(file=file, width=200))
    assert "write_head.0: slots of the memory at each of the steps" in file.getvalue()
    assert "· ← 4 96%" in file.getvalue()  # two steps write the same: they are numbered, the mark is not
    assert "read_head.0: slots of the memory at each of the steps" in svg_of(FOUND)


def test_json_holds_every_slot():
    (told,) = to_json([Prediction("1 0", "1 0", -0.1, explanation=FOUND)])["predictions"]
    assert [(one["kind"], one["weights"]) for one in told["explanation"]["maps"]] == [
        ("memory", [WRITES]),
        ("memory", [READS]),
    ]
    assert told["explanation"]["columns"]["slots"]["tokens"] == COLUMNS["slots"].texts
