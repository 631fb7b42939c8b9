"""Every config is read, shrunk, built, trained one step and used."""

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest

import regard
from regard.experiment import TABLES, load_experiment, read_experiment
from regard.registry import Choice
from regard.reports import evaluate_texts
from regard.runs import train_run

CONFIGS = sorted((Path(__file__).parents[1] / "configs").rglob("*.yaml"))
OF_TEXTS = [path for path in CONFIGS if path.parent.name == "language"]
OF_LINES = [path for path in CONFIGS if path.parent.name == "generation"]
PAIRS = [("ein Hund läuft", "a dog runs"), ("zwei Katzen schlafen", "two cats sleep"), ("er liest", "he reads")] * 4
SMALL = [
    "training.max_updates=1",
    "training.validate_every=1",
    "training.batch_tokens=64",
    "training.average=1",
    "model.dim=16",
]
TRAINED = set(TABLES) - {"reader", "search", "feature", "metric"}


@pytest.fixture
def corpus(tmp_path: Path) -> list[str]:
    for place, side in enumerate(("source", "target")):
        (tmp_path / side).write_text("".join(f"{pair[place]}\n" for pair in PAIRS), encoding="utf-8")
    parts = ("", "dev_", "test_")
    return [f"data.{part}{side}={tmp_path / side}" for part in parts for side in ("source", "target")]


@pytest.fixture
def lines(tmp_path: Path) -> list[str]:
    """One document of all lines, to learn from and to be judged by."""
    (tmp_path / "lines").write_text("".join(f"{pair[1]}\n" for pair in PAIRS), encoding="utf-8")
    (tmp_path / "index").write_text(f"a\tb\t1\t{len(PAIRS)}\n")
    reader = f"{{name: consecutive, file: '{tmp_path / 'lines'}', index: '{tmp_path / 'index'}'}}"
    return [f"data.{part}={reader}" for part in ("train", "dev", "test")]


@pytest.fixture
def text(tmp_path: Path) -> list[str]:
    (tmp_path / "text").write_text("".join(f"{line}\n\n" for pair in PAIRS for line in pair), encoding="utf-8")
    reader = f"{{name: parallel, files: {{text: '{tmp_path / 'text'}'}}}}"
    return [f"data.{part}={reader}" for part in ("train", "dev", "test")]


def shrunk(path: Path) -> list[str]:
    """Changes that make the networks of a config small, whatever they are."""
    text = path.read_text(encoding="utf-8")
    changes = list(SMALL)
    for part in ("encoder", "decoder"):
        line = next((line for line in text.splitlines() if line.strip().startswith(f"{part}:")), "")
        for setting, small in (("hidden_dim", 16), ("feedforward_dim", 16), ("num_layers", 1)):
            if f"{setting}:" in line:
                changes.append(f"model.{part}.{setting}={small}")
        if "residual_from:" in line:
            changes.append(f"model.{part}.residual_from=null")
    if "{name: language_model, window:" in text:
        changes += ["task.window=16", "task.context=6"]
    if "size:" in text and "subwords" in text:
        changes.append("text.tokenizer.size=300")
    return changes


@pytest.mark.parametrize(
    "path", [path for path in CONFIGS if path not in [*OF_TEXTS, *OF_LINES]], ids=lambda path: path.stem
)
def test_a_config_builds_trains_a_step_and_translates(path, corpus, tmp_path):
    run = tmp_path / "run"
    experiment = read_experiment(path, [*shrunk(path), *corpus, f"run={run}"])
    assert train_run(experiment, quiet=True)
    prediction, *_ = regard.load(run).predict(["ein Hund läuft"], explain=True)
    assert prediction.explanation is not None
    assert prediction.source == "ein Hund läuft"


@pytest.mark.parametrize("path", OF_TEXTS, ids=lambda path: path.stem)
def test_a_config_of_a_language_model_builds_trains_a_step_and_goes_on(path, text, tmp_path):
    run = tmp_path / "run"
    assert train_run(read_experiment(path, [*shrunk(path), *text, f"run={run}"]), quiet=True)
    evaluation = evaluate_texts([run])
    assert evaluation.lines == 4 * len(PAIRS)
    assert 1 < evaluation.runs[0].figures["perplexity"] < 1e4
    prediction, nothing = regard.load(run, ["decoding.search.max_extra=5"]).predict(["ein Hund", ""], explain=True)
    assert prediction.explanation is not None
    assert (prediction.source, nothing.source) == ("ein Hund", "")


@pytest.mark.parametrize("path", OF_LINES, ids=lambda path: path.stem)
def test_a_config_that_goes_on_from_a_line_builds_trains_a_step_and_draws(path, lines, tmp_path):
    run = tmp_path / "run"
    assert train_run(read_experiment(path, [*shrunk(path), *lines, f"run={run}"]), quiet=True)
    drawn = [regard.load(run, [f"decoding.search.seed={seed}"]).predict(["a dog runs"]) for seed in (1, 1, 2, 3, 4)]
    texts = [prediction.text for (prediction,) in drawn]
    assert texts[0] == texts[1]
    assert len(set(texts)) > 1


@pytest.fixture(scope="module")
def named() -> set[str]:
    """Every part that some config names, as it is after reading: an alias is told by what it stands for."""
    return {name for path in CONFIGS for name in _names(load_experiment(path, []))}


def _names(settings: object) -> Iterator[str]:
    if isinstance(settings, Choice):
        yield settings.name
        yield from _names(settings.settings)
    elif is_dataclass(settings):
        yield from _names([getattr(settings, field.name) for field in fields(settings)])
    elif isinstance(settings, Mapping):
        yield from _names(list(settings.values()))
    elif isinstance(settings, list | tuple):
        for one in settings:
            yield from _names(one)


@pytest.mark.parametrize("kind", sorted(TRAINED))
def test_every_part_that_is_trained_has_a_config(kind, named):
    assert set(TABLES[kind]) - named - {"causal"} == set()  # which every decoder's look at itself is, unsaid
