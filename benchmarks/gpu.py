"""What a GPU makes of it: Transformer base and big beside Hugging Face, Multi30k to 40 BLEU in seconds, windows.

  REGARD_DATA=PATH python benchmarks/gpu.py [--only training bleu window] [--rounds 5] [--json FILE]
  (pip install transformers)                     Ends with exit code 2 where there is no GPU.

training   6+6 layers of 512 (base) and 1,024 (big), 32,000 words, bfloat16 by autocast, batches of 16,384 tokens, fused
           Adam; the unit is target tokens a second. The share is that of useful operations, 6 for each multiply-add
           of products with weights, in those of a product of 8,192 x 8,192 in bfloat16 on the same device.
bleu       the shipped Multi30k config with three seeds: seconds until the dev part has 40 BLEU, and test2016's
           (lower-cased, tokenised) at the end; published are 41.02 (https://arxiv.org/abs/2105.14462)
window     attention to 17 neighbours by torch's flex attention against attention to all, forward and backward
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
import train
import window
from machine import as_line, machine
from rounds import Make, Record, count, race, table
from training_runs import training_stream
from workload import CONFIG, need_transformers, parser_of, prepare

from regard.reports import evaluate
from regard.runs import Run

NO_GPU = 2  # exit code
WORDS, SQUARE, RADIUS = 32000, 8192, 8
LENGTHS = (1024, 2048, 4096, 8192, 16384)
WANTED = 40.0  # BLEU
UNIT, REFERENCE = "target tokens/s", "Hugging Face"
METRIC = "evaluation.metrics=[{name: bleu, lowercase: true, tokenize: 13a}]"


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
    need_transformers()
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
        lines = [table(records, UNIT, REFERENCE), "", shares(records, SIZES[name].operations(words), peak)]
        found[f"Transformer {name}, bfloat16"] = "\n".join(lines)
    return found


def shares(records: Mapping[str, Record], operations: int, peak: float) -> str:
    """What part of the device's peak each contender uses."""
    parts = [f"{name} {statistics.median(record.speeds) * operations / peak:.1%}" for name, record in records.items()]
    return f"Share of the {peak / 1e12:,.0f} TFLOP/s of a large bfloat16 product: {', '.join(parts)}."


def bleu(chosen: argparse.Namespace) -> dict[str, str]:
    """The shipped config with several seeds."""
    lines = [f"| seed | seconds to {WANTED:g} BLEU (dev) | seconds in all | BLEU, test2016 |", "|---|---|---|---|"]
    for seed in chosen.seeds:
        with tempfile.TemporaryDirectory() as folder:
            run = Path(folder) / "run"
            words = ["train", str(CONFIG), f"run={run}", f"training.seed={seed}", f"device={chosen.device}", "--quiet"]
            subprocess.run([sys.executable, "-m", "regard", *words, *chosen.changes], check=True)
            score = evaluate([run], changes=[METRIC]).systems[0].scores[0].value
            log = (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
        lines.append(f"| {seed} | {reached(log)} | {seconds_of(log):.0f} | {score:.2f} |")
    return {"Multi30k en-de, the shipped config": "\n".join(lines)}


def reached(log: Sequence[str]) -> str:
    """When a validation first had the BLEU that is wanted, in seconds of training."""
    for line in map(json.loads, log):
        if line["event"] == "validation" and line.get("bleu", 0.0) >= WANTED:
            return f"{line['seconds']:.0f}"
    return "not reached"


def seconds_of(log: Sequence[str]) -> float:
    """Of the whole training."""
    return max((line["seconds"] for line in map(json.loads, log) if "seconds" in line), default=0.0)


def windows(chosen: argparse.Namespace) -> dict[str, str]:
    """Milliseconds of an update by length."""
    lines = ["| length | window, ms | all, ms | ratio |", "|---|---|---|---|"]
    for length in chosen.lengths:
        runs = {name: window.update(name, length, RADIUS, chosen.device) for name in ("window", "fused")}
        spent: dict[str, list[float]] = {name: [] for name in runs}
        for number in range(chosen.rounds + 1):
            for name, run in runs.items():
                began = time.perf_counter()
                run()
                train.finish(chosen.device)
                if number:  # the first one compiles
                    spent[name].append((time.perf_counter() - began) * 1e3)
        near, far = (statistics.median(spent[name]) for name in ("window", "fused"))
        lines.append(f"| {length:,} | {near:.2f} | {far:.2f} | {far / near:.2f} |")
    return {f"Attention to {2 * RADIUS + 1} neighbours, {window.HEADS} heads of {window.DIM}": "\n".join(lines)}


PARTS = {"training": training, "bleu": bleu, "window": windows}


def main() -> None:
    """Prints the tables of every part."""
    parser = parser_of(__doc__ or "")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), metavar="PART", help="these parts")
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=list(SIZES), help="of training (default all)")
    parser.add_argument("--contenders", nargs="+", metavar="NAME", help="of training (default all)")
    parser.add_argument("--tokens", type=count, default=200000, help="target tokens of a turn (default 200000)")
    parser.add_argument("--seeds", type=count, nargs="+", default=[1, 2, 3], metavar="N")
    parser.add_argument("--lengths", type=count, nargs="+", default=LENGTHS, metavar="N", help="of a window's sentence")
    parser.add_argument("--square", type=count, default=SQUARE, help="side of the product that tells the peak")
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
    if chosen.json:
        chosen.json.write_text(json.dumps({**about, "tables": tables}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
