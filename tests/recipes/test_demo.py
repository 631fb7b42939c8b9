"""The demo in small: what it makes, and that a finished model stays until there is another one."""

import shutil

import pytest

from regard.errors import ConfigError, RegardError
from regard.predictor import load
from regard.recipes import demo as module
from regard.runs import RunFolder
from regard.training import checkpoint as files
from regard.training.interrupt import Interruption

TINY = [
    "model.dim=16",
    "model.encoder={name: transformer, num_layers: 1, feedforward_dim: 16}",
    "model.decoder={name: transformer, num_layers: 1, feedforward_dim: 16}",
    "model.attention.num_heads=2",
    "model.self_attention.num_heads=2",
    "text.tokenizer.size=400",
    "training.max_updates=2",
    "training.validate_every=1",
    "training.average=1",
    "device=cpu",
]


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    monkeypatch.setattr(module, "SETTINGS", TINY)
    monkeypatch.setattr(module, "SIZES", {"train": 200, "dev": 10, "test": 20})


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "SETTINGS", TINY)
        patch.setattr(module, "SIZES", {"train": 200, "dev": 10, "test": 20})
        run = tmp_path_factory.mktemp("demo") / "run"
        module.demo(run)
    return run


@pytest.fixture
def run(done, tmp_path):
    return shutil.copytree(done, tmp_path / "run")


def marked(run):
    """The model of a run, told from any other by a file."""
    (run / module.MODEL / "mine").touch()
    return run / module.MODEL


def test_it_makes_a_model_and_a_page(done):
    assert sorted(path.name for path in done.iterdir()) == sorted(
        [module.DEMO_MARK, module.TEXTS, module.MODEL, module.PAGE, module.PLOT_FILE]
    )
    assert load(done / module.MODEL).predict(["the dog sees the cat"])[0].text is not None
    assert load(done).run.path == done / module.MODEL


def test_no_dev_sentence_is_a_training_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "SIZES", {"train": 5000, "dev": 200, "test": 20})
    files = module.write_texts(tmp_path, "de")
    train, dev = (files[f"{part}.source"].read_text("utf-8").splitlines() for part in ("train", "dev"))
    assert len(train) == 5000 and len(set(dev) - set(train)) == 200


def test_a_second_demo_puts_another_model_in_place_of_the_first(run, monkeypatch):
    model, seen = marked(run), []
    train = module.train_run

    def watched(experiment, resume):
        seen.append((run / module.DEMO_BEFORE / "mine").exists() and RunFolder(run / module.DEMO_BEFORE).finished)
        return train(experiment, resume=resume)

    monkeypatch.setattr(module, "train_run", watched)
    module.demo(run)
    assert (seen, RunFolder(model).finished, (model / "mine").exists()) == ([True], True, False)
    assert not (run / module.DEMO_BEFORE).exists()


@pytest.mark.parametrize("fault", [RegardError("no disk"), KeyboardInterrupt()], ids=["fault", "stopped"])
def test_the_first_comes_back_when_the_second_fails(run, monkeypatch, fault):
    model = marked(run)

    def fail(experiment, resume):
        experiment.run.mkdir()
        raise fault

    monkeypatch.setattr(module, "train_run", fail)
    with pytest.raises(type(fault)):
        module.demo(run)
    assert ((model / "mine").exists(), RunFolder(model).finished) == (True, True)
    assert not (run / module.DEMO_BEFORE).exists()


def test_an_interrupted_one_may_go_on_and_never_costs_the_first(run, monkeypatch):
    model = marked(run)

    def interrupted(experiment, resume):
        experiment.run.mkdir()
        (experiment.run / "half").touch()
        return False

    with monkeypatch.context() as patch:
        patch.setattr(module, "train_run", interrupted)
        for _ in range(2):
            assert module.demo(run) is None
            assert ((model / "half").exists(), (run / module.DEMO_BEFORE / "mine").exists()) == (True, True)
    module.demo(run)
    assert (RunFolder(model).finished, (run / module.DEMO_BEFORE).exists()) == (True, False)


def test_an_interrupted_training_goes_on(run, monkeypatch, capsys):
    with monkeypatch.context() as patch:
        patch.setattr(Interruption, "__call__", lambda self: True)
        assert module.demo(run) is None
    first = files.latest_valid(run / module.MODEL)[0].state["update"]
    assert module.demo(run) is not None
    assert "continuing the last demo" in capsys.readouterr().out
    assert (first < 2, files.latest_valid(run / module.MODEL)[0].state["update"]) == (True, 2)


def test_another_language_begins_anew(run, monkeypatch):
    resumed = []
    with monkeypatch.context() as patch:
        patch.setattr(Interruption, "__call__", lambda self: True)
        assert module.demo(run) is None
        patch.setattr(module, "train_run", lambda experiment, resume: resumed.append(resume))
        for language in ("de", "zh"):
            module.demo(run, language)
    assert resumed == [True, False]


def test_a_model_that_is_being_trained_is_left_alone(run):
    with RunFolder(run / module.MODEL).held(), pytest.raises(ConfigError, match="is being trained"):
        module.demo(run)
    assert RunFolder(run / module.MODEL).finished


def test_a_language_is_checked_before_anything_is_made(run, tmp_path):
    for place in (run, tmp_path / "new"):
        with pytest.raises(ConfigError, match=r"^--language: there is no 'dee' \(did you mean 'de'\?\)$"):
            module.demo(place, "dee")
    assert not (tmp_path / "new").exists()
    assert RunFolder(run / module.MODEL).finished


def test_a_folder_of_somebody_else_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(ConfigError, match="was not made by the demo"):
        module.demo(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
