"""regard help"""

from typing import Annotated

import typer

SettingArgument = Annotated[str, typer.Argument(metavar="SETTING", help="A setting, or a group of settings.")]


def help_command(setting: SettingArgument = "") -> None:
    """Explain a setting: what it means, its type, its bounds, its default.

    regard help training.patience

    regard help training

    regard help model.encoder.kernel

    regard help back_translation
    """
    from regard.experiment.settings_help import help_lines
    from regard.recipes.one_language import BackTranslationSettings

    print("\n".join(help_lines(setting, {"back_translation": BackTranslationSettings})))
