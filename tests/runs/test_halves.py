"""Runs that learn from half of each batch: any size of batch goes, and a run that is broken off comes to the same."""

from contextlib import closing
from itertools import islice
from pathlib import Path

import pytest
from safetensors.torch import load_file
from small_runs import PAIRS, regard, unsaid, write_texts
from torch.testing import assert_close

from regard.experiment import read_experiment
from regard.runs import RunFolder
from regard.runs.assembly import task_of
from regard.runs.texts import training_batches

SMALL = [
    "model.dim=8",
    "model.position=null",
    "text.tokenizer=characters",
    "training.batch_tokens=80",
    "training.validate_every=20",
    "training.average=1",
    "training.workers=0",
    "objective=sub_batch",
    "model.decoder={name: bytenet, hidden_dim: 4, num_layers: 2, norm: sub_batch}",
]
BYTENET = [
    "model.encoder={name: bytenet, hidden_dim: 4, num_layers: 2, norm: sub_batch}",
    "model.attention={score: dot, span: same_position, num_heads: 1}",
]
WINDOWS = ["task.window=12", "task.context=4"]
LONE = ("he reads a book of " + "many " * 9, "ja")  # no other sentence fits beside it


def settings_of(folder: Path, kind: str) -> list[str]:
    """Of a translator, or of a language model by lines or windows."""
    if kind == "translation":
        write_texts(folder)
        for name, text in zip(("a.en", "a.de"), LONE, strict=True):
            with (folder / name).open("a", encoding="utf-8") as file:
                file.write(f"{text}\n")
        return [*SMALL, *BYTENET, f"data.source={folder / 'a.en'}", f"data.target={folder / 'a.de'}"]
    (folder / "text").write_text("".join(f"{text}\n" for text, _ in [*PAIRS, LONE]))
    more = WINDOWS if kind == "windows" else []
    return [*SMALL, "task.name=language_model", f"data.text={folder / 'text'}", *more]


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


def test_each_epoch_draws_the_half_that_is_learnt_from(tmp_path):
    """With the objective; batches of others are as they always were."""
    settings, run = settings_of(tmp_path, "translation"), tmp_path / "run"
    assert regard("train", *settings, "training.max_updates=1", "--run", run, "--quiet").code == 0
    folder = RunFolder(run)
    tokenizers = folder.tokenizers(folder.experiment())
    task, streams = task_of(folder.experiment(), tokenizers), {}
    for objective in ("sub_batch", "likelihood"):
        norms = [] if objective == "sub_batch" else ["model.encoder.norm=layer", "model.decoder.norm=layer"]
        experiment = read_experiment(None, [*settings, *norms, f"objective={objective}"])
        stream = training_batches(experiment, folder, task, tokenizers, lambda text: None).stream()
        with closing(stream):
            streams[objective] = [batch.lines.tolist() for _, batch in islice(stream, 60)]
    assert [sorted(lines) for lines in streams["sub_batch"]] == [sorted(lines) for lines in streams["likelihood"]]
    assert streams["sub_batch"] != streams["likelihood"]
    main = [line for lines in streams["sub_batch"] for line in lines[: max(1, len(lines) // 2)]]
    assert set(main) == {line for lines in streams["likelihood"] for line in lines}
    lengths = [len(lines) for lines in streams["likelihood"]]
    assert min(lengths) == 1 < max(lengths)


@pytest.mark.parametrize(("kind", "tokens"), [("translation", 7), ("lines", 7), ("windows", 23)])
def test_batches_of_one_text_each_are_refused(tmp_path, kind, tokens):
    least = {"translation": 8, "lines": 8, "windows": 24}[kind]
    done = regard("train", *settings_of(tmp_path, kind), f"training.batch_tokens={tokens}", "--run", tmp_path / "run")
    parts = [f"training.batch_tokens: is {tokens}, so every text is alone in its batch", f"({least} at least)"]
    assert unsaid(done, *parts) == []
    assert not (tmp_path / "run").exists()
