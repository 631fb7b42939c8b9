"""Runs that learn from half of each batch: with the norm that needs the other half, and exact when resumed."""

from pathlib import Path

import pytest
from safetensors.torch import load_file
from small_runs import PAIRS, regard, unsaid, write_texts
from torch.testing import assert_close

from regard.errors import ConfigError
from regard.experiment import read_experiment
from regard.runs import RunFolder
from regard.runs.rehearsal import Rehearsal

SMALL = [
    "model.dim=8",
    "model.position=null",
    "text.tokenizer=characters",
    "training.batch_tokens=80",
    "training.validate_every=20",
    "training.average=1",
    "training.workers=0",
    "training.schedule=constant",  # which no limit changes
    "objective=sub_batch",
    "model.decoder={name: bytenet, hidden_dim: 4, num_layers: 2, norm: sub_batch}",
]
BYTENET = [
    "model.encoder={name: bytenet, hidden_dim: 4, num_layers: 2, norm: sub_batch}",
    "model.attention={score: dot, span: same_position, num_heads: 1}",
]
PLAIN = ["model.encoder=bytenet", "model.decoder=bytenet"]
LANGUAGE = ["task.name=language_model", "model.decoder=bytenet"]
WINDOWS = ["task.window=12", "task.context=4"]
LONE = ("he reads a book of " + "many " * 9, "ja")  # no other sentence fits beside it


def settings_of(folder: Path, kind: str) -> list[str]:
    """Of a translator, or of a language model by lines or windows."""
    if kind == "translation":
        write_texts(folder)
        for name, text in zip(("a.en", "a.de"), LONE, strict=True):
            with (folder / name).open("a", encoding="utf-8") as file:
                file.write(f"{text}\n")
        return [*SMALL, *BYTENET, f"data.train.source={folder / 'a.en'}", f"data.train.target={folder / 'a.de'}"]
    (folder / "text").write_text("".join(f"{text}\n" for text, _ in [*PAIRS, LONE]))
    more = WINDOWS if kind == "windows" else []
    return [*SMALL, "task.name=language_model", f"data.train.text={folder / 'text'}", *more]


def weights(run: Path) -> dict:
    return load_file(RunFolder(run).checkpoint().folder / "model.safetensors")


@pytest.mark.parametrize("kind", ["translation", "lines", "windows"])
def test_a_run_that_was_broken_off_comes_to_the_same_weights(tmp_path, kind):
    """Through epochs with a sentence that is alone in its batch."""
    settings, runs = settings_of(tmp_path, kind), (tmp_path / "whole", tmp_path / "broken")
    for run, updates in zip(runs, (20, 9), strict=True):
        done = regard("train", *settings, f"training.max_updates={updates}", "--run", run, "--quiet")
        assert done.code == 0, done.said
    assert regard("train", "--run", runs[1], "--resume", "training.max_updates=20", "--quiet").code == 0
    whole, broken = map(weights, runs)
    assert any(name.endswith(".variance") for name in whole)
    assert_close(broken, whole, rtol=0, atol=0)


@pytest.mark.parametrize(("kind", "tokens"), [("translation", 7), ("lines", 7), ("windows", 23)])
def test_batches_of_one_text_each_are_refused(tmp_path, kind, tokens):
    changes = [f"training.batch_tokens={tokens}", "training.max_updates=30"]
    done = regard("train", *settings_of(tmp_path, kind), *changes, "--run", tmp_path / "run")
    assert done.code == 2
    assert unsaid(done, "training.batch_tokens: every text is alone in its batch", "twice the length of a text") == []
    assert not RunFolder(tmp_path / "run").started


@pytest.fixture
def fault(tmp_path):
    """What is wrong with an experiment of these changes."""
    for name in ("a.en", "a.de"):
        (tmp_path / name).write_text("one\ntwo\nthree\n")

    def told(*changes: str) -> str:
        two = [f"data.train.source={tmp_path / 'a.en'}", f"data.train.target={tmp_path / 'a.de'}"]
        files = [f"data.train.text={tmp_path / 'a.en'}"] if "task.name=language_model" in changes else two
        try:
            Rehearsal(read_experiment(None, [*files, "model.dim=8", *changes])).check_parts()
        except ConfigError as error:
            return str(error)
        return ""

    return told


@pytest.mark.parametrize("objective", ["likelihood", "reinforce"])
@pytest.mark.parametrize("part", ["encoder", "decoder"])
def test_norm_without_objective_is_refused(fault, part, objective):
    assert fault(*PLAIN, f"model.{part}.norm=sub_batch", f"objective={objective}") == (
        f"model: 'sub_batch' normalises half of a batch by the other, and objective '{objective}' learns from both "
        "(objective=sub_batch, or another norm)"
    )


def test_norm_inside_of_other_parts_is_found(fault):
    parts = "{name: recurrent, hidden_dim: 4}, {name: bytenet, norm: sub_batch}"
    assert fault(f"model.encoder={{name: sequential, encoders: [{parts}]}}").startswith("model: 'sub_batch'")


@pytest.mark.parametrize("norms", [[], ["model.decoder.norm=cumulative"]])
def test_objective_without_norm_is_refused(fault, norms):
    assert fault(*PLAIN, *norms, "objective=sub_batch") == (
        "objective: 'sub_batch' learns from half of each batch, and no norm of the model needs the other half "
        "(objective=likelihood, or a model whose norm is sub_batch)"
    )


def test_language_model_is_judged_by_its_decoder(fault):
    assert fault(*LANGUAGE, "objective=sub_batch").startswith("objective: 'sub_batch' learns from half")


@pytest.mark.parametrize(
    "changes",
    [
        PLAIN,
        [*PLAIN, "model.encoder.norm=sub_batch", "objective=sub_batch"],
        [*PLAIN, "model.decoder.norm={name: sub_batch, momentum: 0.2}", "objective=sub_batch"],
        [*PLAIN, "model.decoder.norm=cumulative"],
        [*LANGUAGE, "model.decoder.norm=sub_batch", "objective=sub_batch"],
    ],
    ids=str,
)
def test_norm_and_objective_that_fit_are_taken(fault, changes):
    assert fault(*changes) == ""
