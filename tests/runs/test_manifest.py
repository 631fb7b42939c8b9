"""A file of a run that is damaged, exchanged or edited is told by whoever opens the run; what a run changes itself is
not, whenever it is killed.
"""

import json
import os
import shutil
from pathlib import Path

import pytest
import torch
from damages import damaged, drawn_damages
from small_runs import SMALL, regard, unsaid, write_texts

from regard import __version__, load
from regard.data import manifest
from regard.errors import RegardError
from regard.runs import Run, RunFolder
from regard.runs.folder import FORMAT
from regard.training import checkpoint as files

TEXTS = ["a dog runs", "two cats", "yes he reads"]
SETTINGS, ORIGINS, FINAL = "experiment.yaml", "origins.json", "final.json"
MODEL, SAMPLING = "text/source/subwords.model", "text/source/sampling"
MORE = ["--resume", "--quiet", "training.max_updates=3"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    settings = ["text.shared=false", "model.tied=target", "text.tokenizer.sampling=0.1"]
    done = regard("train", *SMALL, *settings, *write_texts(folder), "--run", folder / "run", "--quiet")
    assert done.code == 0, done.said
    return folder / "run"


@pytest.fixture
def run(trained, tmp_path):
    return shutil.copytree(trained, tmp_path / "run")


@pytest.fixture
def older(run):
    """As an earlier version made it."""
    (run / "manifest.json").unlink()
    final = json.loads((run / FINAL).read_text())
    (run / FINAL).write_text(json.dumps({name: final[name] for name in final if name != "sha256"}, indent=1))
    return run


def flip(path, place=None):
    whole = bytearray(path.read_bytes())
    whole[len(whole) // 2 if place is None else place] ^= 4
    path.write_bytes(whole)


START = "training.max_updates=1", "data.dev_fraction=0.2"


def opened(run):
    """Everything that opens a run → how it ended, each by its name."""
    texts = write_texts(run.parent)
    return {
        "predict": regard("predict", run, given="a dog\n"),
        "explain": regard("explain", run, "a dog"),
        "evaluate": regard("evaluate", run, *texts),
        "resume": regard("train", run, *MORE),
        "start": regard("train", "--from", run, *texts, "--run", run / "new", "--quiet", *START),
    }


def cut(path):
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-9]))


@pytest.mark.parametrize(("name", "damage"), [(SETTINGS, cut), (MODEL, flip)])
def test_a_damaged_file_is_told_by_all_that_open_a_run(run, name, damage):
    damage(run / name)
    found = {who: unsaid(done, f"{run / name}: was edited or damaged") for who, done in opened(run).items()}
    assert [lacks for lacks in found.values() if lacks] == []
    assert not (run / "new").exists()


@pytest.mark.parametrize("name", ["environment.json", ORIGINS, SAMPLING, "text/target/kind"])
def test_every_file_that_is_not_verified_otherwise_is(run, name):
    flip(run / name)
    with pytest.raises(RegardError, match=rf"{name}: was edited or damaged"):
        load(run)


def test_exchanged_vocabularies_are_told(run):
    source, target = run / "text/source", run / "text/target"
    source.rename(run / "other"), target.rename(source), (run / "other").rename(target)
    assert unsaid(regard("predict", run, given="a dog\n"), f"{source}/subwords.model: was edited or damaged") == []


def test_a_missing_file_is_told(run):
    (run / SAMPLING).unlink()
    assert unsaid(regard("predict", run, given="a dog\n"), f"{run / SAMPLING}: cannot be read: No such file") == []


def test_settings_that_were_cut_short_are_told_at_every_line(run):
    whole = (run / SETTINGS).read_text()
    for lines in range(whole.count("\n")):
        (run / SETTINGS).write_text("".join(whole.splitlines(keepends=True)[:lines]))
        with pytest.raises(RegardError, match=r"experiment\.yaml: was edited or damaged"):
            Run.open(run)


