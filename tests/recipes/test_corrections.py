"""regard teach: corrections become a version of a run only if they gain and the standing set loses nothing."""

import json
import signal
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
import torch
from small_runs import regard, unsaid

from regard.config import read_checked
from regard.data import toy
from regard.errors import ConfigError, RegardError
from regard.experiment import read_experiment
from regard.recipes import corrections, teach
from regard.recipes.corrections import fetched, seen_corrections, trials, without_marks
from regard.recipes.teach import lesson
from regard.runs import Run, RunFolder
from regard.runs.adaptation import START_FILE
from regard.runs.request import TrainingRequest
from regard.training.interrupt import Interrupted

SMALL = [
    "text.tokenizer.size=400", "model.dim=16", "model.encoder={name: transformer, num_layers: 1, feedforward_dim: 16}",
    "model.decoder={name: transformer, num_layers: 1, feedforward_dim: 16}",
    "decoding.search={name: greedy, max_ratio: 0.5}", "training.average=1",
]  # fmt: skip
QUICK = ["training.max_updates=8", "training.validate_every=8", "training.learning_rate=0.02", "data.old.metric=loss"]


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


def versions(run):
    return sorted(one.name for one in (run / "versions").glob("[0-9]*"))


def test_corrections_become_versions_and_undone_ones_stay_undone(run, tmp_path):
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
    assert (kept["kept"], kept["old"]["metric"]) == ("adapted", "loss")
    assert kept["old"]["interval"][0] <= 0 and kept["old"]["difference"] <= 0.1
    log = map(json.loads, (taught.path / "metrics.jsonl").read_text("utf-8").splitlines())
    assert [row["update"] for row in log if row["event"] == "validation"] == [0, 8]  # the standing set is read once
    seen = seen_corrections(taught.path)
    assert seen == dict(pairs(15, 7))  # all of them, those tested, too
    assert unsaid(regard("teach", run, better), "better.jsonl: has 15 corrections, 0 of them new") == []

    suggested(better, pairs(12, 9))
    done = regard("teach", run, better, *QUICK, "data.old.fraction=0.3", "data.old.tolerance=0.5")
    assert done.code == 0, done.said
    assert Run.open(run).path.parent.name == "2"
    assert seen.items() <= seen_corrections(Run.open(run).path).items()
    before, after = (read_checked(run / f"versions/{number}/model" / START_FILE)["old"] for number in (1, 2))
    assert before == after  # the standing set is compared with the first weights: losses do not add up

    request = TrainingRequest(None, [f"run={run}"], resume=True)
    assert request.read(print)[1].path == run  # a version is not trained on
    undone = regard("undo", run)
    assert "version 1 is in use again, in place of version 2" in undone.printed and "12 corrections" in undone.printed
    assert Run.open(run).path == taught.path
    left = regard("teach", run, better)
    assert unsaid(left, "15 corrections, 0 of them new") == []
    assert "left out: 12 of an undone version" in left.said
    assert "version 2 is in use again, in place of version 1" in regard("redo", run).printed
    assert Run.open(run).path.parent.name == "2"
    assert (regard("undo", run).code, regard("undo", run).code) == (0, 0)
    assert Run.open(run).path == run
    assert unsaid(regard("undo", run), "no earlier version") == []
    again = regard("teach", run, better, "--again", "--new")  # 27 new ones; ends before its trainings
    assert unsaid(again, "translates its dev set with BLEU 0.") == []
    assert "version 1 is in use again" in regard("redo", run).printed  # a refused lesson changes nothing


def test_the_start_stays_unless_corrections_gain(run, tmp_path):
    better = suggested(tmp_path / "better.jsonl", pairs(12, 7))
    done = regard("teach", run, better, *QUICK, "training.learning_rate=1e-30")
    assert done.code == 0, done.said
    assert "the weights stay as they were: the corrections tested gain no more than by chance" in done.printed
    assert (Run.open(run).path, versions(run)) == (run, [])
    assert unsaid(regard("teach", run, better, "--new"), "0 of them new") == []


