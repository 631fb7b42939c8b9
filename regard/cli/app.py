"""`regard`: the commands and what they share."""

import atexit
import gc
import os
import sys
from collections.abc import Callable, Sequence
from io import TextIOWrapper
from typing import Annotated, Any

import typer

from regard.cli.adequacy import adequacy_command
from regard.cli.align import align_command
from regard.cli.attention import attention_app
from regard.cli.best import best_command
from regard.cli.calibrate import calibrate_command
from regard.cli.catalogue import list_command
from regard.cli.check import behaviour_command
from regard.cli.compare import compare_command
from regard.cli.data import data_app
from regard.cli.demo import demo_command
from regard.cli.dictionary import dictionary_command
from regard.cli.distil import distil_command
from regard.cli.doctor import doctor_command
from regard.cli.embeddings import embeddings_app
from regard.cli.evaluate import evaluate_command
from regard.cli.exchange import average_command, card_command, export_run_command, import_command
from regard.cli.explain import explain_command
from regard.cli.forecast import forecast_command
from regard.cli.group import EPILOG, Group
from regard.cli.heads import heads_command
from regard.cli.help import help_command
from regard.cli.help_page import Command
from regard.cli.memory import memory_app
from regard.cli.predict import predict_command
from regard.cli.pretrain_finetune import pretrain_finetune_command
from regard.cli.repair import repair_command
from regard.cli.schema import schema_command
from regard.cli.serve import serve_command
from regard.cli.shortlist import shortlist_command
from regard.cli.teach import redo_command, teach_command, undo_command
from regard.cli.train import train_command
from regard.cli.tune import tune_command
from regard.cli.words import words_command

SPINS = "2000"  # about as long as waking a thread takes
COLLECT_AFTER = 10_000  # new objects; Python's own 700 has it look for cycles 500 times while torch is loaded

COMMANDS: dict[str, dict[str, typer.Typer | Callable[..., None]]] = {  # by the group that --help shows
    "Start": {
        "demo": demo_command,
        "data": data_app,
        "train": train_command,
        "import": import_command,
        "predict": predict_command,
        "evaluate": evaluate_command,
        "serve": serve_command,
        "export": export_run_command,
        "card": card_command,
    },
    "Improve a run": {
        "best": best_command,
        "repair": repair_command,
        "teach": teach_command,
        "undo": undo_command,
        "redo": redo_command,
        "distil": distil_command,
        "tune": tune_command,
        "calibrate": calibrate_command,
        "average": average_command,
        "memory": memory_app,
        "shortlist": shortlist_command,
        "adequacy": adequacy_command,
    },
    "Understand": {
        "check": behaviour_command,
        "explain": explain_command,
        "heads": heads_command,
        "words": words_command,
    },
    "Research": {
        "compare": compare_command,
        "forecast": forecast_command,
        "pretrain-finetune": pretrain_finetune_command,
        "align": align_command,
        "dictionary": dictionary_command,
        "embeddings": embeddings_app,
        "attention": attention_app,
    },
    "Look up": {"help": help_command, "list": list_command, "schema": schema_command, "doctor": doctor_command},
}


class Commands(Group):
    """All commands, in the order of `COMMANDS`."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [name for group in COMMANDS.values() for name in group]


app = typer.Typer(
    cls=Commands,
    name="regard",
    help="Train your own translator, classifier or tagger from text files, see why it answers, and serve it.",
    epilog=EPILOG,
    rich_markup_mode=None,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for panel, commands in COMMANDS.items():
    for name, command in commands.items():
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name, rich_help_panel=panel)
        else:
            app.command(name, cls=Command, rich_help_panel=panel)(command)
app.command("translate", cls=Command, hidden=True)(predict_command)  # the name of `predict` in older versions


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print("regard", version("regard"))
        raise typer.Exit


@app.callback()
def regard(
    traceback: Annotated[bool, typer.Option("--traceback", help="Show where in the code an error came from.")] = False,
    show_version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Options of every command."""


def main() -> None:
    """Run a command. It writes UTF-8 whatever the terminal says: so do the texts it translates.

    Threads of OpenMP wait for each other by spinning, for so long that training beside other programs is several times
    slower; a short spin costs a few per cent alone (benchmarks/spinning.py). It is read when torch is loaded, later.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", SPINS)
    _collect_rarely()
    report_compiling(sys.argv[1:])
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        app()
    except SystemExit as end:
        if "TORCHELASTIC_RUN_ID" in os.environ and isinstance(end.code, int | None):
            _leave_torchrun(end.code or 0)
        raise


def _collect_rarely() -> None:
    """Spare the collector of cycles most of its work: modules are loaded once and stay as long as the process."""
    gc.set_threshold(COLLECT_AFTER)
    atexit.register(gc.freeze)  # what is alive at the end goes with the process, and need not be searched


def report_compiling(words: Sequence[str]) -> None:
    """Print a line when code is compiled, for a person at a terminal: the first command waits for it."""
    if sys.stderr.isatty() and {"-q", "--quiet", "--json", "-h", "--help"}.isdisjoint(words):
        from regard.runtime.compiled import log_compiling

        log_compiling()


def _leave_torchrun(code: int) -> None:
    """End without Python's own end: a thread of the transport that still wants its lock would abort the process."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
