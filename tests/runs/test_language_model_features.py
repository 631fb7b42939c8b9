"""A tagger over the features of a language model: what it takes, what stays as it was, and that it stands alone."""

import shutil

import torch
from small_runs import regard, unsaid

import regard as package
from regard.runs import RunFolder

TEXTS = ["a dog runs", "two cats sleep", "he reads a book", "the old dog sleeps"] * 5
ENDS = ["training.max_updates=2", "training.validate_every=1", "training.average=1", "--quiet"]
FEATURES = "{name: language_model_features, num_layers: 1, frozen: true, above: {name: recurrent, hidden_dim: 4}}"


def test_a_tagger_takes_a_frozen_language_model_and_stands_alone(tmp_path):
    (tmp_path / "text").write_text("".join(f"{text}\n" for text in TEXTS))
    rows = ["".join(f"{word}\t{word[-1]}\n" for word in text.split()) for text in TEXTS]
    (tmp_path / "tags.conll").write_text("\n".join(rows))
    model = ["model={name: bidirectional_language_model, num_layers: 1, dim: 8}", "text.tokenizer=words"]
    done = regard("train", "--text", tmp_path / "text", *model, *ENDS, "--run", tmp_path / "reader")
    assert done.code == 0, done.said

    tagger = ["task=tagging", "model.dim=8", f"model.encoder={FEATURES}", "model.pool_pieces=after"]
    start = f"init={{run: '{tmp_path / 'reader'}', parts: [embedder, encoder]}}"
    data = f"data.train={{name: conll, file: '{tmp_path / 'tags.conll'}'}}"
    done = regard("train", data, *tagger, start, *ENDS, "--run", tmp_path / "tagger")
    assert done.code == 0, done.said
    theirs, mine = (RunFolder(tmp_path / name).checkpoint().model for name in ("reader", "tagger"))
    taken = [name for name in theirs if name.startswith(("embedder.", "encoder.reader."))]
    assert taken and all(torch.equal(mine[name], theirs[name]) for name in taken)
    assert float(mine["encoder.mix"].abs().max()) > 0  # which the tagger has learnt, from zero on

    shutil.rmtree(tmp_path / "reader")
    (prediction,) = package.load(tmp_path / "tagger").predict(["the dog reads"])
    assert len(prediction.tags) == 3


def test_a_language_model_of_another_width_is_refused(tmp_path):
    (tmp_path / "text").write_text("".join(f"{text}\n" for text in TEXTS))
    (tmp_path / "tags.conll").write_text("".join(f"{word}\tX\n\n" for word in " ".join(TEXTS).split()))
    model = ["model={name: bidirectional_language_model, num_layers: 1, dim: 8}", "text.tokenizer=words"]
    assert regard("train", "--text", tmp_path / "text", *model, *ENDS, "--run", tmp_path / "reader").code == 0
    data = f"data.train={{name: conll, file: '{tmp_path / 'tags.conll'}'}}"
    tagger = ["task=tagging", "model.dim=6", f"model.encoder={FEATURES}", f"init.run={tmp_path / 'reader'}"]
    done = regard("train", data, *tagger, *ENDS, "--run", tmp_path / "tagger")
    assert unsaid(done, "init: ", "has the shape", "give the model the settings of that model") == []
