"""When turns end, and when a contender is good enough; what JoeyNMT reads and writes."""

import pytest

from benchmarks import benchmark
from regard.registry import Choice
from regard.text import train_tokenizer

quality, joeynmt = benchmark("quality"), benchmark("joeynmt_peer")
Mark = quality.Mark


def test_turns_end_at_every_mark():
    assert quality.schedule([5.0, 2.0], 2.0) == [(2.0, True), (4.0, False), (5.0, True)]
    assert quality.schedule([0.3], 0.1) == [(0.1, False), (0.2, False), (0.3, True)]


@pytest.mark.parametrize(
    ("marks", "wanted"),
    [
        ([Mark(5, 20.0), Mark(10, 40.0)], 9.0),  # 16 of 20 points further
        ([Mark(5, 36.0)], 5.0),
        ([Mark(5, 20.0), Mark(10, 35.9)], None),
        ([], None),
    ],
)
def test_the_time_to_quality_is_between_marks(marks, wanted):
    assert quality.reaching(marks) == (None if wanted is None else pytest.approx(wanted))


def test_a_contender_that_has_not_come_so_far_has_no_score():
    lines = quality.table({"a": [Mark(5, 20.0), Mark(10, 40.0)], "b": [Mark(5, 1.0)]}).splitlines()
    assert lines[2:] == ["| a | 20.00 | 40.00 | 9.0 |", "| b | 1.00 |  | not reached |"]


def test_progress_is_kept(tmp_path):
    assert quality.progress(tmp_path) == {"minutes": 0.0, "marks": []}
    quality.keep(tmp_path, {"minutes": 2.5, "marks": [[2.5, 3.0]]})
    assert quality.progress(tmp_path) == {"minutes": 2.5, "marks": [[2.5, 3.0]]}
    assert [path.name for path in tmp_path.iterdir()] == ["progress.json"]


def test_pieces_come_back_as_text():
    texts = ["Two dogs run.", "a man in a hat"]
    tokenizer = train_tokenizer(Choice("subwords", {"size": 300}), texts * 20)
    lines = joeynmt.pieces_of(tokenizer, texts)
    assert all(line.startswith("\u2581") for line in lines)
    assert joeynmt.joined(lines) == texts
