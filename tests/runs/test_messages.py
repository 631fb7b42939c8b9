"""What training says of its texts: what is learnt, what is left out and by which setting, what is validated with."""

import pytest
from small_runs import regard

from regard.experiment import Experiment
from regard.runs.training import named
from regard.runtime.processor import Processor

SMALL = [
    "model.dim=8",
    "model.encoder={name: transformer, num_layers: 1, feedforward_dim: 8}",
    "text.tokenizer=characters",
    "training.max_updates=1",
    "training.average=1",
]
LINES = ["ab", "abc", "abcdefgh", "ba", "abcdefghi"]


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    return path


def said_of(corpus, *changes, task="masked_language_model"):
    done = regard("train", "--text", corpus, f"task={task}", *SMALL, *changes, "--run", corpus.parent / "run")
    assert done.code == 0, done.said
    return done.said.splitlines()


def test_texts_are_learnt_by_their_tokenizer_and_judged_by_none(corpus):
    said = said_of(corpus, "data.dev_fraction=0.01")
    assert "learning characters from corpus.txt" in said
    assert (
        "corpus.txt: no examples for the dev set (data.dev_fraction is 0.01: a larger one, or data.dev, gives "
        "some): early stopping is off, and the last checkpoint is kept" in said
    )


def test_the_setting_that_leaves_lines_out_is_named(corpus):
    said = said_of(corpus, "data.max_length=5", "data.dev_fraction=0")
    assert "corpus.txt: 3 examples; skipped: 2 too long (lines 3, 5)" in said
    assert (
        "2 of more than 5 pieces are left out; to learn from them raise data.max_length, which is 5, or read their "
        "beginnings: task.max_pieces=5" in said
    )


def test_runs_of_one_second_have_names_of_their_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("regard.runs.training.time.strftime", lambda form: "20260102-030405")
    names = []
    for _ in range(3):
        path = named(Experiment()).run
        path.mkdir(parents=True)
        names.append(path.name)
    assert names == ["run-20260102-030405", "run-20260102-030405-2", "run-20260102-030405-3"]


@pytest.mark.parametrize(("flags", "slow"), [({"avx512f"}, True), ({"avx512f", "amx_bf16"}, False), ((), False)])
def test_bfloat16_without_its_instructions_is_called_slow(corpus, monkeypatch, flags, slow):
    monkeypatch.setattr("regard.runs.training.processor", lambda: Processor("maker", "model", frozenset(flags)))
    said = said_of(corpus, "training.precision=bf16", "data.dev_fraction=0")
    assert sum(line.startswith("warning: training.precision=bf16 is slower") for line in said) == slow
