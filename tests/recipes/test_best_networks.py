"""The networks of regard best: what teaches them, what the user's settings decide, and when none is tried."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import pytest
from best_texts import PARTS, SHORT, options, write_parts
from small_runs import regard

from regard.config import read_checked
from regard.errors import CheckpointError
from regard.experiment import read_experiment, time_plan
from regard.experiment.time_plan import TrainingPace
from regard.predictor import load
from regard.recipes.best import networks, page, phrases, program
from regard.recipes.best.pairs import BestTexts, write_lines
from regard.recipes.best.step import NoGainError, StepResult
from regard.recipes.best.steps import BEST_STEPS
from regard.recipes.best.workshop import Workshop
from regard.reports.forecast import coefficients
from regard.results import TextPrediction
from regard.runs import Run, train_run
from regard.training.interrupt import Interrupted


@pytest.fixture
def texts(tmp_path):
    return write_parts(tmp_path)


def test_of_few_pairs_phrases_teach_the_network_sources_that_no_pair_has(texts, monkeypatch):
    for module in (program, page):
        monkeypatch.setattr(module, "BEST_STEPS", {name: BEST_STEPS[name] for name in ("phrases", "network")})
    monkeypatch.setattr(networks, "FEW_PAIRS", range(50, 200))
    done = regard("best", *options(texts, *SHORT, "--minutes", "5", "--quiet"))
    assert done.code == 0, done.said
    data = Run.open(texts / "run" / "steps" / "network").experiment.data
    assert [*data.corpora] == ["network"] and data.recombination.fraction == 0.35
    files = {side: texts / "run" / "texts" / f"network.{side}" for side in ("source", "target")}
    sources, targets = (file.read_text(encoding="utf-8").splitlines() for file in files.values())
    assert len(sources) == len({*sources}) > 20 and not {*sources} & {pair[0] for pair in PARTS["train"]}
    phrases_alone = load(texts / "run" / "steps" / "phrases").predict(sources[:5], safeguards=False)
    assert [one.text for one in phrases_alone] == targets[:5]
    assert data.weights["train"] >= 0.39 * sum(data.weights.values())


def test_the_tag_of_back_translations_is_one_piece_of_every_network(texts, monkeypatch):
    files = {side: texts / f"train.{code}" for side, code in (("source", "en"), ("target", "de"))}
    dev = {side: texts / f"dev.{code}" for side, code in (("source", "en"), ("target", "de"))}
    work = Workshop(texts / "run", BestTexts(files, dev, {"target": texts / "more.de"}, None), changes=SHORT)
    (texts / "run" / "texts").mkdir(parents=True)
    networks.train_network("network", work, 60.0)
    experiment = Run.open(work.run("network")).experiment
    assert experiment.text.tokenizer.settings["reserved"] == ("<bt>",)
    work.changes.append('text.tokenizer.reserved=["<x>"]')
    read = []
    monkeypatch.setattr("regard.recipes.best.workshop.train_run", lambda experiment, **_: not read.append(experiment))
    networks.train_network("taught", work, 60.0)
    assert read[0].text.tokenizer.settings["reserved"] == ("<x>", "<bt>")


@pytest.mark.parametrize("change", ["data.recombination=null", "data={recombination: null}"])
def test_recombination_that_the_user_turns_off_stays_off(texts, monkeypatch, change):
    monkeypatch.setattr(networks, "FEW_PAIRS", range(50, 200))
    files = {side: texts / f"train.{code}" for side, code in (("source", "en"), ("target", "de"))}
    work = Workshop(texts / "run", BestTexts(files, files, {}, None), changes=[*SHORT, change])
    (texts / "run" / "texts").mkdir(parents=True)
    read = []
    monkeypatch.setattr("regard.recipes.best.workshop.train_run", lambda experiment, **_: not read.append(experiment))
    networks.train_network("network", work, 60.0, {"more": files})
    assert read[0].data.recombination is None and [*read[0].data.corpora] == ["more"]


def pace_of(monkeypatch, seconds):
    """Let every network take so many seconds for an update of 64 pairs."""
    monkeypatch.setattr(time_plan, "measured_pace", lambda experiment: TrainingPace(seconds, 64, seconds))
    monkeypatch.setattr(coefficients, "examples_of_update", lambda experiment: 64)


def test_a_network_that_would_stay_far_below_phrases_leaves_them_the_time(texts, monkeypatch):
    pace_of(monkeypatch, 2.0)
    asked = []

    def measured(work, seconds):
        asked.append(seconds)
        return networks.hopeless_network(work, seconds)

    monkeypatch.setattr(program, "hopeless_network", measured)
    names = ("phrases", "network", "reranked", "self_taught")
    for module in (program, page):
        monkeypatch.setattr(module, "BEST_STEPS", {name: BEST_STEPS[name] for name in names})
    done = regard("best", *options(texts, "--minutes", "5", "model.dim=16"))
    assert done.code == 0, done.said
    *_, left = (line for line in done.said.splitlines() if line.startswith("phrases (about"))
    assert float(left.split()[2]) >= 4.8  # all of it: nothing else can be made without a network
    found = read_checked(texts / "run" / "best.json")
    assert [one["step"] for one in found["results"]] == ["phrases"]
    late = {
        name
        for name, why in found["left_out"].items()
        if " updates) a network" in why and "of the BLEU of phrases" in why
    }
    assert late == {"network", "self_taught"} and "no network to begin with" in found["left_out"]["reranked"]
    said = (texts / "run" / "report.md").read_text()
    assert "more time: network, self_taught had none" in said
    (line,) = (one for one in done.said.splitlines() if one.startswith("no network is trained, phrases have"))
    assert line.endswith("of the BLEU of phrases (forecast)")
    assert f"- no network is trained, phrases have its time: {found['left_out']['network']}\n" in said
    assert asked[0] < asked[1]  # measured again with the time that phrases left


@pytest.mark.parametrize(("seconds", "given", "hopeless"), [
    (2.0, {}, True),
    (0.05, {}, False),
    (2.0, {"changes": ["training.max_updates=9"]}, False),
    (2.0, {"start": Path("a run")}, False),
])  # fmt: skip
def test_what_the_user_asks_for_is_not_forecast_away(texts, monkeypatch, seconds, given, hopeless):
    pace_of(monkeypatch, seconds)
    files = {side: texts / f"train.{code}" for side, code in (("source", "en"), ("target", "de"))}
    work = Workshop(texts / "run", BestTexts(files, files, {}, None), **{"changes": ["model.dim=16"], **given})
    assert bool(networks.hopeless_network(work, 120.0)) is hopeless
    (work.run("network")).mkdir(parents=True)
    (work.run("network") / "experiment.yaml").touch()  # a killed call had begun with it
    assert networks.hopeless_network(work, 120.0) == ""


def experiments_of(monkeypatch):
    """Collect the experiments that networks would train."""
    read = []
    monkeypatch.setattr("regard.recipes.best.workshop.train_run", lambda experiment, **_: not read.append(experiment))
    return read


def workshop(texts, *changes, **given):
    files = {side: texts / f"train.{code}" for side, code in (("source", "en"), ("target", "de"))}
    (texts / "run" / "texts").mkdir(parents=True)
    return Workshop(texts / "run", BestTexts(files, files, {}, None), changes=[*SHORT, *changes], **given)


def test_corpora_and_weights_of_the_user_keep_their_ratios(texts, monkeypatch):
    files = {side: texts / f"more.{code}" for side, code in (("source", "en"), ("target", "de"))}  # 120 lines
    web = f"data.corpora.web={{source: {files['source']}, target: {files['target']}}}"
    read = experiments_of(monkeypatch)
    work = workshop(texts, web, "data.weights={train: 3, web: 1}")
    networks.train_network("network", work, 60.0, {"made": files})
    work.changes.pop()
    networks.train_network("taught", work, 60.0, {"made": files})
    few = {side: texts / f"dev.{code}" for side, code in (("source", "en"), ("target", "de"))}  # 20 lines
    networks.train_network("back", work, 60.0, {"made": few, "more": few})
    assert read[0].data.weights == {"train": 3.0, "web": 1.0, "made": 3.0}
    assert read[1].data.weights == {"train": 120.0, "web": 120.0, "made": 120.0}
    assert read[2].data.weights == {"train": 120.0, "web": 120.0, "made": 20.0, "more": 20.0}


def test_much_synthetic_text_leaves_the_pairs_of_the_user_their_share(texts, monkeypatch):
    (texts / "many").write_text("a\n" * 1_800)
    read, many = experiments_of(monkeypatch), dict.fromkeys(("source", "target"), texts / "many")
    networks.train_network("network", workshop(texts), 60.0, {"made": many})
    assert read[0].data.weights == {"train": 1_200.0, "made": 1_800.0}


@pytest.mark.parametrize(("own", "change", "kept"), [
    ("null", (), None),
    ("{copies: 3, fraction: 0.25}", (), 0.25),
    ("{copies: 3, fraction: 0.25}", ("data.recombination=null",), None),
])  # fmt: skip
def test_a_run_to_start_from_keeps_its_recombination(texts, monkeypatch, own, change, kept):
    monkeypatch.setattr(networks, "FEW_PAIRS", range(50, 200))
    sides = [f"data.train.source={texts / 'train.en'}", f"data.train.target={texts / 'train.de'}"]
    start = texts / "start"
    assert train_run(read_experiment(None, [*sides, *SHORT, f"data.recombination={own}", f"run={start}"]), quiet=True)
    read, work = experiments_of(monkeypatch), workshop(texts, *change, start=start)
    networks.train_network("network", work, 60.0, {"made": work.texts.train})
    found = read[0].data.recombination
    assert (found and found.fraction) == kept


@pytest.mark.parametrize(("start", "taught"), [("better", False), ("worse", True), ("cannot", True)])
def test_phrases_teach_a_run_to_start_from_where_they_are_better(texts, monkeypatch, start, taught):
    monkeypatch.setattr(networks, "FEW_PAIRS", range(50, 200))
    work, given = workshop(texts, start=texts / start), []
    answers = {"phrases": lambda line: line + " x y z", "better": str, "worse": lambda line: "x"}
    known = dict(zip(work.sources, work.references, strict=True))

    def opened(run, *_):
        if run.name == "cannot":
            raise CheckpointError(run, "is a language model")
        answer = answers[run.name]
        return SimpleNamespace(
            predict=lambda lines, **_: [TextPrediction(one, answer(known.get(one, one)), 0.0) for one in lines]
        )

    monkeypatch.setattr("regard.recipes.best.workshop.load", opened)
    monkeypatch.setattr(networks, "train_network", lambda name, work, seconds, corpora, twin: given.append(corpora))
    work.results.append(StepResult("phrases", "phrases", 1.0, 20.0, "", 0.0, 1.0, True, True))
    note = networks.Network().make("network", work, 60.0)
    assert (given[0] is not None) is taught and ("phrases do not teach" in note) is not taught


@pytest.mark.parametrize(("known", "kept"), [(True, 18), (False, 20)])
def test_back_translations_unlike_themselves_are_left_out(texts, monkeypatch, known, kept):
    work, lines = workshop(texts), [f"the line number {row} of all" for row in range(20)]
    back = {side: texts / f"back.{side}" for side in ("source", "target")}
    for side, file in back.items():
        write_lines(file, [f"{side} {line}" for line in lines])
    lost = {f"source {lines[row]}" for row in (3, 7)}
    turned = SimpleNamespace(
        predict=lambda given, **_: [
            TextPrediction(one, "another" if one in lost else one.replace("source", "target"), 0.0) for one in given
        ]
    )
    monkeypatch.setattr("regard.recipes.best.workshop.load", lambda run, *_: turned)
    if known:
        work.results.append(StepResult("phrases", "phrases", 1.0, 20.0, "", 0.0, 1.0, True, True))
    found = phrases.kept_back_translations(work, back, 60.0)
    assert len(found) == kept and (not known or not {3, 7} & {*found})
    monkeypatch.setattr(networks, "back_translated", lambda *_: back)
    monkeypatch.setattr(networks, "train_network", lambda *_: None)
    note = networks.BackTranslated().make("back", work, 60.0)
    tagged = work.synthetic_files("back")["source"].read_text().splitlines()
    assert tagged == [f"<bt> source {lines[row]}" for row in found] and note.startswith(f"{kept} of 20 lines")


def test_of_many_pairs_two_networks_are_trained_side_by_side_and_write_together(texts, monkeypatch):
    names = ("network", "twin", "self_taught", "together")
    for module in (program, page):
        monkeypatch.setattr(module, "BEST_STEPS", {name: BEST_STEPS[name] for name in names})
    monkeypatch.setattr(networks, "MANY_PAIRS", 100)
    monkeypatch.setattr(networks.torch, "get_num_threads", lambda: 2)
    monkeypatch.setattr(networks, "_has_twin", lambda work, seconds: True)
    done = regard("best", *options(texts, *SHORT, "training.seed=5", "--minutes", "12", "--quiet"))
    assert done.code == 0, done.said
    first, second = (Run.open(texts / "run" / "steps" / name).experiment for name in names[:2])
    assert (first.training.seed, second.training.seed) == (5, 6)
    assert (first.training.threads, second.training.threads) == (1, 1)
    assert first.training.max_minutes == second.training.max_minutes
    together = Run.open(texts / "run" / "steps" / "together").experiment.decoding
    assert len(together.ensemble) == 1
    assert read_checked(texts / "run" / "best.json")["left_out"]["self_taught"].startswith("replaced by twin")


class Process:
    """A stand-in of the process of a second training."""

    made: ClassVar[list["Process"]] = []

    def __init__(self, experiment, *, resume, threads):
        self.begun, self.ended, self.asked = (experiment, resume, threads), False, 0
        self.made.append(self)

    @property
    def code(self):
        self.asked += 1
        return None if self.asked < 3 else 2

    def messages(self):
        return ["error: no disk"]

    def ask_to_end(self):
        self.asked = 3

    def end(self):
        self.ended = True


@pytest.fixture
def beside(texts, monkeypatch):
    """A workshop whose second trainings are stand-ins, and what it says."""
    Process.made.clear()
    monkeypatch.setattr("regard.recipes.best.workshop.Child", Process)
    monkeypatch.setattr("regard.recipes.best.workshop._WATCH_SECONDS", 0.01)
    monkeypatch.setattr(networks.torch, "get_num_threads", lambda: 4)
    said = []
    return workshop(texts, say=said.append), said


def begun(work, name, experiment):
    work.run(name).mkdir(parents=True)
    experiment.save(work.run(name) / "experiment.yaml")


def trains(monkeypatch, train):
    monkeypatch.setattr("regard.recipes.best.workshop.train_run", lambda *_, **__: train())


def test_a_second_training_ends_with_the_first_and_says_why_it_failed(beside, monkeypatch):
    work, said = beside
    trains(monkeypatch, lambda: not Process.made[-1].asked)  # nobody waits for it before
    networks.train_network("network", work, 60.0, twin="twin")
    (process,) = Process.made
    experiment, resume, threads = process.begun
    assert (experiment.run, experiment.training.seed, resume, threads) == (work.run("twin"), 2, False, 2)
    assert process.ended and said[-1] == "twin: error: no disk"
    begun(work, "twin", experiment)
    with pytest.raises(NoGainError, match="did not finish"):
        BEST_STEPS["twin"].make("twin", work, 1.0)


def test_an_interrupted_search_saves_the_second_training_and_goes_on_with_it(beside, monkeypatch):
    work, _ = beside
    trains(monkeypatch, lambda: None)
    with pytest.raises(Interrupted):
        networks.train_network("network", work, 60.0, twin="twin")
    assert Process.made[-1].asked >= 3 and Process.made[-1].ended
    for name in ("network", "twin"):  # as both have saved it
        begun(work, name, Process.made[-1].begun[0])
    trains(monkeypatch, lambda: True)
    networks.train_network("network", work, 60.0, twin="twin")
    assert Process.made[-1].begun[1]


def test_a_late_second_training_is_not_waited_for(beside, monkeypatch):
    work, _ = beside
    monkeypatch.setattr("regard.recipes.best.workshop._LATE_SECONDS", 0.0)
    monkeypatch.setattr("regard.recipes.best.workshop._LATE", 0.0)
    monkeypatch.setattr(Process, "code", property(lambda process: None if process.asked < 3 else 75))
    trains(monkeypatch, lambda: True)
    networks.train_network("network", work, 60.0, twin="twin")
    assert Process.made[-1].asked == 3 and Process.made[-1].ended


@pytest.mark.parametrize(("pairs", "threads", "given", "why"), [
    (100, 2, {}, "too short for two"),
    (121, 2, {}, "fewer than 121 pairs"),
    (100, 1, {}, "two threads"),
    (100, 2, {"start": Path("a run")}, "--from"),
    (100, 2, {"changes": ["training.threads=2"]}, "training.threads"),
    (100, 2, {"changes": ["device=cuda"]}, "of a CPU"),
])  # fmt: skip
def test_a_second_network_needs_many_pairs_and_a_core_of_its_own(texts, monkeypatch, pairs, threads, given, why):
    monkeypatch.setattr(networks, "MANY_PAIRS", pairs)
    monkeypatch.setattr(networks.torch, "get_num_threads", lambda: threads)
    files = {side: texts / f"train.{code}" for side, code in (("source", "en"), ("target", "de"))}
    work = Workshop(texts / "run", BestTexts(files, files, {}, None), **given)
    with pytest.raises(NoGainError, match="no network to begin with"):
        BEST_STEPS["twin"].make("twin", work, 1.0)
    begun(work, "network", read_experiment(None, [*work.texts.data(), *SHORT]))
    with pytest.raises(NoGainError, match=re.escape(why)):
        BEST_STEPS["twin"].make("twin", work, 1.0)


@pytest.mark.parametrize(("seconds", "twin"), [(0.001, True), (10.0, False)])
def test_a_second_network_needs_time_for_many_epochs(beside, monkeypatch, seconds, twin):
    pace_of(monkeypatch, seconds)
    work, _ = beside
    monkeypatch.setattr(networks, "MANY_PAIRS", 100)
    work.changes = ["model.dim=16"]
    assert networks._has_twin(work, 60.0) is twin
    work.changes.append("training.max_epochs=24")
    assert not networks._has_twin(work, 60.0)


@pytest.mark.parametrize(("threads", "twin"), [("auto", False), (1, True)])
def test_a_network_that_was_begun_alone_stays_so(beside, monkeypatch, threads, twin):
    work, _ = beside
    monkeypatch.setattr(networks, "MANY_PAIRS", 100)
    begun(work, "network", read_experiment(None, [*work.texts.data(), *SHORT, f"training.threads={threads}"]))
    assert networks._has_twin(work, 60.0) is twin
