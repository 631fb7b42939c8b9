"""The page of speed: what stands on it is what was measured, and parts that were measured stay."""

import json
import subprocess
from types import SimpleNamespace

import pytest

from benchmarks import benchmark

every, report = benchmark("all"), benchmark("report")
HEAD = {
    "processor": "Some Processor", "flags": ["avx2", "amx_bf16"], "cores": 4, "memory_gb": 8, "threads": 2,
    "torch": "2.13.0", "commit": "abc1234", "date": "2026-11-23",
}  # fmt: skip
RACE = {
    "regard": {"speeds": [6.0, 9.0, 20.0], "parameters": 7, "megabytes": 30, "outputs": []},
    "Hugging Face": {"speeds": [2.0, 3.0, 4.0], "parameters": 8, "megabytes": 120, "outputs": []},
}
TRAINING = {**HEAD, "unit": "target tokens/s", "reference": "Hugging Face", "races": {"S": RACE}, "notes": {}}


@pytest.fixture
def results(tmp_path):
    folder = tmp_path / "speed"
    folder.mkdir()
    (folder / "training.json").write_text(json.dumps(TRAINING), encoding="utf-8")
    return folder


def test_a_ratio_is_the_median_of_those_of_the_rounds(results):
    found = report.Report(results, "speed")
    assert found.ratio("training", "S", "regard", "Hugging Face") == "3.00 [3.00..5.00]"  # of 3, 3 and 5
    assert found.memory("training", "S", "regard", "Hugging Face") == "0.25"


@pytest.mark.parametrize(
    "asked", [("decoding", "S", "regard", "Hugging Face"), ("training", "B", "regard", "Hugging Face"),
              ("training", "S", "regard", "OpenNMT")],
)  # fmt: skip
def test_what_was_not_measured_is_no_figure(results, asked):
    found = report.Report(results, "speed")
    assert found.ratio(*asked) == found.memory(*asked) == "(not measured)"


def test_a_part_has_its_machine_tables_and_notes(results):
    told = TRAINING | {"notes": {"S": ["A note."]}, "tables": {"More": "| a |"}}
    (results / "training.json").write_text(json.dumps(told), encoding="utf-8")
    lines = report.Report(results, "speed").part("training").splitlines()
    assert lines[0] == (
        "Some Processor (avx2 amx_bf16), 4 processors, 8 GB, threads: 2; torch 2.13.0; commit abc1234, 2026-11-23."
    )
    assert "| regard | 9 [6..20] | 3.00 [3.00..5.00] | 7 | 30 |" in lines
    assert {"A note.", "**More**", "| a |", "![training](speed/training.png)"} <= set(lines)


def test_many_races_have_one_table_of_ratios(results):
    """With what was remarked when they were measured."""
    races = {f"{rows} rows": RACE for rows in range(report.MANY + 1)}
    (results / "sru.json").write_text(json.dumps(TRAINING | {"races": races, "remark": "Busy."}), encoding="utf-8")
    first, _, head, line, *rows = report.Report(results, "speed").part("sru").splitlines()
    assert first.endswith("2026-11-23. Busy.")
    assert head == "| times as fast as Hugging Face, median [min..max] | regard |"
    assert line == "|---|---|"
    assert rows == [f"| {title} | 3.00 [3.00..5.00] |" for title in races]


def test_a_part_that_is_missing_tells_its_command(results):
    told = report.Report(results, "speed").part("decoding")
    assert told == 'Not measured yet: `make bench BENCH="--only decoding"`.'


def test_the_page_has_every_part_and_picture(results, monkeypatch):
    drawn = []
    monkeypatch.setattr(report, "draw", lambda name, found, path: drawn.append((name, path.name)))
    page = results.parent / "speed.md"
    report.write(results, page)
    text = page.read_text(encoding="utf-8")
    assert drawn == [("training", "training.png")]
    assert "3.00 [3.00..5.00] times Hugging Face" in text
    template = (report.HERE / report.TEMPLATE).read_text(encoding="utf-8")
    assert [name for name in every.PARTS if f'part("{name}")' not in template] == []


def test_pictures_have_what_they_need():
    assert report.transposed([[1, 2], [3, 4]]) == ([1, 3], [2, 4])
    assert len(report.bars(TRAINING)) == 1
    assert "training" in report.PICTURES


def test_a_part_is_measured_once(results, monkeypatch, capsys):
    started = []
    monkeypatch.setattr(
        every.subprocess, "run", lambda words, **_: started.append(words) or SimpleNamespace(returncode=0)
    )
    monkeypatch.setattr(every.report, "write", lambda *_: None)
    chosen = SimpleNamespace(quick=False, again=False, only=None, rounds=3, threads=2)
    assert every.measure(["training", "additive"], chosen, results.parent, results, results.parent / "speed.md") == []
    assert [words[1].rpartition("/")[2] for words in started] == ["additive.py"]
    assert started[0][2:] == ["--rounds", "3", "--threads", "2", "--json", str(results / "additive.json")]
    assert "training: measured before" in capsys.readouterr().out
    every.measure(["training"], SimpleNamespace(**vars(chosen) | {"only": ["training"]}), results.parent, results, None)
    assert len(started) == 2


@pytest.mark.parametrize(("code", "failed"), [(0, []), (2, []), (1, ["sru"])])
def test_what_this_machine_cannot_measure_is_no_failure(code, failed, results, monkeypatch):
    monkeypatch.setattr(every.subprocess, "run", lambda words, **_: subprocess.CompletedProcess(words, code))
    monkeypatch.setattr(every.report, "write", lambda *_: None)
    chosen = SimpleNamespace(quick=True, again=True, only=None, rounds=3, threads=2)
    assert every.measure(["sru"], chosen, results.parent, results, None) == failed
