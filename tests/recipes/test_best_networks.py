"""The networks of regard best: what teaches them, what the user's settings decide, and when none is tried."""

from pathlib import Path

import pytest
from best_texts import PARTS, SHORT, options, write_parts
from small_runs import regard

from regard.config import read_checked
from regard.experiment.time_plan import TrainingPace
from regard.predictor import load
from regard.recipes.best import BEST_STEPS, networks, page, program
from regard.recipes.best.pairs import BestTexts
from regard.recipes.best.workshop import Workshop
from regard.runs import Run


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
    assert [*data.corpora] == ["network"] and data.recombination.share == 0.35
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
    monkeypatch.setattr(networks, "measured_pace", lambda experiment: TrainingPace(seconds, 64, seconds))


def test_a_network_that_would_stay_far_below_phrases_leaves_them_the_time(texts, monkeypatch):
    pace_of(monkeypatch, 2.0)
    names = ("phrases", "network", "reranked", "self_taught")
    for module in (program, page):
        monkeypatch.setattr(module, "BEST_STEPS", {name: BEST_STEPS[name] for name in names})
    done = regard("best", *options(texts, "--minutes", "5", "model.dim=16"))
    assert done.code == 0, done.said
    *_, left = (line for line in done.said.splitlines() if line.startswith("phrases (about"))
    assert 60 * float(left.split()[2]) > 60 * 5 * 0.5  # of 0.1 / 0.86 beside networks
    found = read_checked(texts / "run" / "best.json")
    assert [one["step"] for one in found["results"]] == ["phrases"]
    late = {name for name, why in found["left_out"].items() if " updates in " in why and "of what phrases reach" in why}
    assert late == {"network", "self_taught"} and "no network to begin with" in found["left_out"]["reranked"]
    said = (texts / "run" / "report.md").read_text()
    assert "more time: network, self_taught had none" in said


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
