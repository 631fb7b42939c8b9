"""Every figure of a comparison is that of its run: against sacrebleu, the log and the checkpoint themselves."""

import json
from itertools import count
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
import sacrebleu
from small_runs import regard

from regard.reports import timing
from regard.training import checkpoint as files

WALL, CORE = 4.0, 0.5  # seconds that translating takes, by clocks that go on by so much at every look
PAIRS = [
    ("a man reads a book", "ein Mann liest ein Buch"),
    ("the dog runs in the park", "der Hund läuft im Park"),
    ("two women see the river", "zwei Frauen sehen den Fluss"),
    ("the man sees two dogs", "der Mann sieht zwei Hunde"),
]
CONFIG = """
data: {train: {source: a.en, target: a.de}, dev: {source: a.en, target: a.de}, test: {source: b.en, target: b.de}}
model:
  dim: 24
  dropout: 0.0
  position: null
  encoder: {name: recurrent, cell: gru, hidden_dim: 12}
  decoder: {name: recurrent, cell: gru, hidden_dim: 24}
  attention: dot
text: {tokenizer: {name: words}}
training: {max_updates: 40, learning_rate: 0.02, schedule: constant, validate_every: 20, log_every: 5, average: 1}
evaluation: {metrics: [bleu, chrf]}
decoding: {search: greedy}
"""


class Trained(NamedTuple):
    """A comparison of one run."""

    run: Path
    kept: dict[str, Any]  # its result
    system: dict[str, Any]  # in compare.json
    markdown: str

    def events(self, kind: str) -> list[dict[str, Any]]:
        lines = (self.run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
        return [event for event in map(json.loads, lines) if event["event"] == kind]


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Trained:
    """One that has learnt its texts, and is judged by texts of which it knows but some."""
    folder = tmp_path_factory.mktemp("figures")
    test = [*PAIRS, ("the man reads in the park", "der Mann liest im grünen Park")]
    for name, pairs in (("a", PAIRS * 4), ("b", test)):
        for side, end in enumerate(("en", "de")):
            (folder / f"{name}.{end}").write_text("".join(f"{pair[side]}\n" for pair in pairs), encoding="utf-8")
    (folder / "dot.yaml").write_text(CONFIG)
    wall, core = count(0.0, WALL), count(0.0, CORE)
    clocks = SimpleNamespace(perf_counter=lambda: next(wall), process_time=lambda: next(core))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(timing, "time", clocks)
        done = regard("compare", "dot.yaml", "--seeds", 1, "--run", "out", "--markdown", "table.md", "--quiet")
    assert done.code == 0, done.said
    (system,) = json.loads((folder / "out/compare.json").read_text(encoding="utf-8"))["systems"]
    kept = json.loads((folder / "out/results/dot-seed1.json").read_text(encoding="utf-8"))
    return Trained(folder / "out/dot-seed1", kept, system, (folder / "table.md").read_text(encoding="utf-8"))


def test_scores_are_those_of_sacrebleu(trained):
    targets = (trained.run.parents[1] / "b.de").read_text(encoding="utf-8").splitlines()
    wanted = [
        sacrebleu.corpus_bleu(trained.kept["texts"], [targets]).score,
        sacrebleu.corpus_chrf(trained.kept["texts"], [targets]).score,
    ]
    assert 5 < min(wanted) <= max(wanted) < 100
    assert trained.kept["scores"] == pytest.approx(wanted)
    for name, value in zip(("BLEU", "chrF"), wanted, strict=True):
        assert trained.system["scores"][name]["values"] == pytest.approx([value])
        assert trained.system["scores"][name]["mean"] == pytest.approx(value)
    assert f"| dot | 1 | {wanted[0]:.2f} |" in trained.markdown


def test_speeds_of_training_are_those_of_the_log(trained):
    lines = trained.events("update")
    assert len(lines) == 8
    for name in ("tokens_per_second", "tokens_per_core_second"):
        wanted = median(line[name] for line in lines)
        assert (trained.kept[name], trained.system[name]) == (wanted, wanted)
    tokens, words = 4 * 6 + 7, 4 * 5 + 6  # each sentence ends
    assert trained.kept["tokens_per_word"] >= tokens / words  # an unknown word is spelt
    wanted = trained.kept["tokens_per_core_second"] / trained.kept["tokens_per_word"]
    assert trained.system["words_per_core_second"] == wanted


def test_the_time_of_training_is_that_of_the_last_checkpoint(trained):
    state = files.latest_valid(trained.run, training=False)[0].state
    assert state["update"] == 40
    for name, wanted in (("updates", "update"), ("seconds", "seconds"), ("core_seconds", "core_seconds")):
        assert trained.kept[name] == state[wanted]
    assert trained.system["core_seconds"] == state["core_seconds"]


def test_the_curve_is_that_of_the_validations(trained):
    points = [
        [line["update"], line["seconds"], line["bleu"], line["core_seconds"]] for line in trained.events("validation")
    ]
    assert [point[0] for point in points] == [20, 40]
    assert trained.kept["curve"] == points
    assert trained.system["runs"][0]["curve"] == points


def test_the_speed_of_translating_is_that_of_the_clock(trained):
    assert trained.kept["sentences_per_second"] == (len(PAIRS) + 1) / WALL
    assert trained.kept["sentences_per_core_second"] == (len(PAIRS) + 1) / CORE
    assert "| decode sentences/core s | core minutes |" in trained.markdown
    assert f"| {(len(PAIRS) + 1) / CORE:.0f} |" in trained.markdown