def test_who_edits_the_settings_is_told_what_to_do_instead(run):
    (run / SETTINGS).write_text((run / SETTINGS).read_text().replace("max_updates: 2", "max_updates: 3"))
    told = f"regard train {run} --resume KEY=VALUE, or for one answer: regard predict {run} decoding.KEY=VALUE"
    assert unsaid(regard("train", run, "--resume"), told, f"delete {run / 'manifest.json'}") == []
    (run / "manifest.json").unlink()
    assert regard("train", run, "--resume", "--quiet").code == 0
    assert files.latest_valid(run)[0].state["update"] == 3


@pytest.mark.parametrize("name", ["manifest.json", FINAL])
def test_a_damaged_list_of_files_is_told(run, name):
    whole = (run / name).read_bytes()
    for place in range(0, len(whole), 7):
        flip(run / name, place)
        try:
            found = load(run).predict(TEXTS)
        except RegardError as error:
            assert str(run / name) in str(error)
        else:
            assert [one.text for one in found] == [one.text for one in load(run).predict(TEXTS)]
        (run / name).write_bytes(whole)


def test_another_checkpoint_in_final_json_is_told(run):
    """Which the run has, but did not end with."""
    steps = [path.name for path in files.steps(run)]
    final = (run / FINAL).read_text()
    named = json.loads(final)["checkpoint"]
    other = next(name for name in [*steps, "step-00000009"] if name != named)
    (run / FINAL).write_text(final.replace(named, other))
    assert unsaid(regard("predict", run, given="a dog\n"), f"{run / FINAL}: cannot be read: it is not as it was") == []


def test_changed_settings_are_sealed_when_a_run_goes_on(run):
    before = json.loads((run / "manifest.json").read_text())["files"]
    assert regard("train", run, *MORE).code == 0
    after = json.loads((run / "manifest.json").read_text())["files"]
    assert [name for name in before if before[name] != after[name]] == [SETTINGS]
    assert load(run).predict(TEXTS)[0].text is not None
    flip(run / SETTINGS)
    assert unsaid(regard("train", run, *MORE), "was edited or damaged") == []


