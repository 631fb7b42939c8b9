"""Pairs read as one text, as BERT reads them (https://arxiv.org/abs/1810.04805, figure 4a)."""

from itertools import product
from typing import Annotated

import torch
from torch import Tensor, nn

from regard.attention import EACH, name_columns, recording
from regard.attention.parts import Attended, Role
from regard.attention.recording import Recorded
from regard.config import Before, Doc
from regard.data.columns import Columns
from regard.encoders.encoder import Encoder
from regard.layers.embedders.embedder import Embedder
from regard.layers.pooling import POOLINGS, Pooling
from regard.models.build import build_reading, initialise_uniform
from regard.models.classifier import PoolingChoice
from regard.models.label_model import POOLED, AttentionRecords, LabelModel, num_outputs, pooled_record
from regard.models.pair_classifier import shared_text
from regard.models.settings import ReadingOfPair
from regard.models.text_reader import TextReader
from regard.ops.dropout import Dropout
from regard.records import BOS, FIRST, LABEL, PAD, SECOND, Batch, Encoded, Sequences
from regard.registry import Choice

PoolingOfPair = Annotated[PoolingChoice, Doc("Pooling of the states of both texts into one vector."), Before("dropout")]


class PairEncoder(TextReader, LabelModel):
    """p(label | first, second) = softmax(W · pooling(encoder(<s> first </s> second </s>)) + b).

    Every piece attends to the pieces of both texts.
    """

    part_names, side = ("encoder", "pooling"), None

    def __init__(
        self, embedder: Embedder, encoder: Encoder, pooling: Pooling, num_classes: int, *, dropout: float = 0.1
    ) -> None:
        super().__init__(LABEL)
        self.embedder, self.encoder, self.pooling = embedder, encoder, pooling
        self.dropout, self.to_class = Dropout(dropout), nn.Linear(pooling.out_dim, num_classes)
        name_columns(encoder, EACH)

    def log_probs(self, batch: Batch) -> Tensor:
        return self.of_label(self.encode_pair(batch))

    def encode_pair(self, batch: Batch) -> Encoded:
        """Return joint states (batch, 1 + n + m, dim) of both texts."""
        return self.encode(joined_pair(batch.sequences(FIRST), batch.sequences(SECOND)))

    def of_label(self, encoded: Encoded) -> Tensor:
        """Return log-probabilities (batch, class), given the states of both texts."""
        return self.classes(self.pooling(encoded.states, encoded.mask))

    def ids_read(self, batch: Batch) -> list[Tensor]:
        return [joined_pair(batch.sequences(FIRST), batch.sequences(SECOND)).items]

    @property
    def max_source(self) -> int | None:
        """Maximum ids of each text, EOS included, so that two texts fit."""
        most = self.embedder.max_length
        return None if most is None else (most - 1) // 2

    def attention_records(self, batch: Batch) -> AttentionRecords:
        """Return the weights of each attention of a text to itself and to the other one, without <s>.

        For a pooling that reads one state, such as <s>, they are this state's in the last attention.
        """
        with recording(self) as records:
            self.log_probs(batch)
        first, second = batch.sequences(FIRST), batch.sequences(SECOND)
        both = joined_pair(first, second).mask
        after = 1 + first.mask.sum(dim=1, keepdim=True)
        places = {FIRST: _places(first.mask, 1), SECOND: _places(second.mask, after)}
        read = self.pooling.place(both)
        found, last = dict[str, Recorded](), dict[str, Recorded]()
        for name, one in records.items():
            weights = [answer.weights for answer in one.answers if answer.weights is not None]
            if one.role.queries is None or not weights or weights[0].shape[-1] != both.shape[1]:
                continue
            for queries, keys in product(places, places):
                part = _part(weights[0], places[queries], places[keys])
                answers = [Attended(part.new_zeros(0), part, (), {})]
                found[f"{name} ({queries} → {keys})"] = Recorded(Role(queries, keys), answers)
            if read is not None:
                last = {
                    f"{POOLED} ({keys})": pooled_record(keys, _part(weights[0], read.unsqueeze(1), places[keys]))
                    for keys in places
                }
        return AttentionRecords({**found, **last})


def joined_pair(first: Sequences, second: Sequences) -> Sequences:
    """Join ids of two texts, each with its end symbol: <s>, the first, the second (batch, 1 + n + m)."""
    lengths, others = first.mask.sum(dim=1, keepdim=True), second.mask.sum(dim=1, keepdim=True)
    places = torch.arange(1 + int((lengths + others).max()), device=lengths.device)
    of_first, of_second = places - 1, places - 1 - lengths
    inside, behind = (of_first >= 0) & (of_first < lengths), (of_second >= 0) & (of_second < others)
    ids = torch.where(places == 0, BOS, PAD).expand(len(lengths), -1)
    for text, place, shown in ((first, of_first.expand_as(ids), inside), (second, of_second, behind)):
        taken = text.items.gather(1, place.clamp(min=0, max=text.items.shape[1] - 1))
        ids = torch.where(shown, taken, ids)
    return Sequences(ids, inside | behind | (places == 0))


def _places(mask: Tensor, start: Tensor | int) -> Tensor:
    """Return the place (batch, n) of each piece in the joint text, given its mask (batch, n) and its `start` there."""
    places = torch.arange(mask.shape[1], device=mask.device) + start
    return places.expand(mask.shape) * mask


def _part(weights: Tensor, queries: Tensor, keys: Tensor) -> Tensor:
    """Select places (batch, n) and (batch, m): (batch, [head,] place, place) → (batch, head, query, key)."""
    heads = weights if weights.dim() == 4 else weights.unsqueeze(1)
    rows = queries[:, None, :, None].expand(-1, heads.shape[1], -1, heads.shape[-1])
    columns = keys[:, None, None, :].expand(-1, heads.shape[1], queries.shape[1], -1)
    return heads.gather(2, rows).gather(3, columns)


def pair_encoder(columns: Columns, *, shared: ReadingOfPair, pooling: PoolingOfPair = Choice("first")) -> PairEncoder:
    """p(label | first, second): an encoder that reads both as one text, and a pooling.

    Raises ConfigError where the texts have vocabularies of their own.
    """
    reads, encodes = build_reading(shared, len(shared_text(columns)))
    model = PairEncoder(
        reads, encodes, POOLINGS.build(pooling, encodes.dim), num_outputs(columns), dropout=shared.dropout
    )
    return initialise_uniform(model.predicting(columns), shared.init_uniform)
