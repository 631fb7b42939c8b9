"""Tiny models, corpora and runs for the tests of training."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from networks import build_translator
from torch import nn, optim

from regard.data.batches import Batches
from regard.data.corpus import Corpus
from regard.data.readers import READERS
from regard.data.streams import MixedStream, PlannedStream
from regard.data.transforms import transformed
from regard.models import AttentionSettings, Translator
from regard.objectives import Context, LikelihoodObjective, Objective
from regard.registry import Choice
from regard.text import train_tokenizer
from regard.training import checkpoint as files
from regard.training.progress import Progress
from regard.training.settings import TrainingSettings
from regard.training.trainer import Trainer

COLUMNS = ("source", "target")
LETTERS = "abcdefg"
CLOCKS = ("seconds", "core_seconds", "tokens_per_second", "tokens_per_core_second")


def sentence(number: int) -> str:
    """A few words, no two sentences alike."""
    return " ".join(LETTERS[(number * (place + 3) + place) % 7] * (1 + number % 3) for place in range(2 + number % 5))


def corpus_of(folder: Path, numbers: range) -> Corpus:
    """A corpus of sentences and of what they are backwards, in capitals."""
    texts = [sentence(number) for number in numbers]
    files = {"source": folder / "text.a", "target": folder / "text.b"}
    files["source"].write_text("".join(text + "\n" for text in texts))
    files["target"].write_text("".join(text[::-1].upper() + "\n" for text in texts))
    reader = READERS.build(Choice("parallel", {"files": {name: str(path) for name, path in files.items()}}), COLUMNS)
    tokenizer = train_tokenizer(Choice("characters"), [LETTERS + LETTERS.upper() + " "])
    return Corpus.open(reader, dict.fromkeys(COLUMNS, tokenizer), folder / "cache")


@pytest.fixture(scope="session")
def batches(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Batches]:
    """Batches of a corpus of 40 pairs, of at most eight rows."""
    corpus = corpus_of(tmp_path_factory.mktemp("corpus"), range(40))
    return lambda **settings: Batches(corpus, COLUMNS, sentences=8, seed=3, **settings)


@pytest.fixture(scope="session")
def mixed(tmp_path_factory: pytest.TempPathFactory, batches: Callable[..., Batches]) -> Callable[[], PlannedStream]:
    """Those batches and twice as often ones of a corpus of 15 other pairs, all with noisy sources."""
    other = corpus_of(tmp_path_factory.mktemp("other"), range(40, 55))

    def make() -> PlannedStream:
        parts = {"first": batches(), "other": Batches(other, COLUMNS, sentences=4, seed=8)}
        return transformed(MixedStream(parts, {"first": 1.0, "other": 2.0}, seed=2), [Choice("noise")], 6)

    return make


@pytest.fixture(scope="session")
def tiny() -> Callable[..., Translator]:
    """A Transformer that learns in milliseconds; the same weights each time."""

    def make(*, dropout: float = 0.2, vocab: int = 280, seed: int = 5) -> Translator:
        torch.manual_seed(seed)
        one = {"num_layers": 1, "feedforward_dim": 12}
        settings = dict(
            dim=8,
            encoder=Choice("transformer", one),
            decoder=Choice("transformer", one),
            attention=AttentionSettings(num_heads=2),
            self_attention=AttentionSettings(num_heads=2),
            dropout=dropout,
            tied="all",
        )
        return build_translator(settings, vocab, vocab)

    return make


@pytest.fixture
def trainer(tiny: Callable[..., Translator], batches: Callable[..., Batches], tmp_path: Path) -> Callable[..., Trainer]:
    """A trainer of the tiny model that validates after each update; `scores`: dev losses, or pairs with a criterion."""
    usual = {"validate_every": 1, "metric": "loss", "workers": 0, "average": 1, "patience": None, "log_every": 1}

    def make(
        scores: Sequence[float | tuple[float, float]] = (),
        objective: Callable[[Context], Objective] = LikelihoodObjective,
        *,
        validate_start: bool = False,
        **changes: Any,
    ) -> Trainer:
        found, twofold = iter(scores), isinstance(next(iter(scores), None), tuple)
        model = tiny()

        def validate(_: Callable[[], bool]) -> dict[str, float]:
            one = next(found)
            return dict(zip(("loss", "choice"), one, strict=True)) if isinstance(one, tuple) else {"loss": one}

        return Trainer(
            model,
            objective(Context(model)),
            batches(),
            settings=TrainingSettings(**{**usual, **changes}),
            run=tmp_path,
            validate=validate if scores else None,
            progress=Progress(tmp_path, quiet=True),
            validate_start=validate_start,
            criterion="choice" if twofold else None,
        )

    return make


@pytest.fixture
def kept(tmp_path: Path) -> Callable[[], list[int]]:
    """The updates whose checkpoints are in the run."""
    return lambda: [int(folder.name.removeprefix("step-")) for folder in reversed(files.steps(tmp_path))]


@pytest.fixture
def lines() -> Callable[[Path], list[dict[str, Any]]]:
    """What is in metrics.jsonl, without what a clock tells."""

    def read(run: Path) -> list[dict[str, Any]]:
        found = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        return [{name: one[name] for name in one if name not in CLOCKS} for one in found]

    return read


@pytest.fixture
def trained() -> Callable[..., optim.Optimizer]:
    """A model → its optimizer after a step along random gradients."""

    def step(model: nn.Module, name: str = "adam") -> optim.Optimizer:
        kind = {"adam": optim.Adam, "sgd": optim.SGD}[name]
        optimizer = kind(model.parameters(), lr=0.1)
        for parameter in model.parameters():
            parameter.grad = torch.randn_like(parameter)
        optimizer.step()
        return optimizer

    return step


@pytest.fixture
def saved(tmp_path: Path, trained: Callable[..., optim.Optimizer]) -> Path:
    """A checkpoint as training writes it."""
    model = nn.Linear(3, 2)
    folder = files.step_folder(tmp_path, 5)
    objective = nn.Linear(1, 1)
    files.write(folder, files.content_of(model, objective, {"model": trained(model)}), {"update": 5})
    return folder
