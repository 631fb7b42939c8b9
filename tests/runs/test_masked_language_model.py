"""A masked language model from the command line: trained, broken off and gone on with, judged, and asked to fill in."""

import json
from pathlib import Path

import pytest
from safetensors.torch import load_file
from small_runs import regard
from torch.testing import assert_close
from typer.testing import CliRunner

from regard.cli.app import app
from regard.runs import RunFolder

LINES = [f"the {who} {does} a {what}" for who in ("man", "dog") for does in ("has", "sees") for what in ("cat", "cow")]
SMALL = [
    "task=masked_language_model",
    "model.dim=8",
    "model.encoder={num_layers: 1, feedforward_dim: 8}",
    "model.self_attention={num_heads: 2}",
    "text.tokenizer=words",
    "training.batch_tokens=60",
    "training.validate_every=2",
    "training.average=1",
]


def train(folder: Path, *words: object) -> None:
    (folder / "text").write_text("".join(f"{line}\n" for line in LINES * 3))
    files = [f"data.{part}.text={folder / 'text'}" for part in ("dev", "test")]
    done = regard("train", "--text", folder / "text", *SMALL, *files, *words, "--quiet")
    assert done.code == 0, done.said


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("masked")
    train(folder, "training.max_updates=6", "--run", folder / "run")
    return folder / "run"


def out(*words: object, given: str | None = None) -> str:
    done = CliRunner().invoke(app, [str(word) for word in words], input=given)
    assert done.exit_code == 0, done.stderr
    return done.stdout


def test_a_run_that_was_broken_off_comes_to_the_same_weights(trained, tmp_path):
    train(tmp_path, "training.max_updates=3", "--run", tmp_path / "run")
    done = regard("train", "--run", tmp_path / "run", "--resume", "training.max_updates=6", "--quiet")
    assert done.code == 0, done.said
    one, other = (
        load_file(RunFolder(run).checkpoint().folder / "model.safetensors") for run in (trained, tmp_path / "run")
    )
    assert_close(one, other, rtol=0, atol=0)


def test_it_fills_holes_the_best_first(trained):
    told = json.loads(out("predict", trained, "--json", "--n-best", "3", given="the <mask> has a cat\n"))
    assert told["source"] == "the <mask> has a cat"
    scores = [told["score"], *(one["score"] for one in told["alternatives"])]
    assert len(scores) == 3 and scores == sorted(scores, reverse=True) and scores[0] < 0
    assert "<mask>" not in told["text"] and told["text"].startswith("the")


def test_a_line_without_holes_comes_back_with_a_warning(trained):
    done = CliRunner().invoke(app, ["predict", str(trained)], input="the man has a cat\n")
    assert done.stdout == "the man has a cat\n"
    assert "there is no <mask> in it" in done.stderr


def test_it_is_judged_and_explained(trained):
    (system,) = json.loads(out("evaluate", trained, "--json"))["systems"]
    assert {score["name"] for score in system["scores"]} == {"loss", "perplexity"}
    told = json.loads(out("explain", trained, "the <mask> has a <mask>", "--json"))
    found = told["predictions"][0]["explanation"]
    assert found["source_tokens"] == ["<s>", " the", "<mask>", " has", " a", "<mask>", "</s>"]
    assert found["alignment"] == [[2, 0], [5, 1]]
    assert all(sum(row) == pytest.approx(1, abs=0.01) for row in found["weights"][:2])
