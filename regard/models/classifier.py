"""Classifiers: encoder, pooling into one vector, and output layer over the classes."""

from collections.abc import Iterable
from itertools import islice
from typing import Annotated, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.attention import name_columns
from regard.config import Before, Doc, PartOf
from regard.data.columns import Columns
from regard.encoders.embeddings import EmbeddingsEncoder
from regard.encoders.encoder import Encoder
from regard.errors import PartError
from regard.layers.embedders.character_ngrams import NgramEmbedder
from regard.layers.embedders.embedder import Embedder
from regard.layers.pooling import POOLINGS, Pooling
from regard.layers.pooling.mean import MeanPooling
from regard.models.build import build_reading, initialise_uniform
from regard.models.label_model import AttentionRecords, LabelModel, num_outputs, with_state_read
from regard.models.settings import ReadingSettings
from regard.models.text_reader import TextReader
from regard.ops.dropout import Dropout
from regard.records import LABEL, ONE_NUMBER, TEXT, Batch
from regard.registry import Choice
from regard.statistical.feature_counts import FeatureCounts

PoolingChoice = Annotated[Choice, PartOf(POOLINGS)]

_SPREAD = 0.2  # of log-count ratios, so that they are as large as what training adds to them
_SCALED_BY = 20  # batches, whose scores get the standard deviation 1
_LEAST = 1e-6  # of that deviation, where all texts have the same words
_COUNTED = 20_000  # batches, 1.3 million texts by default: more change little, and take minutes


class Classifier(TextReader, LabelModel):
    """p(label | text) = softmax(W · pooling(encoder(text)) + b)."""

    part_names = "encoder", "pooling"

    def __init__(
        self,
        embedder: Embedder,
        encoder: Encoder,
        pooling: Pooling,
        num_classes: int,
        *,
        dropout: float = 0.1,
        naive_bayes_start: bool = False,
    ) -> None:
        super().__init__(LABEL)
        self.naive_bayes_start = naive_bayes_start
        self.embedder, self.encoder, self.pooling = embedder, encoder, pooling
        self.dropout, self.to_class = Dropout(dropout), nn.Linear(pooling.out_dim, num_classes)
        name_columns(encoder, TEXT)
        name_columns(pooling, TEXT)

    @torch.no_grad()
    def start_as_naive_bayes(self, batches: Iterable[Batch]) -> None:
        """Start the vectors from log-count ratios, and the output layer from their scaled mean.

        Each label has a dimension of its own: https://aclanthology.org/P12-2018. Nothing changes where fewer than half
        of the dimensions stay free.
        """
        embedder, labels = cast(NgramEmbedder, self.embedder), self.to_class.out_features
        if 2 * labels > embedder.dim:
            return
        self.eval()
        counts, first = FeatureCounts(embedder.num_features, labels), list[Batch]()
        for batch in islice(batches, _COUNTED):
            texts, reference = batch.sequences(TEXT), torch.as_tensor(batch.columns[self.label])
            several = functional.one_hot(reference, labels) if self.chooses_one else reference
            counts.add(*_distinct(embedder.features(texts.items), texts.mask, embedder.num_features), several)
            first += [batch] if len(first) < _SCALED_BY else []
        embedder.start_from(_SPREAD * counts.log_count_ratios())
        scores = torch.cat([self.features(batch)[:, :labels] for batch in first])
        spread = float((scores - scores.mean(dim=0)).square().mean().sqrt())
        nn.init.zeros_(self.to_class.weight)
        self.to_class.weight[:, :labels].fill_diagonal_(1 / max(spread, _LEAST))

    def features(self, batch: Batch) -> Tensor:
        """Return the vector of each text, (batch, dim)."""
        encoded = self.encode(batch.sequences(TEXT))
        return self.pooling(encoded.states, encoded.mask)

    def log_probs(self, batch: Batch) -> Tensor:
        return self.classes(self.features(batch))

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
    naive_bayes_start: Annotated[
        bool, Doc("Start a bag of words from the log-count ratios of its words, as naive Bayes does.")
    ] = False,
) -> Classifier:
    """p(label | text): an encoder and a pooling (`attention`: a learned query over the states)."""
    reads, encodes = build_reading(shared, len(columns[TEXT]))
    pools = POOLINGS.build(pooling, encodes.dim)
    bag = isinstance(reads, NgramEmbedder) and isinstance(encodes, EmbeddingsEncoder) and isinstance(pools, MeanPooling)
    if naive_bayes_start and (not bag or ONE_NUMBER in columns):
        problem = "needs labels, and a mean of n-gram embeddings without an encoder"
        hint = "embedder: word_ngrams, encoder: embeddings and pooling: mean; or leave it out"
        raise PartError(problem, hint, setting="naive_bayes_start")
    model = Classifier(
        reads, encodes, pools, num_outputs(columns), dropout=shared.dropout, naive_bayes_start=naive_bayes_start
    )
    return initialise_uniform(model.predicting(columns), shared.init_uniform)


def _distinct(features: Tensor, mask: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Features (batch, n, order) below `size`, mask (batch, n) → those of each text, each once, and its row."""
    rows = torch.arange(len(features), device=features.device)[:, None, None]
    once = (features + size * rows)[mask].unique()
    return once % size, once // size
