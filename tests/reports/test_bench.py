"""What attention costs: slopes and memory by hand, and turns taken as they should."""

import json
import math
from pathlib import Path

import pytest
import torch

from regard.errors import ConfigError, RegardError
from regard.models.settings import AttentionSettings
from regard.ops.plain import is_plain
from regard.registry import Choice
from regard.reports.bench.bench import (
    USUAL_MECHANISMS,
    LengthTiming,
    Mechanism,
    Pass,
    Timing,
    Workload,
    bench,
    bench_report,
    expected_bytes,
    mechanisms_of,
    memory_table,
    peak_bytes,
    plot,
    slope,
    time_table,
)
from regard.reports.report import check_plot

CPU = torch.device("cpu")
DOT = Mechanism("dot", AttentionSettings(score=Choice("dot")))


def timing(name: str, *values: tuple[int, float, int]) -> Timing:
    """(length, milliseconds, MB) of a mechanism."""
    return Timing(
        Mechanism(name, AttentionSettings()),
        [LengthTiming(length, (ms / 1e3,), mb * 2**20) for length, ms, mb in values],
    )


@pytest.mark.parametrize(
    ("points", "found"),
    [
        ([(n, 3 * n**2) for n in (2, 4, 8)], 2.0),
        ([(n, 5.0 * n) for n in (10, 1000)], 1.0),
        ([(1, 1.0), (math.e, math.e), (math.e**2, math.e)], 0.5),  # (0, 0), (1, 1), (2, 1)
        ([(2, 1.0)], None),
        ([(2, 0.0), (4, 1.0)], None),
    ],
)
def test_slopes(points, found):
    assert slope(points) == (found if found is None else pytest.approx(found))


def test_memory_is_what_is_held_at_once():
    """4 + 4 MB, then 4 given back and 8 taken: 12 at most, whatever is still held in the end."""

    def work():
        first = torch.empty(2**20)
        second = torch.empty(2**20)
        del first
        return second, torch.empty(2**21)

    assert peak_bytes(work, CPU) == 12 * 2**20


def test_memory_inside_of_an_expression_counts():
    """A product takes 4 MB, its exponential as much again, unless it is taken in place."""
    one = torch.randn(1024, 1024)

    def apart():
        return (one @ one).exp()

    def in_place():
        return (one @ one).exp_()

    assert (peak_bytes(apart, CPU), peak_bytes(in_place, CPU)) == (2 * one.nbytes, one.nbytes)


@pytest.mark.parametrize("backward", [True, False])
def test_memory_of_the_plain_dot_product_grows_with_the_square(backward):
    passes = [Pass(DOT._replace(fast=False), Workload(dim=4, backward=backward), length, CPU) for length in (256, 512)]
    short, long = (peak_bytes(one, CPU) for one in passes)
    assert 3.5 < long / short < 4.2
    assert short >= 4 * 256**2


def test_without_fast_paths_means_without(monkeypatch):
    seen = []
    monkeypatch.setattr(Pass, "_once", lambda one: seen.append((is_plain(), torch.is_grad_enabled())))
    for fast, backward in ((True, True), (False, True), (True, False)):
        Pass(DOT._replace(fast=fast), Workload(dim=4, backward=backward), 3, CPU)()
    assert seen == [(False, True), (True, True), (False, False)]


def test_all_take_turns_and_another_one_begins_each_round(monkeypatch):
    turns, names = [], {}
    real = Pass.__init__

    def made(one, mechanism, work, length, device):
        names[one] = mechanism.name
        real(one, mechanism, work, length, device)

    def seconds(one):
        turns.append(names[one])
        return float(len(turns))

    monkeypatch.setattr(Pass, "__init__", made)
    monkeypatch.setattr(Pass, "seconds", seconds)
    found = bench([DOT._replace(name=name) for name in "abc"], Workload((8,), dim=4, rounds=3))
    assert "".join(turns) == "abc" + "abc" + "bca" + "cab"
    assert [one.measures[0].seconds for one in found] == [(4, 9, 11), (5, 7, 12), (6, 8, 10)]
    assert found[0].measures[0].median == 9


def test_what_would_not_fit_is_left_out_and_told():
    said = []
    wide = DOT._replace(name="wide", fast=False)
    found = bench([wide, DOT], Workload((128, 2048, 64), dim=4, rounds=1, max_memory=2), said.append)
    assert [one.length for one in found[0].measures] == [64, 128]
    assert any(line.startswith("wide: left out from 2,048 on, it would take about ") for line in said)
    assert said[0].startswith("64: wide ")


