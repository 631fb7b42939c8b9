"""Unequal line counts: both are told, and the place where the files part company is found."""

import random

import numpy as np
import pytest

from regard.data.readers.parallel import ParallelReader, growths, running_costs
from regard.errors import DataError


def translations(count: int, seed: int) -> tuple[list[str], list[str]]:
    """Lines of 20 to 150 letters and others about 1.3 times as long, give or take a sixth."""
    draws = random.Random(seed)
    sizes = [draws.randint(20, 150) for _ in range(count)]
    return ["s" * size for size in sizes], ["t" * round(1.3 * size * draws.uniform(0.85, 1.15)) for size in sizes]


def told(folder, source: list[str], target: list[str]) -> str:
    files = {"source": folder / "a.en", "target": folder / "a.de"}
    for path, lines in zip(files.values(), (source, target), strict=True):
        path.write_text("".join(line + "\n" for line in lines), "utf-8")
    with pytest.raises(DataError) as caught:
        list(ParallelReader(("source", "target"), files={column: str(path) for column, path in files.items()}))
    return str(caught.value).replace(str(folder) + "/", "")


def line_of(message: str) -> int:
    """The line from which all pairs are shifted."""
    return int(message.split("every pair from line ")[1].split(maxsplit=1)[0].replace(",", ""))


@pytest.mark.parametrize("place", [0, 1, 250, 700, 950])
@pytest.mark.parametrize("seed", range(3))
def test_a_lost_line_is_found(tmp_path, place, seed):
    source, target = translations(1000, seed)
    del target[place]
    message = told(tmp_path, source, target)
    assert message.startswith("a.en: 1,000 lines, but a.de has 999; every pair from line ")
    assert abs(line_of(message) - (place + 1)) <= 2


def test_the_first_of_several_lost_lines_is_found(tmp_path):
    source, target = translations(1000, 0)
    del source[300], source[600:602], source[900]
    message = told(tmp_path, source, target)
    assert message.startswith("a.de: 1,000 lines, but a.en has 996; ")
    assert abs(line_of(message) - 301) <= 2


def test_an_added_empty_line_is_found_exactly(tmp_path):
    source, target = translations(500, 1)
    source.insert(123, "")
    assert line_of(told(tmp_path, source, target)) == 124


def test_a_file_that_was_cut_off_is_told(tmp_path):
    source, target = translations(500, 2)
    assert told(tmp_path, source[:200], target) == (
        "a.de: 500 lines, but a.en has 200; lines 1-200 fit each other: is the shorter file truncated?"
    )
    assert "lines 1-1 fit each other" in told(tmp_path, ["one"], ["eins", "zwei"])


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("lost", [1, 9, 30])
def test_a_file_that_ends_early_parts_company_nowhere(tmp_path, seed, lost):
    source, target = translations(400, seed)
    assert f"lines 1-{400 - lost} fit each other" in told(tmp_path, source, target[:-lost])


@pytest.mark.parametrize("seed", range(5))
def test_a_few_odd_pairs_are_no_break(tmp_path, seed):
    """Sentences of about one length, of which the last is lost; three pairs from line 89 on are odd."""
    draws = random.Random(seed)
    source, target = (["x" * draws.randint(28, 32) for _ in range(120)] for _ in range(2))
    source[88:91], target[88:91] = ["x" * 4, "x" * 200, "x" * 4], ["x" * 200, "x" * 4, "x" * 200]
    message = told(tmp_path, source, target[:-1])
    assert "truncated?" in message and "every pair" not in message


def test_the_fast_search_equals_trying_all_places():
    draws = np.random.default_rng(0)
    for _ in range(50):
        longer, shorter = np.log(draws.integers(2, 50, size=14)), np.log(draws.integers(2, 50, size=12))
        usual = float(np.median(longer[:12] - shorter))
        costs = [np.minimum(abs(longer[shift : shift + 12] - shorter - usual), 2.0) for shift in range(3)]
        totals = {
            (a, b): costs[0][:a].sum() + costs[1][a:b].sum() + costs[2][b:].sum()
            for a in range(13)
            for b in range(a, 13)
        }
        sums = [running_costs(longer[shift:], shorter, usual) for shift in range(3)]
        found = growths(sums, margin=0.0)[0]
        assert min(total for (a, _), total in totals.items() if a == found) == pytest.approx(min(totals.values()))
