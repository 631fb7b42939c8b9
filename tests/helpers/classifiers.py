"""A tiny classifier: what it says is nonsense, but it is the same nonsense each time."""

from pathlib import Path

from small_runs import regard

LABELS = ("bad", "good", "so-so")
ROWS = [("good", "a fine film"), ("bad", "a dull film"), ("good", "fine and witty"), ("so-so", "neither")] * 3
TINY = [
    "task=classification",
    "model.dim=16",
    "model.encoder={name: transformer, num_layers: 1, feedforward_dim: 16}",
    "text.tokenizer={name: words, size: 300}",
    "training.max_updates=2",
    "training.validate_every=1",
    "training.average=1",
]


def tiny_classifier_in(folder: Path, *changes: str) -> Path:
    """The run of two updates."""
    table = folder / "reviews.tsv"
    table.write_text("".join(f"{label}\t{text}\n" for label, text in ROWS), encoding="utf-8")
    part = f"{{name: tsv, file: {table}, fields: {{label: 1, text: 2}}}}"
    config = folder / "config.yaml"
    config.write_text(f"data:\n  train: {part}\n  dev: {part}\n", encoding="utf-8")
    done = regard("train", config, "--run", folder / "reviews", "--quiet", *TINY, *changes)
    assert done.code == 0, done.said
    return folder / "reviews"
