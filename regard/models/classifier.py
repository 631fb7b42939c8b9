"""Classifiers: encoder, pooling into one vector, and output layer over the classes."""

from typing import Annotated

from torch import Tensor, nn

from regard.attention import name_columns
from regard.config import Before, Doc, PartOf
from regard.data.columns import Columns
from regard.encoders.encoder import Encoder
from regard.layers.embedders.embedder import Embedder
from regard.layers.pooling import POOLINGS, Pooling
from regard.models.build import build_reading, initialise_uniform
from regard.models.label_model import AttentionRecords, LabelModel, num_outputs, with_state_read
from regard.models.settings import ReadingSettings
from regard.models.text_reader import TextReader
from regard.ops.dropout import Dropout
from regard.records import LABEL, TEXT, Batch
from regard.registry import Choice

PoolingChoice = Annotated[Choice, PartOf(POOLINGS)]


class Classifier(TextReader, LabelModel):
    """p(label | text) = softmax(W · pooling(encoder(text)) + b)."""

    part_names = "encoder", "pooling"

    def __init__(
        self, embedder: Embedder, encoder: Encoder, pooling: Pooling, num_classes: int, *, dropout: float = 0.1
    ) -> None:
        super().__init__(LABEL)
        self.embedder, self.encoder, self.pooling = embedder, encoder, pooling
        self.dropout, self.to_class = Dropout(dropout), nn.Linear(pooling.out_dim, num_classes)
        name_columns(encoder, TEXT)
        name_columns(pooling, TEXT)

    def log_probs(self, batch: Batch) -> Tensor:
        encoded = self.encode(batch.sequences(TEXT))
        return self.classes(self.pooling(encoded.states, encoded.mask))

    def attention_records(self, batch: Batch) -> AttentionRecords:
        """Return all attention weights, also those of the state that the pooling reads, if it reads a single one."""
        seen = super().attention_records(batch)
        mask = batch.sequences(TEXT).mask
        return seen._replace(records=with_state_read(seen.records, self.pooling, TEXT, mask))


def classifier(
    columns: Columns,
    *,
    shared: ReadingSettings,
    pooling: Annotated[PoolingChoice, Doc("Pooling of the states into one vector."), Before("dropout")] = Choice(
        "attention"
    ),
) -> Classifier:
    """p(label | text): an encoder and a pooling (`attention`: a learned query over the states)."""
    reads, encodes = build_reading(shared, len(columns[TEXT]))
    model = Classifier(
        reads, encodes, POOLINGS.build(pooling, encodes.dim), num_outputs(columns), dropout=shared.dropout
    )
    return initialise_uniform(model.predicting(columns), shared.init_uniform)
