"""regard help"""

import json
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from regard.experiment.settings_help import Described

SettingArgument = Annotated[str, typer.Argument(metavar="SETTING", help="A setting, or a group of settings.")]


def help_command(setting: SettingArgument = "") -> None:
    """Explain a setting: what it means, its type, its bounds, its default.

    regard help training.patience

    regard help training

    regard help model.encoder.kernel
    """
    from regard.experiment.settings_help import describe

    heading, found = describe(setting)
    alone = all(one.place == setting for one in found)
    if setting and not alone:
        print(f"{setting}: {heading}" if heading else setting)
    for one in found:
        print("\n".join(_lines(one, indent="" if alone else "  ")))
    if not setting:
        print("\nMore of one of them: regard help training")


def _lines(one: "Described", indent: str) -> list[str]:
    name = one.place if not indent else one.place.rpartition(".")[2]
    of = f" (of {', '.join(one.parts)})" if one.parts and not indent else ""
    lines = [f"{indent}{name}{of}", f"{indent}    {one.about}", f"{indent}    {_type(one)}"]
    if one.choices and not indent:
        lines.append(f"    choices: {', '.join(one.choices)}")
        shown = one.default if one.default in one.choices else one.choices[0]
        lines.append(f"    settings of one of them: regard help {one.place}.{shown}")
    return lines


def _type(one: "Described") -> str:
    if one.required:
        return f"{one.type}, must be given"
    return (
        one.type
        if one.type.startswith("group of")
        else f"{one.type}, default {json.dumps(one.default, ensure_ascii=False)}"
    )
