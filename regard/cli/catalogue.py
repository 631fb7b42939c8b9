"""regard list"""

import json
from typing import Annotated, Any

import typer

Kind = Annotated[str | None, typer.Argument(help="Only this kind of part: score, encoder, search …; or attention.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object instead of lines.")]

ATTENTION = "attention"  # not one kind of part but all that is told on one sheet


def list_command(kind: Kind = None, as_json: Json = False) -> None:
    """List the parts a config can name, with their settings and defaults.

    For example: regard list score

    All mechanisms of attention, with other names, formula, cost, use and paper: regard list attention

    --json tells the same to programs, part by part.
    """
    from regard.errors import ConfigError, nearest
    from regard.experiment import MECHANISMS, TABLES, catalogue

    tables = {**MECHANISMS, **TABLES}
    if kind == ATTENTION:
        _attention(catalogue(MECHANISMS), as_json)
        return
    if kind is not None and kind not in tables:
        raise ConfigError("list", f"there is no kind of part called '{kind}'", nearest(kind, [*tables, ATTENTION]))
    chosen = catalogue(TABLES if kind is None else {kind: tables[kind]})
    if as_json:
        print(json.dumps(chosen, indent=2, ensure_ascii=False))
        return
    for title, rows in chosen.items():
        print(title)
        for name, row in rows.items():
            print(f"  {name:<18} {row['about']}")
            for setting, about in row["settings"].items():
                print(f"  {'':<18}   {_setting(setting, about)}")


def _attention(parts: dict[str, Any], as_json: bool) -> None:
    from rich.console import Console

    from regard.attention.elsewhere import ELSEWHERE
    from regard.attention.names import ALIASES, AMBIGUOUS
    from regard.cli.mechanisms import show
    from regard.experiment.docstrings import COST_LETTERS

    if as_json:
        names = {name: {"settings": settings, "warning": AMBIGUOUS.get(name)} for name, settings in ALIASES.items()}
        others = [one._asdict() for one in ELSEWHERE]
        print(json.dumps({**parts, "names": names, "elsewhere": others}, indent=2, ensure_ascii=False))
    else:
        show(parts, ELSEWHERE, f"cost: time for one sentence of {COST_LETTERS}", Console(highlight=False))


def _setting(name: str, about: dict[str, Any]) -> str:
    return f"{name}: {about['type']}" + (
        f" = {json.dumps(about['default'])}" if "default" in about else " (must be given)"
    )
