"""Pair classifiers: one encoder for both texts, a comparison into one vector, and an output layer."""

from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor, nn

from regard.attention import EACH, name_columns
from regard.config import Before, Doc, PartOf
from regard.data.columns import Column, Columns
from regard.encoders import EncoderChoice
from regard.encoders.encoder import Encoder
from regard.errors import PartError
from regard.layers.embedders.embedder import Embedder
from regard.models.build import build_reading, initialise_uniform
from regard.models.comparisons import COMPARISONS
from regard.models.comparisons.comparison import Comparison, stacked, unstacked
from regard.models.label_model import LabelModel, num_outputs
from regard.models.settings import ReadingSettings, WordPosition
from regard.models.text_reader import TextReader
from regard.ops.dropout import Dropout
from regard.records import FIRST, LABEL, SECOND, Batch, Sequences
from regard.registry import Choice

NUM_OVERLAPS = 3


class PairClassifier(TextReader, LabelModel):
    """p(label | first, second) = softmax(W · comparison(encoder(first), encoder(second)) + b).

    Both texts are read as one batch, the rows of the second after those of the first. With `overlap` W also reads the
    fractions of common pieces and the difference of lengths; both are symmetric where the comparison is.
    """

    texts, part_names, side = (FIRST, SECOND), ("encoder", "comparison"), None

    def __init__(
        self,
        embedder: Embedder,
        encoder: Encoder,
        comparison: Comparison,
        num_classes: int,
        *,
        overlap: bool = False,
        dropout: float = 0.1,
    ) -> None:
        super().__init__(LABEL, beyond=comparison.beyond)
        self.embedder, self.encoder, self.comparison, self.overlap = embedder, encoder, comparison, overlap
        self.dropout = Dropout(dropout)
        self.to_class = nn.Linear(comparison.out_dim + NUM_OVERLAPS * overlap, num_classes)
        name_columns(encoder, EACH)
        name_columns(comparison, FIRST, SECOND)

    def log_probs(self, batch: Batch) -> Tensor:
        first, second = batch.sequences(FIRST), batch.sequences(SECOND)
        both = stacked(first, second)
        encoded = self.encode(both)
        features = self.dropout(self.comparison(*unstacked(Sequences(encoded.states, encoded.mask))))
        if self.overlap:
            shared = overlaps(first, second, ordered=not self.comparison.symmetric)
            features = torch.cat([features, shared.to(features.dtype)], dim=-1)
        return self.output.of_scores(self.to_class(features))


def overlaps(first: Sequences, second: Sequences, *, ordered: bool = True) -> Tensor:
    """Return overlap features (batch, 3) of ids (batch, n) and (batch, m).

    The fraction of the first text's pieces in the second, the fraction of the second's in the first, and
    (n - m) / (n + m): https://arxiv.org/abs/1512.05193, section 5.3. Without `ordered` they are symmetric: the smaller
    fraction, the larger one, |n - m| / (n + m).
    """
    equal = first.items.unsqueeze(-1) == second.items.unsqueeze(-2)
    equal = equal & first.mask.unsqueeze(-1) & second.mask.unsqueeze(-2)
    n, m = (one.mask.sum(dim=-1) for one in (first, second))
    shares = equal.any(dim=-1).sum(dim=-1) / n.clamp(min=1), equal.any(dim=-2).sum(dim=-1) / m.clamp(min=1)
    difference = (n - m) / (n + m).clamp(min=1)
    if not ordered:
        shares, difference = (torch.minimum(*shares), torch.maximum(*shares)), difference.abs()
    return torch.stack([*shares, difference], dim=-1)


def shared_text(columns: Columns) -> Column:
    """Return the column of both texts. Raises ConfigError where they have vocabularies of their own."""
    if columns[FIRST] is not columns[SECOND]:
        raise PartError("reads both texts by one network, but text.shared is false", "text.shared=true")
    return columns[FIRST]


@dataclass(frozen=True)
class ReadingOfEach(ReadingSettings):
    """Settings of rows that read two texts separately."""

    position: WordPosition = None
    encoder: Annotated[EncoderChoice, Doc("Encoder of each text.")] = Choice("embeddings")


def pair_classifier(
    columns: Columns,
    *,
    shared: ReadingOfEach,
    comparison: Annotated[
        Choice, PartOf(COMPARISONS), Doc("Comparison of the two texts, as one vector."), Before("dropout")
    ] = Choice("decomposable"),
    overlap: Annotated[
        bool, Doc("Overlap features: fraction of common pieces, and length difference."), Before("dropout")
    ] = False,
) -> PairClassifier:
    """p(label | first, second): one encoder for both texts and a comparison (`decomposable`: aligned word by word).

    Raises ConfigError where the texts have vocabularies of their own.
    """
    reads, encodes = build_reading(shared, len(shared_text(columns)))
    compares = COMPARISONS.build(comparison, encodes.dim, given={"dropout": shared.dropout})
    model = PairClassifier(reads, encodes, compares, num_outputs(columns), overlap=overlap, dropout=shared.dropout)
    return initialise_uniform(model.predicting(columns), shared.init_uniform)
