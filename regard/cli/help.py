"""regard help"""

import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import groupby
from shlex import join
from typing import Annotated, Any

import typer

from regard.cli.help_page import flags_of, meaning_of, text_and_examples
from regard.errors import ConfigError, nearest
from regard.synonyms import equivalent, hint_at

NameArgument = Annotated[
    list[str] | None,
    typer.Argument(metavar="[NAME]", help="A command, an option, a setting, a part, or another name of one."),
]
_SHOWN = 3  # other places of a setting
_LEAST = 4  # letters of a word that commands are about


def help_command(context: typer.Context, words: NameArgument = None) -> None:
    """Explain a command, an option, a setting, a part or a word.

    The name of a command, an option, a setting, a group of settings or a part (beam, transformer); also a name of the
    literature (bahdanau), or of a setting in another toolkit (lr, d_model). For another word: the commands that are
    about it.

    regard help train
    regard help glossary
    regard help training.patience
    regard help back_translation
    regard help lr
    """
    name = " ".join(words or [])
    if page := _page_of(context, words or []):
        typer.echo(page)  # in bold on a terminal alone
    if not name:
        print("\n".join(_lines(name)))
        return
    commands = [*_commands(context.find_root().command, "regard")]
    found = list(filter(None, (*(ask(name) for ask in (_setting, _synonym, _part)), _options(name, commands))))
    if found:
        print(("\n" if page else "") + "\n\n".join(found))
    elif not page and (about := _about(name, commands)):
        print(about)
    elif not page:
        close = nearest(name, {*(words.removeprefix("regard ") for words, _ in commands), *_names()})
        hint = close if close.startswith("did") else "regard --help, regard help and regard list have all names"
        raise ConfigError(name, "is not a command, an option, a setting or a part", hint)


def _page_of(context: typer.Context, words: list[str]) -> str:
    """Return the page of a command, or ""."""
    around: Any = context.find_root()
    command = around.command
    for word in words:
        command = getattr(command, "commands", {}).get(word)
        if command is None:
            return ""
        around = type(around)(command, info_name=word, parent=around)
    return str(command.get_help(around)) if words else ""


def _setting(name: str) -> str:
    """Return what a place of a config means, or the first place of a setting of that name; "" for neither."""
    from regard.experiment.settings_help import places_named

    with suppress(ConfigError):
        return "\n".join(_lines(name))
    found = [] if equivalent(name) else places_named(name)
    if not found:
        return ""
    further = f"\nalso: {', '.join(found[1 : _SHOWN + 1])}" if len(found) > 1 else ""
    return "\n".join(_lines(found[0])) + further


def _lines(place: str) -> list[str]:
    """Return what a place of a config means. Raises ConfigError for an unknown one."""
    from regard.experiment.settings_help import help_lines
    from regard.recipes.one_language import BackTranslationSettings

    return help_lines(place, {"back_translation": BackTranslationSettings})


def _synonym(name: str) -> str:
    """Return the setting that Regard has for one of other toolkits, and its meaning."""
    if not (hint := hint_at(name)):
        return ""
    lines, ours = [f"{name}: {hint}"], equivalent(name)
    with suppress(ConfigError):
        lines += _lines(ours.partition("=")[0])
        lines.append(f"    example: {pasteable_example(ours)}")
    return "\n".join(lines)


def pasteable_example(ours: str) -> str:
    """Return a command with KEY=VALUE, or with several; a shell reads each as one word."""
    changes = [ours] if "{" in ours else ours.split()
    command = "predict RUN" if ours.startswith("decoding.") else "train --source FILE --target FILE"
    return f"regard {command} {join(changes)}"


def _part(name: str) -> str:
    """Return the parts of that name, or of that kind."""
    from regard.reports.catalogue import parts_report

    with suppress(ConfigError):
        return parts_report(name).summary
    return ""


def _commands(group: Any, place: str) -> Iterator[tuple[str, Any]]:
    """Yield the commands of a group and of its groups, with the words that call each."""
    for name, command in getattr(group, "commands", {}).items():
        if not command.hidden:
            yield f"{place} {name}", command
            yield from _commands(command, f"{place} {name}")


def _options(name: str, commands: list[tuple[str, Any]]) -> str:
    """Return what the option of that name means, and the commands that have it; "" where none has."""
    flag = f"--{name.replace('_', '-').replace(' ', '-')}"
    having = [
        (f"{flags_of(one)}\n    {meaning_of(one)}", words)
        for words, command in commands
        for one in command.params
        if flag in (*one.opts, *one.secondary_opts) and not one.hidden
    ]
    same = [(text, [words for _, words in some]) for text, some in groupby(sorted(having), key=lambda pair: pair[0])]
    return "\n".join(f"{text}\n    an option of {', '.join(words)}" for text, words in same)


def _about(name: str, commands: list[tuple[str, Any]]) -> str:
    """Return the commands whose help has the word; the plural has the singular."""
    pages = [(words, *text_and_examples(command.help)) for words, command in commands]
    for word in (name, name.removesuffix("s")):
        begins = re.compile(rf"\b{re.escape(word)}", re.IGNORECASE)
        shown = [f"{words}\n    {text[0]}" for words, text, more in pages if begins.search(" ".join([*text, *more]))]
        if shown and len(word) >= _LEAST:
            return "\n".join([f"Commands about '{name}' (regard help COMMAND):", *shown])
    return ""


def _names() -> Iterator[str]:
    """Every name of a part, and the names of settings by their places."""
    from regard.experiment.names import NAMES
    from regard.experiment.settings_help import places
    from regard.recipes.one_language import BackTranslationSettings

    yield from (name for name, _ in NAMES)
    for one in places():
        yield from (one.place, one.place.rpartition(".")[2])
    yield from (f"back_translation.{one.place}" for one in places(BackTranslationSettings))
