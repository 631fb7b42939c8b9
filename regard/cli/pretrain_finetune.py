"""regard pretrain-finetune"""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from regard.cli.emit import resumable
from regard.cli.group import INTERRUPTED

Labelled = Annotated[
    Path, typer.Argument(metavar="LABELLED", help="A table of labels and texts: .tsv, .csv or .jsonl.")
]
BothChanges = Annotated[
    list[str] | None, typer.Argument(metavar="[KEY=VALUE]", help="Settings of both ways of training.")
]
RawText = Annotated[Path | None, typer.Option(metavar="FILE", help="The text to learn from first, a sentence a line.")]
PretrainedRun = Annotated[
    Path | None, typer.Option("--from", metavar="RUN", help="A language model that was trained before, in its place.")
]
Pretraining = Annotated[
    str,
    typer.Option(metavar="TASK", help="What is learnt from it: language_model, masked_language_model, next_sentence."),
]
Labels = Annotated[str | None, typer.Option(metavar="N,N", help="Numbers of labels. (default: 100,500,2000,all)")]
WaySeeds = Annotated[int, typer.Option(min=1, metavar="N", help="Trainings of each way with each number of labels.")]
ReportFolder = Annotated[Path, typer.Option(metavar="FOLDER", help="Where runs and the report go.")]
Quick = Annotated[bool, typer.Option("--quick", help="A try: small networks, 100 and 500 labels, 2 seeds.")]
QuietTable = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, only the table.")]


def pretrain_finetune_command(
    labelled: Labelled,
    changes: BothChanges = None,
    *,
    text: RawText = None,
    start: PretrainedRun = None,
    method: Pretraining = "language_model",
    labels: Labels = None,
    seeds: WaySeeds = 3,
    run: ReportFolder = Path("runs/pretrain-finetune"),
    quick: Quick = False,
    quiet: QuietTable = False,
) -> None:
    """Learn from raw text, then from labels: what that gives against training from scratch, by the number of labels.

    regard pretrain-finetune reviews.tsv --text corpus.txt

    Killed at any time, the same command goes on. The table is in report.md of the folder, each comparison in a folder
    of its own.
    """
    from regard.recipes.pretrain_finetune import LABELS, QUICK_LABELS, PretrainingRequest, pretrain_finetune

    wanted = PretrainingRequest(
        labelled=labelled,
        folder=run,
        text=text,
        start=start,
        method=method,
        labels=(QUICK_LABELS if quick else LABELS) if labels is None else labels.split(","),
        seeds=min(seeds, 2) if quick else seeds,
        changes=changes or [],
        quick=quick,
        command=shlex.join(["regard", *sys.argv[1:]]),
    )
    with resumable():
        table = pretrain_finetune(wanted, quiet=quiet)
    if table is None:
        raise typer.Exit(INTERRUPTED)
    print(table.terminal() if sys.stdout.isatty() else table.markdown(), end="")
