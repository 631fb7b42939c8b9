"""An objective that learns from another run: its vocabularies must be the same."""

from pathlib import Path

import pytest
from classifiers import tiny_classifier_in
from small_runs import SMALL, regard, write_texts

from regard.runs.assembly import classifier_of


def train(folder: Path, run: str, *changes: str):
    return regard("train", *write_texts(folder), "--run", folder / run, "--quiet", *SMALL, *changes)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("teacher")
    assert train(place, "teacher").code == 0
    return place


@pytest.mark.parametrize("name", ["word_distillation", "sequence_distillation"])
def test_a_run_teaches_another(folder, name):
    done = train(folder, name, f"objective={{name: {name}, teacher: {folder / 'teacher'}}}", "training.log_every=1")
    assert done.code == 0, done.said
    assert '"teacher": ' in (folder / name / "metrics.jsonl").read_text()
    weights = {one.stat().st_size for one in (folder / name).rglob("model.safetensors")}
    assert max(weights) < max(one.stat().st_size for one in (folder / "teacher").rglob("model.safetensors")) * 1.1


@pytest.mark.parametrize(
    ("teacher", "changes", "parts"),
    [
        ("nowhere", [], ["nowhere", "there is no such folder"]),
        ("teacher", ["text.tokenizer.kind=unigram"], ["another vocabulary of the source", "init.run"]),
    ],
)
def test_what_cannot_teach_is_told_in_a_line(folder, teacher, changes, parts):
    done = train(folder, "refused", f"objective={{name: word_distillation, teacher: {folder / teacher}}}", *changes)
    assert done.code == 2
    assert done.said.count("error:") == 1 and all(part in done.said for part in parts)


def test_a_text_that_is_too_long_for_its_judge_is_cut(tmp_path):
    """A model of eight places reads seven words and the end, though it meets longer texts in the middle of training."""
    run = tiny_classifier_in(tmp_path, "model.position={name: learned, max_length: 8}")
    long, cut, short = classifier_of(run)(
        ["a fine film and witty " * 5, "a fine film and witty a fine", "a fine film and"]
    )
    assert long == pytest.approx(cut)
    assert long != pytest.approx(short)
