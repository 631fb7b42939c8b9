"""The demo: a small translator, trained on sentences of a grammar that comes with the package."""

import json
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from shlex import quote
from typing import NamedTuple

from rich.console import Console

from regard.answers import show
from regard.config import quoted
from regard.config.versions import MODEL
from regard.data.toy import LANGUAGES, pairs
from regard.errors import ConfigError, nearest
from regard.evaluation import METRICS
from regard.experiment import read_experiment
from regard.explain import by_words, page, png, to_json
from regard.predictor import Predictor, load
from regard.registry import Choice
from regard.runs import Run, RunFolder, train_run

DEMO_MARK = "demo.json"  # marks a folder made by the demo, which it may overwrite
TEXTS, PAGE, PLOT_FILE = "texts", "attention.html", "attention.png"
DEMO_BEFORE = "model.before"  # the last demo's model, until there is a new one
SIZES = {"train": 40_000, "dev": 200, "test": 500}
SETTINGS = (
    "text.tokenizer={name: subwords, size: 1500}",
    "text.shared=false",
    "model.dim=128",
    "model.tied=target",
    "model.dropout=0.1",
    "model.encoder={name: transformer, num_layers: 2, feedforward_dim: 256}",
    "model.decoder={name: transformer, num_layers: 2, feedforward_dim: 256}",
    "model.attention={score: scaled_dot, num_heads: 4}",
    "model.self_attention={score: scaled_dot, num_heads: 4}",
    "objective={name: likelihood, label_smoothing: 0.05}",
    "training.batch_tokens=2048",
    "training.learning_rate=0.004",
    "training.schedule={name: cosine, updates: 900, warmup: 100}",
    "training.max_updates=900",
    "training.validate_every=300",
    "training.metric=exact_match",
    "training.average=1",
    "training.keep_best=1",
)


class DemoResult(NamedTuple):
    """Result of the demo."""

    exact_match: float  # per cent of held-out combinations
    bleu: float
    seconds: float  # of training
    page: Path


def demo(run: Path, language: str = "de") -> DemoResult | None:
    """Sample sentence pairs, train, evaluate on unseen combinations of words, translate, and write a page.

    An interrupted training is resumed. Returns None where it is interrupted now, after a message on how to resume.
    Raises ConfigError for a language that the grammar lacks, or a folder that holds something else.
    """
    console = Console(highlight=False, soft_wrap=True, markup=False, emoji=False)
    if language not in LANGUAGES:
        raise ConfigError("--language", f"there is no '{language}'", nearest(language, LANGUAGES))
    _make_room(run)
    model = run / MODEL
    resume = _begun(model, language)
    console.print(
        f"1. Sampling {SIZES['train']:,} English sentences and their translations ({language}) from a grammar"
    )
    files = write_texts(run / TEXTS, language)
    console.print(f"2. Training a Transformer on them; the model goes to {model}")
    if resume:
        console.print(f"   continuing the last demo, which was interrupted (to start again, remove {model})")
    start = time.monotonic()
    named = [f"data.{name}={quoted(str(path))}" for name, path in files.items()]
    with _replaced(model, run / DEMO_BEFORE, resume=resume):
        new = None if resume else read_experiment(None, [*SETTINGS, *named, f"run={quoted(str(model))}"])
        trained = train_run(new or Run.open(model).experiment, resume=resume)
    seconds = time.monotonic() - start
    if not trained:
        console.print("The demo is interrupted; the same command continues it")
        return None
    console.print("3. Translating 500 sentences with combinations of words that were held out of training")
    predictor = load(model)
    exact, bleu = _scores(predictor, files, console)
    console.print("4. Attention of some of them")
    example = _explain(predictor, files, run, console)
    _next(console, run, example)
    return DemoResult(exact, bleu, seconds, run / PAGE)


def made_before(run: Path, language: str) -> Path | None:
    """Return the model of a finished demo in that folder with that language; None without one."""
    model, spoken = run / MODEL, run / TEXTS / f"train.{language}"
    return model if (run / DEMO_MARK).is_file() and spoken.is_file() and RunFolder(model).finished else None


