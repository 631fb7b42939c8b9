"""regard pretrain-finetune"""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from regard.cli.emit import resumable
from regard.cli.group import INTERRUPTED
from regard.cli.options import Quiet, file_option, folder_option, integer_option, run_option

Labelled = Annotated[Path, typer.Argument(metavar="LABELLED", help="Table of labels and texts: .tsv, .csv or .jsonl.")]
BothChanges = Annotated[
    list[str] | None, typer.Argument(metavar="[KEY=VALUE...]", help="Setting overrides of both ways of training.")
]
RawText = Annotated[Path | None, file_option(help="Text to pre-train on, a sentence a line.")]
PretrainedRun = Annotated[Path | None, run_option("--from", help="Pre-trained language model, in place of --text.")]
Pretraining = Annotated[
    str,
    typer.Option(metavar="TASK", help="Pre-training task: language_model, masked_language_model or next_sentence."),
]
Labels = Annotated[
    str | None, typer.Option(metavar="N,N", help="Numbers of labelled examples. (default: 100,500,2000,all)")
]
WaySeeds = Annotated[int, integer_option(min=1, help="Number of seeds.")]
ReportFolder = Annotated[Path, folder_option(help="Folder of runs and report.")]
Quick = Annotated[bool, typer.Option("--quick", help="Quick try: small networks, 100 and 500 labels, 2 seeds.")]


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
    quiet: Quiet = False,
) -> None:
    """Compare fine-tuning with training from scratch.

    Pre-trains on raw text, fine-tunes on labels, and reports both ways by the number of labels. report.md in the folder
    has the table. Interrupted, the same command continues.

    regard pretrain-finetune reviews.tsv --text corpus.txt
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
