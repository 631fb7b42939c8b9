"""A run as the mean of runs: weights by hand, the same texts, and runs that do not fit."""

import pytest
import torch
from small_runs import SMALL, regard, unsaid, write_texts

from regard.predictor import load
from regard.runs import RunFolder


def weights(run):
    return RunFolder(run).checkpoint().model


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    texts = write_texts(folder)
    for seed in (1, 2):
        done = regard("train", *SMALL, *texts, f"training.seed={seed}", "--run", folder / str(seed), "--quiet")
        assert done.code == 0, done.said
    return [folder / "1", folder / "2"]


@pytest.mark.parametrize(("option", "parts"), [([], (0.5, 0.5)), (["--weights", "3,1"], (0.75, 0.25))])
def test_weights_are_the_mean(option, parts, runs, tmp_path):
    made = tmp_path / "mean"
    done = regard("average", *runs, "-o", made, *option)
    assert done.code == 0, done.said
    first, second, mean = (weights(run) for run in (*runs, made))
    for name, tensor in mean.items():
        wanted = parts[0] * first[name].double() + parts[1] * second[name].double()
        torch.testing.assert_close(tensor, wanted.to(tensor.dtype), rtol=0, atol=1e-7)
    assert load(made).predict(["a dog"])


def test_mean_of_one_run_is_that_run(runs, tmp_path):
    made = tmp_path / "mean"
    assert regard("average", runs[0], runs[0], "-o", made).code == 0
    texts = ["a dog runs", "two cats"]
    before, after = (load(run).predict(texts) for run in (runs[0], made))
    assert [(one.text, one.score) for one in before] == [(one.text, one.score) for one in after]
    begun = ["--from", made, *write_texts(tmp_path), "data.dev_fraction=0.2", "training.max_updates=1"]
    assert regard("train", *begun, "--run", tmp_path / "on").code == 0


def test_runs_that_do_not_fit_are_one_line(runs, tmp_path):
    texts, made = write_texts(tmp_path), tmp_path / "mean"
    wide, cut = tmp_path / "wide", tmp_path / "cut"
    assert regard("train", *SMALL, *texts, "model.dim=32", "--run", wide, "--quiet").code == 0
    assert regard("train", *SMALL, *texts, "text.tokenizer.size=290", "--run", cut, "--quiet").code == 0
    assert unsaid(regard("average", runs[0], wide, "-o", made), str(wide), "has another network than") == []
    assert unsaid(regard("average", runs[0], cut, "-o", made), str(cut), "has other vocabularies than") == []
    assert unsaid(regard("average", *runs, "-o", made, "--weights", "1"), "--weights: names 1 weights for 2 runs") == []
    for wrong in ("nan,1", "1,inf", "2,-1"):
        refused = unsaid(regard("average", *runs, "-o", made, f"--weights={wrong}"), "--weights: ", " is not a weight")
        assert refused == [], wrong
    assert unsaid(regard("average", *runs, "-o", made, "--weights", "0,0"), "--weights: names 2 weights") == []
    assert unsaid(regard("average", *runs, "-o", made, "--weights", "a,b"), "--weights: 'a,b' are not numbers") == []
    assert unsaid(regard("average", *runs, "-o", runs[0]), "exists and is not empty") == []
    assert not made.exists()
