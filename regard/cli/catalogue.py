"""regard list"""

import json
from typing import Annotated, Any

import typer

Kind = Annotated[str | None, typer.Argument(help="Only this kind of part: score, encoder, search …")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object instead of lines.")]


def list_command(kind: Kind = None, as_json: Json = False) -> None:
    """List the parts a config can name, with their settings and defaults.

    For example: regard list score
    """
    from regard.errors import ConfigError, nearest
    from regard.experiment import catalogue

    parts = catalogue()
    if kind is not None and kind not in parts:
        raise ConfigError("list", f"there is no kind of part called '{kind}'", nearest(kind, parts))
    chosen = parts if kind is None else {kind: parts[kind]}
    if as_json:
        print(json.dumps(chosen, indent=2, ensure_ascii=False))
        return
    for title, rows in chosen.items():
        print(title)
        for name, row in rows.items():
            print(f"  {name:<18} {row['about']}")
            for setting, about in row["settings"].items():
                print(f"  {'':<18}   {_setting(setting, about)}")


def _setting(name: str, about: dict[str, Any]) -> str:
    return f"{name}: {about['type']}" + (
        f" = {json.dumps(about['default'])}" if "default" in about else " (must be given)"
    )
