"""Fine-tuning of a translator: old text beside new text, the start kept unless new text gains."""

import json
import signal
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from foreign_translators import marian_folder
from small_runs import regard, unsaid

from regard.config import write_checked
from regard.data import toy
from regard.evaluation.significance import compare_statistics
from regard.exchange import model_card
from regard.experiment import read_experiment
from regard.predictor import load
from regard.runs import Run, RunFolder, validation
from regard.runs.adaptation import CHOICE, START_FILE, first_statistics, selection_score
from regard.runs.texts import old_dev_examples, old_readers

SMALL = [
    "text.tokenizer.size=400", "model.dim=16", "model.encoder={name: transformer, num_layers: 1, feedforward_dim: 16}",
    "model.decoder={name: transformer, num_layers: 1, feedforward_dim: 16}",
    "decoding.search={name: greedy, max_ratio: 0.5}",
]  # fmt: skip
SEARCH = "decoding.search={name: greedy, max_ratio: 0.5}"


def write_pairs(folder, name, count, seed):
    sides = list(zip(*toy.pairs("de", count, seed), strict=True))
    files = [folder / f"{name}.en", folder / f"{name}.de"]
    for file, lines in zip(files, sides, strict=True):
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return files


def data(files):
    return [f"data.train.source={files[0]}", f"data.train.target={files[1]}"]


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    folder = tmp_path_factory.mktemp("base")
    source, target = write_pairs(folder, "train", 200, 1)
    limits = ["training.max_updates=20", "training.validate_every=20", "training.average=1"]
    options = ["--source", source, "--target", target, "data.dev_fraction=0.1", "data.test_fraction=0.05"]
    done = regard("train", *SMALL, *options, *limits, "--run", folder / "run", "--quiet")
    assert done.code == 0, done.said
    return folder / "run"


@pytest.fixture
def new(tmp_path):
    return write_pairs(tmp_path, "new", 120, 7)


def weights(run):
    return RunFolder(run).checkpoint().model


def test_defaults_suit_few_pairs(base, new):
    experiment, said = None, []
    experiment = read_experiment(None, data(new), start=base, adapts=True, say=said.append)
    training, old = experiment.training, experiment.data.old
    updates = training.max_updates
    assert training.schedule.settings["updates"] is None  # falls until the last one
    assert 0 < training.schedule.settings["warmup"] <= updates / 10
    assert training.validate_every * 10 <= updates and training.patience <= 5
    assert training.learning_rate < Run.open(base).experiment.training.learning_rate
    assert experiment.data.recombination is None
    assert 12 <= experiment.data.dev_fraction * 120 <= 24 and experiment.data.test_fraction == 0
    before = Run.open(base).experiment.data
    assert (old.train, old.dev_fraction, old.test_fraction) == (before.train, before.dev_fraction, before.test_fraction)
    assert any("against forgetting" in line for line in said)


def test_old_dev_set_is_that_of_the_start(base, new):
    experiment = read_experiment(None, data(new), start=base, adapts=True)
    run = Run.open(base)
    task = run.task()
    own = {one.texts["source"] for one in old_readers(experiment)[0]}
    held = old_dev_examples(experiment, task, print)
    assert not own & {*held["source"]}
    from regard.runs.texts import dev_examples

    assert held == dev_examples(run.experiment, task, print)


def test_old_text_is_the_stated_fraction_of_batches(base, new, tmp_path):
    from regard.runs.run import routed
    from regard.runs.texts import training_batches

    experiment = read_experiment(
        None, [*data(new), "data.old.fraction=0.25", f"run={tmp_path}"], start=base, adapts=True
    )
    model, task, _ = Run.open(base).assembled()
    stream = training_batches(experiment, RunFolder(tmp_path), routed(task, model, experiment), print)
    assert stream.shares == pytest.approx({"train": 0.75, "old": 0.25})


