"""The table of encoders, which stands below those that are made of encoders; its rows are in `__init__.py`."""

from typing import Annotated

from annotated_types import MinLen

from regard.config import Doc, PartOf
from regard.encoders.encoder import Encoder
from regard.registry import Choice, Registry

ENCODERS: Registry[Encoder] = Registry("model.encoder", {}, inherits=("dropout",))

EncoderChoice = Annotated[Choice, PartOf(ENCODERS)]
EncoderChoices = Annotated[tuple[EncoderChoice, ...], MinLen(1), Doc("Encoders in order, first to last.")]
