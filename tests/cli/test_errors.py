"""Errors become lines and exit codes in one place."""

import os
import signal
import subprocess
import sys
import warnings

import pytest
import typer
from small_runs import regard
from typer.testing import CliRunner

from regard.cli.app import app as regard_app
from regard.cli.group import Group, print_lines
from regard.errors import ConfigError, Fault


def run(body, *options):
    app = typer.Typer(cls=Group, pretty_exceptions_enable=False)
    app.callback()(callback)
    app.command("work")(body)
    return CliRunner().invoke(app, [*options, "work"])


def callback(traceback: bool = False) -> None:
    pass


def two_faults() -> None:
    raise ConfigError.of([Fault("model.dim", "must be a number"), Fault("run", "exists", "choose another")])


def test_a_fault_of_the_user_is_told_in_lines_with_code_2():
    done = run(two_faults)
    assert done.exit_code == 2
    assert done.stderr == "error: model.dim: must be a number\nerror: run: exists (choose another)\n"
    assert done.stdout == ""


def test_traceback_shows_where_it_came_from():
    done = run(two_faults, "--traceback")
    assert isinstance(done.exception, ConfigError)


def test_a_fault_of_ours_is_not_hidden():
    def body() -> None:
        raise ZeroDivisionError

    assert isinstance(run(body).exception, ZeroDivisionError)


def test_a_file_that_cannot_be_opened_is_named(tmp_path):
    def body() -> None:
        (tmp_path / "missing").open()

    done = run(body)
    assert done.exit_code == 2
    assert done.stderr == f"error: {tmp_path / 'missing'}: No such file or directory\n"


def test_a_full_disk_is_one_line():
    def body() -> None:
        with open("/dev/full", "w") as file:
            file.write("x")

    done = run(body)
    assert (done.exit_code, done.stderr) == (2, "error: cannot write: No space left on device\n")


def printing(lines):
    """Words that start a command which prints so many lines, and loads nothing for it."""
    code = f"""
from regard.cli import app
app.app.command("print")(lambda: [print("line ·") for _ in range({lines})] and None)
app.main()
"""
    return [sys.executable, "-c", code, "print"]


@pytest.mark.parametrize("lines", [1, 100_000], ids=["at the end", "meanwhile"])
def test_a_full_disk_behind_the_pipe_is_one_line(lines):
    with open("/dev/full", "w") as full:
        done = subprocess.run(printing(lines), stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "error: cannot write: No space left on device\n")


def test_output_is_utf_8_whatever_the_terminal_says():
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(printing(1), capture_output=True, env=environment, check=True)
    assert done.stdout.decode("utf-8") == "line ·\n"


def test_warnings_are_lines_too():
    def body() -> None:
        warnings.resetwarnings()
        warnings.warn("'luong' has two meanings", stacklevel=1)

    with warnings.catch_warnings():
        done = run(body)
    assert (done.exit_code, done.stderr) == (0, "warning: 'luong' has two meanings\n")


def test_lines_are_coloured_on_a_terminal_alone(monkeypatch, capsys):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    print_lines("red")
    monkeypatch.setenv("NO_COLOR", "1")
    print_lines("plain")
    assert capsys.readouterr().err == "\x1b[31merror:\x1b[0m red\nerror: plain\n"


@pytest.mark.parametrize(
    ("words", "meant"),
    [(["tran"], "train"), (["predict", "run", "--inptu", "x"], "--input"), (["predict"], "RUN")],
    ids=["command", "option", "missing"],
)
def test_a_misspelt_command_line_names_what_was_meant(words, meant):
    done = subprocess.run([sys.executable, "-m", "regard", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert meant in done.stderr


WAITS = """
import signal, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # one who starts tests in the background ignores it
from regard.cli import app
app.app.command("wait")(lambda: (print("ready", flush=True), time.sleep(30)) and None)
app.main()
"""


def test_ctrl_c_is_code_130_without_a_traceback():
    with subprocess.Popen(
        [sys.executable, "-c", WAITS, "wait"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as work:
        assert work.stdout.readline() == b"ready\n"
        os.kill(work.pid, signal.SIGINT)
        assert work.wait(timeout=30) == 130
        assert work.stderr.read() == b"stopped\n"


def test_a_closed_pipe_is_quiet():
    with subprocess.Popen(printing(100_000), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as work:
        assert work.stdout.readline() == "line ·\n".encode()
        work.stdout.close()
        assert work.wait(timeout=30) == 141
        assert work.stderr.read() == b""


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["serve", "x", "--port", "99999"],
            "error: --port: ",
        ),
        (["serve", "x", "--port", "abc"], "error: --port: must be a whole number"),
        (["compare", "x", "--seeds", "0"], "error: --seeds: must be at least 1 ("),
        (["compare", "x", "--jobs", "0"], "error: --jobs: must be at least 1 ("),
        (["serve", "x", "--threads", "0"], "error: --threads: "),
        (["serve", "x", "--nonsense"], "error: No such option: --nonsense"),
        (["predict"], "error: Missing argument "),
        (["--nonsense"], "error: No such option: --nonsense"),
        (["attention", "nonsense"], "error: No such command 'nonsense'"),
    ],
)
def test_a_command_line_that_is_wrong_is_one_line(words, told):
    done = regard(*words)
    assert (done.code, len(done.said.splitlines()), done.said.startswith(told)) == (2, 1, True), done.said


def test_who_says_nothing_is_shown_what_there_is():
    done = CliRunner().invoke(regard_app, [])
    assert "error:" not in done.output and "serve" in done.output


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (MemoryError(), "out of memory: close other programs"),
        (MemoryError("out of memory: try 7"), "out of memory: try 7"),
        (RuntimeError("unable to mmap 4 bytes from file <a>: Cannot allocate memory (12)"), "out of memory"),
        (ImportError("libm.so: failed to map segment from shared object"), "out of memory while a library was loaded"),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"), "out of memory"),
        (
            RuntimeError("Storage size calculation overflowed with sizes=[10, 10]"),
            "out of memory",
        ),
        (OverflowError("int too big to convert"), "out of memory"),
        (RuntimeError("can't start new thread"), "no further thread can be started"),
    ],
)
def test_too_little_memory_is_one_line(tmp_path, monkeypatch, error, told):
    def load(*_, **__):
        raise error

    monkeypatch.setattr("regard.predictor.load", load)
    done = CliRunner().invoke(regard_app, ["predict", str(tmp_path)], input="x\n")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert told in done.stderr


def test_a_long_name_is_shortened():
    done = CliRunner().invoke(regard_app, ["train", f"{'a' * 5000}=1"])
    assert done.exit_code == 2
    assert len(done.stderr) < 1000
    assert "a … a" in done.stderr
