"""The gallery: saved pages of `regard explain`, of a small translator and a small classifier trained for the site."""

import contextlib
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import regard
from regard.cli.app import app
from regard.data.toy import pairs

PAGE = "docs/gallery.md"
FOLDER = "docs/gallery"
LARGEST = 1_000_000  # bytes of a page
SENTENCE = "The old man reads a book."
BLOCK = "{name: transformer, num_layers: 1, feedforward_dim: 128}"
SMALL = [
    "model.dim=64", "text.tokenizer=words", "training.learning_rate=0.005", "training.batch_tokens=512",
    "training.validate_every=150", "training.max_updates=150", "training.average=1",
]  # fmt: skip
TRANSLATOR = [*SMALL, f"model.encoder={BLOCK}", f"model.decoder={BLOCK}"]
CLASSIFIER = [*SMALL, "model.pooling=attention"]


class Shown(NamedTuple):
    """One page of the gallery."""

    name: str
    title: str
    about: str
    words: tuple[str, ...]  # of regard explain, without --html


SHOWN = (
    Shown("attention", "Attention", "Source words that each word of the translation attends to.", ("en-de", SENTENCE)),
    Shown(
        "relevance", "Relevance", "What each word rests on, by layer-wise relevance propagation beside attention.",
        ("en-de", SENTENCE, "--method", "lrp", "--method", "attention"),
    ),
    Shown("beam", "Beam search", "Words that the beam held and dropped at each step.", ("en-de", SENTENCE, "--steps")),
    Shown(
        "label", "A label", "Words of a text that a classifier attends to: does the sentence deny something?",
        ("denials", "The old man does not read a book."),
    ),
)  # fmt: skip


def write(pages: Path, folder: Path) -> None:
    """Train in `folder` and write the gallery below `pages`. Raises RuntimeError for a page that is too large."""
    _train(folder)
    place = (pages / FOLDER).resolve()
    place.mkdir(parents=True, exist_ok=True)
    with contextlib.chdir(folder):
        for one in SHOWN:
            file = place / f"{one.name}.html"
            with contextlib.redirect_stdout(io.StringIO()):
                app(["explain", *one.words, "--html", os.fspath(file)], standalone_mode=False)
            if file.stat().st_size > LARGEST:
                raise RuntimeError(
                    f"{file}: {file.stat().st_size:,} bytes; a page of the gallery has {LARGEST:,} at most"
                )
    (pages / PAGE).write_text("\n".join(_page()), encoding="utf-8")


def _train(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    sentences = list(pairs("de", 2000, seed=1))
    for side, language in enumerate(("en", "de")):
        text = "".join(f"{pair[side]}\n" for pair in sentences)
        (folder / f"train.{language}").write_text(text, encoding="utf-8")
    denied = (" not ", " no ", "never", "n't ")
    rows = [("denied" if any(word in source for word in denied) else "said", source) for source, _ in sentences]
    (folder / "denials.tsv").write_text("".join(f"{label}\t{text}\n" for label, text in rows), encoding="utf-8")
    sides = {"source": folder / "train.en", "target": folder / "train.de"}
    if not (folder / "en-de").exists():
        regard.train(**sides, changes=TRANSLATOR, run=folder / "en-de", quiet=True)
    if not (folder / "denials").exists():
        regard.train(text=folder / "denials.tsv", changes=CLASSIFIER, run=folder / "denials", quiet=True)


def _page() -> Iterator[str]:
    yield "# Gallery\n\nSaved pages of two small models that were trained when this site was built. Each is one file"
    yield "that works offline; yours looks like it, with your run and your text in the command.\n"
    for one in SHOWN:
        run, text, *options = one.words
        command = " ".join(["regard explain", f"runs/{run}", f'"{text}"', *options, "--html page.html"])
        yield f"## {one.title}\n\n{one.about} [Open the page](gallery/{one.name}.html).\n\n```bash\n{command}\n```\n"
        yield (
            f'<iframe src="gallery/{one.name}.html" title="{one.title}" loading="lazy" class="notebook-output"'
            ' sandbox="allow-scripts allow-downloads"></iframe>\n'
        )
