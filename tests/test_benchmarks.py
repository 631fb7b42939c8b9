"""What the benchmarks make of their measurements, by hand."""

import math
import multiprocessing
import os
import random
import runpy
import subprocess
import sys
import threading
from collections import Counter
from multiprocessing.connection import Connection
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from benchmarks import FOLDER, benchmark
from regard.errors import ConfigError
from regard.ops.plain import plain
from regard.records import EOS

NAMES = ("adaptation", "bulk", "confirmations", "hints", "layers", "looking_back", "oracles", "planted_synonyms",
         "roofline", "startup", "timing", "unigram")  # fmt: skip
adaptation, bulk, confirmations, hints, layers, looking_back, oracles, synonyms = map(benchmark, NAMES[:8])
roofline, startup, timing, unigram = map(benchmark, NAMES[8:])
PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.py") if "\nif __name__" in path.read_text("utf-8"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_tells_its_options(name, monkeypatch, capsys):
    if name == "page_clicks":
        pytest.importorskip("playwright")
    monkeypatch.setattr(sys, "path", [str(FOLDER), *sys.path])
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
    assert ended.value.code == 0
    assert "options:" in capsys.readouterr().out


def test_twins_stand_in_half_of_the_places_of_planted_words_alone():
    lines = ["The cat saw the dog"] * 500
    text = " ".join(synonyms.plant(lines, {"the", "dog"}, random.Random(1))).split()
    counts = Counter(text)
    assert (counts["cat"], counts["saw"]) == (500, 500)
    for word, count in (("the", 1000), ("dog", 500)):
        assert counts[synonyms.twin(word)] + counts[word] + counts[word.capitalize()] == count
        assert counts[synonyms.twin(word)] == pytest.approx(count / 2, rel=0.15)


def test_a_twin_is_found_among_as_many_words_as_are_asked_for():
    words = ["a", synonyms.twin("a"), "b", synonyms.twin("b")]
    table = synonyms.VectorTable(words, np.array([[1, 0], [0.9, 0.5], [1, 0.3], [0.9, 0.4]]))
    assert [synonyms.found(table, "ab", count) for count in (1, 2, 3)] == [1, 1, 2]


def test_bulk_texts_and_their_differences(tmp_path):
    text = tmp_path / "a.txt"
    text.write_text("one\ntwo\n")
    assert [*bulk.texts_of(text, 5)] == ["one", "two", "one 2", "two 2", "one 3"]
    other = tmp_path / "b.txt"
    for found, count in (("one\ntwo\n", 0), ("one\nTWO\n", 1), ("one\n", 2)):
        other.write_text(found)
        assert bulk.differing(text, other) == count


def test_repeated_errors_are_words_that_a_correction_has_added(tmp_path):
    memory = confirmations.TranslationMemory(tmp_path / "m.memory", ("en", "de"))
    predictor = SimpleNamespace(predict=lambda texts: [SimpleNamespace(text="a b")])
    pairs = [("x", "a c"), ("y", "a c c d"), ("x", "a c"), ("z", "b d")]
    alone = confirmations.streamed(predictor, pairs, None, memory)
    assert alone.errors == [0, 2, 1, 1]
    found = confirmations.streamed(predictor, pairs, memory, memory)
    assert (found.texts, found.errors) == (["a c", "a c c d", "a c", "b d"], [0, 0, 0, 0])
    assert confirmations.figures(found, alone, pairs)["bleu"] == pytest.approx(100)


def test_terms_are_given_in_their_most_frequent_form_and_found_in_another():
    pair = ("the files here", "die Dateien hier")
    asked = [hints.given_terms({"files": ["Dateien", "Datei"]}, Counter(Datei=9, Dateien=3, Datum=20), pair)]
    assert [(one.source, one.targets) for one in asked[0].glossary.entries] == [("files", ("Datei",))]
    used, right, inflected = zip(*(hints.shares(asked, [pair], [text]) for text in
                                   ("Dateien da", "Datei da", "da")), strict=True)  # fmt: skip
    assert [one[:6] for one in used] == ["1 of 1", "1 of 1", "0 of 1"]
    assert [one[:6] for one in right] == [one[:6] for one in inflected] == ["1 of 1", "0 of 1", "0 of 1"]


