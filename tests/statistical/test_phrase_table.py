"""Phrase tables: look-up, files of Moses and what is wrong with them."""

import gzip
import math

import pytest

from regard.errors import DataError
from regard.statistical.phrase_table import LOWEST, PhraseEntry, PhraseTable

HALF, ALL = math.log(0.5), 0.0
SIX = tuple(map(math.log, (0.5, 0.25, 0.25, 0.125, 0.125, 0.75)))
PAIRS = [
    (("das", "Haus"), PhraseEntry(("the", "building"), (ALL, HALF, math.log(0.25), HALF), ((0, 0), (1, 1)), SIX)),
    (("Haus",), PhraseEntry(("house",), (HALF, HALF, HALF, HALF), ((0, 0),), SIX)),
    (("das", "Haus"), PhraseEntry(("the", "house"), (ALL, LOWEST, math.log(0.75), HALF), ((0, 0), (1, 1)), SIX)),
    (("a|b", "7\u00a0kg"), PhraseEntry(("|||",), (HALF, HALF, HALF, HALF), (), SIX)),
]
LINE = "das Haus ||| the house ||| 1 0.5 0.75 0.5 ||| 0-0 1-1\n"


def close(one: PhraseEntry, other: PhraseEntry) -> bool:
    numbers = zip((*one.scores, *one.reordering), (*other.scores, *other.reordering), strict=True)
    same = (one.target, one.links) == (other.target, other.links)
    return same and all(math.isclose(a, b, abs_tol=1e-6, rel_tol=1e-5) for a, b in numbers)


def test_a_phrase_has_its_translations_the_likeliest_first():
    table = PhraseTable.of(PAIRS)
    first, second = table.entries(["das", "Haus"])
    assert close(first, PAIRS[2][1]) and close(second, PAIRS[0][1])
    assert (len(table), table.longest) == (4, 2)
    assert ["Haus"] in table and ["das"] not in table and ["Haus", "das"] not in table and ["x"] not in table
    assert table.entries([]) == [] and list(table.rows(["the"])) == []


def test_an_empty_table_knows_nothing():
    table = PhraseTable.of([])
    assert (len(table), table.longest, table.entries(["a"]), list(table)) == (0, 0, [], [])


@pytest.mark.parametrize("end", ["", ".gz"])
def test_a_written_table_is_read_again(tmp_path, end):
    table, files = PhraseTable.of(PAIRS), (tmp_path / f"phrases{end}", tmp_path / f"reordering{end}")
    table.write(*files)
    again = PhraseTable.read(*files)
    assert [source for source, _ in again] == [source for source, _ in table]
    assert all(close(one, other) for (_, one), (_, other) in zip(table, again, strict=True))
    assert PhraseTable.read(files[0]).reordering.shape == (4, 0)


def test_lines_are_those_of_moses(tmp_path):
    PhraseTable.of(PAIRS).write(tmp_path / "phrases", tmp_path / "reordering")
    assert (tmp_path / "phrases").read_text("utf-8").splitlines() == [
        "das Haus ||| the house ||| 1 0 0.75 0.5 ||| 0-0 1-1",
        "das Haus ||| the building ||| 1 0.5 0.25 0.5 ||| 0-0 1-1",
        "Haus ||| house ||| 0.5 0.5 0.5 0.5 ||| 0-0",
        "a&#124;b 7\u00a0kg ||| &#124;&#124;&#124; ||| 0.5 0.5 0.5 0.5 ||| ",
    ]
    assert (tmp_path / "reordering").read_text("utf-8").splitlines()[2] == (
        "Haus ||| house ||| 0.5 0.25 0.25 0.125 0.125 0.75"
    )


@pytest.mark.parametrize(
    ("second", "problem"),
    [
        ("das Haus", "cut off"),
        ("das Haus ||| the house ||| 1 0.5", "cut off"),
        ("das Haus ||| the house ||| 1 0.5 0.75 ||| 0-0", "are not 4 probabilities"),
        ("das Haus ||| the house ||| 1 0.5 0.75 x ||| 0-0", "are not probabilities"),
        ("das Haus ||| the house ||| 1 0.5 0.75 -1 ||| 0-0", "are not 4 probabilities"),
        ("das Haus ||| the house ||| 1 0.5 0.75 nan ||| 0-0", "are not 4 probabilities"),
        ("das Haus ||| the house ||| 1 0.5 0.75 1 ||| 0-0 1-", "'1-' is not a link"),
        ("das Haus ||| the house ||| 1 0.5 0.75 1 ||| 0-2", "points behind a phrase"),
        ("das Haus ||| ||| 1 0.5 0.75 1 ||| 0-0", "a phrase has 0 words"),
        (LINE.rstrip(), "the last line has no end"),
    ],
)
def test_a_broken_line_is_named(tmp_path, second, problem):
    path = tmp_path / "phrases"
    path.write_text(LINE + second, "utf-8")
    with pytest.raises(DataError, match=f"phrases:2: .*{problem}"):
        PhraseTable.read(path)


def test_a_packed_table_that_is_cut_off_names_a_line(tmp_path):
    path = tmp_path / "phrases.gz"
    path.write_bytes(gzip.compress("".join(LINE.replace("0.75", f"0.{one}") for one in range(5000)).encode())[:-200])
    with pytest.raises(DataError, match=r"phrases\.gz:[0-9]{3,}: damaged gzip file.*cut off"):
        PhraseTable.read(path)


def test_a_pair_without_reordering_scores_is_named(tmp_path):
    table, reordering = tmp_path / "phrases", tmp_path / "reordering"
    table.write_text(LINE, "utf-8")
    reordering.write_text("das Haus ||| the building ||| 1 1 1 1 1 1\n", "utf-8")
    with pytest.raises(DataError, match=r"reordering: has no line 'das Haus \|\|\| the house'"):
        PhraseTable.read(table, reordering)
