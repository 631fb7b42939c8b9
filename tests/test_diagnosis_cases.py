"""The two cases of an UNK and of a word said again, by hand."""

import gzip

import pytest

from benchmarks import benchmark
from regard.results import WordRelevance

cases = benchmark("diagnosis_cases")
READ = cases.Read(
    ["der", "Zwickel", "."],
    ["<s>", "the", "UNK", "the", "."],
    ["the", "UNK", "the", "."],
    [[0.6, 0.1, 0.0], [0.1, 0.5, 0.0], [0.2, 0.0, 0.0], [0.0, 0.1, 0.7]],
    [[0.3, 0.0, 0.0, 0.0, 0.0], [0.0, 0.4, 0.0, 0.0, 0.0], [0.0, 0.5, -0.3, 0.0, 0.0], [0.0, 0.0, 0.0, 0.2, 0.0]],
)


def test_rare_words_are_marked_and_signs_stay():
    assert cases.marked("The old man, a walrus.", {"The", "man", "a"}) == "The UNK man, a UNK."


def test_words_rest_on_what_speaks_most_for_them():
    assert [READ.main_source(place) for place in range(3)] == ["der", "Zwickel", "der"]
    assert [READ.share_before(place) for place in range(3)] == pytest.approx([0.3, 0.4, 0.8])


def test_the_tables_by_hand():
    assert cases.places_of(READ) == ([1], [2])
    assert cases.unknown_line("lrp", [READ], {"der"}) == "| lrp | 1 | 100 % | 50 % |"
    again, first, every, more = cases.repeated_lines([READ], [READ])
    assert (again, first) == ("| words said again | 1 | 80 % |", "| the same words, said first | 1 | 30 % |")
    assert every.endswith(f"{round(100 * (0.4 + 0.8 + 0.2) / 3)} % |") and "100 %" in more


def test_words_said_shortly_before_are_said_again():
    assert cases.said_again("a man in a red red hat is UNK UNK") == [5]
    assert cases.said_again("a dog and a cat and a bird") == []


def test_a_model_that_says_no_word_again_is_told():
    assert [*cases.repeated_lines([READ], [])] == ["no word is said again: the model is too good"]


def test_pieces_are_read_as_words():
    tokens = {"source": ["▁Zwi", "ckel", "</s>"], "target": ["<s>", "▁U", "NK"]}
    values = {"source": [[3, 1, 0], [1, 1, 0], [0, 0, 1]], "target": [[0, 0, 0], [2, 4, 0], [0, 0, 1]]}
    read = cases.read_of(WordRelevance("lrp", ["▁U", "NK", "</s>"], tokens, values, []))
    assert read[:3] == (["Zwickel"], ["<s>", "UNK"], ["UNK"])
    assert read.by_source == [[pytest.approx((4 / 4 + 2 / 8) / 2)]]
    assert read.by_before == [pytest.approx([(0 + 2 / 8) / 2, (0 + 4 / 8) / 2])]


def test_each_case_has_a_picture(tmp_path, monkeypatch):
    monkeypatch.setattr(cases, "SHORT", range(1, 9))
    told = [*cases.draw([READ], {"der"}, tmp_path)]
    assert [line.partition(":")[0].rpartition("/")[2] for line in told] == ["case-unknown.svg", "case-repeated.svg"]
    drawn = (tmp_path / "case-unknown.svg").read_text()
    assert drawn.count("<title>") == 1 and "<title>UNK comes from “Zwickel”</title>" in drawn
    assert "“the” again: 80% from the words before" in (tmp_path / "case-repeated.svg").read_text()


def test_texts_are_read_from_archives(tmp_path):
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"eins\nzwei\n"))
    assert cases.lines_of(tmp_path / "a.gz") == ["eins", "zwei"]
