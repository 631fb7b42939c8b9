"""Every figure of a run against sacrebleu, its log and its checkpoint; when it is measured anew; gold links by hand."""

import json
from dataclasses import replace
from itertools import count
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
import sacrebleu
import torch
from small_runs import regard
from tasks import translation_of

from regard.data.columns import learn_columns
from regard.data.examples import Example
from regard.errors import DataError
from regard.evaluation.alignments import GoldAlignment
from regard.experiment import Experiment
from regard.registry import Choice
from regard.reports import timing
from regard.reports.compare import measure
from regard.reports.compare.measure import (
    Gold,
    curve_of,
    error_rate,
    gold_links,
    measure_run,
    space_groups,
    training_rate,
)
from regard.reports.compare.plan import Contender, PlannedRun
from regard.results import Explanation, Prediction
from regard.tasks.classification import ClassificationTask
from regard.text import TOKENIZERS, train_tokenizer
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
    for place, name in enumerate(("tokens_per_second", "tokens_per_core_second")):
        wanted = median(line[name] for line in lines)
        assert (trained.kept["tokens"][place], trained.system[name]) == (wanted, wanted)
    tokens, words = 4 * 6 + 7, 4 * 5 + 6  # each sentence ends
    assert trained.kept["tokens_per_word"] >= tokens / words  # an unknown word is spelt
    wanted = trained.kept["tokens"][1] / trained.kept["tokens_per_word"]
    assert trained.system["words_per_core_second"] == wanted


def test_the_time_of_training_is_that_of_the_last_checkpoint(trained):
    state = files.latest_valid(trained.run, training=False)[0].state
    assert state["update"] == 40
    assert trained.kept["updates"] == state["update"]
    assert trained.kept["spent"] == [state["seconds"], state["core_seconds"]]
    assert trained.system["core_seconds"] == state["core_seconds"]


def test_the_curve_is_that_of_the_validations(trained):
    points = [
        [line["update"], line["seconds"], line["bleu"], line["core_seconds"]] for line in trained.events("validation")
    ]
    assert [point[0] for point in points] == [20, 40]
    assert trained.kept["curve"] == points
    assert trained.system["runs"][0]["curve"] == points


def test_the_speed_of_translating_is_that_of_the_clock(trained):
    assert trained.kept["sentences"] == [(len(PAIRS) + 1) / clock for clock in (WALL, CORE)]
    assert "| decode sentences/core s | core minutes |" in trained.markdown
    assert f"| {(len(PAIRS) + 1) / CORE:.0f} |" in trained.markdown


REPEATED = ["the man sees the house by the river", "a man reads the house", "the river sees a man"] * 20


@pytest.fixture
def planned(tmp_path) -> PlannedRun:
    """A run that has been trained, as far as its folder tells."""
    run = PlannedRun(Contender("a", Path("a.yaml"), (), Experiment()), 1, tmp_path / "a-seed1")
    run.path.mkdir()
    (run.path / "final.json").write_text("{}")
    return run


@pytest.fixture
def calls(compared, monkeypatch) -> list[str]:
    """The names of the runs that are measured from now on."""
    names: list[str] = []
    (found,) = compared({"a": 0.1}, seeds=1).rows[0].results

    def noted(run, judge):
        names.append(run.name)
        return found

    monkeypatch.setattr(measure, "_measure", noted)
    return names


def test_what_has_not_changed_is_read_again(planned, calls, judge):
    first, second = measure_run(planned, judge), measure_run(planned, judge)
    assert calls == ["a-seed1"]
    assert second._replace(statistics=[], curve=[]) == first._replace(statistics=[], curve=[])


def test_other_threads_another_version_or_another_device_are_measured_anew(planned, calls, judge, monkeypatch):
    measure_run(planned, judge)
    with monkeypatch.context() as patch:
        patch.setattr(torch, "get_num_threads", lambda: 64)
        measure_run(planned, judge)
    assert len(calls) == 2
    with monkeypatch.context() as patch:
        patch.setattr(measure, "version", lambda name: "0.0.0")
        measure_run(planned, judge)
    assert len(calls) == 3
    elsewhere = planned.contender._replace(experiment=replace(planned.contender.experiment, device="cuda"))
    measure_run(planned._replace(contender=elsewhere), judge)
    assert len(calls) == 4


