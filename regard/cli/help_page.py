"""The page that --help prints: groups of commands and options, types, and examples that can be pasted."""

import inspect
import os
import re
import sys
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from regard.compat import usage_error
from regard.errors import ConfigError

PAGE_WIDTH = 80  # columns, also on a wider terminal
NAMES_WIDTH = 26  # columns of names; the text of a longer name begins on the next line
_WORD = re.compile(r"""(?:"[^"]*"|'[^']*'|\S)+""")  # of a shell, quotes and all
_NUMBER = re.compile(r"\d[\d.e-]*")
_EXAMPLE = re.compile(r"(?:regard |\S+=\S+ regard |echo .*\| regard )")


RENAMED = {  # old options that are read for one release, by the option that a command has instead
    "--at-least": "--min-count",
    "--by": "--method",
    "--confusion": "--plot",
    "--png": "--plot",
    "--svg": "--plot",
    "--twin": "--beside",
}


class Command(TyperCommand):
    """A command with such a page; it reads old names of its options, with a warning."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        args = list(self._renamed(args))
        try:
            return super().parse_args(ctx, list(args))
        except usage_error() as error:
            raise (_with_setting(getattr(error, "option_name", None) or "", args) or error) from error

    def _renamed(self, args: Iterable[str]) -> Iterator[str]:
        known = {option for param in self.params for option in param.opts}
        for word in args:
            option, sign, value = word.partition("=")
            new = RENAMED.get(option, "")
            if option in known or new not in known:
                yield word
            else:
                print(f"warning: {option} is now {new}", file=sys.stderr)
                yield f"{new}{sign}{value}"

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [*arguments_shown(self.get_params(ctx)), "[OPTIONS]"]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        write_page(self, ctx, formatter)


class PageGroup(TyperGroup):
    """A group of commands with such a page."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [*arguments_shown(self.get_params(ctx)), "COMMAND [OPTIONS]"]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        write_page(self, ctx, formatter, [self.commands[name] for name in self.list_commands(ctx)])


def _with_setting(option: str, args: list[str]) -> ConfigError | None:
    """Return the error that names Regard's setting, with the value that is given, for an option of other toolkits."""
    from regard.synonyms import hint_at

    if not (hint := hint_at(option)):
        return None
    words = " ".join(args).replace("=", " ").split()
    given = dict(pairwise(words)).get(option, "")
    if _NUMBER.fullmatch(given) and hint.count("=") == 1 and "{" not in hint:
        hint = hint.partition("=")[0] + f"={given}"
    return ConfigError(option, "there is no such option", hint)


def write_page(command: Any, ctx: Any, formatter: Any, commands: Iterable[Any] = ()) -> None:
    """Write usage, text, examples, the commands of a group, arguments, options and epilog."""
    formatter.width = min(formatter.width, PAGE_WIDTH - 2)
    command.format_usage(ctx, formatter)
    text, examples = text_and_examples(command.help)
    for paragraph in text:
        formatter.write_paragraph()
        formatter.write_text(paragraph)
    _write_lines(formatter, "Examples", [line for one in examples for line in shell_lines(one, formatter.width - 2)])
    for name, group in _grouped("Commands", commands):
        _write_rows(formatter, name, [(one.name, text_and_examples(one.help)[0][0]) for one in group])
    params = [one for one in command.get_params(ctx) if not getattr(one, "hidden", False)]
    arguments = [one for one in params if one.param_type_name == "argument" and one.help]
    _write_rows(formatter, "Arguments", [(_argument(one), one.help) for one in arguments])
    for name, options in _grouped("Options", (one for one in params if one.param_type_name == "option")):
        _write_rows(formatter, name, [(flags_of(one), meaning_of(one)) for one in options])
    command.format_epilog(ctx, formatter)


def text_and_examples(docstring: str | None) -> tuple[list[str], list[str]]:
    """Return the paragraphs of a docstring, each in one line, and the lines that are commands."""
    text, examples = list[str](), list[str]()
    for one in inspect.cleandoc(docstring or "").split("\n\n"):
        if _EXAMPLE.match(one):
            examples += one.splitlines()
        else:
            text.append(" ".join(one.split()))
    return text, examples


def shell_lines(command: str, width: int) -> Iterator[str]:
    """A command in lines that a shell joins again, none longer than `width` where words allow it."""
    line = ""
    for word in _WORD.findall(command):
        if line and len(line) + 1 + len(word) > width - 2:
            yield f"{line} \\"
            line = "    " + word
        else:
            line = f"{line} {word}" if line else word
    yield line


def arguments_shown(params: Iterable[Any]) -> list[str]:
    """Return the arguments of a command as its usage names them; brackets: may be left out."""
    return [_argument(one) for one in params if one.param_type_name == "argument"]


def _argument(param: Any) -> str:
    name = param.metavar or param.name.upper()
    return name if param.required or name.startswith("[") else f"[{name}]"


def flags_of(param: Any) -> str:
    """-o, --output FILE; or --agree, --separate."""
    names = ", ".join(sorted([*param.opts, *param.secondary_opts], key=lambda one: one.startswith("--")))
    return names if param.is_flag else f"{names} {param.metavar}"


def meaning_of(param: Any) -> str:
    """Return the help of an option and its default, unless its help names it."""
    default = param.default
    if param.is_flag and param.secondary_opts:
        default = (param.opts if default else param.secondary_opts)[0]
    if "(default:" in param.help or callable(default) or default in (None, False, "", [], ()):
        return str(param.help)
    return f"{param.help} (default: {default})"


def _grouped(rest: str, found: Iterable[Any]) -> Iterator[tuple[str, list[Any]]]:
    """Commands or options by the group that each names, in the order in which groups come; others are in `rest`."""
    groups: dict[str, list[Any]] = {}
    for one in found:
        if not one.hidden:
            groups.setdefault(getattr(one, "rich_help_panel", None) or rest, []).append(one)
    yield from groups.items()


def _write_rows(formatter: Any, heading: str, rows: list[tuple[str, str]]) -> None:
    if rows:
        with formatter.section(_bold(heading)):
            formatter.write_dl(rows, col_max=NAMES_WIDTH)


def _write_lines(formatter: Any, heading: str, lines: list[str]) -> None:
    if lines:
        with formatter.section(_bold(heading)):
            formatter.write("".join(f"  {line}\n" for line in lines))


def _bold(heading: str) -> str:
    """A heading that a terminal shows in bold; what is not a terminal gets it plain."""
    return heading if "NO_COLOR" in os.environ else typer.style(heading, bold=True)