def test_adaptation_figures_are_means_with_the_widest_interval():
    def row(seed, kept, *figures):
        start, score, low, high = figures
        one = {"start": start, "score": score, "difference": score - start, "interval": [low, high]}
        return {"domain": "ui", "count": 500, "method": "mixed", "seed": seed, "kept": kept, "new": one, "old": one}

    lines = adaptation.table([row(1, "adapted", 10.0, 14.0, 2.5, 5.5), row(2, "start", 10.0, 10.0, 0.0, 0.0)])
    wanted = "| ui | 500 | mixed | 2 | 10.00 → 12.00 | +2.00 (+0.00 to +5.50) | +2.00 (+0.00 to +5.50) | 1 |"
    assert lines.splitlines()[2:] == [wanted]


def test_adaptation_test_texts_are_not_training_texts(monkeypatch):
    rows = [f"file\tOpen {number % 900}\tÖffnen {number}\tx\ty\tz" for number in range(1_400)]
    monkeypatch.setattr(adaptation, "lines_of", lambda name: rows if "nautilus" in name else [])
    parts = adaptation.gnome_ui()
    assert len(parts["test"]) == 500 and len(parts["train"]) > 100
    assert not {source for source, _ in parts["train"]} & {source for source, _ in parts["test"]}


@pytest.mark.parametrize("power", [1.0, 2.0])
def test_the_exponent_is_the_power_of_the_length(power, assert_agrees):
    seconds = {length: 3e-6 * length**power for length in (64, 128, 512, 4096)}
    assert_agrees("B24", torch.tensor(timing.exponent(seconds)), torch.tensor(power), tolerance=1e-6)
    assert math.isnan(timing.exponent({64: 1.0}))


def test_functions_warm_up_and_take_turns():
    """By a clock that goes on by as much as a function says."""
    now, calls = [0.0], list[str]()

    def run(name: str, seconds: float) -> None:
        calls.append(name)
        now[0] += seconds

    runs = {"a": lambda: run("a", 1.0), "b": lambda: run("b", 5.0)}
    often = {"a": 4, "b": 1}.__getitem__
    assert timing.interleaved(runs, 3, repeats=often, clock=lambda: now[0]) == {"a": [1.0] * 3, "b": [5.0] * 3}
    assert "".join(calls) == "ab" + "aaaab" + "baaaa" + "aaaab"


CROSSINGS = [
    ([1.0, 2.0, 8.0], [2.0, 2.0, 2.0], 128.0),  # equal at 128, dearer beyond
    ([1.0, 4.0, 16.0], [2.0, 2.0, 2.0], math.sqrt(64 * 128)),  # half and twice: the middle of the scale
    ([3.0, 3.0, 3.0], [2.0, 2.0, 2.0], 0.0),  # at every length
    ([3.0, 1.0, 3.0], [2.0, 2.0, 2.0], 128 * 2 ** (math.log(2) / math.log(3))),  # dearer, cheaper, dearer again
    ([3.0, 3.0, 1.0], [2.0, 2.0, 2.0], math.nan),  # cheaper at the longest
    ([1.0, 1.0, 1.0], [2.0, 2.0, 2.0], math.nan),
]


@pytest.mark.parametrize(("attention", "other", "wanted"), CROSSINGS)
def test_the_crossing_is_where_attention_stays_dearer(attention, other, wanted):
    lengths = (64, 128, 256)
    found = layers.crossing(*(dict(zip(lengths, values, strict=True)) for values in (attention, other)))
    assert found == pytest.approx(wanted, nan_ok=True)


@pytest.mark.parametrize(("dim", "length"), [(4, 40), (16, 300)])
@pytest.mark.parametrize("name", ["recurrent", "convolution", "attention"])
def test_torch_counts_the_multiplications_of_the_table_of_costs(name, dim, length, assert_agrees):
    """2 n d², 3 n d² and 2 n² d (Table 1 of https://arxiv.org/abs/1706.03762, projections left out)."""
    run, inputs = layers.layer(name, dim), torch.randn(layers.BATCH, length, dim)
    with plain(), FlopCounterMode(display=False) as counter:
        run(inputs)
    wanted = 2 * length**2 * dim if name == "attention" else layers.PLACES[name] * length * dim**2
    found = counter.get_total_flops() / 2 / layers.BATCH  # each with an addition
    assert_agrees("B24", torch.tensor(found), torch.tensor(float(wanted)), tolerance=0.0)


