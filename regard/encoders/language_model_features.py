"""Features of a language model that reads both ways: ELMo (https://arxiv.org/abs/1802.05365)."""

from typing import Annotated

import torch
from torch import nn

from regard.attention import Sockets
from regard.config import Doc
from regard.config.common_settings import DropoutProbability, NumLayers
from regard.encoders.encoder import Encoder
from regard.encoders.table import ENCODERS, EncoderChoice
from regard.layers.language_model_layers import LanguageModelLayers
from regard.layers.pooling.mean import MeanPooling
from regard.layers.recurrent import Cell
from regard.ops.dropout import Dropout
from regard.records import Encoded, Sequences
from regard.registry import Choice


class LanguageModelFeaturesEncoder(Encoder):
    """gamma · sum_j softmax(s)_j h_j over the layers of a `bidirectional_language_model`, h_0 the vectors themselves.

    h_j = [from the left; from the right], 2 · dim wide; `above` reads them. `init` takes the parts embedder and encoder
    of such a model, which has read pieces in a row: so the model around it has no position, and a tagger pools its
    pieces after it. With `frozen` no gradient comes to its layers or to the embedder below. `final` is the mean of the
    states.
    """

    aliases = "elmo, contextual_embeddings, 语境词向量"

    def __init__(
        self,
        input_dim: int,
        sockets: Sockets,
        *,
        cell: Cell = Choice("lstm"),
        num_layers: NumLayers = 2,
        frozen: Annotated[bool, Doc("Freeze the language model and its embeddings.")] = False,
        above: Annotated[EncoderChoice | None, Doc("Encoder over the features; null: none.")] = None,
        dropout: DropoutProbability = 0.1,
    ) -> None:
        super().__init__()
        self.frozen, self.dim = frozen, 2 * input_dim
        self.reader = LanguageModelLayers(input_dim, cell, num_layers, dropout)
        self.mix, self.gamma = nn.Parameter(torch.zeros(num_layers + 1)), nn.Parameter(torch.ones(()))
        self.dropout, self.mean = Dropout(dropout), MeanPooling(self.dim)
        given = {"dropout": dropout}
        self.above = None if above is None else ENCODERS.build(above, self.dim, sockets, given=given, place="above")
        self.dim = self.dim if self.above is None else self.above.dim

    def train(self, mode: bool = True) -> "LanguageModelFeaturesEncoder":
        """Leave a frozen language model as it is in use: nothing of it is dropped."""
        super().train(mode)
        self.reader.train(mode and not self.frozen)
        return self

    def forward(self, source: Sequences) -> Encoded:
        """vectors (batch, source, input_dim) → states (batch, source, dim); padded ones are zero."""
        hidden = ~source.mask.unsqueeze(-1)
        with torch.set_grad_enabled(torch.is_grad_enabled() and not self.frozen):
            layers = self.reader.read(source._replace(items=source.items.masked_fill(hidden, 0.0)))
        weights = self.gamma * self.mix.softmax(dim=-1)
        states = self.dropout((torch.stack(layers, dim=-1) @ weights).masked_fill(hidden, 0.0))
        if self.above is not None:
            seen: Encoded = self.above(Sequences(states, source.mask))
            return seen
        return Encoded(states, source.mask, self.mean(states, source.mask))