@pytest.mark.parametrize(
    ("known", "found"),
    [
        ([], 0.0),
        ([(10, 100)], 400.0),  # nothing is known: with the square
        ([(5, 50), (10, 100)], 200.0),
        ([(5, 100), (10, 100)], 200.0),  # less than with the length is too good to be true
        ([(5, 10), (10, 100)], 400.0),
    ],
)
def test_memory_is_guessed_as_it_grew(known, found):
    measures = [LengthTiming(length, (1.0,), count) for length, count in known]
    assert expected_bytes(measures, 20) == pytest.approx(found)


def test_too_little_memory_is_no_fault(monkeypatch):
    def refuse(one):
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory")

    monkeypatch.setattr(Pass, "__call__", refuse)
    said = []
    assert bench([DOT], Workload((8,), dim=4), said.append)[0].measures == []
    assert said == ["dot: left out from 8 on, there is not enough memory", "8: nothing fits"]
    monkeypatch.setattr(Pass, "__call__", lambda one: torch.ones(2) @ torch.ones(3))
    with pytest.raises(RuntimeError, match="size"):
        bench([DOT], Workload((8,), dim=4))


def test_mechanisms_by_alias_by_settings_and_by_both():
    words = ["bahdanau", "multihead", "score=dot,span=causal,num_heads=2", "bahdanau,span=causal,score.hidden_dim=3"]
    found = {one.name: one.settings for one in mechanisms_of(words)}
    assert list(found) == words
    told = [(one.score.name, [span.name for span in one.span], one.num_heads) for one in found.values()]
    assert told == [
        ("additive", ["everywhere"], 1),
        ("scaled_dot", ["everywhere"], 8),
        ("dot", ["causal"], 2),
        ("additive", ["causal"], 1),
    ]
    assert found[words[3]].score.settings["hidden_dim"] == 3


def test_more_for_each_mechanism():
    assert [one.name for one in mechanisms_of([])] == list(USUAL_MECHANISMS)
    found = mechanisms_of(["dot"], heads=4, with_plain=True)
    assert [(one.name, one.fast, one.settings.num_heads) for one in found] == [
        ("dot", True, 4), ("dot (plain)", False, 4),
    ]  # fmt: skip


def test_all_that_is_wrong_with_mechanisms_is_told():
    with pytest.raises(ConfigError) as told:
        mechanisms_of(["addtive", "dot", "dot,span=windw", "score=dot,num_haeds=2"])
    lines = str(told.value).splitlines()
    assert [line.partition(": ")[0] for line in lines] == ["addtive", "dot,span=windw", "score=dot,num_haeds=2"]
    assert "did you mean 'num_heads'?" in lines[2]
    with pytest.raises(ConfigError, match=r"^dot: num_heads: 3 heads do not divide dim 4"):
        bench(mechanisms_of(["dot"], heads=3), Workload((8,), dim=4))


def test_tables_have_a_column_for_each_length():
    timings = [timing("fast", (10, 1, 1), (20, 2, 2), (40, 4, 4)), timing("slow", (10, 1.5, 100))]
    times, memory = (made(timings, (10, 20, 40)) for made in (time_table, memory_table))
    assert times.columns == ["ms", "10", "20", "40", "slope"]
    texts, memory_texts = ([[cell.text for cell in row] for row in table.rows] for table in (times, memory))
    assert texts == [["fast", "1", "2", "4", "1.00"], ["slow", "1.5", "–", "–", "–"]]
    assert memory_texts[1] == ["slow", "100", "–", "–", "–"]


def test_a_report_is_json():
    told = bench_report([timing("fast", (10, 1, 1), (20, 2, 2))], Workload((10, 20))).values
    assert json.loads(json.dumps(told, allow_nan=False))["mechanisms"][0]["slope"] == pytest.approx(1)
    assert told["workload"]["lengths"] == (10, 20)


@pytest.mark.parametrize(("kind", "start"), [(".svg", b"<?xml"), (".png", b"\x89PNG")])
def test_a_plot(kind, start):
    drawn = plot([timing("a $x$ <b>", (10, 1, 1), (20, 2, 2)), timing("b", (10, 1, 1))], title="$t <", kind=kind)
    assert drawn.startswith(start)


def test_a_plot_that_cannot_be_made_is_told_beforehand(monkeypatch):
    with pytest.raises(ConfigError, match=r"^--plot: unknown file type '.txt'"):
        check_plot(Path("x.txt"))
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    with pytest.raises(RegardError, match=r"needs matplotlib: pip install -e '\.\[plot\]'"):
        check_plot(Path("x.png"))