@pytest.mark.parametrize(
    "words",
    [["data.old=null"], ["data.corpora={more: {source: A, target: B}}"], ["data.train.source=OLD"]],
    ids=["turned off", "other corpora", "same texts"],
)
def test_old_texts_are_not_mixed_in(words, base, new):
    old = Run.open(base).experiment.data.train.settings["files"]
    files = {"A": old["source"], "B": old["target"], "OLD": old["source"]}
    if "OLD" in words[0]:
        words = [f"data.train.source={old['source']}", f"data.train.target={old['target']}"]
    words = [word.replace("A,", f"{files['A']},").replace("B}", files["B"] + "}") for word in words]
    experiment = read_experiment(None, [*data(new), *words], start=base, adapts=True)
    assert experiment.data.old is None


def test_outcome_is_recorded_with_intervals(base, new, tmp_path):
    run = tmp_path / "run"
    done = regard("train", "--from", base, "--source", new[0], "--target", new[1], "--run", run,
                  "data.old.tolerance=100", "training.learning_rate=0.01", "training.max_updates=40",
                  "training.metric=loss")  # fmt: skip
    assert done.code == 0, done.said
    kept = Run.open(run).measurements.kept("adaptation.json")
    assert kept["kept"] == "adapted" and "the adapted weights are kept" in done.said
    start = json.loads((run / "start.json").read_text())
    opened = load(run)
    experiment, task, model = opened.run.experiment, opened.task, opened.model
    from regard.decoding import GreedySearch
    from regard.runs.texts import dev_examples
    from regard.runs.validation import Validation
    from regard.tasks.task import measure_of

    measure = measure_of(task, "loss")
    for name, examples in (
        ("new", dev_examples(experiment, task, print)), ("old", old_dev_examples(experiment, task, print))
    ):  # fmt: skip
        rows = Validation(
            model, task, task.engine(model, GreedySearch()), examples, [measure], batch_tokens=512
        ).statistics()["loss"]
        test = compare_statistics(measure, np.array(start[name]), rows, "")
        assert kept[name]["difference"] == pytest.approx(test.difference, abs=1e-6)
        assert kept[name]["interval"] == pytest.approx(list(test.interval), abs=1e-5)
        assert kept[name]["examples"] == len(rows)
        assert f"{name} text ({len(rows)} examples): loss" in done.said
    assert "Adapted: new text loss" in model_card(opened)


HARSH = [
    "data.old.tolerance=0", "data.old.fraction=0.001", "training.learning_rate=0.5", "training.max_updates=20",
    "training.schedule=constant", "training.average=1", "training.metric=loss",
]  # fmt: skip


def test_start_is_kept_where_old_text_loses_too_much(base, new, tmp_path):
    run = tmp_path / "run"
    done = regard("train", "--from", base, "--source", new[0], "--target", new[1], "--run", run, *HARSH,
                  "training.start_means=0")  # fmt: skip
    assert done.code == 0, done.said
    scores = RunFolder(run).scores()
    assert all(one["loss-old"] > scores[0]["loss-old"] for number, one in scores.items() if number)
    assert all(one[CHOICE] < scores[0][CHOICE] for number, one in scores.items() if number)
    assert "no checkpoint beats the start on new text within a loss of 0 on old text" in done.said
    before, after = weights(base), weights(run)
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert Run.open(run).measurements.kept("adaptation.json")["kept"] == "start"


def test_part_of_the_change_is_kept_where_all_of_it_loses_too_much_old_text(base, new, tmp_path):
    run = tmp_path / "run"
    done = regard("train", "--from", base, "--source", new[0], "--target", new[1], "--run", run, *HARSH)
    assert done.code == 0, done.said
    scores, kept = RunFolder(run).scores(), Run.open(run).measurements.kept("adaptation.json")
    assert all(one["loss-old"] > scores[0]["loss-old"] for number, one in scores.items() if number)
    assert kept["kept"] == "adapted"
    assert kept["new"]["difference"] < 0 and kept["old"]["difference"] <= 0
    assert RunFolder(run).checkpoint().state["averaged"][0] == 0


def test_resumed_adaptation_is_the_uninterrupted_one(base, new, tmp_path):
    options = ["--from", base, "--source", new[0], "--target", new[1], "training.validate_every=5", "--quiet"]
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    schedule = "training.schedule={name: linear, updates: 20, warmup: 2}"
    assert regard("train", *options, schedule, "training.max_updates=20", "--run", whole).code == 0
    assert regard("train", *options, schedule, "training.max_updates=10", "--run", parts).code == 0
    assert regard("train", "--run", parts, "--resume", "training.max_updates=20", "--quiet").code == 0
    first, second = weights(whole), weights(parts)
    assert all(torch.equal(first[name], second[name]) for name in first)
    kept = [Run.open(run).measurements.kept("adaptation.json") for run in (whole, parts)]
    assert kept[0] == kept[1]


