"""What a GPU makes of it: Transformer base and big beside Hugging Face, and windows of attention.

  REGARD_DATA=PATH python benchmarks/gpu.py [--only training window] [--rounds 5] [--json FILE]
  (pip install transformers)                     Ends with exit code 2 where there is no GPU.

training   6+6 layers of 512 (base) and 1,024 (big), 32,000 words, bfloat16 by autocast, batches of 16,384 tokens, fused
           Adam; the unit is target tokens a second. The share is that of useful operations, 6 for each multiply-add
           of products with weights, in those of a product of 8,192 x 8,192 in bfloat16 on the same device.
window     attention to 17 neighbours by torch's flex attention against attention to all, forward and backward
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import torch
import train
import window
from program import as_line, count, machine, markdown, need, save
from timing import Make, Record, interleaved, race, race_table
from training_runs import training_stream
from workload import parser_of, prepare

from regard.runs import Run

NO_GPU = 2  # exit code
WORDS, SQUARE, RADIUS = 32000, 8192, 8
LENGTHS = (1024, 2048, 4096, 8192, 16384)
UNIT, REFERENCE = "target tokens/s", "Hugging Face"


class Size(NamedTuple):
    """A Transformer of the paper."""

    dim: int
    heads: int
    feedforward: int
    layers: int = 6

    def settings(self) -> list[str]:
        """As settings of a run."""
        layers = f"{{num_layers: {self.layers}, feedforward_dim: {self.feedforward}}}"
        return [
            f"model.dim={self.dim}", "model.dropout=0.1", "training.batch_tokens=16384",
            *(f"model.{part}={layers}" for part in ("encoder", "decoder")),
            *(f"model.{part}.num_heads={self.heads}" for part in ("attention", "self_attention")),
        ]  # fmt: skip

    def operations(self, words: int) -> int:
        """For a target token and a source token beside it: 6 for each multiply-add of a product with weights."""
        square, below = self.dim**2, 2 * self.dim * self.feedforward
        encoder, decoder = 4 * square + below, 8 * square + below
        return 6 * (self.layers * (encoder + decoder) + self.dim * words)


SIZES = {"base": Size(512, 8, 2048), "big": Size(1024, 16, 4096)}


def measured_peak(device: str, size: int = SQUARE, seconds: float = 1.0) -> float:
    """Operations a second of a large product in bfloat16: what the device reaches, not what is printed on it."""
    one, other = (torch.randn(size, size, device=device, dtype=torch.bfloat16) for _ in range(2))
    one @ other
    train.finish(device)
    done, began = 0, time.perf_counter()
    while time.perf_counter() < began + seconds:
        one @ other
        train.finish(device)
        done += 1
    return 2 * size**3 * done / (time.perf_counter() - began)


def training(chosen: argparse.Namespace) -> dict[str, str]:
    """Base and big: a table each."""
    need("transformers")
    peak, found = measured_peak(chosen.device, chosen.square), dict[str, str]()
    for name in chosen.sizes:
        with tempfile.TemporaryDirectory() as folder:
            run = prepare(Path(folder), [*SIZES[name].settings(), *chosen.changes])
            training_stream(run)  # makes the corpus once for all
            words = max(WORDS, len(Run.open(run).columns["source"]))
            tokens = chosen.tokens
            makes: dict[str, Make] = {
                "regard": (train.regard, (run, tokens, words, chosen.device)),
                "regard, compiled": (train.regard, (run, tokens, words, chosen.device, {"compile": True})),
                REFERENCE: (train.peer, (run, tokens, True, False, words, chosen.device)),
            }
            makes = {one: makes[one] for one in makes if one in {*(chosen.contenders or makes), REFERENCE}}
            records = race(makes, chosen.rounds, chosen.threads)
        lines = [race_table(records, UNIT, REFERENCE), "", shares(records, SIZES[name].operations(words), peak)]
        found[f"Transformer {name}, bfloat16"] = "\n".join(lines)
    return found


def shares(records: Mapping[str, Record], operations: int, peak: float) -> str:
    """What part of the device's peak each contender uses."""
    parts = [f"{name} {statistics.median(record.speeds) * operations / peak:.1%}" for name, record in records.items()]
    return f"Share of the {peak / 1e12:,.0f} TFLOP/s of a large bfloat16 product: {', '.join(parts)}."


def windows(chosen: argparse.Namespace) -> dict[str, str]:
    """Milliseconds of an update by length."""

    def clock() -> float:
        train.finish(chosen.device)
        return time.perf_counter()

    rows = []
    for length in chosen.lengths:
        runs = {name: window.update(name, length, RADIUS, chosen.device) for name in ("window", "fused")}
        spent = interleaved(runs, chosen.rounds, clock=clock)  # the first call compiles
        near, far = (1e3 * statistics.median(spent[name]) for name in runs)
        rows.append([f"{length:,}", f"{near:.2f}", f"{far:.2f}", f"{far / near:.2f}"])
    title = f"Attention to {2 * RADIUS + 1} neighbours, {window.HEADS} heads of {window.DIM}"
    return {title: markdown(["length", "window, ms", "all, ms", "ratio"], rows)}


PARTS = {"training": training, "window": windows}


def main() -> None:
    """Prints the tables of every part."""
    parser = parser_of(__doc__, tokens=200000, square=SQUARE)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), metavar="PART", help="these parts")
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=list(SIZES), help="of training (default all)")
    parser.add_argument("--contenders", nargs="+", metavar="NAME", help="of training (default all)")
    parser.add_argument("--lengths", type=count, nargs="+", default=LENGTHS, metavar="N", help="of a window's sentence")
    parser.add_argument("--device", default="cuda", help="cpu proves that everything runs (default cuda)")
    chosen = parser.parse_args()
    if chosen.device != "cpu" and not torch.cuda.is_available():
        print("benchmark: there is no GPU here, so nothing is measured", file=sys.stderr)
        raise SystemExit(NO_GPU)
    name = "cpu" if chosen.device == "cpu" else torch.cuda.get_device_name(chosen.device)
    about, tables = {**machine(chosen.threads), "device": name}, dict[str, str]()
    print(as_line(about))
    for part in chosen.only:
        found = PARTS[part](chosen)
        tables |= found
        for title, shown in found.items():
            print(f"\n{title}\n\n{shown}", flush=True)
    save(chosen.json, {**about, "tables": tables})


if __name__ == "__main__":
    main()