def write_texts(folder: Path, language: str) -> dict[str, Path]:
    """Write the texts of all parts, without a common sentence; return the files by the settings that name them."""
    folder.mkdir(parents=True, exist_ok=True)
    files, written = {}, set[str]()
    for seed, (part, count) in enumerate(SIZES.items()):
        sampled = pairs(language, count + len(written), seed, part="test" if part == "test" else "train")
        new = list(islice((pair for pair in sampled if pair[0] not in written), count))
        written.update(source for source, _ in new)
        for side, code, texts in zip(("source", "target"), ("en", language), zip(*new, strict=True), strict=True):
            path = (folder / f"{part}.{code}").absolute()
            path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
            files[f"{part}.{side}"] = path
    return files


def _make_room(run: Path) -> None:
    if run.exists() and not (run / DEMO_MARK).is_file() and any(run.iterdir()):
        raise ConfigError("--run", f"'{run}' exists and was not made by the demo", "choose another folder")
    run.mkdir(parents=True, exist_ok=True)
    (run / DEMO_MARK).write_text(json.dumps({"made_by": "regard demo"}), encoding="utf-8")


def _begun(model: Path, language: str) -> bool:
    """Return whether a training with that language was interrupted there, and can be resumed."""
    folder = RunFolder(model)
    if folder.finished or not folder.started:
        return False
    files = (Run.open(folder).experiment.reader("train") or Choice("")).settings.get("files", {})
    return str(files.get("target", "")).endswith(f".{language}")


@contextmanager
def _replaced(model: Path, before: Path, *, resume: bool) -> Iterator[None]:
    """Move a finished model away until a new one is finished in its place, and restore it if that fails."""
    folder = RunFolder(model)
    if model.exists() and not resume:
        with folder.held():
            if folder.finished:
                shutil.rmtree(before, ignore_errors=True)
                model.rename(before)
            else:
                shutil.rmtree(model)
    try:
        yield
    except BaseException:
        if before.exists() and not resume:
            shutil.rmtree(model, ignore_errors=True)
            before.rename(model)
        raise
    if folder.finished:  # else it was interrupted, and can be resumed
        shutil.rmtree(before, ignore_errors=True)


def _scores(predictor: Predictor, files: dict[str, Path], console: Console) -> tuple[float, float]:
    sources, targets = (files[f"test.{side}"].read_text("utf-8").splitlines() for side in ("source", "target"))
    texts = [prediction.text for prediction in predictor.predict(sources)]
    exact, bleu = (METRICS.build(Choice(name)).score(texts, targets, sources) for name in ("exact_match", "bleu"))
    console.print(f"   exact match {exact.value:.1f} %, {bleu}")
    return exact.value, bleu.value


def _explain(predictor: Predictor, files: dict[str, Path], run: Path, console: Console) -> str:
    """Print translations, write the page and the plot, and return the first sentence."""
    sources = sorted(files["test.source"].read_text("utf-8").splitlines(), key=len)
    chosen = [sources[len(sources) * share // 10] for share in (3, 5, 7, 8)]
    predictions = predictor.predict(chosen, explain=True)
    for prediction in predictions:
        console.print(f"   {prediction.source}\n   → {prediction.text}")
    show(predictions[:1])
    (run / PAGE).write_text(page(to_json(predictions), title="Regard: attention of each word"), encoding="utf-8")
    found = predictions[1].explanation
    if found is not None:
        (run / PLOT_FILE).write_bytes(png(*by_words(found)))
    return chosen[0]


def _next(console: Console, run: Path, example: str) -> None:
    console.print(f"   The page: {(run / PAGE).absolute().as_uri()}")
    named = quote(str(run))
    console.print(
        f"\nNext: translate sentences of the grammar\n"
        f'   regard predict {named} "{example}"\n'
        f'   regard explain {named} "{example}" --html page.html\n'
        f"   regard serve {named}\n"
        "or train on two text files of your own, line n of one the translation of line n of the other\n"
        "   regard train --source FILE --target FILE --run runs/mine"
    )