@pytest.mark.parametrize("renames", [0, 1, 2, 3, 4])
def test_settings_that_are_replaced_when_it_is_killed_leave_a_run_that_opens(run, monkeypatch, renames):
    """At each of the renames of the manifest and of the settings."""
    done = []

    def rename(source, target, real=os.replace):
        if run in Path(target).parents:  # others fill the cache of compiled code
            if len(done) == renames:
                raise KeyboardInterrupt
            done.append(target)
        real(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", rename)
        assert regard("train", run, *MORE).code != 0
    assert len(done) == renames
    assert Run.open(run).experiment.training.max_updates == (3 if run / SETTINGS in done else 2)
    assert regard("predict", run, given="a dog\n").code == 0
    assert regard("train", run, *MORE).code == 0
    assert len(json.loads((run / "manifest.json").read_text())["files"][SETTINGS]) == 1


@pytest.mark.parametrize("changes", [[], ["decoding.batch_tokens=99"]], ids=["unchanged", "changed"])
def test_a_run_of_an_earlier_version_is_opened_as_it_is_and_sealed_when_it_goes_on(older, changes):
    texts = [one.text for one in load(older).predict(TEXTS)]
    assert not (older / "manifest.json").exists()
    assert regard("train", older, "--resume", "--quiet", *changes).code == 0
    assert [one.text for one in load(older).predict(TEXTS)] == texts
    flip(older / MODEL)
    assert unsaid(regard("predict", older, given="a dog\n"), f"{older / MODEL}: was edited or damaged") == []


def test_settings_of_an_earlier_version_that_were_cut_short_are_told_at_every_line(older):
    whole = (older / SETTINGS).read_text()
    for lines in range(whole.count("\n")):
        (older / SETTINGS).write_text("".join(whole.splitlines(keepends=True)[:lines]))
        with pytest.raises(RegardError, match=r"experiment\.yaml"):
            Run.open(older)


@pytest.mark.parametrize(
    "change", [('"files"', '"filds"'), ('"train"', '"trai."'), ('"read"', '"rea$"'), ("[", '"a", ['), ('"', "'")]
)
def test_damaged_origins_of_an_earlier_version_are_told(older, change):
    (older / ORIGINS).write_text((older / ORIGINS).read_text().replace(*change))
    assert unsaid(regard("train", older, "--resume"), str(older / ORIGINS)) == []


def test_a_run_is_read_while_its_settings_are_replaced(run, monkeypatch):
    """A reader that has the manifest of before takes the one of now."""
    real, readings = manifest._read, []

    def read(folder):
        found = real(folder)
        readings.append(found)
        if len(readings) == 1:
            flip(run / SETTINGS)
            manifest.write_manifest(run, [run / SETTINGS])
        return found

    monkeypatch.setattr(manifest, "_read", read)
    manifest.verify(run)
    assert readings[-1] != readings[0]


@pytest.mark.parametrize("renames", [0, 1, 2])
def test_a_later_file_that_is_replaced_when_it_is_killed_is_the_old_or_the_new_one(tmp_path, monkeypatch, renames):
    """Before the manifest allows both, before the new one is there, before it allows no other."""
    path, done = tmp_path / "table", []
    manifest.place_file(staged(tmp_path, "old"), path)

    def rename(source, target, real=os.replace):
        if len(done) == renames:
            raise KeyboardInterrupt
        done.append(target)
        real(source, target)

    new = staged(tmp_path, "new")
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(os, "replace", rename)
        manifest.place_file(new, path)
    assert path.read_text() == ("new" if renames == 2 else "old")
    manifest.verify_file(path, "")
    manifest.place_file(staged(tmp_path, "newer"), path)
    manifest.verify_file(path, "")
    flip(path)
    with pytest.raises(RegardError, match=r"table: was edited or damaged after it was written \(again"):
        manifest.verify_file(path, "again")


def staged(folder, text):
    path = folder / f"{text}.new"
    path.write_text(text)
    return path


def outcome(run, damage, answers):
    """told, or harmless: the same answers."""
    with damaged(run, damage):
        try:
            found = load(run).predict(TEXTS)
        except RegardError as error:
            return "told" if "\n" not in str(error) else f"{error}"
    same = all(
        one.text == other.text and torch.equal(torch.tensor(one.score), torch.tensor(other.score))
        for one, other in zip(found, answers, strict=True)
    )
    return "harmless" if same else "silent"


def test_a_sample_of_damages_is_told_or_harmless(run):
    answers = load(run).predict(TEXTS)
    found = {damage: outcome(run, damage, answers) for damage in drawn_damages(run, 120, seed=1)}
    assert [damage for damage, how in found.items() if how not in ("told", "harmless")] == []
    assert list(found.values()).count("told") > 40


def noting(run, **changes):
    """The run with another environment, sealed as the program that made it would have."""
    path = run / "environment.json"
    noted = {**json.loads(path.read_text("utf-8")), **changes}
    path.write_text(json.dumps({name: value for name, value in noted.items() if value is not None}), "utf-8")
    RunFolder(run).seal()
    return run


def test_a_run_names_its_version_and_format(run):
    noted = json.loads((run / "environment.json").read_text("utf-8"))
    assert (noted["regard"], noted["format"]) == (__version__, FORMAT)


@pytest.mark.parametrize("command", ["predict", "train"])
def test_a_run_of_a_newer_format_is_refused(run, command):
    noting(run, format=FORMAT + 1, regard="9.0")
    (run / SETTINGS).write_text("nothing that this version knows: 1\n", "utf-8")
    done = regard(*(["predict", run] if command == "predict" else ["train", "--run", run, *MORE]))
    assert unsaid(done, f"format {FORMAT + 1}", "Regard 9.0", "upgrade") == []


def test_a_run_of_an_earlier_version_is_read(run):
    """Neither version nor format stand in it."""
    before = load(run).predict(TEXTS)
    assert load(noting(run, format=None, regard=None)).predict(TEXTS) == before