@pytest.mark.parametrize("spoil", ["older", "half", "lacking"])
def test_a_result_of_an_older_version_or_half_of_one_is_measured_anew(planned, calls, judge, spoil):
    measure_run(planned, judge)
    kept = planned.path.parent / "results" / "a-seed1.json"
    values = json.loads(kept.read_text(encoding="utf-8"))
    if spoil == "half":
        kept.write_text(kept.read_text(encoding="utf-8")[:100], encoding="utf-8")
    else:
        del values["tokens"]
        kept.write_text(json.dumps({**values, **({"key": "old"} if spoil == "older" else {})}), encoding="utf-8")
    assert measure_run(planned, judge).tokens == (7000.0, 8000.0)
    assert calls == ["a-seed1"] * 2


def test_words_are_told_by_the_tokens_that_training_counts():
    """A tokenizer that cuts words anew each time has more tokens a word in training than `encode` finds."""
    plain, sampled = (
        train_tokenizer(Choice("subwords", {"size": 300, "sampling": sampling}), REPEATED) for sampling in (0.0, 0.5)
    )
    tasks = [translation_of(one) for one in (plain, sampled)]
    by_word = [measure.tokens_per_word(SimpleNamespace(task=task), {"target": REPEATED}) for task in tasks]
    tokens = sum(len(plain.encode(text)) + 1 for text in REPEATED)
    assert by_word[0] == tokens / sum(len(text.split()) for text in REPEATED)
    assert by_word[1] > 1.2 * by_word[0]


def test_words_of_a_classifier_are_those_it_reads():
    texts, labels = ["a good film", "a bad film", "good"], ["pos", "neg", "pos"]
    rows = [Example(1, {"text": text, "label": label}) for text, label in zip(texts, labels, strict=True)]
    task = ClassificationTask(learn_columns(ClassificationTask.columns, [rows], Choice("words"), shared=True))
    found = measure.tokens_per_word(SimpleNamespace(task=task), {"text": texts, "label": labels})
    assert found == (4 + 4 + 2) / 7  # seven words; each text ends


TOKENS = 1000  # of each line


def log(lines, *, counted=True, told=False):
    """(seconds, core seconds, seconds of a validation, core seconds of it) of each line → its events."""
    events, seconds, core_seconds = [], 0.0, 0.0
    for update, (wall, core, wall_between, core_between) in enumerate(lines, start=1):
        seconds, core_seconds = seconds + wall, core_seconds + core
        clocks = {"update": update, "seconds": seconds, **({"core_seconds": core_seconds} if counted else {})}
        speeds = {"tokens_per_second": TOKENS / wall, **({"tokens_per_core_second": TOKENS / core} if told else {})}
        events.append({"event": "update", **clocks, **speeds})
        if wall_between:
            seconds, core_seconds = seconds + wall_between, core_seconds + core_between
            clocks = {**clocks, "seconds": seconds, **({"core_seconds": core_seconds} if counted else {})}
            events.append({"event": "validation", "bleu": 10.0 * update, **clocks})
    return events


ALONE = [(2.0, 2.0, 0, 0)] * 9
BUSY = [(wall, 2.0, 0, 0) for wall in (2.0, 8.0, 4.0, 6.0, 3.0, 5.0, 7.0, 9.0, 2.5)]
HALTED = [*ALONE[:3], (3500.0, 2.0, 0, 0), *ALONE[4:]]
VALIDATED = [(4.0, 2.0, 50.0, 30.0), *[(4.0, 2.0, 90.0, 11.0)] * 8]


@pytest.mark.parametrize("told", [False, True], ids=["an older log", "told by the line"])
@pytest.mark.parametrize("lines", [ALONE, BUSY, HALTED, VALIDATED], ids=["alone", "busy", "halted", "validated"])
def test_what_else_the_machine_does_does_not_make_training_slower(lines, told):
    assert training_rate(log(lines, told=told)).per_core_second == pytest.approx(TOKENS / 2.0)


def test_by_the_clock_it_does():
    assert training_rate(log(ALONE)).per_second == TOKENS / 2.0
    assert training_rate(log(BUSY)).per_second == TOKENS / 5.0


def test_where_processor_time_was_not_counted_nothing_is_told():
    assert training_rate(log(ALONE, counted=False)).per_core_second is None
    assert training_rate([]) == (None, None)


