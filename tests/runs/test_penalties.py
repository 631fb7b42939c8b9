"""Penalties in a config: built around the objective, told in the log, refused where they find nothing."""

import json
from pathlib import Path

import pytest
from small_runs import SMALL, write_texts

from regard.config import quoted
from regard.errors import ConfigError
from regard.experiment import read_experiment
from regard.runs import train_run

BOTH = "penalties=[{name: doubly_stochastic, weight: 0.1}, {name: overlap, weight: 0.01}]"


def train(folder: Path, *changes: str) -> list[dict[str, float]]:
    """The updates in the log of a small run."""
    (folder / "run").parent.mkdir(parents=True, exist_ok=True)
    _, source, _, target = write_texts(folder)
    files = [
        f"data.train.source={quoted(source)}",
        f"data.train.target={quoted(target)}",
        f"run={quoted(str(folder / 'run'))}",
    ]
    assert train_run(read_experiment(None, [*SMALL, "training.log_every=1", *files, *changes]), quiet=True)
    lines = (folder / "run" / "metrics.jsonl").read_text().splitlines()
    return [line for line in map(json.loads, lines) if line["event"] == "update"]


def test_penalties_are_told_beside_the_loss(tmp_path):
    first, *_ = train(tmp_path / "with", BOTH)
    plain, *_ = train(tmp_path / "without")
    assert first["doubly_stochastic"] > 0 and first["overlap"] > 0
    assert first["loss"] == pytest.approx(plain["loss"])  # of the first batch: they are not mixed into it
    assert "overlap" not in plain


def test_a_penalty_on_nothing_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(ConfigError, match=r"penalties.attentions: no attention is called nowhere \(there is: .*cross"):
        train(tmp_path, "penalties=[{name: overlap, attentions: [nowhere]}]")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("change", [BOTH, "objective=reinforce"])
def test_what_reads_attention_cannot_be_compiled(change, tmp_path):
    with pytest.raises(ConfigError, match=r"training.compile: compiled code does not record .* \(use false\)"):
        train(tmp_path, change, "training.compile=true")


def test_reinforce_without_a_draw_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="'reinforce' finds no attention that samples"):
        train(tmp_path, "objective=reinforce")


def test_reinforce_tells_what_was_drawn(tmp_path):
    for line in train(tmp_path, "objective=reinforce", "model.attention.weighting=hard"):
        assert line["entropy"] > 0 >= line["log_prob"]
