"""The fenced blocks of the pages: their commands run in this process, or are read by the real command line."""

import ast
import importlib
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from textwrap import dedent
from typing import Any, NamedTuple

import typer
from small_configs import small as small_config
from typer.testing import CliRunner

from regard.cli.app import app
from regard.experiment import load_experiment
from regard.experiment.settings_help import describe

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^( *)```(\w+)\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
SHELL = ("bash", "shell", "sh", "console")
OTHER_SETTINGS = ("bench", "compare")  # commands whose KEY=VALUE are not those of one experiment
NUMBER = re.compile(r"\d[\d,.]*(?:e[+-]\d+)?")
RUN = re.compile(
    r"(?:(?P<before>(?:echo|printf)\b.*?)\s*\|\s*)?regard\s+(?P<command>[^|<>&]*(?:\"[^\"]*\"[^|<>&]*|'[^']*'[^|<>&]*)*)"
    r"(?:\s*<\s*(?P<file>\S+))?(?:\s*>\s*(?P<out>\S+))?$"
)
PLACES = {"RUN": "runs/en-de", "CONFIG": "small.yaml", "FILE": "texts.en"}  # what a placeholder stands for
ADDRESS = re.compile(r"(?:127\.0\.0\.1|localhost):5000")
INLINE = re.compile(r"`(regard [^`\n]+)`")
LONG = ("training.max_minutes", "training.max_updates", "training.validate_every", "training.average")
UPDATES = ("training.max_updates=2", "training.validate_every=1", "training.average=1")
MODEL_LINES = (  # written by the model of the page: their form alone is compared
    re.compile(r"^\s*\S+ ← \S+ [\d.]+%?.*$"),
    re.compile(r"^\S.*  [-−][\d.]+$"),
    re.compile(r"^\s+→ \S.*$"),
    re.compile(r"^runs/\S+ \S+→\S+ \w+: \S.*$"),  # an error of a suite, and the answer
    re.compile(r"^  '.+' → '.*'$"),
)


class Block(NamedTuple):
    """One fenced block."""

    page: str
    number: int
    language: str
    text: str


def pages() -> list[str]:
    """README, quickstart, tutorial, the guides and the concepts, in English."""
    found = [*(ROOT / "docs/how-to").glob("*.md"), *(ROOT / "docs/concepts").glob("*.md")]
    names = sorted(path.relative_to(ROOT).as_posix() for path in found if not path.name.endswith(".zh-CN.md"))
    return ["README.md", "docs/quickstart.md", "docs/tutorial.md", *names]


def blocks(page: str) -> list[Block]:
    """All fenced blocks of a page, those of lists too."""
    found = FENCE.findall((ROOT / page).read_text(encoding="utf-8"))
    return [Block(page, number, language, dedent(text)) for number, (_, language, text) in enumerate(found)]


def lines(block: Block) -> list[str]:
    """The commands of a block: continued lines joined, comments left out."""
    joined = re.sub(r"\\\n\s*", "", block.text)
    return [line for line in (re.sub(r"(?:^|\s+)#\s.*", "", line).strip() for line in joined.splitlines()) if line]


# Reading without running


def regard_commands(line: str) -> Iterator[list[str]]:
    """The words of each `regard` command in a line of a shell, without what is read and written."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    words: list[str] | None = None
    skip, before = False, "|"
    for word in lexer:
        before, last = word, before
        if skip:
            skip = False
        elif word in ("|", "&&", ";", "||"):
            if words is not None:
                yield words
            words = None
        elif word in ("<", ">", ">>"):
            skip = True
        elif words is not None:
            words.append(word)
        elif word == "regard" and last in ("|", "&&", ";", "||", "-m"):
            words = []
    if words is not None:
        yield words


def inline_commands(page: str) -> list[str]:
    """The commands within a page's sentences that have arguments, without those of placeholders and ellipses."""
    found = INLINE.findall(FENCE.sub("", (ROOT / page).read_text(encoding="utf-8")))
    return [text for text in found if " " in text[7:] and not re.search(r"…|\b[A-Z]{3,}\b", text)]


def check_command(words: list[str]) -> None:
    """Let the real command line read a command, and look up its settings. Raises click's error or ConfigError."""
    if "--version" in words:
        return
    command = _command()
    context = command.make_context("regard", list(words), resilient_parsing=False)
    while hasattr(command, "resolve_command"):
        name, command, words = command.resolve_command(context, [*context._protected_args, *context.args])
        context = command.make_context(name, list(words), parent=context)
    changes = [word for word in words if re.match(r"[a-z_]+(\.[\w-]+)*=", word)]
    if "--text" in words and "reviews.tsv" in words:
        changes = ["task=classification", *changes]  # which the command finds out by the file
    for place in (grid.partition("=")[0] for grid in context.params.get("grid") or ()):
        describe(place)
    own = any(change.startswith("parts=") for change in changes)  # whose parts this process does not have
    if context.info_name not in OTHER_SETTINGS and not own:
        config = next((ROOT / word for word in words if (ROOT / word).is_file() and word.endswith(".yaml")), None)
        load_experiment(config, changes)
    for word in words:
        if word.startswith("configs/") and "*" not in word:
            assert (ROOT / word).is_file(), word


@cache
def _command() -> Any:
    return typer.main.get_command(app)


def check_python(text: str) -> None:
    """Compile a block, and look up every name that it takes from regard. Raises ImportError or AttributeError."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "regard":
            module = importlib.import_module(node.module or "regard")
            for alias in node.names:
                getattr(module, alias.name)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "regard":
            getattr(importlib.import_module("regard"), node.attr)


# Running


def run_line(line: str, small: Sequence[str]) -> str:
    """What a line prints: `regard` runs in this process, with `small` where it trains; all else in a shell."""
    line = re.sub(rf"\b({'|'.join(PLACES)})\b(?!=)", lambda found: PLACES[found[1]], line)
    found = RUN.match(line)
    if found is None:
        return _in_shell(line)
    given = None
    if found["before"]:
        given = _in_shell(found["before"])
    elif found["file"]:
        given = Path(found["file"]).read_text(encoding="utf-8")
    words = shlex.split(_substituted(found["command"]))
    if words[0] == "train":
        words = ["train", *_quick(words[1:], small)]
    if words[0] == "compare":
        words = [*without(words, "--seeds", "--minutes", "--updates"), "--seeds", "1", "--updates", "2"]
    done = CliRunner().invoke(app, words, input=given)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, (line, done.stderr)
    if found["out"]:
        Path(found["out"]).write_text(done.stdout, encoding="utf-8")
    return done.output


def _in_shell(line: str) -> str:
    """What a line prints in a shell that finds the `regard` of this Python."""
    place = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "PID": str(os.getpid())}
    return subprocess.run(["bash", "-c", line], check=True, capture_output=True, text=True, env=place).stdout


def without(words: Sequence[str], *options: str) -> list[str]:
    """Words without options that have a value."""
    return [word for before, word in zip(["", *words], words, strict=False) if not {before, word} & {*options}]


def ask(line: str, host: str) -> str:
    """What a request of a page prints, sent to a server at that host; an answer with an error ends it."""
    line = ADDRESS.sub(host, line)
    return _in_shell(re.sub(r"^curl\b", "curl --silent --show-error --fail-with-body", line))


def _substituted(command: str) -> str:
    return re.sub(r"\$\(printf [^)]*\)", "\t", command)


def _quick(words: list[str], small: Sequence[str]) -> list[str]:
    """The words of a training that takes a second; what the page sets itself stays, but for its length."""
    kept = [word for word in without(words, "--minutes") if not word.startswith(LONG)]
    if not kept[0].startswith("configs/"):
        return [*kept, *_fitting(kept, small)]
    place = Path(mkdtemp(prefix="of-config-", dir=Path.cwd()))
    return [str(ROOT / kept[0]), *small_config(ROOT / kept[0], place), *kept[1:], "--quiet"]


def _fitting(words: list[str], small: Sequence[str]) -> list[str]:
    """Settings with which a training takes a second."""
    given = " ".join(words)
    if "--resume" in words:
        return ["training.max_updates=3"]
    if "task=phrases" in given or "objective=counted" in given:
        return []
    if "--from" in words:
        return [*UPDATES]
    if "init" in given:
        return [*UPDATES, "model.dim=16"]
    wanted = small if "--source" in words else ["model.dim=16"]
    return [*UPDATES, *(one for one in wanted if one.partition("=")[0] not in given)]


def same_keys(printed: str, expected: str) -> bool:
    """Whether what was printed, if it is JSON, has the keys that the page shows."""
    try:
        found, shown = json.loads(printed), json.loads(expected)
    except ValueError:
        return True
    return not isinstance(found, dict) or found.keys() == shown.keys()


def unmatched(printed: str, expected: str) -> list[str]:
    """The lines of a page that were not printed: words exactly, figures by pattern, those of a model by form."""
    lines_printed = printed.splitlines()
    shown = [line for line in expected.splitlines() if line.strip() not in ("", "…", "...")]
    return [line for line in shown if not any(_matches(line, one) for one in lines_printed)]


def _matches(shown: str, printed: str) -> bool:
    if any(form.match(shown) and form.match(printed) for form in MODEL_LINES):
        return True
    words = [NUMBER.sub(r"\\d[\\d,.e+-]*", _plain(word)) for word in shown.split()]
    if words[-1] == "…":
        words[-1] = ".*"
    return re.fullmatch(r"\s+".join(words), printed.strip()) is not None


def _plain(text: str) -> str:
    """A text as a pattern, in which figures keep their marks."""
    return re.sub(r"\\([,.])(?=\d)", r"\1", re.escape(text))