def test_weights_are_put_in_order_of_distance():
    """A window of 2 before 4 places: keys -2 -1 0 1 2 3; the weight of key k for place q is 10 q + k."""
    weights = torch.tensor([[[10.0 * place + key - 2 for key in range(6)] for place in range(4)]])
    found: Tensor = looking_back.by_distance(weights, 2)
    assert found.tolist() == [[[21.0, 20.0], [32.0, 31.0]]]  # of the places 2 and 3: one back, two back


def test_ratios_are_taken_within_a_round():
    one, other = (timing.Record(speeds, 1, 1, []) for speeds in ([2.0, 9.0], [1.0, 3.0]))
    assert timing.ratios(one, other) == [2.0, 3.0]
    assert "| a | 6 [2..9] | 2.50 [2.00..3.00] | 1 | 1 |" in timing.race_table({"a": one, "b": other}, "x/s", "b")


@pytest.mark.parametrize("name", ["layers", "window", "sru", "sliced_rnn", "additive"])
@pytest.mark.parametrize("words", [["--rounds", "0"], ["--threads", "-1"], ["--rounds", "x"]], ids=" ".join)
def test_a_count_of_nothing_is_refused_on_one_line(name, words, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [name, *words])
    with pytest.raises(SystemExit) as ended:
        benchmark(name).main()
    assert ended.value.code == 2
    assert f"argument {words[0]}: must be a number of 1 or more, not '{words[1]}'" in capsys.readouterr().err


def test_a_refused_training_leaves_the_next_ones_their_turn(monkeypatch, tmp_path, capsys):
    program = benchmark("forecast_trainings")

    def network(training, home):
        if training.how == "0.01":
            raise ConfigError("training.max_minutes", "0.01 minutes are too few")
        return {"bleu": 1.0}

    words = ["toy/en-de:900:0.01", "toy/en-de:900:2", "--folder", str(tmp_path), "--table", str(tmp_path / "t.jsonl")]
    monkeypatch.setattr(sys, "argv", ["forecast_trainings.py", *words])
    monkeypatch.setattr(program, "network", network)
    program.main()
    assert "0.01 minutes are too few" in capsys.readouterr().out
    assert [one["name"] for one in program.read_rows(tmp_path / "t.jsonl")] == ["toy/en-de:900:2"]


def test_lengths_without_an_exponent_are_refused(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["layers", "--lengths", "64", "128", "256"])
    with pytest.raises(SystemExit):
        layers.main()
    assert "two such lengths at least" in capsys.readouterr().err


def test_every_way_of_the_units_computes_what_the_layer_does():
    sru = benchmark("sru")
    inputs = torch.randn(2, 7, 8)
    for name, (version, way) in sru.WAYS.items():
        units = sru.SruLayer(8, 8, version=version)
        torch.testing.assert_close(way(sru._parts(units, inputs)).outputs, units(inputs, None)[0], msg=name)


class Kept:
    """An end of a pipe that stays open when the process that started another closes its copy."""

    def __init__(self, end: Connection) -> None:
        self.send, self.recv = end.send, end.recv

    def close(self) -> None:
        """Not here: there is but one process."""


def pipe() -> tuple[Connection, Kept]:
    one, other = multiprocessing.Pipe()
    return one, Kept(other)


def test_a_race_warms_up_rotates_and_divides_by_the_seconds_of_a_turn(monkeypatch):
    turns, now = [], [0.0]

    def make(name: str, units: float):
        def turn() -> float:
            turns.append(name)
            now[0] += 2.0
            return units

        return timing.Contender(turn, torch.nn.Linear(2, 3), [name])

    monkeypatch.setattr(
        timing.multiprocessing, "get_context", lambda way: SimpleNamespace(Pipe=pipe, Process=threading.Thread)
    )
    monkeypatch.setattr(timing.time, "perf_counter", lambda: now[0])
    found = timing.race({"a": (make, ("a", 10.0)), "b": (make, ("b", 30.0))}, 3, torch.get_num_threads())
    assert turns == ["a", "b", *"ab", *"ba", *"ab"]  # one each to warm up
    assert [found[name].speeds for name in "ab"] == [[5.0] * 3, [15.0] * 3]
    assert (found["a"].parameters, found["a"].outputs) == (9, ["a"])


