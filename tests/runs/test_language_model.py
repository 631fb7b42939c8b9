"""A language model from the command line: trained, broken off and gone on with, judged, and asked to write."""

import json
import shutil
from pathlib import Path

import pytest
import yaml
from language import task_of
from safetensors.torch import load_file
from small_runs import regard, unsaid, write_texts
from torch.testing import assert_close
from typer.testing import CliRunner

from regard.cli.app import app
from regard.data import READERS
from regard.errors import ConfigError
from regard.experiment import read_experiment
from regard.registry import Choice
from regard.runs import Run, RunFolder
from regard.runs.texts import dev_examples, training_readers

LINES = [f"the {who} {does} a {what}" for who in ("man", "dog") for does in ("has", "sees") for what in ("cat", "cow")]
TEXT = [*LINES, "", *LINES[::-1], "", *LINES[::3]] * 2
SMALL = [
    "model.dim=8",
    "model.decoder={name: transformer, num_layers: 1, feedforward_dim: 8}",
    "model.self_attention={num_heads: 2}",
    "text.tokenizer=characters",
    "training.batch_tokens=60",
    "training.validate_every=2",
    "training.average=1",
    "training.workers=0",
]
KINDS = {"lines": [], "windows": ["task.window=30", "task.context=10"]}


def settings_of(folder: Path, kind: str = "windows") -> list[str]:
    (folder / "text").write_text("".join(f"{line}\n" for line in TEXT))
    return [*SMALL, "task.name=language_model", f"data.train.text={folder / 'text'}", *KINDS[kind]]


def train(*words: object) -> None:
    done = regard("train", *words, "--quiet")
    assert done.code == 0, done.said


def weights(run: Path) -> dict:
    return load_file(RunFolder(run).checkpoint().folder / "model.safetensors")


@pytest.fixture(scope="module", params=KINDS)
def trained(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    files = [f"data.{part}.text={folder / 'text'}" for part in ("dev", "test")]
    train(*settings_of(folder, request.param), *files, "training.max_updates=4", "--run", folder / "run")
    return folder / "run"


def out(*words: object, given: str | None = None) -> str:
    done = CliRunner().invoke(app, [str(word) for word in words], input=given)
    assert done.exit_code == 0, done.stderr
    return done.stdout


def test_a_run_that_was_broken_off_comes_to_the_same_weights(trained, tmp_path):
    settings = settings_of(tmp_path, trained.parent.name.rstrip("0123456789"))
    files = [f"data.{part}.text={tmp_path / 'text'}" for part in ("dev", "test")]
    run = tmp_path / "broken"
    train(*settings, *files, "training.max_updates=2", "--run", run)
    train("--run", run, "--resume", "training.max_updates=4")
    assert_close(weights(run), weights(trained), rtol=0, atol=0)


def test_it_is_judged_by_its_test_part_or_any_text(trained, tmp_path):
    told = json.loads(out("evaluate", trained, "--json"))
    (system,) = told["systems"]
    figures = {score["name"]: score for score in system["scores"]}
    assert set(figures) == {"bits per character", "perplexity", "word perplexity"}
    assert all(low <= score["value"] <= high for score in figures.values() for low, high in [score["interval"]])
    whole = "windows" in str(trained)
    assert told["examples"] == len(TEXT) - (0 if whole else TEXT.count(""))
    best = RunFolder(trained).checkpoint().state["best"]["ranked"][0][0]
    assert figures["perplexity"]["value"] == pytest.approx(best)  # the dev part is the same text
    (tmp_path / "other").write_text("the man\n")
    other = json.loads(out("evaluate", trained, "--text", tmp_path / "other", "--json"))
    assert other["examples"] == 1
    shown = out("evaluate", trained, trained)
    assert shown.count("bits per character = ") == 2
    assert "bits per character: " in shown and "p = 1" in shown


def test_it_goes_on_with_lines_and_begins_after_empty_ones(trained):
    lines = out("predict", trained, "--search", "greedy", "decoding.search.max_extra=5", given="the m\n\nthe\n")
    assert len(lines.splitlines()) == 3 and lines.splitlines()[1]
    several = out("predict", trained, "--n-best", 3, "--json", given="the\n")
    assert len(json.loads(several)["alternatives"]) == 2
    assert "the" in out("explain", trained, "the")


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["--source", "text"], ["--source", "is not a column of the task", "--text FILE"]),
        (["text"], ["is a file of translations", "give a run"]),
    ],
)
def test_what_is_said_of_translations_is_refused(trained, monkeypatch, words, parts):
    monkeypatch.chdir(trained.parent)
    assert unsaid(regard("evaluate", "run", *words), *parts) == []