def test_the_curve_knows_both_clocks():
    assert curve_of(log(VALIDATED[:2]), "bleu") == [(1, 54.0, 10.0, 32.0), (2, 148.0, 20.0, 45.0)]
    assert curve_of(log(VALIDATED[:1], counted=False), "bleu") == [(1, 54.0, 10.0, None)]
    assert curve_of(log(VALIDATED), "chrf") == []


TEXTS = ["the eu-budget , isn't it ?", "Zuerst bitte ich !", "a  b", "我 喜欢 书", "naïve ﬁ ½"]
PIECES = ["▁das", "▁", "Ha", "us", "▁-", "x", "</s>"]  # das | Haus | -x


@pytest.mark.parametrize("name", sorted(name for name in TOKENIZERS if TOKENIZERS[name].lossless))
def test_words_between_spaces_are_found_again_in_pieces(name):
    tokenizer = train_tokenizer(Choice(name, {"size": 300}), ["the eu budget is a book", "bitte ich", "我 书"] * 5)
    for text in TEXTS:
        ids = tokenizer.encode(text)
        pieces = [*tokenizer.pieces(ids), "</s>"]
        groups = space_groups(pieces)
        words = [tokenizer.decode([ids[place] for place in group]).strip(" ") for group in groups]
        assert words == [word for word in text.split(" ") if word], pieces


def test_groups_by_hand():
    assert space_groups(PIECES) == [[0], [2, 3], [4, 5]]
    assert space_groups(["<0x20>", "a", "<0xE4>", " ", "b"]) == [[1, 2], [4]]
    assert space_groups(["</s>"]) == []


def explaining(*weights):
    """A predictor that finds these weights for PIECES as source and two target words of three pieces."""
    target = ["▁the", "▁hou", "se", "</s>"]
    found = [Explanation.of_text(PIECES, target, [], list(map(list, rows))) for rows in weights]
    given = []

    def explained(predictions):
        given.extend((one.source, one.text) for one in predictions)
        return [Prediction("", "", 0.0, explanation=one) for one in found]

    return SimpleNamespace(explainer=SimpleNamespace(with_attention=explained), given=given)


def test_the_error_rate_by_hand():
    """the → das (0.9); house → Haus: 0.3 + 0.2 and 0.1 + 0.4 of its two pieces, 0.45 on average, against 0.3 of -x."""
    rows = ([0.9, 0, 0, 0, 0, 0.1, 0], [0.2, 0, 0.3, 0.2, 0.1, 0.2, 0], [0.1, 0, 0.1, 0.4, 0, 0.4, 0], [0] * 7)
    gold = GoldAlignment(frozenset({(0, 0), (2, 1)}), frozenset({(0, 0), (1, 1), (2, 1)}))
    predictor = explaining(rows)
    # A = {0-0, 1-1}, S = {0-0, 2-1}, P = S and 1-1: 1 - (1 + 2) / (2 + 2)
    assert error_rate(predictor, Gold(["das Haus -x"], ["the house"], [gold])) == pytest.approx(25.0)
    assert predictor.given == [("das Haus -x", "the house")]


def test_a_model_that_looks_at_nothing_has_no_error_rate():
    assert error_rate(explaining([]), Gold(["a"], ["b"], [GoldAlignment(frozenset(), frozenset())])) is None


def test_gold_files(tmp_path):
    (tmp_path / "s").write_text("a b c\nd\n")
    (tmp_path / "t").write_text("x y\nz\n")
    (tmp_path / "links").write_text("1-1 3p2\n1-1\n")
    (tmp_path / "turned").write_text("1-1 2p3\n1-1\n")
    gold = gold_links(tmp_path / "links", tmp_path / "s", tmp_path / "t", turned=False)
    assert gold.links[0] == ({(0, 0)}, {(0, 0), (2, 1)})
    assert gold_links(tmp_path / "turned", tmp_path / "s", tmp_path / "t", turned=True) == gold
    with pytest.raises(DataError, match=r"turned:1: link 2-3 \(source-target\), but there are 3 and 2 words"):
        gold_links(tmp_path / "turned", tmp_path / "s", tmp_path / "t", turned=False)
    (tmp_path / "t").write_text("x y\n")
    with pytest.raises(DataError, match=r"2 lines, but .* has 1"):
        gold_links(tmp_path / "links", tmp_path / "s", tmp_path / "t", turned=False)
