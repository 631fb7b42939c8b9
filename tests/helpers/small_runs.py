"""Texts and settings with which a run takes a second, and the command line as a test calls it."""

import json
from pathlib import Path
from typing import NamedTuple

from typer.testing import CliRunner

from regard.cli.app import app

PAIRS = [("a dog runs", "ein Hund läuft"), ("two cats", "zwei Katzen"), ("he reads", "er liest"), ("yes", "ja")] * 3
SMALL = [
    "model.dim=16",
    "model.encoder={name: transformer, num_layers: 1, feedforward_dim: 16}",
    "model.decoder={name: transformer, num_layers: 1, feedforward_dim: 16}",
    "text.tokenizer.size=300",
    "training.max_updates=2",
    "training.validate_every=1",
    "training.average=1",
]


class Done(NamedTuple):
    """How a command ended."""

    code: int
    said: str  # on stderr
    printed: str  # on stdout


def regard(*words: object, given: str | bytes | None = None) -> Done:
    """Runs `regard` with `given` on stdin; what is no exit is raised."""
    done = CliRunner().invoke(app, [str(word) for word in words], input=given)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Done(done.exit_code, done.stderr, done.stdout)


def write_texts(folder: Path) -> list[str]:
    """Both sides of the pairs as files a.en and a.de → the options that name them."""
    for side, name in enumerate(("a.en", "a.de")):
        (folder / name).write_text("".join(f"{pair[side]}\n" for pair in PAIRS), encoding="utf-8")
    return ["--source", str(folder / "a.en"), "--target", str(folder / "a.de")]


def trained_in(folder: Path, settings: str) -> Path:
    """Trains the run FOLDER/run by these lines of a config; returns the folder."""
    (folder / "config.yaml").write_text(f"{settings}run: {folder / 'run'}\n", encoding="utf-8")
    done = regard("train", folder / "config.yaml", "--quiet", "device=cpu")
    assert done.code == 0, done.said
    return folder


def figures_of(*words: object) -> dict[str, float]:
    """`regard evaluate` with these words → the figures of the first system by their names."""
    (first, *_) = json.loads(regard("evaluate", *words, "--json").printed)["systems"]
    return {one["name"]: one["value"] for one in first["scores"]}


def unsaid(done: Done, *parts: str) -> list[str]:
    """What a refusal lacks: exit code 2, one line of error, and every part in that line."""
    errors = [line for line in done.said.splitlines() if line.startswith("error:")]
    if (done.code, len(errors)) != (2, 1):
        return [f"exit code {done.code}, {len(errors)} errors: {done.said}"]
    return [f"{part!r} in {errors[0]!r}" for part in parts if part not in errors[0]]
