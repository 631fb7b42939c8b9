"""The alignment error rate by hand, and gold files, good and bad."""

import gzip

import pytest

from regard.errors import DataError, RegardError
from regard.evaluation import read_gold
from regard.evaluation.alignments import GoldAlignment, alignment_error_rate, link_rates


def test_error_rate_by_hand():
    found = [{(0, 0), (1, 1), (2, 1)}, {(0, 0)}]
    sure = [{(0, 0), (1, 1)}, {(0, 1)}]
    possible = [{(2, 1)}, {(0, 0)}]
    # A∩S: 2 + 0; A∩P: 3 + 1; |A| + |S|: 4 + 3
    assert alignment_error_rate(found, sure, possible) == pytest.approx(1 - (2 + 4) / 7)


def test_error_rate_at_its_ends():
    links = [{(0, 0), (1, 1)}]
    assert alignment_error_rate(links, links, [set()]) == 0  # sure links are possible ones too
    assert alignment_error_rate([{(0, 1)}], links, links) == 1
    assert alignment_error_rate([[]], [[]], [[]]) == 0
    assert alignment_error_rate([], [], []) == 0
    with pytest.raises(RegardError, match="1 sentences, but gold links of 2 and 1"):
        alignment_error_rate([[]], [[], []], [[]])


def test_links_given_twice_count_once():
    assert alignment_error_rate([[(0, 0), (0, 0)]], [[(0, 0)]], [[]]) == 0


@pytest.mark.parametrize("ending", ["gold", "gold.gz"])
def test_gold_files_count_from_one(tmp_path, ending):
    path = tmp_path / f"ro-en.{ending}"
    text = b"3-1 16p21 2-3\n\n1p1\r\n"
    path.write_bytes(gzip.compress(text) if ending.endswith("gz") else text)
    first, empty, last = read_gold(path)
    assert first.sure == {(2, 0), (1, 2)}
    assert first.possible == {(2, 0), (1, 2), (15, 20)}
    assert empty.sure == empty.possible == frozenset()
    assert (last.sure, last.possible) == (frozenset(), {(0, 0)})


@pytest.mark.parametrize("item", ["0-1", "1-0", "1_2", "1-", "-1-2", "1-2-3", "1.5-2", "١-٢", "1P2", "9" * 5000 + "-1"])
def test_a_bad_link_is_told_with_its_line(tmp_path, item):
    path = tmp_path / "gold"
    path.write_text(f"1-1\n2-2 {item}\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"gold:2: .* is not a link"):
        read_gold(path)


def test_bad_gold_files_are_told(tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        read_gold(tmp_path / "missing")
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b"1-1 " * 99)[:-9])
    with pytest.raises(DataError, match="cannot be read"):
        read_gold(tmp_path / "cut.gz")
    (tmp_path / "plain.gz").write_bytes(b"1-1\n")
    with pytest.raises(DataError, match="cannot be read"):
        read_gold(tmp_path / "plain.gz")
    (tmp_path / "latin").write_bytes(b"1-1\n1-\xe9\n")
    with pytest.raises(DataError, match="latin:2: is not UTF-8 at byte 3"):
        read_gold(tmp_path / "latin")


def test_precision_counts_possible_links_and_recall_sure_ones():
    gold = [GoldAlignment(frozenset({(0, 0), (1, 1)}), frozenset({(2, 1)})), GoldAlignment(frozenset(), frozenset())]
    rates = link_rates([[(0, 0), (2, 1), (2, 2)], [(0, 0)]], gold)
    assert rates == pytest.approx((1 - (1 + 2) / (4 + 2), 2 / 4, 1 / 2))
    assert link_rates([[]], gold[1:]) == (0, 1, 1)
