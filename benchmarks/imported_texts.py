"""Texts of imported folders beside `generate` of transformers: equal texts, and the largest gap of a log-probability.

    OMP_NUM_THREADS=1 python benchmarks/imported_texts.py [--lines 1000] [--json FILE]

MarianMTModel and M2M100ForConditionalGeneration of two shapes each, made on the spot: with random weights, and behind
300 updates of a plain loop of transformers on the toy grammar. Each is imported twice, for greedy search and a beam of
4, and translates sentences of the toy grammar that it has not seen.
"""

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
from program import ROOT, as_line, machine, markdown, need, options, save

from regard.config import parse_json
from regard.exchange import format_of, import_folder

sys.path.append(str(ROOT / "tests" / "helpers"))
BEAMS = (1, 4)
BATCH, RATE = 32, 3e-3


class Shape(NamedTuple):
    """A folder that is made on the spot."""

    title: str
    architecture: str
    updates: int  # 0: random weights
    settings: dict[str, Any]

    def make(self, folder: Path) -> None:
        """Write it."""
        from foreign_translators import m2m100_folder, marian_folder

        make: Callable[..., Path] = marian_folder if self.architecture == "MarianMTModel" else m2m100_folder
        make(folder, **self.settings)
        if self.updates:
            learn(folder, self.updates)


_DEEP = {"d_model": 64, "encoder_layers": 3, "decoder_layers": 1, "encoder_ffn_dim": 128, "decoder_ffn_dim": 96,
         "init_std": 0.05}  # fmt: skip
SHAPES = [
    Shape("Marian 2 + 2 of 32, random", "MarianMTModel", 0, {}),
    Shape("Marian 3 + 1 of 64, 300 updates", "MarianMTModel", 300, _DEEP),
    Shape("M2M100 2 + 2 of 32, random", "M2M100ForConditionalGeneration", 0, {}),
    Shape("M2M100 3 + 1 of 64, 300 updates", "M2M100ForConditionalGeneration", 300, _DEEP),
]


def learn(folder: Path, updates: int) -> None:
    """Train the model of a folder on the toy grammar, with Adam."""
    import transformers
    from foreign_translators import toy_lines

    tokenizer: Any = transformers.AutoTokenizer.from_pretrained(folder)
    model: Any = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder).train()
    optimizer, draws = torch.optim.Adam(model.parameters(), lr=RATE), torch.Generator().manual_seed(1)
    sources, targets = (toy_lines(side, 4000) for side in (0, 1))
    for update in range(updates):
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(1.0, (update + 1) / 50)
        rows = torch.randint(len(sources), (BATCH,), generator=draws).tolist()
        batch = tokenizer(
            [sources[row] for row in rows],
            text_target=[targets[row] for row in rows],
            return_tensors="pt",
            padding=True,
        )
        labels = batch["labels"].masked_fill(batch["labels"] == tokenizer.pad_token_id, -100)
        loss = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval().save_pretrained(folder)


def measure(shape: Shape, beam: int, place: Path, lines: int) -> dict[str, Any]:
    """Import a folder, and compare texts."""
    from foreign_translators import toy_lines

    folder, run = place / "folder", place / f"run{beam}"
    generation = folder / "generation_config.json"
    told = {**parse_json(generation.read_text(encoding="utf-8")), "num_beams": beam}
    generation.write_text(json.dumps(told), encoding="utf-8")
    texts = toy_lines(0, lines, "test")
    made = import_folder(format_of(folder), folder, run, texts=texts, count=lines, say=lambda line: None).certificate
    return {"shape": shape.title, "beam": beam, **made.values()}


def main() -> None:
    """Print a table."""
    parser = options(__doc__, lines=1000)
    parser.add_argument("--shapes", type=int, nargs="+", default=[*range(len(SHAPES))], help="places in the table")
    chosen = parser.parse_args()
    need("transformers")
    torch.set_num_threads(1)
    print(as_line(about := machine(1)))
    found = list[dict[str, Any]]()
    for shape in (SHAPES[number] for number in chosen.shapes):
        with tempfile.TemporaryDirectory() as temporary:
            shape.make(Path(temporary) / "folder")
            for beam in BEAMS:
                found.append(one := measure(shape, beam, Path(temporary), chosen.lines))
                print(one, file=sys.stderr, flush=True)
    rows = [
        (one["shape"], "greedy" if one["beam"] == 1 else f"beam {one['beam']}",
         f"{one['equal']:,} of {one['texts']:,}", f"{one['gap']:.1e}") for one in found
    ]  # fmt: skip
    print(markdown(("folder", "search", "texts equal to generate", "largest gap of a log-probability"), rows))
    save(chosen.json, {**about, "cells": found})


if __name__ == "__main__":
    main()