def test_the_start_stays_where_the_standing_set_loses(run, tmp_path, monkeypatch):
    monkeypatch.setattr("regard.recipes.teach.lesson.signed_interval", lambda *_: (-2.0, -1.0))  # beyond chance
    better = suggested(tmp_path / "better.jsonl", pairs(12, 7))
    done = regard("teach", run, better, *QUICK)
    assert done.code == 0, done.said
    assert "the weights stay as they were: the corrections tested gain" in done.printed
    assert "the standing set loses" in done.printed
    assert (Run.open(run).path, versions(run)) == (run, [])


def test_a_run_that_translates_nothing_is_refused(run, tmp_path):
    better = suggested(tmp_path / "better.jsonl", pairs(12, 7))
    done = regard("teach", run, better, "training.max_updates=8")
    assert unsaid(done, "translates its dev set with BLEU 0.", "train it longer", "data.old.metric=loss") == []
    assert Run.open(run).path == run


def test_phrases_are_refused_by_their_task(tmp_path):
    for side, name in enumerate(("a.en", "a.de")):
        (tmp_path / name).write_text("".join(f"{pair[side]}\n" for pair in pairs(40, 3)), encoding="utf-8")
    files = ["--source", tmp_path / "a.en", "--target", tmp_path / "a.de"]
    assert regard("train", *files, "--run", tmp_path / "run", "task=phrases", "--quiet").code == 0
    done = regard("teach", tmp_path / "run", suggested(tmp_path / "better.jsonl", pairs(12, 7)))
    assert unsaid(done, "has task phrases", "regard memory add") == []


def test_a_folder_of_its_own_leaves_the_run_as_it_is(run, tmp_path):
    table = tmp_path / "pairs.tsv"
    table.write_text("".join(f"{source}\t{target}\n" for source, target in pairs(12, 7)), encoding="utf-8")
    done = regard("teach", run, table, "-o", tmp_path / "taught", *QUICK)
    assert done.code == 0, done.said
    assert Run.open(tmp_path / "taught").path == tmp_path / "taught/model"
    assert Run.open(run).path == run
    assert unsaid(regard("teach", run, table, "-o", tmp_path / "taught", *QUICK), "not empty") == []


@pytest.mark.parametrize(("output", "goes_on"), [([], False), (["-o", "taught"], True)])
def test_an_interrupted_lesson_names_what_the_same_command_does(run, tmp_path, monkeypatch, output, goes_on):
    def stop(*given, **named):
        raise Interrupted("stopped")

    monkeypatch.setattr(teach, "teach", stop)
    done = regard("teach", run, suggested(tmp_path / "better.jsonl", pairs(12, 7)), *output)
    assert done.code == 75
    assert ("stopped; go on with the same command" in done.said) is goes_on
    assert ("the same command begins the lesson again" in done.said) is not goes_on


