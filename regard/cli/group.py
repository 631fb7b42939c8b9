"""The one place where errors become lines and exit codes."""

import errno
import os
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, cast

import typer

from regard.cli.help_page import PageGroup
from regard.cli.options import RUNS
from regard.compat import usage_error
from regard.errors import RegardError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # reported of a write, without the name of the file
_LONGEST = 800  # characters of a line that is printed
_FAULT, INTERRUPTED, STOPPED, CLOSED_PIPE = 2, 75, 130, 141  # exit codes; 0 is success

_VALUE = re.compile(r"^Invalid value for '([^']+)'(?: / '[^']+')*(?: \(env var: '[^)]*'\))?: ")
_WORDS = (  # of those who check numbers → ours
    ("Input should be greater than or equal to", "must be at least"),
    ("Input should be less than or equal to", "must be at most"),
    ("Input should be a valid integer, unable to parse string as an integer", "must be a whole number"),
    ("Input should be a valid number, unable to parse string as a number", "must be a number"),
)

EPILOG = f"""Options of a command: regard COMMAND --help. A setting, a part or a name: regard help NAME.
Documentation: docs/README.md in the repository.

Exit codes: 0 done, 1 failed, {_FAULT} wrong setting, file or command line, {INTERRUPTED} interrupted (can be
resumed), {STOPPED} stopped by Ctrl-C."""


_UsageError = cast("type[typer.BadParameter]", usage_error())
_HELP = "NoArgsIsHelpError"  # who says nothing asks for help


class Group(PageGroup):
    """Runs a command; a user's errors are printed as lines on stderr, without a traceback."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        with _one_line():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        warnings.showwarning = _warn
        ctx.meta[RUNS] = True
        try:
            with _one_line():
                done = super().invoke(ctx)
            sys.stdout.flush()
            return done
        except RegardError as error:
            if ctx.params.get("traceback"):
                raise
            print_lines(str(error))
            raise typer.Exit(_FAULT) from error
        except (MemoryError, RuntimeError, ImportError, OverflowError) as error:
            if ctx.params.get("traceback") or not (problem := _too_little(error)):
                raise
            print_lines(problem)
            raise typer.Exit(_FAULT) from error
        except OSError as error:
            if ctx.params.get("traceback") and not isinstance(error, BrokenPipeError):
                raise
            raise typer.Exit(output_failed(error)) from error
        except KeyboardInterrupt as error:
            print("stopped", file=sys.stderr)
            raise typer.Exit(STOPPED) from error


@contextmanager
def _one_line() -> Iterator[None]:
    """Return the error of a command line, and the command that prints its usage."""
    try:
        yield
    except _UsageError as error:
        if type(error).__name__ == _HELP:
            raise
        command = error.ctx.command_path if error.ctx is not None else "regard"
        message = _VALUE.sub(r"\1: ", " ".join(error.format_message().split()).removesuffix("."))
        for theirs, ours in _WORDS:
            message = message.replace(theirs, ours)
        print_lines(f"{message} ({command} --help)")
        raise typer.Exit(_FAULT) from error


def _too_little(error: Exception) -> str:
    """Return what to do where memory or threads did not suffice; "" for other errors."""
    if isinstance(error, typer.Exit):  # a RuntimeError, too: the end of --help, which is to load no torch
        return ""
    if isinstance(error, ImportError):
        return f"out of memory while a library was loaded: {error}" if "failed to map" in str(error) else ""
    from regard.ops.memory import lacks_memory

    if lacks_memory(error):
        said = str(error) if isinstance(error, MemoryError) else ""
        return said or "out of memory: close other programs, or give a smaller model, or smaller files"
    if "can't start new thread" in str(error):
        return "no further thread can be started: try training.workers=0, or close other programs"
    return ""


def output_failed(error: OSError) -> int:
    """Print a line on a file that failed, none where the reader of the output ended first; return the exit code."""
    closed, full = isinstance(error, BrokenPipeError), error.errno in _FULL
    if not closed:
        where = error.filename or ("cannot write" if full else "failed")
        print_lines(f"{where}: {error.strerror or error}")
    if closed or full:
        _write_no_more()
    return CLOSED_PIPE if closed else _FAULT


def _write_no_more() -> None:
    """Drop unwritten output, which would fail again when Python ends."""
    with suppress(OSError, ValueError):  # a stdout that is not a file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_lines(text: str, kind: str = "error") -> None:
    """Lines for a person, on stderr; the first is marked and, on a terminal, coloured."""
    colour = {"error": "\x1b[31m", "warning": "\x1b[33m"}[kind]
    plain = "NO_COLOR" in os.environ or not sys.stderr.isatty()
    mark = f"{kind}:" if plain else f"{colour}{kind}:\x1b[0m"
    for line in text.splitlines():
        print(mark, _short(line), file=sys.stderr)


def warn(text: str) -> None:
    """Print a warning on stderr."""
    print_lines(text, "warning")


def _short(line: str) -> str:
    """A line with its middle left out where it is very long: names that a user gave stand in it."""
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST // 2]} … {line[-_LONGEST // 2 :]}"


def _warn(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    if os.environ.get("RANK", "0") == "0":  # of the processes that torchrun starts, which all read the same settings
        print_lines(str(message), "warning")