@pytest.mark.parametrize("old", [[], ["data.old=null"]], ids=["old text", "new text alone"])
def test_interrupted_validation_of_the_start_is_made_again(old, base, new, tmp_path, monkeypatch):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    options = ["--from", base, "--source", new[0], "--target", new[1], "training.max_updates=4", *old, "--quiet"]
    assert regard("train", *options, "--run", whole).code == 0

    signals = iter([signal.SIGINT])  # one: a second would end at once

    def interrupted(*words):
        for number in signals:
            signal.raise_signal(number)
        words[-1]()  # asks whether to stop

    with monkeypatch.context() as patch:
        patch.setattr(validation, "outcome_of", interrupted)
        assert regard("train", *options, "--run", parts).code == 75
    assert [one.name for one in (parts / "checkpoints").glob("step-*")] == ["step-00000000"]
    assert not (parts / "start.json").exists()
    done = regard("train", "--run", parts, "--resume", "--quiet")
    assert done.code == 0, done.said
    kept = [Run.open(run).measurements.kept("adaptation.json") for run in (whole, parts)]
    assert kept[0] == kept[1]
    first, second = weights(whole), weights(parts)
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_selection_score_by_hand():
    assert selection_score(25, 20, 0.5, 1.0) == 25  # within the bound the figure on new text decides
    assert selection_score(25, 20, 1.0, 1.0) == 25
    assert selection_score(25, 20, 1.5, 1.0) == 19.5  # beyond it a checkpoint ranks behind the start
    assert selection_score(15, 20, 1.5, 1.0) == 14.5
    assert selection_score(20, 20, 0, 1.0) == 20  # the start itself


def test_folder_of_another_program_is_imported_on_the_way(new, tmp_path):
    folder = marian_folder(tmp_path / "opus")
    options = ["--from", folder, "--source", new[0], "--target", new[1], "training.max_updates=2", SEARCH]
    done = regard("train", *options, "--run", tmp_path / "first")
    assert done.code == 0, done.said
    assert "imported" in done.said and "forgetting is not measured" in done.said
    made = tmp_path / "opus-imported"
    assert Run.open(tmp_path / "first").experiment.init.run == made
    assert load(made).run.experiment.model == Run.open(tmp_path / "first").experiment.model
    again = regard("train", *options, "--run", tmp_path / "second")
    assert again.code == 0 and f"{made} was imported from {folder} before" in again.said
    (folder / "config.json").write_text((folder / "config.json").read_text() + " ")
    assert unsaid(regard("train", *options, "--run", tmp_path / "third"), "was imported from other files") == []


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--old", "FEWER.en", "OLD.de"], "lines"),
        (["data.old.train.source=OLD.en"], "data.old.train.target: must be given"),
        (["text.tokenizer.size=300"], "whose vocabularies are taken"),
        (["model.dim=32"], "has the shape"),
        (["data.old.fraction=1"], "data.old.fraction"),
    ],
)
def test_bad_input_is_one_line(words, told, base, new, tmp_path):
    source, _ = write_pairs(tmp_path, "OLD", 80, 3)
    (tmp_path / "FEWER.en").write_text("".join(source.read_text().splitlines(keepends=True)[:-1]))
    words = [word.replace("FEWER", str(tmp_path / "FEWER")).replace("OLD", str(tmp_path / "OLD")) for word in words]
    options = ["--from", base, "--source", new[0], "--target", new[1], "--run", tmp_path / "run"]
    assert unsaid(regard("train", *options, *words), told) == []
    assert not (tmp_path / "run").exists()