def test_an_interrupted_lesson_goes_on_only_with_the_same_trials(run, tmp_path, monkeypatch):
    table = tmp_path / "pairs.tsv"
    table.write_text("".join(f"{source}\t{target}\n" for source, target in pairs(12, 7)), encoding="utf-8")
    request = teach.TeachingRequest(run, table, tmp_path / "taught", changes=QUICK)
    monkeypatch.setattr(teach.CorrectionLesson, "learned", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        teach.teach(request, print)
    monkeypatch.setattr(teach.CorrectionLesson, "_trial", lambda *_: pytest.fail("the trials are made again"))
    with pytest.raises(KeyboardInterrupt):
        teach.teach(request, print)
    for other in ({"changes": [*QUICK, "training.seed=9"]}, {"old": ("a.en", "a.de")}):
        with pytest.raises(ConfigError, match="not empty"):
            teach.teach(request._replace(**other), print)


KILLED = """
import os, signal, sys
from regard.cli.app import main
from regard.recipes.teach import lesson

lesson.start_statistics = lambda folder: os.kill(os.getpid(), signal.SIGKILL)
sys.argv = ["regard", *sys.argv[1:]]
main()
"""


def test_a_lesson_killed_before_its_proof_is_no_model(run, tmp_path):
    table, taught = tmp_path / "pairs.tsv", tmp_path / "taught"
    table.write_text("".join(f"{source}\t{target}\n" for source, target in pairs(12, 7)), encoding="utf-8")
    words = [*map(str, ("teach", run, table, "-o", taught)), *QUICK]
    done = subprocess.run([sys.executable, "-c", KILLED, *words], capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert (taught / "unproved/final.json").is_file()  # trained, and the part of the change is saved
    refused = regard("predict", taught, given="a dog")
    assert unsaid(refused, "interrupted before its proof", "same command") == [] and refused.code == 2
    again = regard(*words)
    assert again.code == 0, again.said
    assert "trial" not in again.said
    whole = regard("teach", run, table, "-o", tmp_path / "whole", *QUICK)
    assert whole.code == 0, whole.said
    found, expected = (weights(folder / "model") for folder in (taught, tmp_path / "whole"))
    assert all(torch.equal(tensor, found[name]) for name, tensor in expected.items())
    assert Run.open(taught).measurements.kept("adaptation.json")["kept"] == "adapted"
    assert not (taught / "unproved").exists()


def test_too_little_time_for_a_trial_is_one_line(run, tmp_path):
    better = suggested(tmp_path / "better.jsonl", pairs(12, 7))
    assert unsaid(regard("teach", run, better, *QUICK, "training.max_minutes=1e-9"), "training.max_minutes") == []


def test_few_or_foreign_corrections_are_one_line(run, tmp_path):
    rows = pairs(12, 7)
    few = suggested(tmp_path / "few.jsonl", rows[:9])
    assert unsaid(regard("teach", run, few), "few.jsonl: has 9 corrections", "at least 10 new ones") == []
    one = suggested(tmp_path / "one.jsonl", rows[:1])
    assert unsaid(regard("teach", run, one), "one.jsonl: has 1 correction (") == []
    other = suggested(tmp_path / "other.jsonl", rows, ("fr", "de"))
    assert unsaid(regard("teach", run, other), "no correction from en to de", "fr-de") == []
    turned = tmp_path / "turned.tsv"
    turned.write_text("".join(f"{target}\t{source}\n" for source, target in rows), encoding="utf-8")
    assert unsaid(regard("teach", run, turned), "are the two sides exchanged?") == []
    codes = tmp_path / "codes.tsv"
    codes.write_text("".join(f"{source}\tde\n" for source, _ in rows), encoding="utf-8")
    assert unsaid(regard("teach", run, codes), "all translations are 'de'") == []
    codes.write_text("".join(f"{a}\t{b}\n" for a, b in [("English", "German"), *rows[:9]]), encoding="utf-8")
    done = regard("teach", run, codes)
    assert unsaid(done, "has 9 corrections") == [] and "read as column names: English, German" in done.said
    assert unsaid(regard("teach", run, tmp_path / "none.tsv"), "there is no such file") == []
    assert not (run / "version.json").exists()


def test_codes_of_languages_are_never_read_as_texts(run, tmp_path):
    """Most lines of the file are not the server's, so that its format is not recognised."""
    mixed = tmp_path / "mixed.jsonl"
    mixed.write_text('{"source": "a dog", "target": "ein Hund"}\n' * 80, encoding="utf-8")
    suggested(mixed, pairs(70, 7))
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


def numbered(word, count, better):
    return {f"{word} {'x' * number}": better for number in range(1, count + 1)}


@pytest.mark.parametrize(("count", "tested"), [(10, [5, 5]), (199, [100, 99]), (200, [40]), (900, [100])])
def test_trials_test_new_corrections_that_they_do_not_learn(count, tested):
    seen, new = numbered("old", 30, "alt"), numbered("new", count, "neu")
    found = trials("better.jsonl", {**seen, **new}, seen, {})
    assert [len(one.tested) for one in found] == tested
    for one in found:
        assert one.tested.items() <= new.items()
        assert not one.tested.keys() & one.learned.keys()
        assert {**one.learned, **one.tested} == {**seen, **new}
    if len(found) == 2:
        assert {**found[0].tested, **found[1].tested} == new


def test_texts_that_are_nearly_the_same_are_never_learned_and_tested():
    texts = [f"Open {'x' * number}" for number in range(1, 11)]
    pairs = {variant: "auf" for one in texts for variant in (one, f"_{one.lower()}…", f"{one.upper()}.")}
    found = trials("better.jsonl", pairs, {f"{texts[0]}!": "zu"}, {})
    assert [len(one.tested) for one in found] == [5, 5]
    for one in found:
        assert not {*map(without_marks, one.learned)} & {*map(without_marks, one.tested)}
    with pytest.raises(ConfigError, match="has 27 corrections, 9 of them new, apart from case"):
        trials("better.jsonl", dict([*pairs.items()][:27]), {}, {})
    with pytest.raises(ConfigError, match="has 30 corrections, 0 of them new"):
        trials("better.jsonl", pairs, {}, pairs)


def test_a_text_that_is_corrected_once_more_is_new():
    pairs = numbered("old", 12, "besser")
    found = trials("better.jsonl", pairs, numbered("old", 12, "alt"), {})
    assert {**found[0].tested, **found[1].tested} == pairs
    assert all({*one.learned.values()} == {"besser"} for one in found)


def test_case_punctuation_and_numbers_are_not_compared():
    assert without_marks("OK.") == without_marks("ok") == without_marks("“Ok” !")
    assert without_marks("3 files") == without_marks("12 Files") != without_marks("files")
    assert without_marks("１ ファイル") == without_marks("20ファイル")
    assert (without_marks("…"), without_marks("?!")) == ("…", "?!")  # nothing else is left of them
    assert without_marks("की") != without_marks("का")


def test_an_endless_file_of_a_server_is_refused(monkeypatch):
    class Endless(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(bytes(2_000))

        def log_message(self, *_):
            pass

    monkeypatch.setattr(corrections, "_MOST_BYTES", 1_000)
    with HTTPServer(("127.0.0.1", 0), Endless) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        with pytest.raises(RegardError, match="1,000 bytes"), fetched(f"http://127.0.0.1:{server.server_port}"):
            pass
        server.shutdown()


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


class _Tried:
    """A trial whose old texts lose with the square of the part: one of `loss`, in turns with one of 0."""

    def __init__(self, loss, texts):
        self.loss = np.resize([loss, 0.0], texts) if texts > 1 else np.array([loss])
        self.old = SimpleNamespace(measures=[self])

    name, higher_is_better = "BLEU", True

    def value(self, sums):
        return 30.0 + sums[0] / sums[1]

    def statistics(self, part, *, old=False):
        return np.stack([-self.loss * part**2, np.ones(len(self.loss))], axis=1)


@pytest.mark.parametrize(("loss", "kept"), [(1.0, 0.05**0.5), (30.0, (0.05 / 30) ** 0.5), (0.04, 1.0), (1e6, 0.0)])
def test_the_part_is_kept_with_which_old_text_loses_half_of_the_tolerance(loss, kept):
    assert lesson._safe_part([_Tried(loss, texts=1)], 0.1) == pytest.approx(kept)


def test_two_trials_are_as_sure_as_one_and_a_tolerance_of_0_leaves_it_to_the_standing_set():
    one = _Tried(2.0, 200)
    part = lesson._safe_part([one], 0.1)
    assert lesson._safe_part([one, one], 0.1) == pytest.approx(part)
    assert lesson._safe_part([one], 0.0) == pytest.approx(part)


def test_a_smaller_part_is_kept_where_the_loss_is_less_sure():
    kept = [lesson._safe_part([_Tried(2.0, texts)], 0.1) for texts in (20, 2_000)]
    assert kept[0] < kept[1] < 0.05**0.5  # that of a mean loss of 1 which is sure
    assert kept[1] == pytest.approx((0.05 / (1 + 2_000**-0.5)) ** 0.5, rel=0.01)
