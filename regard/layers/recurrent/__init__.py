"""Recurrent layers. One file a row, each built with (input_dim, dim)."""

from typing import Annotated

from regard.config import Doc, PartOf
from regard.layers.recurrent.directions import Bidirectional, reverse
from regard.layers.recurrent.gru import GruLayer
from regard.layers.recurrent.lstm import LstmLayer
from regard.layers.recurrent.lstmn import LstmnLayer
from regard.layers.recurrent.over_states import KeyValueCell, NgramCell
from regard.layers.recurrent.recurrent import Past, Recurrent
from regard.layers.recurrent.rnn import RnnLayer
from regard.layers.recurrent.sru import SruLayer
from regard.layers.recurrent.ssru import SsruLayer
from regard.layers.recurrent.stack import ResidualFrom, Stack, note_no_residual
from regard.layers.recurrent.stack_rnn import StackRnnLayer
from regard.registry import Choice, Registry

RECURRENT: Registry[Recurrent] = Registry(
    "cell",
    {
        "gru": GruLayer,
        "key_value": KeyValueCell,
        "lstm": LstmLayer,
        "lstmn": LstmnLayer,
        "ngram": NgramCell,
        "rnn": RnnLayer,
        "sru": SruLayer,
        "ssru": SsruLayer,
        "stack_rnn": StackRnnLayer,
    },
    within="model.{side}={{name: recurrent, cell: {part}}}",
)

Cell = Annotated[Choice, PartOf(RECURRENT), Doc("Recurrent cell.")]

__all__ = [
    "RECURRENT", "Bidirectional", "Cell", "Past", "Recurrent", "ResidualFrom", "Stack", "note_no_residual", "reverse",
]  # fmt: skip