def test_start_of_another_task_is_one_line(new, tmp_path):
    table = tmp_path / "reviews.tsv"
    table.write_text("".join(f"{('good', 'bad')[number % 2]}\tfilm {number}\n" for number in range(60)))
    start = tmp_path / "reviews"
    settings = ["model.dim=16", "model.pooling=attention", "training.max_updates=1"]
    done = regard("train", "--text", table, *settings, "--run", start, "--quiet")
    assert done.code == 0, done.said
    done = regard("train", "--from", start, "--source", new[0], "--target", new[1], "--run", tmp_path / "run")
    assert unsaid(done, "data.train.source and data.train.target: are not columns of this task") == []


def test_old_dev_set_is_thinned_evenly(base, new, tmp_path):
    files = write_pairs(tmp_path, "many", 1_900, 11)
    dev = f"data.old.dev={{source: '{files[0]}', target: '{files[1]}'}}"
    experiment = read_experiment(None, [*data(new), dev], start=base, adapts=True)
    assert experiment.data.old.train == Run.open(base).experiment.data.train
    found = old_dev_examples(experiment, Run.open(base).task(), print)
    assert found["source"] == files[0].read_text().splitlines()[::2]


def test_too_few_pairs_for_a_dev_set(base, tmp_path):
    new = write_pairs(tmp_path, "new", 30, 7)
    options = ["--from", base, "--source", new[0], "--target", new[1], "--run", tmp_path / "run"]
    told = "data.dev: must be given: 30 pairs are too few", "--dev-source FILE --dev-target FILE"
    assert unsaid(regard("train", *options), *told) == []
    assert regard("train", *options, "data.dev_fraction=0.2", "training.max_updates=1").code == 0


def test_old_text_needs_a_start(new, tmp_path):
    options = ["--source", new[0], "--target", new[1], "--old", new[0], new[1]]
    assert unsaid(regard("train", *options, "--run", tmp_path / "run"), "data.old: is for a run that starts from") == []


@pytest.mark.parametrize("words", [["training.optimizer={name: low_rank_adam, rank: 2}"], ["training.trained=biases"]])
def test_few_weights_are_trained(words, base, new, tmp_path):
    run = tmp_path / "run"
    options = ["--from", base, "--source", new[0], "--target", new[1], "--run", run, "training.max_updates=4"]
    limits = ["training.validate_every=4", "training.average=1", "training.metric=loss", "data.old.tolerance=100"]
    done = regard("train", *options, *limits, *words, "training.learning_rate=0.01")
    assert done.code == 0, done.said
    before, after = weights(base), weights(run)
    moved = {name for name in before if not torch.equal(before[name], after[name])}
    biases = {name for name in before if name.rpartition(".")[2].startswith("bias")}
    if "biases" in words[0]:
        assert moved and moved <= biases
    else:
        matrices = {name: after[name] - before[name] for name in before if before[name].dim() == 2}
        assert moved and moved <= matrices.keys()
        assert all(torch.linalg.matrix_rank(one, rtol=1e-3) <= 2 for one in matrices.values())


def test_scores_are_read_from_a_log_that_ends_in_half_a_line(tmp_path):
    lines = ['{"event": "update", "update": 1}', '{"event": "validation", "update": 0, "loss": 2.5}']
    (tmp_path / "metrics.jsonl").write_text("\n".join([*lines, '{"event": "validation", "upd']), encoding="utf-8")
    assert {update: one["loss"] for update, one in RunFolder(tmp_path).scores().items()} == {0: 2.5}
    assert RunFolder(tmp_path / "none").scores() == {}


@pytest.mark.parametrize(
    ("digest", "same", "count", "found"),
    [("here", False, 9, True), ("other", True, 2, False), (None, True, 2, True), (None, False, 2, False),
     (None, True, 3, False)],
)  # fmt: skip
def test_old_text_is_compared_with_the_first_start(tmp_path, digest, same, count, found):
    """A file of an earlier version has no digest: the settings and the number of texts count."""
    values = {"new": [[1.0]], "old": [[1.0], [2.0]]}
    write_checked(tmp_path / START_FILE, values if digest is None else {**values, "old_texts": digest})
    old = SimpleNamespace(digest=lambda: "here", validation=SimpleNamespace(examples={"source": ["a"] * count}))
    rows = first_statistics(RunFolder(tmp_path), old, same_settings=same)
    assert (rows is not None and rows.tolist() == values["old"]) is found
    assert first_statistics(RunFolder(tmp_path / "none"), old, same_settings=same) is None
