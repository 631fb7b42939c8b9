"""regard list"""

import json
from typing import Annotated, Any

import typer

from regard.cli.emit import print_json
from regard.cli.options import JsonLines

What = Annotated[str | None, typer.Argument(help="A kind of part: score, encoder, search …; attention; or any name.")]

ATTENTION = "attention"  # not one kind of part but all that is told on one sheet


def list_command(what: What = None, as_json: JsonLines = False) -> None:
    """List the parts a config can name, with their settings and defaults.

    For example: regard list score

    All mechanisms of attention, with other names, formula, cost, use and paper: regard list attention

    What a name of the literature stands for: regard list bahdanau

    --json tells the same to programs, part by part.
    """
    from regard.aliases import bare
    from regard.experiment import MECHANISMS, PARTS, catalogue

    if what == ATTENTION:
        _attention(catalogue({**MECHANISMS, "layer": PARTS["layer"]}), as_json)
        return
    chosen, said = catalogue(), list[str]()
    kind = {bare(kind): kind for kind in PARTS}.get(bare(what or ""))  # "Scores" are a kind, too
    if kind is not None:
        chosen = {kind: chosen[kind]}
    elif what is not None:
        chosen, said = _named(what, chosen)
    if as_json:
        print_json(chosen | _names() if what is None else chosen, indent=2)
        return
    print("\n".join(said), end="\n" * bool(said))
    for title, rows in chosen.items():
        print(title)
        for name, row in rows.items():
            print(f"  {name:<18} {row['about']}")
            if row["aliases"]:
                print(f"  {'':<18} also {', '.join(row['aliases'])}")
            for setting, about in row["settings"].items():
                print(f"  {'':<18}   {_setting(setting, about)}")


def _named(name: str, parts: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The rows that a name stands for, and what to write for it. Raises ConfigError for an unknown name."""
    from regard.errors import ConfigError, nearest
    from regard.experiment.names import NAMES, look_up, look_up_place

    place, known = look_up_place(name), look_up(name)
    if place is None and not known:
        close = nearest(name, [*parts, ATTENTION, *(one for one, _ in NAMES)])
        hint = close if close.startswith("did") else f"kinds are {', '.join(parts)}"
        raise ConfigError("list", f"there is no kind of part called '{name}', and no part", hint)
    chosen: dict[str, Any] = {}
    for one in known:
        if one.part:
            chosen.setdefault(one.kind, {})[one.part] = parts[one.kind][one.part]
    said = [f"{name}: {place.about}: {place.use}"] if place else []
    said += [f"{name}: {one.use()}" + (f" ({one.note})" if one.note else "") for one in known]
    return chosen, list(dict.fromkeys(said))


def _attention(parts: dict[str, Any], as_json: bool) -> None:
    from rich.console import Console

    from regard.cli.mechanisms import show
    from regard.experiment.docstrings import COST_LETTERS
    from regard.experiment.names import others

    if as_json:
        print_json(parts | _names(), indent=2)
    else:
        show(parts, others(parts), f"cost: time for one sentence of {COST_LETTERS}", Console(highlight=False))


def _names() -> dict[str, Any]:
    """Every name of an attention with its settings, and names of all else."""
    from regard.attention.recipes import RECIPES
    from regard.experiment.names import others
    from regard.experiment.tables import SOCKET

    names = {name: {"settings": one.settings, "warning": one.note or None} for name, one in RECIPES.named.items()}
    return {"names": names, "elsewhere": [one._asdict() for one in others(SOCKET)]}


def _setting(name: str, about: dict[str, Any]) -> str:
    return f"{name}: {about['type']}" + (
        f" = {json.dumps(about['default'])}" if "default" in about else " (must be given)"
    )
