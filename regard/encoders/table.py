"""The table of encoders, which stands below those that are made of encoders; its rows are in `__init__.py`."""

from collections.abc import Sequence
from typing import Annotated

from regard.config import PartOf
from regard.encoders.encoder import Encoder
from regard.errors import ConfigError
from regard.registry import Choice, Registry

ENCODERS: Registry[Encoder] = Registry("model.encoder", {}, inherits=("dropout",))

EncoderChoice = Annotated[Choice, PartOf(ENCODERS)]


def at_least_one(choices: Sequence[Choice]) -> Sequence[Choice]:
    """The encoders that another is made of. Raises ConfigError where there are none."""
    if not choices:
        raise ConfigError("model.encoder.encoders", "is empty", "name at least one encoder")
    return choices
