"""One command fine-tunes a masked language model: for sentences, for pairs, for words."""

from pathlib import Path

import pytest
from safetensors.torch import load_file
from small_runs import regard
from torch.testing import assert_close

import regard as package
from regard.runs import Run, RunFolder

LINES = ["the man has a cat", "the dog sees a cow, and runs", "a house is red"]
STEP = ["training.max_updates=1", "training.validate_every=1", "training.average=1", "training.learning_rate=1e-9"]
TABLES = {
    "reviews.tsv": [f"{label}\t{line}" for label, line in zip(("good", "bad", "good"), LINES, strict=True)],
    "pairs.tsv": [f"{label}\t{line}\t{line[4:]}" for label, line in zip(("yes", "no", "yes"), LINES, strict=True)],
    "words.conll": ["\n".join(f"{word}\t{word[-1]}" for word in line.split()) + "\n" for line in LINES],
}
ASKED = {"reviews.tsv": "a red cow", "pairs.tsv": "a red cow\ta cow", "words.conll": "a red cow"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A run that learnt from lines, and tables beside it."""
    made = tmp_path_factory.mktemp("fine")
    (made / "text").write_text("".join(f"{line}\n" for line in LINES * 4))
    for name, rows in TABLES.items():
        (made / name).write_text("".join(f"{row}\n" for row in rows * 4))
    model = ["model.dim=8", "model.encoder={num_layers: 1, feedforward_dim: 8}", "model.self_attention={num_heads: 2}"]
    words = ["task=masked_language_model", "text.tokenizer=words", *model, *STEP]
    done = regard("train", "--text", made / "text", *words, "--run", made / "bert", "--quiet")
    assert done.code == 0, done.said
    return made


def weights(run: Path) -> dict:
    return load_file(RunFolder(run).checkpoint().folder / "model.safetensors")


@pytest.mark.parametrize("name", TABLES)
def test_a_table_and_a_run_are_enough(name, folder, tmp_path):
    done = regard("train", folder / name, "--from", folder / "bert", *STEP, "--run", tmp_path / "run")
    assert done.code == 0, done.said
    assert f"taken from {folder / 'bert'}" in done.said and "embedder, encoder: " in done.said
    before, after = weights(folder / "bert"), weights(tmp_path / "run")
    shared = [key for key in before if key.split(".")[0] in ("embedder", "encoder")]
    assert shared and {key for key in after if key.split(".")[0] in ("embedder", "encoder")} == {*shared}
    assert_close({key: after[key] for key in shared}, {key: before[key] for key in shared}, rtol=0, atol=1e-7)
    (prediction,) = package.load(tmp_path / "run").predict([ASKED[name]], explain=True)
    assert prediction.text and prediction.explanation is not None


@pytest.mark.parametrize(
    ("name", "others", "layer"),
    [
        ("reviews.tsv", {"good\t": "yes\t", "bad\t": "no\t"}, "to_class.weight"),
        ("words.conll", {"\te": "\tx"}, "head.to_tag.weight"),
    ],
)
def test_other_labels_get_a_layer_of_their_own(name, others, layer, folder, tmp_path):
    """As many of them as the run had: the shapes would fit."""
    first = regard("train", folder / name, "--from", folder / "bert", *STEP, "--run", tmp_path / "first")
    assert first.code == 0, first.said
    table = (folder / name).read_text()
    for old, new in others.items():
        table = table.replace(old, new)
    (tmp_path / name).write_text(table)
    more = [*STEP, "training.seed=2", "--from", tmp_path / "first", "--run"]
    done = regard("train", tmp_path / name, *more, tmp_path / "run")
    assert done.code == 0, done.said
    assert "so the labels are learnt from this data, with a new output layer" in done.said
    before, after = weights(tmp_path / "first"), weights(tmp_path / "run")
    assert_close(after["encoder.norm.weight"], before["encoder.norm.weight"], rtol=0, atol=1e-7)
    assert (after[layer] - before[layer]).abs().max() > 1e-4
    same = regard("train", folder / name, *more, tmp_path / "same")
    assert same.code == 0, same.said
    assert "learnt from this data" not in same.said and "task=" not in same.said
    assert_close(weights(tmp_path / "same")[layer], before[layer], rtol=0, atol=1e-7)


@pytest.mark.parametrize(
    ("first", "second", "task"),
    [
        ("reviews.tsv", "words.conll", "tagging"),
        ("words.conll", "pairs.tsv", "pairs"),
        ("pairs.tsv", "reviews.tsv", "classification"),
    ],
)
def test_a_table_tells_a_run_with_labels_another_task(first, second, task, folder, tmp_path):
    """Its network and vocabulary stay; what chooses a label is new, also where as many are chosen among."""
    before, after = tmp_path / "before", tmp_path / "after"
    done = regard("train", folder / first, "--from", folder / "bert", *STEP, "--run", before)
    assert done.code == 0, done.said
    done = regard("train", folder / second, "--from", before, *STEP, "training.seed=2", "--run", after)
    assert done.code == 0, done.said
    assert "learnt from this data" not in done.said  # all labels are, as the task is another one
    assert f"{second}: task={task}; vocabulary and network come from {before}" in done.said
    assert Run.open(after).experiment.task.name == task
    old, new = weights(before), weights(after)
    body = [key for key in new if key.split(".")[0] in ("embedder", "encoder")]
    assert_close({key: new[key] for key in body}, {key: old[key] for key in body}, rtol=0, atol=1e-7)
    layer = new["head.to_tag.weight"] if task == "tagging" else new["to_class.weight"]
    assert all(layer.shape != one.shape or (layer - one).abs().max() > 1e-4 for one in old.values())


def test_a_reader_starts_from_the_same_run(folder, tmp_path):
    (tmp_path / "stories").write_text("".join(f"1 {line}.\n2 which?\t{line.split()[1]}\t1\n" for line in LINES * 3))
    data = f"data.train={{name: babi, file: '{tmp_path / 'stories'}'}}"
    done = regard("train", data, "task=reading", "--from", folder / "bert", *STEP, "--run", tmp_path / "run")
    assert done.code == 0, done.said
    assert "embedder, encoder: " in done.said
    (prediction,) = package.load(tmp_path / "run").predict(["a red cow.\twhich?"], explain=True)
    assert prediction.text and prediction.text in "a red cow."


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("text.tokenizer=subwords", ["{name: subwords}", "name: words", " there"]),
        ("model.dim=16", ["× 16 here and", "× 8 in"]),
    ],
)
def test_another_tokenizer_and_another_size_are_told_with_both(change, told, folder, tmp_path):
    done = regard("train", folder / "reviews.tsv", "--from", folder / "bert", change, *STEP, "--run", tmp_path / "run")
    assert done.code == 2
    assert all(one in done.said for one in told), done.said
    assert not (tmp_path / "run").exists()


def test_more_lines_go_on_with_the_same_task(folder, tmp_path):
    done = regard("train", "--text", folder / "text", "--from", folder / "bert", *STEP, "--run", tmp_path / "run")
    assert done.code == 0, done.said
    assert weights(tmp_path / "run").keys() == weights(folder / "bert").keys()
