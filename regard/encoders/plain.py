"""Encoders that are not made of encoders: what others take as their parts."""

from collections.abc import Sequence

from regard.encoders.bytenet import ByteNetEncoder
from regard.encoders.convolutional import ConvolutionalEncoder
from regard.encoders.encoder import Encoder
from regard.encoders.recurrent import RecurrentEncoder
from regard.encoders.self_attention import SelfAttentionEncoder
from regard.encoders.transformer import TransformerEncoder
from regard.encoders.unfolded import UnfoldedEncoder
from regard.errors import ConfigError
from regard.registry import Choice, Registry

PLAIN: Registry[Encoder] = Registry(
    "model.encoder",
    {
        "bytenet": ByteNetEncoder,
        "convolutional": ConvolutionalEncoder,
        "recurrent": RecurrentEncoder,
        "self_attention": SelfAttentionEncoder,
        "transformer": TransformerEncoder,
        "unfolded": UnfoldedEncoder,
    },
)
OPEN = ("dropout",)  # a part that is given none of its own takes that of the whole


def with_dropout(table: Registry[Encoder], choices: Sequence[Choice], dropout: float) -> list[Choice]:
    """The parts, each with a dropout where it has such a setting. Raises ConfigError where there are no parts."""
    if not choices:
        raise ConfigError("model.encoder.encoders", "is empty", "name at least one encoder")
    found = []
    for choice in choices:
        takes = "dropout" in table.settings(choice.name) and "dropout" not in choice.settings
        found.append(Choice(choice.name, {**choice.settings, "dropout": dropout}) if takes else choice)
    return found
