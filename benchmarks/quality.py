"""Time to quality: BLEU on Multi30k en-de after minutes of training, beside Hugging Face and JoeyNMT, same pieces.

    REGARD_DATA=PATH python benchmarks/quality.py [--minutes 5 10 20 40] [--folder runs/bench/quality] [--json FILE]
    (pip install transformers; pip install --no-deps joeynmt)

Contenders train in turns of some minutes, each in a process of its own that goes on where its last turn ended, so all
see the same noise, and a measurement that was cut off goes on. Minutes are those of training; Regard's own validations
are among them. Then test2016 is translated with a beam of 5, and scored by sacreBLEU (13a, cased).
  regard                      `regard train` with the shipped config, the average of its best checkpoints included
  Hugging Face                M2M100, the pre-norm sister of Marian, in the usual loop: buckets by length, torch's loss
  Hugging Face, kept memory   the same with the allocator setting that Regard makes for itself
  JoeyNMT                     its own training and search, pre-norm
Sizes, dropout, batches of 4,096 tokens, learning rate, warm-up, smoothing and clipping are those of the config.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import joeynmt_peer
import torch
import translate
from hugging_face import pre_norm
from program import as_line, machine, markdown, need, options, regard, save
from torch.nn import functional
from train import IGNORED, loaded
from training_runs import training_stream
from workload import CONFIG, prepare

from regard.ops.memory import keep_memory
from regard.runs import Run, RunFolder

BEAM, SENTENCES = 5, 64
TURN = 2.5  # minutes
WANTED = 36.0  # BLEU whose time is told
TITLE = "BLEU on test2016 by minutes of training"


class Mark(NamedTuple):
    """How good a contender is after so much training."""

    minutes: float
    bleu: float


def learn_regard(folder: Path, run: RunFolder, before: float, until: float) -> None:
    """The command line, to so many seconds in all."""
    own = folder / "run"
    words = ["train", str(CONFIG), f"run={own}", f"training.max_minutes={until / 60}", "training.patience=null"]
    more = ["--resume"] if (own / "experiment.yaml").exists() else []
    regard(*words, *more, "--quiet")


def translated_by_regard(folder: Path, run: RunFolder, texts: list[str]) -> list[str]:
    """With the weights that the run has chosen."""
    made = translate.regard(RunFolder(folder / "run"), texts, BEAM, None, "regard", translate.BATCHES["regard"][0])
    made.turn()
    return made.outputs


def learn_hugging_face(folder: Path, run: RunFolder, before: float, until: float) -> None:
    """The usual loop, from the state of the last turn, for the seconds between."""
    opened, path = Run.open(run), folder / "state.pt"
    experiment = opened.experiment
    model = pre_norm(experiment, len(opened.columns["source"])).train()
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9, fused=True)
    updates, training = 0, experiment.training
    if path.exists():
        state = torch.load(path)
        updates = state["updates"]
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
    warmup, smoothing = training.schedule.settings["warmup"], experiment.objective.settings["label_smoothing"]
    stream, began = loaded(training_stream(run), True, skip=updates), time.perf_counter()
    while time.perf_counter() < began + until - before:
        batch, updates = next(stream), updates + 1
        for group in optimizer.param_groups:
            group["lr"] = training.learning_rate * min(updates / warmup, (warmup / updates) ** 0.5)
        labels = batch.pop("labels").flatten()
        logits = model(**batch, use_cache=False).logits.flatten(0, 1)
        functional.cross_entropy(logits, labels, ignore_index=IGNORED, label_smoothing=smoothing).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), training.clip_norm)
        optimizer.step()
        optimizer.zero_grad()
    folder.mkdir(parents=True, exist_ok=True)
    torch.save({"updates": updates, "model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)


def learn_with_kept_memory(folder: Path, run: RunFolder, before: float, until: float) -> None:
    """The same with the allocator setting that Regard makes for itself."""
    keep_memory()
    learn_hugging_face(folder, run, before, until)


def translated_by_hugging_face(folder: Path, run: RunFolder, texts: list[str]) -> list[str]:
    """With the last weights."""
    opened = Run.open(run)
    experiment = opened.experiment
    model = pre_norm(experiment, len(opened.columns["source"])).eval()
    model.load_state_dict(torch.load(folder / "state.pt")["model"])
    made = translate.generating(model, run, texts, BEAM, None, SENTENCES)
    made.turn()
    return made.outputs


def learn_joeynmt(folder: Path, run: RunFolder, before: float, until: float) -> None:
    """Its own training for the seconds between."""
    joeynmt_peer.learn(folder, run, until - before)


CONTENDERS: dict[str, tuple[Any, Any]] = {
    "regard": (learn_regard, translated_by_regard),
    "Hugging Face": (learn_hugging_face, translated_by_hugging_face),
    "Hugging Face, kept memory": (learn_with_kept_memory, translated_by_hugging_face),
    "JoeyNMT": (learn_joeynmt, joeynmt_peer.translated),
}


def turn(name: str, place: Path, minutes: float, mark: bool, lines: int) -> None:
    """One turn of a contender, to so many minutes in all; at a mark it is scored. Done in a process of its own."""
    from sacrebleu import corpus_bleu

    torch.manual_seed(1)
    folder, run = place / as_folder(name), RunFolder(place / "prepared" / "run")
    learn, answer = CONTENDERS[name]
    known = progress(folder)
    if minutes > known["minutes"]:
        learn(folder, run, known["minutes"] * 60, minutes * 60)
        known["minutes"] = minutes
        keep(folder, known)
    if mark:
        part = {column: texts[:lines] for column, texts in translate.test_part(run).items()}
        score = corpus_bleu(answer(folder, run, part["source"]), [part["target"]]).score
        known["marks"].append([minutes, score])
        keep(folder, known)
        print(f"{name}: BLEU {score:.2f} after {minutes:g} minutes", flush=True)


def progress(folder: Path) -> dict[str, Any]:
    """What a contender has done so far."""
    path = folder / "progress.json"
    if not path.exists():
        return {"minutes": 0.0, "marks": []}
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def keep(folder: Path, known: Mapping[str, Any]) -> None:
    """Write what a contender has done, whole or not at all."""
    path = folder / "progress.json"
    path.with_suffix(".new").write_text(json.dumps(known), encoding="utf-8")
    path.with_suffix(".new").replace(path)


def as_folder(name: str) -> str:
    """A contender's name without marks."""
    return name.lower().replace(",", "").replace(" ", "-")


