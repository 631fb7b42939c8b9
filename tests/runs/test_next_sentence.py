"""Next sentence prediction from the command line: documents parted by empty lines, trained and asked."""

from safetensors.torch import load_file
from small_runs import regard, unsaid
from torch.testing import assert_close

import regard as package
from regard.runs import Run, RunFolder

DOCUMENTS = [[f"a{number} runs {place}" for place in range(4)] for number in range(20)]
SMALL = ["model.dim=8", "model.encoder={num_layers: 1, feedforward_dim: 8}", "model.self_attention={num_heads: 2}"]
STEP = ["training.max_updates=2", "training.validate_every=1", "training.average=1", "text.tokenizer=words"]


def test_documents_parted_by_empty_lines_are_learnt_from(tmp_path):
    (tmp_path / "text").write_text("\n\n".join("\n".join(one) for one in DOCUMENTS))
    train, dev = (
        f"data.{part}={{name: next_sentence, file: '{tmp_path / 'text'}', part: {part}}}" for part in ("train", "dev")
    )
    done = regard("train", "task=next_sentence", train, dev, *SMALL, *STEP, "--run", tmp_path / "run")
    assert done.code == 0, done.said
    assert "accuracy" in done.said
    (prediction,) = package.load(tmp_path / "run").predict(["a1 runs 1\ta1 runs 2"], explain=True)
    assert prediction.text in {"next", "other"}
    assert {(each.queries, each.keys) for each in prediction.explanation.maps} >= {("first", "second")}


def test_a_plain_text_is_enough_and_a_table_starts_from_it(tmp_path):
    (tmp_path / "text").write_text("\n\n".join("\n".join(one) for one in DOCUMENTS[:7]))
    done = regard("train", "--text", tmp_path / "text", "task=next_sentence", *SMALL, *STEP, "--run", tmp_path / "run")
    assert done.code == 0, done.said
    parts = [Run.open(tmp_path / "run").experiment.reader(part).settings for part in ("train", "dev", "test")]
    assert [one["part"] for one in parts] == ["train", "dev", "test"] and {one["every"] for one in parts} == {3}
    lines = (line for document in DOCUMENTS for line in document)
    (tmp_path / "table.tsv").write_text("".join(f"{'yes' if '1' in line else 'no'}\t{line}\n" for line in lines))
    started = ["--from", tmp_path / "run", *STEP, "training.learning_rate=1e-9", "--run", tmp_path / "table"]
    done = regard("train", tmp_path / "table.tsv", *started)
    assert done.code == 0, done.said
    assert "table.tsv: task=classification" in done.said
    before, after = (
        load_file(RunFolder(tmp_path / name).checkpoint().folder / "model.safetensors") for name in ("run", "table")
    )
    body = [name for name in after if not name.startswith("to_class")]
    assert_close({name: after[name] for name in body}, {name: before[f"pairs.{name}"] for name in body})
    (prediction,) = package.load(tmp_path / "table").predict(["a1 runs 1"], explain=True)
    assert prediction.text in {"yes", "no"} and prediction.explanation.weights


def test_texts_without_enough_documents_are_refused_in_a_line(tmp_path):
    text = tmp_path / "text"
    words = ["train", "--text", text, "task=next_sentence", "--run", tmp_path / "run"]
    text.write_text("a\nb\n\nc\nd\n")
    assert (
        unsaid(regard(*words), f"{text}: has 2 documents, and next sentences are learnt from 6", "an empty line") == []
    )
    text.write_text("a b\n\nc d\n\n" * 20)
    told = f"{text}:1: a document of one sentence", "and 31 more (lines 3, 5, 7 …)", "join it with another"
    assert unsaid(regard(*words), *told) == []


def test_a_vocabulary_without_a_mask_is_refused_in_a_line(tmp_path):
    (tmp_path / "text").write_text("\n\n".join("\n".join(one) for one in DOCUMENTS))
    words = ["train", "--text", tmp_path / "text", "task.window=4", "model.dim=8", *STEP, "--run", tmp_path / "run"]
    done = regard(*words, "model.decoder={num_layers: 1, feedforward_dim: 8}", "model.self_attention={num_heads: 2}")
    assert done.code == 0, done.said
    for task in ("masked_language_model", "next_sentence"):
        again = ["train", "--text", tmp_path / "text", f"task={task}", "--from", tmp_path / "run", *STEP]
        told = "task: the vocabulary of the run", "has no <mask>", "masked text first"
        assert unsaid(regard(*again, "--run", tmp_path / task), *told) == []
