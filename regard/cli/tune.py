"""regard tune"""

from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.emit import say
from regard.cli.options import DevLines, RunArgument, integer_option, name_option, number_option
from regard.errors import ConfigError

if TYPE_CHECKING:
    from regard.recipes.tuning import TunedThreshold

_PANEL = "Weights of a translator"
_OF_WEIGHTS = {"method": "--method", "rounds": "--rounds", "n_best": "--n-best", "minutes": "--minutes"}
FeatureChanges = Annotated[
    list[str] | None,
    typer.Argument(metavar="[KEY=VALUE...]", help="Setting overrides: decoding.features=[length,coverage]."),
]
TuneMethod = Annotated[str, name_option(help="mert, or random search.", rich_help_panel=_PANEL)]
TuneRounds = Annotated[int, integer_option(min=1, max=100, help="Maximum number of rounds.", rich_help_panel=_PANEL)]
NBestRound = Annotated[
    int, integer_option("--n-best", min=2, max=1000, help="Size of the n-best list.", rich_help_panel=_PANEL)
]
TuneMinutes = Annotated[
    float, number_option(min=0.1, help="Time limit; the best weights so far are kept.", rich_help_panel=_PANEL)
]


def tune_command(
    context: typer.Context,
    run: RunArgument,
    changes: FeatureChanges = None,
    *,
    method: TuneMethod = "mert",
    rounds: TuneRounds = 4,
    n_best: NBestRound = 30,
    lines: DevLines = 1000,
    minutes: TuneMinutes = 10.0,
) -> None:
    """Tune the feature weights of a beam search, or the threshold of answers, on the dev set.

    Of a translator: learns an n-gram model, a lexicon and a phrase table from the training data, and searches their
    weights by BLEU on the dev set. Results go into RUN/tuning. It ends after --minutes or Ctrl-C, with the best weights
    so far.

    For a classifier with two or several labels, or a reader with task.no_answer: choose the probability threshold that
    is best by the first metric of evaluation.metrics. It is kept in RUN/threshold.json, unless the usual one is as
    good.

    regard tune runs/en-de
    regard tune runs/questions
    regard tune runs/spam evaluation.metrics=binary_f1
    regard tune runs/phrases decoding.rerank.run=runs/en-de
    regard predict runs/en-de decoding.tuned=true
    """
    from regard.recipes.rerank_tuning import tune_weights
    from regard.recipes.tuning import decides_by_threshold, tune_threshold

    if decides_by_threshold(run, changes or []):
        _refuse_weight_options(context)
        tuned = tune_threshold(run, changes or [], lines=lines, say=say)
        print(f"{tuned.metric} on the dev set: {tuned.before:.2f} before, {tuned.after:.2f} after")
        print(f"threshold {tuned.threshold:.4f} {_kept(tuned)}")
        return
    found = tune_weights(
        run, changes or [], method=method, rounds=rounds, n_best=n_best, lines=lines, minutes=minutes, say=say
    )
    print(f"BLEU on the dev set: {found.before:.2f} before, {found.after:.2f} after")
    print(f"length ratio to the references: {found.lengths[0]:.3f} before, {found.lengths[1]:.3f} after")
    for name, weight in found.weights.items():
        print(f"  {name:<16}{weight:>10.4f}")
    if found.path is None:
        print("no improvement: nothing is written, use the run without tuning")
    else:
        print(f"wrote {found.path}")
        print(f"use it: regard predict {run} decoding.tuned=true")


def _kept(tuned: "TunedThreshold") -> str:
    """Return where a threshold is kept, or why it is not."""
    if tuned.path is not None:
        return f"in {tuned.path}, which predict, evaluate and serve use; remove the file to undo it"
    gained = tuned.after != tuned.before
    return "is not saved: settings were changed" if gained else "stays: no other one is better"


def _refuse_weight_options(context: typer.Context) -> None:
    """Raise ConfigError for an option of weights that the command line has."""
    for name, option in _OF_WEIGHTS.items():
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise ConfigError(option, "tunes weights of a translator, and this run has a threshold", "leave it out")