def test_ends_are_pieces_too():
    class Letters:
        def encode_batch(self, lines: list[str]) -> list[list[int]]:
            return [[ord(letter) for letter in line] for line in lines]

    assert unigram.counted(Letters(), ["aab", "", "b"]) == {ord("a"): 2, ord("b"): 2, EOS: 3}


@pytest.mark.parametrize("name", ["attention", "architectures"])
def test_a_table_of_oracles_names_tests_and_configs_that_are_there(name):
    table = oracles.TABLES[name]
    for place, _, test in (one.partition("::") for one in table.tests):
        path = oracles.ROOT / "tests" / place
        assert path.exists() and (not test or f"def {test}(" in path.read_text(encoding="utf-8"))
    rows = oracles.lines(table, {code: {"oracles": 3, "largest": 2.5e-16} for code in table.entries}).splitlines()
    assert len(rows) == 2 + len(table.entries)
    assert rows[2].startswith(f"| {next(iter(table.entries))} | ") and " | 3 | 2.5e-16 | [" in rows[2]


def test_a_turn_is_over_when_so_many_words_are_done():
    seen = []
    turn = timing.turns(iter([2, 3, 4, 5]), seen.append, lambda batch: batch, 5)
    assert (turn(), seen) == (5, [2, 3])
    assert (turn(), seen) == (9, [2, 3, 4, 5])


def test_a_toolkit_that_is_missing_is_named(monkeypatch):
    monkeypatch.setattr("sys.argv", ["benchmark"])
    with pytest.raises(SystemExit, match="pip install no_such_toolkit"):
        timing.race_against("no_such_toolkit", "", {}.get, kinds=["one"], words=1)


def test_growth_is_told_by_size_and_slope():
    """Twice as long, four times the seconds: a slope of 2."""
    scaling = benchmark("scaling")
    records = {size: {"a": timing.Record([1 / size**2, 2 / size**2, 4 / size**2], 1, 5, [])} for size in (10, 20)}
    times = scaling.seconds(records)
    assert times["a"] == pytest.approx({10: 50.0, 20: 200.0})
    lines = scaling.table("pieces", "ms", 1e3, times, records).splitlines()
    assert lines[2:] == ["| 10 | 5e+04 | 5 |", "| 20 | 2e+05 | 5 |", "| slope | 2.00 |  |"]
    assert scaling.curve("", "", "", 1e3, times)["points"] == {"a": [[10, 50000.0], [20, 200000.0]]}


def test_servers_are_told_by_clients_and_ratios_inside_a_round():
    serve = benchmark("serve")

    def rounds_of(*speeds: float) -> list[dict[str, object]]:
        waits = {"p50": 5.0, "p99": 9.0}
        return [
            {"per_second": speed, "cpu_ms": 100 / speed, "statuses": {"200": 7, "429": 2}, **waits} for speed in speeds
        ]

    rows = {8: {serve.OURS: rounds_of(10.0, 30.0, 20.0), serve.PEER: rounds_of(5.0, 10.0, 40.0)}}
    assert serve.table(rows).splitlines()[2] == (
        "| 8 | regard serve | 20.0 [10.0..30.0] | 2.00 [0.50..3.00] "
        "| 5.00 [3.33..10.00] | 2.00 [0.50..3.00] | 5 | 9 | 6 |"
    )
    assert serve.curves(rows)[0]["points"] == {serve.OURS: [[8, 20.0]], serve.PEER: [[8, 10.0]]}