def test_a_text_is_asked_for_where_there_is_no_test_part(trained, tmp_path):
    run = shutil.copytree(trained, tmp_path / "run")
    path = run / "experiment.yaml"
    settings = yaml.safe_load(path.read_text())
    settings["data"] |= {"test": None, "test_fraction": 0.0}
    path.write_text(yaml.safe_dump(settings))
    (run / "manifest.json").unlink()  # so that edited settings are used
    assert unsaid(regard("evaluate", run), "--text", "names no test set") == []


def test_a_language_model_takes_no_pairs(tmp_path):
    done = regard("train", "task=language_model", *write_texts(tmp_path))
    assert unsaid(done, "data.train.source and data.train.target: are not columns of this task") == []


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("model.encoder=recurrent", "model.encoder: there is no such setting"),
        ("model.attention.num_heads=2", "model.attention: there is no such setting"),
        ("data.train.source=text", "data.train.source: is not a column of this task (a text file: data.train.text)"),
        ("training.metric=bleu", "training.metric: there is no 'bleu'"),
        ("task.window=0", "task.window: must be at least 1, not 0"),
        ("task.window=-5", "task.window: must be at least 1, not -5"),
    ],
)
def test_settings_of_a_translator_are_refused(tmp_path, monkeypatch, change, told):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError) as caught:
        read_experiment(None, [*settings_of(tmp_path), change])
    assert str(caught.value).startswith(told)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("model.head=pointer", "model.head: copies from a source"),
        ("task.context=30", "task.context: is 30"),
        ("decoding.features=coverage", "decoding.features: reads a source"),
    ],
)
def test_what_does_not_fit_a_language_model_is_told_before_a_folder_is_made(tmp_path, change, told):
    done = regard("train", *settings_of(tmp_path), change, "--run", tmp_path / "run")
    assert unsaid(done, told) == []
    assert not (tmp_path / "run").exists()


def test_sampled_pieces_do_not_go_with_windows(tmp_path):
    tokenizer = "text.tokenizer={name: subwords, size: 300, sampling: 0.1}"
    settings = [word for word in settings_of(tmp_path) if "tokenizer" not in word]
    done = regard("train", *settings, tokenizer, "training.max_updates=1", "--run", tmp_path / "run")
    assert unsaid(done, "text.tokenizer.sampling: encodes each text again") == []
    train(*settings, tokenizer, "task={name: language_model, window: null, context: 0}", "training.max_updates=1",
          "--run", tmp_path / "run")  # fmt: skip


def test_a_text_is_all_that_must_be_said(tmp_path):
    settings = [word for word in settings_of(tmp_path) if not word.startswith(("task", "data"))]
    train("--text", tmp_path / "text", *settings, "training.max_updates=1", "task.window=20", "--run", tmp_path / "run")
    experiment = Run.open(tmp_path / "run").experiment
    assert experiment.task == Choice("language_model", {"window": 20, "context": 0})
    assert (experiment.training.metric, experiment.objective.settings["label_smoothing"]) == ("perplexity", 0.0)
    assert experiment.decoding.search.name == "sampling"


def test_what_is_held_out_is_the_end_of_the_text(tmp_path):
    experiment = read_experiment(None, [*settings_of(tmp_path), "data.dev_fraction=0.25", "data.test_fraction=0"])
    rest = [example.texts["text"] for example in training_readers(experiment)["train"]]
    held = dev_examples(experiment, task_of(TEXT, window=9), lambda _: None)
    assert rest + held["text"] == TEXT
    assert len(held["text"]) == len(TEXT) // 4


def test_a_text_of_one_column_is_read_as_it_is(tmp_path):
    settings_of(tmp_path)
    reader = READERS.build(Choice("parallel", {"files": {"text": str(tmp_path / "text")}}), ("text",))
    assert [example.texts["text"] for example in reader] == TEXT
