"""regard help"""

from collections.abc import Iterator
from contextlib import suppress
from shlex import join
from typing import Annotated, Any

import typer

from regard.errors import ConfigError, nearest
from regard.synonyms import equivalent, hint_at

NameArgument = Annotated[
    list[str] | None,
    typer.Argument(metavar="[NAME]", help="A command, a setting, a part, or another name of one."),
]
_SHOWN = 3  # other places of a setting


def help_command(context: typer.Context, words: NameArgument = None) -> None:
    """Explain a command, a setting, a part or a name.

    The name of a command, a setting, a group of settings or a part (beam, transformer); also a name of the literature
    (bahdanau), or of a setting in another toolkit (lr, d_model).

    regard help train
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
    found = list(filter(None, (ask(name) for ask in (_setting, _synonym, _part))))
    if found:
        print(("\n" if page else "") + "\n\n".join(found))
    elif not page:
        commands: Any = getattr(context.find_root().command, "commands", ())
        close = nearest(name, {*commands, *_names()})
        hint = close if close.startswith("did") else "regard --help, regard help and regard list have all names"
        raise ConfigError(name, "is not a command, a setting or a part", hint)


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


def _names() -> Iterator[str]:
    """Every name of a part, and the names of settings by their places."""
    from regard.experiment.names import NAMES
    from regard.experiment.settings_help import places
    from regard.recipes.one_language import BackTranslationSettings

    yield from (name for name, _ in NAMES)
    for one in places():
        yield from (one.place, one.place.rpartition(".")[2])
    yield from (f"back_translation.{one.place}" for one in places(BackTranslationSettings))