def test_without_a_gpu_one_line_says_so(monkeypatch, capsys):
    gpu = benchmark("gpu")
    monkeypatch.setattr(gpu.torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(sys, "argv", ["gpu"])
    with pytest.raises(SystemExit) as ended:
        gpu.main()
    assert ended.value.code == benchmark("all").NO_DEVICE
    assert capsys.readouterr().err == "benchmark: there is no GPU here, so nothing is measured\n"


def test_operations_are_counted_by_the_weights():
    """Each weight of a product is used once for a token; biases, norms and positions are no products."""
    gpu = benchmark("gpu")
    size = gpu.Size(8, 2, 16, layers=3)
    block, words = torch.nn.Transformer(8, 2, 3, 3, 16, batch_first=True), 11
    weights = sum(one.numel() for one in block.parameters() if one.dim() == 2) + 8 * words
    assert size.operations(words) == 6 * weights


def test_the_share_of_the_peak_is_by_hand():
    gpu = benchmark("gpu")
    told = gpu.shares({"a": timing.Record([1.0, 3.0, 2.0], 1, 1, [])}, 100, 400.0)
    assert told.endswith("bfloat16 product: a 50.0%.")


def test_a_contender_without_torch_does_not_import_it(tmp_path):
    """Nor the benchmark that was started: its process holds what its own module needs."""
    (tmp_path / "light.py").write_text(
        "import sys\nfrom timing import Contender\n"
        "def make(units):\n"
        "    return Contender(lambda: units, None, ['torch' in sys.modules, 'heavy' in sys.modules])\n"
    )
    (tmp_path / "heavy.py").write_text(
        "import torch, light, timing\n"
        "def own(units):\n    return timing.Contender(lambda: units, None, [__name__])\n"
        "if __name__ == '__main__':\n"
        "    found = timing.race({'a': (light.make, (3,)), 'b': (own, (4,))}, 1, 1)\n"
        "    print([found[name].outputs for name in 'ab'], found['a'].parameters)\n"
    )
    places = os.pathsep.join([str(FOLDER), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, tmp_path / "heavy.py"], env=os.environ | {"PYTHONPATH": places},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "[[False, False], ['heavy']] 0\n"


def test_seconds_above_the_reference_are_those_of_the_same_round():
    torch = [startup.Process(1.0, 2.0, 100.0), startup.Process(5.0, 6.0, 120.0)]
    other = [startup.Process(1.5, 3.0, 200.0), startup.Process(5.25, 6.5, 150.0)]
    row = startup.table({startup.REFERENCE: torch, "other": other}).splitlines()[-1]
    assert row == ("| other | 3.38 [1.50..5.25] | 0.38 [0.25..0.50] | 4.75 [3.00..6.50] | 0.75 [0.50..1.00] | 200 |")


def test_a_process_is_measured_from_outside():
    busy = timing.run_process(["-c", "import time\nwhile time.process_time() < 0.3: pass"])
    asleep = timing.run_process(["-c", "import time; time.sleep(0.3); print(input())"], b"said")
    assert busy.cpu >= 0.3 > asleep.cpu
    assert min(busy.wall, asleep.wall) >= 0.3
    assert busy.megabytes > 1 and asleep.said == "said\n"
    with pytest.raises(SystemExit, match="failed"):
        timing.run_process(["-c", "raise SystemExit(3)"])


def test_a_product_is_bound_by_operations_or_by_bandwidth():
    limits = roofline.Machine(operations=100e9, bandwidth=10e9)
    found = roofline.product_of("aten::addmm", [[30], [20, 10], [10, 30], [], []])
    assert found == roofline.Product(20, 10, 30)
    assert found.operations == 2 * 20 * 10 * 30
    assert found.intensity(4) == pytest.approx(12_000 / (4 * (200 + 300 + 600)))
    assert limits.bound(5) == 50e9
    assert limits.bound(50) == 100e9
    assert roofline.product_of("aten::bmm", [[8, 2, 3], [8, 3, 4]]) == roofline.Product(2, 3, 4, pairs=8)
    assert roofline.product_of(roofline.LINEAR, [[4, 5, 10], [30, 10], [30], [], [], []]) == found
    assert roofline.product_of("aten::mul", [[2], [2]]) is None


def test_a_roofline_ranks_products_and_names_what_else_takes_time():
    def event(key, shapes, seconds, calls=1):
        return SimpleNamespace(key=key, input_shapes=shapes, self_cpu_time_total=seconds * 1e6, count=calls)

    large, small = [[1000, 1000], [1000, 1000]], [[100, 100], [100, 100]]
    events = [event("aten::mm", small, 1), event("aten::mm", large, 6, calls=150), event("aten::add", [[3]], 3)]
    limits = roofline.Machine(operations=100e9, bandwidth=1e12)
    first, second, together, other, rest = roofline.rows_of(events, limits, 4)
    assert first == ["(1,000 × 1,000) · (1,000 × 1,000)", "60.0%", "50", "100", "50%"]
    assert second[:2] == ["(100 × 100) · (100 × 100)", "10.0%"]
    assert together[:2] == ["**all products**", "70.0%"]
    assert other[:2] == ["`aten::add`", "30.0%"]
    assert rest[1] == "0.0%"
