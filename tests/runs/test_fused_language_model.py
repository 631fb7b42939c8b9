"""A translator that takes a frozen language model of another run, and stands alone."""

import shutil

import torch
from small_runs import regard

import regard as package
from regard.runs import RunFolder

TEXTS = ["a dog runs", "two cats sleep", "he reads a book", "the old dog sleeps"] * 5
ENDS = ["training.max_updates=2", "training.validate_every=1", "training.average=1", "--quiet"]
LAYERS = "{name: transformer, num_layers: 1, feedforward_dim: 8}"


def test_a_translator_takes_a_frozen_language_model_and_stands_alone(tmp_path):
    for name, turned in (("source", True), ("target", False)):
        (tmp_path / name).write_text("".join(f"{text[::-1] if turned else text}\n" for text in TEXTS))
    width = ["model.dim=8", "model.self_attention.num_heads=2", f"model.decoder={LAYERS}"]
    reader = ["--text", tmp_path / "target", "text.tokenizer=words", *width]
    done = regard("train", *reader, *ENDS, "--run", tmp_path / "reader")
    assert done.code == 0, done.said

    model = ["model.name=cold_fusion", f"model.language_model={LAYERS}", "model.tied=target"]
    sides = ["--source", tmp_path / "source", "--target", tmp_path / "target", f"model.encoder={LAYERS}"]
    taken = "vocabularies: {target: text}, parts: [embedder, decoder], frozen: true"
    start = f"init={{run: '{tmp_path / 'reader'}', {taken}}}"
    shared = ["text.shared=false", "model.attention.num_heads=2"]
    done = regard("train", *sides, *width, *model, *shared, start, *ENDS, "--run", tmp_path / "fused")
    assert done.code == 0, done.said
    theirs, mine = (RunFolder(tmp_path / name).checkpoint().model for name in ("reader", "fused"))
    inside = "decoders.translate.embedder.language_model"
    names = [name for name in theirs if name.startswith("decoder.")]
    assert names and all(torch.equal(mine[name.replace("decoder", inside, 1)], theirs[name]) for name in names)
    assert mine["decoders.translate.gate.weight"].shape == (8, 16)

    shutil.rmtree(tmp_path / "reader")
    (prediction,) = package.load(tmp_path / "fused").predict(["nur god a"], explain=True)
    assert prediction.explanation is not None
