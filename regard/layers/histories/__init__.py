"""Token mixers of a decoder's block in place of self-attention. Each row is built with (dim, hidden_dim)."""

from typing import Annotated

from regard.config import PartOf
from regard.layers.histories.average import AverageAttention
from regard.layers.histories.recurrent import RecurrentHistory
from regard.layers.layer import Layer
from regard.registry import Choice, Registry

HISTORIES: Registry[Layer] = Registry(
    "history",
    {"average": AverageAttention, "recurrent": RecurrentHistory},
    within="model.decoder={{name: transformer, history: {part}}}",
)

HistoryChoice = Annotated[Choice, PartOf(HISTORIES)]
