"""Training without pairs: what was cut off ends with the weights of an unbroken run; copies end a run with a line."""

import pytest
import torch
from small_runs import SMALL, regard, unsaid, write_texts

from regard.objectives import denoising_back_translation
from regard.runs import RunFolder
from regard.training.checkpoint import latest_valid

ADVERSARY = "objective={name: denoising_back_translation, adversarial: 1.0, given: 0.5, temperature: 1.0}"


@pytest.fixture
def words(tmp_path):
    """Settings of a small run of both directions."""
    _, english, _, german = write_texts(tmp_path)
    data = {"data.train": (german, german), "data.routes.de-en.train": (english, english)}
    files = [f"{part}={{source: {one}, target: {two}}}" for part, (one, two) in data.items()]
    return [
        "task=unpaired_translation",
        *files,
        "data.languages=[en,de]",
        "data.routes.de-en.languages=[de,en]",
        "model={name: many_to_many, languages: [de, en]}",
        *SMALL,
        "training.patience=null",
    ]


def weights(run):
    checkpoint, _ = latest_valid(RunFolder(run).path)
    return {**checkpoint.model, "copied": checkpoint.objective["copied"]}


def test_resuming_reproduces_an_uninterrupted_run(tmp_path, words):
    """Noise, samples, turns of the adversary and the share of copies go on where they were."""
    assert regard("train", *words, ADVERSARY, "training.max_updates=4", "--run", tmp_path / "whole").code == 0
    assert regard("train", *words, ADVERSARY, "training.max_updates=2", "--run", tmp_path / "cut").code == 0
    assert regard("train", tmp_path / "cut", "--resume", "training.max_updates=4").code == 0
    whole, cut = weights(tmp_path / "whole"), weights(tmp_path / "cut")
    assert whole.keys() == cut.keys() and float(whole["copied"][1]) > 0
    assert all(torch.equal(whole[name], cut[name]) for name in whole)


def test_copying_ends_the_run_with_one_line(tmp_path, words, monkeypatch):
    monkeypatch.setattr(denoising_back_translation, "COPIES_FROM", 1)
    monkeypatch.setattr(denoising_back_translation, "copied_share", lambda texts, written: 0.95)
    done = regard("train", *words, "--run", tmp_path / "run")
    assert not unsaid(done, "95% of the words that back-translation writes are copies of its source")
