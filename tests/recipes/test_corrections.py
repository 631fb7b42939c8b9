"""regard teach: corrections become a version of a run only if they gain and the standing set loses nothing."""

import json
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import ClassVar

import pytest
import torch
from small_runs import regard, unsaid

from regard.config import read_checked
from regard.data import toy
from regard.errors import RegardError
from regard.experiment import read_experiment
from regard.recipes.corrections import SplitCorrections, corrected_texts, fetched, seen_corrections
from regard.runs import Run, RunFolder
from regard.runs.adaptation import START_FILE
from regard.runs.request import TrainingRequest

SMALL = [
    "text.tokenizer.size=400", "model.dim=16", "model.encoder={name: transformer, num_layers: 1, feedforward_dim: 16}",
    "model.decoder={name: transformer, num_layers: 1, feedforward_dim: 16}",
    "decoding.search={name: greedy, max_ratio: 0.5}", "training.average=1",
]  # fmt: skip
QUICK = ["training.max_updates=8", "training.validate_every=8", "training.learning_rate=0.02", "training.average=1"]


def pairs(count, seed):
    return [*toy.pairs("de", count, seed)]


def suggested(path, rows, languages=("en", "de")):
    """A file as the server writes it."""
    lines = [dict(zip(("q", "s", "source", "target"), (*row, *languages), strict=True), time="now") for row in rows]
    with path.open("a", encoding="utf-8") as file:
        file.write("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """A run of a few updates, whose loss any training lowers."""
    folder = tmp_path_factory.mktemp("base")
    for side, language in enumerate(("en", "de")):
        lines = "".join(f"{pair[side]}\n" for pair in pairs(240, 1))
        (folder / f"train.{language}").write_text(lines, encoding="utf-8")
    texts = ["--source", folder / "train.en", "--target", folder / "train.de", "data.dev_fraction=0.1"]
    done = regard("train", *texts, *SMALL, "training.max_updates=2", "--run", folder / "run", "--quiet")
    assert done.code == 0, done.said
    return folder / "run"


@pytest.fixture
def run(first, tmp_path):
    from shutil import copytree

    return copytree(first, tmp_path / "run")


def weights(folder):
    return RunFolder(folder).checkpoint().model


def test_corrections_become_versions_and_undo_brings_the_former_back(run, tmp_path):
    better = suggested(tmp_path / "better.jsonl", pairs(15, 7))
    suggested(better, [("der Hund", "the dog")], ("de", "en"))
    done = regard("teach", run, better, *QUICK)
    assert done.code == 0, done.said
    assert "15 corrections en → de; left out: 1 of de → en" in done.said
    taught = Run.open(run)
    assert taught.path == run / "versions/1/model"
    moved = weights(taught.path)
    assert any(not torch.equal(tensor, moved[name]) for name, tensor in weights(run).items())
    kept = taught.measurements.kept("adaptation.json")
    assert (kept["kept"], kept["new"]["metric"], kept["old"]["metric"]) == ("adapted", "loss", "BLEU")
    assert kept["new"]["interval"][1] < 0 <= kept["old"]["interval"][1]
    seen = seen_corrections(taught.path)
    assert seen == dict(pairs(15, 7))
    assert unsaid(regard("teach", run, better), "15 of them known to the run", "at least 10 new ones") == []

    suggested(better, pairs(12, 9))
    done = regard("teach", run, better, *QUICK)
    assert done.code == 0, done.said
    assert Run.open(run).path.parent.name == "2"
    learned = corrected_texts(run / "versions/2/learned.jsonl", ("en", "de"))
    assert seen.items() <= learned.items()  # what was held out of the first version is learned by the second
    before, after = (read_checked(run / f"versions/{number}/model" / START_FILE)["old"] for number in (1, 2))
    assert before == after  # the standing set is compared with the first weights: losses do not add up

    request = TrainingRequest(None, [f"run={run}"], resume=True)
    assert request.read(print)[1].path == run  # a version is not trained on
    assert regard("undo", run).code == 0
    assert Run.open(run).path == taught.path
    assert regard("undo", run).code == 0
    assert Run.open(run).path == run
    assert unsaid(regard("undo", run), "no earlier version") == []
    again = regard("teach", run, better, "--new")  # as a nightly lesson, which must not cancel the undo
    assert unsaid(again, "27 of them known to the run", "at least 10 new ones") == []


def test_the_start_stays_unless_corrections_gain(run, tmp_path):
    better = suggested(tmp_path / "better.jsonl", pairs(12, 7))
    done = regard("teach", run, better, *QUICK, "training.learning_rate=1e-9")
    assert done.code == 0, done.said
    assert "no checkpoint beats the start" in done.said
    assert (Run.open(run).path, [*(run / "versions").glob("[0-9]*")]) == (run, [])
    assert unsaid(regard("teach", run, better, "--new"), "12 of them known to the run") == []


def test_a_folder_of_its_own_leaves_the_run_as_it_is(run, tmp_path):
    table = tmp_path / "pairs.tsv"
    table.write_text("".join(f"{source}\t{target}\n" for source, target in pairs(12, 7)), encoding="utf-8")
    done = regard("teach", run, table, "-o", tmp_path / "taught", *QUICK)
    assert done.code == 0, done.said
    assert Run.open(tmp_path / "taught").path == tmp_path / "taught/model"
    assert Run.open(run).path == run
    assert unsaid(regard("teach", run, table, "-o", tmp_path / "taught", *QUICK), "not empty") == []


def test_few_or_foreign_corrections_are_one_line(run, tmp_path):
    rows = pairs(12, 7)
    few = suggested(tmp_path / "few.jsonl", rows[:9])
    assert unsaid(regard("teach", run, few), "has 9 corrections; at least 10") == []
    other = suggested(tmp_path / "other.jsonl", rows, ("fr", "de"))
    assert unsaid(regard("teach", run, other), "no correction from en to de", "fr-de") == []
    turned = tmp_path / "turned.tsv"
    turned.write_text("".join(f"{target}\t{source}\n" for source, target in rows), encoding="utf-8")
    assert unsaid(regard("teach", run, turned), "are the two sides exchanged?") == []
    codes = tmp_path / "codes.tsv"
    codes.write_text("".join(f"{source}\tde\n" for source, _ in rows), encoding="utf-8")
    assert unsaid(regard("teach", run, codes), "all translations are 'de'") == []
    assert unsaid(regard("teach", run, tmp_path / "none.tsv"), "there is no such file") == []
    assert not (run / "version.json").exists()


def test_codes_of_languages_are_never_read_as_texts(run, tmp_path):
    """Some line of the file is not the server's, so that its format is not recognised."""
    mixed = tmp_path / "mixed.jsonl"
    mixed.write_text('{"source": "a dog", "target": "ein Hund"}\n', encoding="utf-8")
    suggested(mixed, pairs(80, 7))
    done = regard("train", mixed, "--from", run, "--run", tmp_path / "new")
    assert unsaid(done, "codes of languages", "regard teach RUN FILE") == []
    few = suggested(tmp_path / "few.jsonl", pairs(12, 7))
    assert unsaid(regard("train", few, "--from", run, "--run", tmp_path / "new"), "regard teach RUN FILE") == []
    many = suggested(tmp_path / "many.jsonl", pairs(60, 7))
    experiment = read_experiment(many, start=run, adapts=True)
    assert experiment.data.train.settings["languages"] == ("en", "de")


def test_without_the_old_texts_nothing_is_taught(run, first, tmp_path):
    better = suggested(tmp_path / "better.jsonl", pairs(12, 7))
    moved = (first.parent / "train.en").rename(tmp_path / "moved.en")
    try:
        assert unsaid(regard("teach", run, better), "forgetting cannot be measured", "--old SOURCE TARGET") == []
        done = regard("teach", run, better, "--old", moved, first.parent / "train.de", *QUICK, "-q")
        assert done.code == 0, done.said
    finally:
        moved.rename(first.parent / "train.en")


def test_only_new_corrections_are_held_out():
    seen = {f"old {number}": "alt" for number in range(30)}
    new = {f"new {number}": "neu" for number in range(20)}
    parts = SplitCorrections.of({**seen, **new}, seen)
    assert (len(parts.held_out), parts.held_out.items() <= new.items()) == (4, True)
    assert {**parts.learned, **parts.held_out} == {**seen, **new}
    changed = {**new, **seen, **{f"old {number}": "besser" for number in range(20)}}  # corrected once more
    again = SplitCorrections.of(changed, seen)
    assert {**again.learned, **again.held_out} == changed
    assert not again.learned.keys() & again.held_out.keys()
    assert not again.held_out.keys() & seen.keys()  # the weights have learned these texts


def test_a_server_cannot_send_the_key_to_another_one(monkeypatch):
    class Redirect(BaseHTTPRequestHandler):
        keys: ClassVar[list] = []

        def do_GET(self):
            self.keys.append(self.headers["Authorization"])
            self.send_response(302)
            self.send_header("Location", "/elsewhere")
            self.end_headers()

        def log_message(self, *_):
            pass

    monkeypatch.setenv("REGARD_API_KEY", "secret")
    with HTTPServer(("127.0.0.1", 0), Redirect) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        with pytest.raises(RegardError, match="answers 302"), fetched(f"http://127.0.0.1:{server.server_port}"):
            pass
        server.shutdown()
    assert Redirect.keys == ["Bearer secret"]  # asked once
