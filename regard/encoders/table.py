"""The table of encoders, which stands below those that are made of encoders; its rows are in `__init__.py`."""

from collections.abc import Sequence
from typing import Annotated

from regard.config import PartOf
from regard.encoders.encoder import Encoder
from regard.encoders.meant import meant
from regard.errors import ConfigError
from regard.registry import Choice, Registry

ENCODERS: Registry[Encoder] = Registry("model.encoder", {})
OPEN = ("dropout",)  # a part that is given none of its own takes that of the whole

EncoderChoice = Annotated[Choice, PartOf(ENCODERS, OPEN, advice=meant)]


def with_dropout(choices: Sequence[Choice], dropout: float) -> list[Choice]:
    """The parts, each with a dropout where it has such a setting. Raises ConfigError where there are no parts."""
    if not choices:
        raise ConfigError("model.encoder.encoders", "is empty", "name at least one encoder")
    found = []
    for choice in choices:
        takes = "dropout" in ENCODERS.settings(choice.name) and "dropout" not in choice.settings
        found.append(Choice(choice.name, {**choice.settings, "dropout": dropout}) if takes else choice)
    return found
