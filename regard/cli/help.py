"""regard help"""

from typing import Annotated

import typer

SettingArgument = Annotated[str, typer.Argument(metavar="SETTING", help="A setting, or a group of settings.")]


def help_command(setting: SettingArgument = "") -> None:
    """Explain a setting: what it means, its type, its bounds, its default.

    regard help training.patience

    regard help training

    regard help model.encoder.kernel
    """
    from regard.experiment.settings_help import help_lines

    print("\n".join(help_lines(setting)))
