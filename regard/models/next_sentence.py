"""Pre-training of BERT: next sentence prediction, and prediction of masked pieces."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.data.columns import Columns
from regard.heads import HEADS
from regard.heads.head import Head
from regard.layers.embedders.embedder import Embedder
from regard.models.build import initialise_uniform
from regard.models.label_model import AttentionRecords, LabelModel
from regard.models.masked_language_model import HeadOfHoles, TiedOutput
from regard.models.model import Distributions, Model
from regard.models.pair_encoder import PairEncoder, PoolingOfPair, joined_pair, pair_encoder
from regard.models.settings import ReadingOfPair
from regard.records import FIRST, LABEL, PAD, SECOND, Batch, Decoded, Sequences
from regard.registry import Choice

FILLED = {FIRST: "first_answers", SECOND: "second_answers"}  # columns: ids to be filled in, PAD at all other places


class NextSentenceModel(LabelModel):
    """p(label | first, second), and p(piece | both masked texts) at each mask (https://arxiv.org/abs/1810.04805).

    Its loss is the sum of both: the label of an example weighs as much as all its masks, like the two means of BERT's
    loss where texts are equally long.
    """

    def __init__(self, pairs: PairEncoder, head: Head) -> None:
        super().__init__(LABEL)
        self.pairs, self.head = pairs, head

    def log_probs(self, batch: Batch) -> Tensor:
        return self.pairs.log_probs(batch)

    def attention_records(self, batch: Batch) -> AttentionRecords:
        return self.pairs.attention_records(batch)

    def nll(self, batch: Batch, *, smoothing: float = 0.0) -> Tensor:
        """Return losses (batch, 2 + n + m) in nats: of the label, times the masks, then of each place of both texts."""
        encoded = self.pairs.encode_pair(batch)
        log_probs, labels = self.pairs.of_label(encoded), torch.as_tensor(batch.columns[LABEL])
        label = (1 - smoothing) * functional.nll_loss(log_probs, labels, reduction="none")
        label = label - smoothing * log_probs.mean(dim=-1)
        filled = masked_answers(batch)
        label = label * (filled != PAD).sum(dim=-1).clamp(min=1)
        pieces = self.head.nll(Decoded(encoded.states), None, filled, smoothing=smoothing)
        return torch.cat([label.unsqueeze(-1), pieces.to(label.dtype)], dim=-1)

    def distributions(self, batch: Batch) -> Distributions:
        """Raise ConfigError: labels and pieces have different sets of choices."""
        return Model.distributions(self, batch)

    def counted(self, batch: Batch) -> Tensor:
        """Return the mask (batch, 2 + n + m) of every label and the masked pieces."""
        label = torch.ones_like(batch.lines, dtype=torch.bool).unsqueeze(-1)
        holes = masked_answers(batch) != PAD
        return torch.cat([label.to(holes.device), holes], dim=-1)

    def reads(self, batch: Batch) -> list[tuple[Embedder, Tensor]]:
        return self.pairs.reads(batch)

    def parts(self) -> Mapping[str, Sequence[nn.Module]]:
        return {**self.pairs.parts(), "head": [self.head]}

    @property
    def max_source(self) -> int | None:
        return self.pairs.max_source


def masked_answers(batch: Batch) -> Tensor:
    """Return the reference (batch, 1 + n + m) of each masked place of the joint text, PAD at all others."""
    columns = (
        Sequences(torch.as_tensor(batch.columns[filled]), batch.sequences(name).mask) for name, filled in FILLED.items()
    )
    found = joined_pair(*columns).items.clone()
    found[:, 0] = PAD
    return found


def next_sentence(
    columns: Columns,
    *,
    shared: ReadingOfPair,
    pooling: PoolingOfPair = Choice("first"),
    head: HeadOfHoles = Choice("transformed"),
    tied: TiedOutput = True,
) -> NextSentenceModel:
    """p(label | first, second), p(piece | both masked): an encoder, a pooling for the label, a head for masks."""
    pairs = pair_encoder(columns, shared=replace(shared, init_uniform=None), pooling=pooling)
    table = pairs.embedder.output_weight() if tied else None
    model = NextSentenceModel(pairs, HEADS.build(head, pairs.encoder.dim, len(columns[FIRST]), table))
    return initialise_uniform(model, shared.init_uniform)
