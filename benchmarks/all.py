"""Every measurement of speed beside peers, one after another; docs/results/speed.md is written after each.

    make bench [BENCH="--quick"]           or, where the peers are installed: python benchmarks/all.py [--quick]
    python benchmarks/all.py --only decoding training          these parts, others as they were measured before
    python benchmarks/all.py --rounds 3 --threads 2

A part that was measured before is left as it is, so a run that was cut off goes on; --again measures it anew, and so
does --only the parts that it names. All of it takes hours. --quick takes minutes, proves that everything runs, and
writes to runs/bench/quick instead. REGARD_DATA names the folder of the data. The parts:

"""

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import report
from program import ROOT, options, regard

CONFIG = ROOT / "configs" / "translation" / "multi30k-transformer.yaml"
WORK = Path("runs") / "bench"
NO_DEVICE = 2  # exit code of a part that this machine cannot measure
MINUTES, QUICK_MINUTES = 40, 0.2  # of training the model that is raced and served
RUN, DEMO, FOLDER = "{run}", "{demo}", "{folder}"  # in arguments: trained runs, and a folder to work in

SERVED = ("--rounds", "1", "--seconds", "1", "--clients", "1", "8")  # in a quick look
LIBRARIES = ("--products", "torch", "onednn")  # each on its own


class Part(NamedTuple):
    """One measurement: a script, its arguments, and those of a quick look."""

    about: str
    script: str
    words: tuple[str, ...] = ()
    quick: tuple[str, ...] = ("--rounds", "1")
    rounds: bool = True  # whether it takes --rounds


PARTS = {
    "training": Part("target tokens a second, two sizes", "train.py", quick=("--rounds", "1", "--tokens", "2000")),
    "roofline": Part(
        "products of an update beside what this machine can do",
        "roofline.py",
        quick=("--updates", "1", "--sizes", "S"),
        rounds=False,
    ),
    "decoding": Part(
        "sentences a second, random weights, two sizes",
        "translate.py",
        ("--sweep",),
        ("--rounds", "1", "--lines", "64"),
    ),
    "trained": Part(
        "the same with a trained model",
        "translate.py",
        ("--run", RUN, "--sweep"),
        ("--run", RUN, "--rounds", "1", "--lines", "64"),
    ),
    "growth": Part(
        "decoding by length, training by vocabulary and layers",
        "scaling.py",
        quick=(
            "--rounds",
            "1",
            "--lengths",
            "10",
            "40",
            "--vocabularies",
            "5000",
            "8000",
            "--layers",
            "1",
            "2",
            "--tokens",
            "1000",
        ),
    ),
    "quality": Part(
        "BLEU by minutes of training",
        "quality.py",
        ("--folder", FOLDER),
        ("--folder", FOLDER, "--minutes", "0.1", "--turn", "0.1", "--lines", "8"),
        rounds=False,
    ),
    "server": Part("translations a second under load", "serve.py", (RUN,), (RUN, *SERVED)),
    "demo": Part("the same with the model of regard demo", "serve.py", (DEMO,), (DEMO, *SERVED)),
    "gpu": Part("Transformer base and big, and windows on a GPU", "gpu.py"),
    "startup": Part("seconds of whole processes", "startup.py", (RUN,), (RUN, "--rounds", "1")),
    "spinning": Part(
        "training beside other programs",
        "spinning.py",
        ("--busy", "0", "1"),
        ("--rounds", "1", "--seconds", "2", "--busy", "0"),
    ),
    "window": Part(
        "attention to neighbours by length", "window.py", quick=("--rounds", "1", "--lengths", "512", "1024")
    ),
    "layers": Part("layers by length", "layers.py", quick=("--rounds", "1", "--lengths", "256", "512", "--dims", "64")),
    "additive": Part("additive scores in chunks", "additive.py"),
    "sru": Part("simple recurrent units", "sru.py", LIBRARIES, ("--rounds", "1", "--shape", "4", "32", "128")),
    "sliced": Part(
        "sliced recurrent networks", "sliced_rnn.py", LIBRARIES, ("--rounds", "1", "--shape", "4", "128", "64")
    ),
}


def command(part: Part, path: Path, places: dict[str, str], chosen: argparse.Namespace) -> list[str]:
    """What is run for a part."""
    words = part.quick if chosen.quick else part.words
    if part.rounds and not chosen.quick:
        words = (*words, "--rounds", str(chosen.rounds))
    words = (*words, "--threads", str(chosen.threads))
    filled = [places.get(word, word) for word in words]
    return [sys.executable, str(Path(__file__).parent / part.script), *filled, "--json", str(path)]


def trained(run: Path, minutes: float, threads: int) -> None:
    """The shipped model, trained for so long; a training that was cut off goes on."""
    if (run / "final.json").exists():
        return
    words = ["train", str(CONFIG), f"run={run}", f"training.max_minutes={minutes}", "--quiet"]
    more = ["--resume"] if (run / "experiment.yaml").exists() else []
    print(f"training {run} for {minutes:g} minutes, or what is left of them", flush=True)
    regard(*words, *more, OMP_NUM_THREADS=str(threads))


def measure(names: Sequence[str], chosen: argparse.Namespace, work: Path, results: Path, page: Path) -> list[str]:
    """Every part that is to be measured → those that failed."""
    failed = []
    results.mkdir(parents=True, exist_ok=True)
    places = {RUN: str(work / "multi30k-S"), DEMO: str(work / "demo" / "model"), FOLDER: str(work / "quality")}
    for name in names:
        path = results / f"{name}.json"
        if path.exists() and not chosen.again and not chosen.only:
            print(f"{name}: measured before, in {path}")
            continue
        if RUN in PARTS[name].words:
            trained(Path(places[RUN]), QUICK_MINUTES if chosen.quick else MINUTES, chosen.threads)
        if DEMO in PARTS[name].words and not Path(places[DEMO], "final.json").exists():
            regard("demo", "--run", work / "demo")
        print(f"\n== {name}: {PARTS[name].about}", flush=True)
        code = subprocess.run(command(PARTS[name], path, places, chosen), check=False).returncode
        if code not in (0, NO_DEVICE):
            failed.append(name)
        report.write(results, page)
    return failed


def main() -> None:
    """The command line."""
    parts = "\n".join(f"  {name:10} {part.about} ({part.script})" for name, part in PARTS.items())
    parser = options((__doc__ or "") + parts, rounds=5, threads=os.cpu_count() or 1)
    parser.add_argument("--only", nargs="+", choices=PARTS, metavar="PART", help="these parts")
    parser.add_argument("--again", action="store_true", help="measure anew what was measured before")
    parser.add_argument("--quick", action="store_true", help="as little as proves that everything runs")
    chosen = parser.parse_args()
    work = WORK / "quick" if chosen.quick else WORK
    results = work / "speed" if chosen.quick else report.RESULTS
    page = work / "speed.md" if chosen.quick else report.PAGE
    failed = measure(chosen.only or list(PARTS), chosen, work, results, page)
    print(f"\nwrote {page}")
    if failed:
        raise SystemExit(f"benchmark: {', '.join(failed)} failed; the messages stand above")


if __name__ == "__main__":
    main()