def schedule(marks: list[float], length: float) -> list[tuple[float, bool]]:
    """Where turns end, in minutes, none longer than `length`, and whether a contender is scored there."""
    ends, last = list[tuple[float, bool]](), 0.0
    for mark in sorted(marks):
        while mark - last > length * 1.001:
            last += length
            ends.append((last, False))
        ends.append((mark, True))
        last = mark
    return ends


def table(found: Mapping[str, list[Mark]]) -> str:
    """Markdown: a row a contender, its BLEU at every mark, and when it reaches WANTED."""
    marks = sorted({mark.minutes for each in found.values() for mark in each})
    head = ["contender", *(f"{mark:g} min" for mark in marks), f"minutes to {WANTED:g}"]
    rows = []
    for name, each in found.items():
        scores = {mark.minutes: f"{mark.bleu:.2f}" for mark in each}
        reached = reaching(each)
        when = "not reached" if reached is None else f"{reached:.1f}"
        rows.append([name, *(scores.get(mark, "") for mark in marks), when])
    return markdown(head, rows)


def reaching(marks: list[Mark]) -> float | None:
    """When a contender is as good as wanted, on a line between the marks; None: at none of them."""
    before: Mark | None = None
    for mark in marks:
        if mark.bleu >= WANTED:
            if before is None:
                return mark.minutes
            share = (WANTED - before.bleu) / (mark.bleu - before.bleu)
            return before.minutes + share * (mark.minutes - before.minutes)
        before = mark
    return None


def measure(chosen: argparse.Namespace) -> dict[str, list[Mark]]:
    """Turns until all contenders have trained for as long as wanted."""
    place: Path = chosen.folder
    if not (place / "prepared" / "run").exists():
        (place / "prepared").mkdir(parents=True, exist_ok=True)
        training_stream(prepare(place / "prepared", []))
    for number, (minutes, mark) in enumerate(schedule(chosen.minutes, chosen.turn)):
        begin = number % len(chosen.only)
        for name in chosen.only[begin:] + chosen.only[:begin]:
            known = progress(place / as_folder(name))
            scored = minutes in [done for done, _ in known["marks"]]
            if known["minutes"] > minutes or (known["minutes"] == minutes and (scored or not mark)):
                continue
            words = ["--turn-of", name, "--folder", str(place), "--minutes", str(minutes), *["--mark"] * mark]
            subprocess.run(
                [sys.executable, __file__, *words, "--lines", str(chosen.lines)],
                check=True, env=os.environ | {"OMP_NUM_THREADS": str(chosen.threads)},
            )  # fmt: skip
    return {name: [Mark(*one) for one in progress(place / as_folder(name))["marks"]] for name in chosen.only}


def main() -> None:
    """Prints a table of BLEU by minutes."""
    parser = options(__doc__, turn=TURN, lines=1000, threads=torch.get_num_threads())
    parser.add_argument("--minutes", type=float, nargs="+", default=[5.0, 10.0, 20.0, 40.0], help="when BLEU is told")
    parser.add_argument("--folder", type=Path, default=Path("runs") / "bench" / "quality", help="where all is kept")
    parser.add_argument("--only", nargs="+", choices=CONTENDERS, default=list(CONTENDERS), metavar="NAME")
    parser.add_argument("--turn-of", choices=CONTENDERS, help=argparse.SUPPRESS)
    parser.add_argument("--mark", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.turn_of:
        turn(chosen.turn_of, chosen.folder, chosen.minutes[0], chosen.mark, chosen.lines)
        return
    need("transformers")
    need("joeynmt", "--no-deps joeynmt")
    about = machine(chosen.threads)
    print(as_line(about))
    found = measure(chosen)
    print(f"\n{table(found)}")
    curve = {"title": TITLE, "x": "minutes of training", "y": "BLEU", "points": found}
    save(chosen.json, {**about, "tables": {TITLE: table(found)}, "curves": [curve]})


if __name__ == "__main__":
    main()
