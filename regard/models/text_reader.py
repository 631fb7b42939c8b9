"""Base class of models that read texts with one embedder."""

from collections.abc import Mapping, Sequence

from torch import Tensor, nn

from regard.encoders.encoder import Encoder
from regard.errors import ConfigError
from regard.layers.embedders.embedder import Embedder
from regard.models.model import Model
from regard.records import TEXT, Batch, Encoded, Sequences


class TextReader(Model):
    """A model whose embedder reads columns of pieces. A row names these, and the parts that can initialise another run.

    An encoder above it, if any, is named `encoder`. A translator can take the embedder for its `side`.
    """

    embedder: Embedder
    encoder: Encoder
    texts: tuple[str, ...] = (TEXT,)
    part_names: tuple[str, ...] = ("encoder",)
    side: str | None = "source_embedder"

    def ids_read(self, batch: Batch) -> list[Tensor]:
        """Return the ids that the embedder reads."""
        return [batch.sequences(name).items for name in self.texts]

    def encode(self, text: Sequences) -> Encoded:
        """Return the encoder's states of ids (batch, n)."""
        vectors, _ = self.embedder(text.items)
        encoded: Encoded = self.encoder(Sequences(vectors, text.mask))
        return encoded

    def reads(self, batch: Batch) -> list[tuple[Embedder, Tensor]]:
        return [(self.embedder, ids) for ids in self.ids_read(batch)]

    def parts(self) -> Mapping[str, Sequence[nn.Module]]:
        names = ["embedder", *([] if self.side is None else [self.side])]
        return {name: [self.embedder] for name in names} | {name: [getattr(self, name)] for name in self.part_names}

    @property
    def max_source(self) -> int | None:
        return self.embedder.max_length


def need_one_each(states: Tensor, read: Sequences, items: str = "pieces") -> Tensor:
    """Return states (batch, n, dim) of an encoder. Raises ConfigError where there is not one per item."""
    if states.shape[1] != read.mask.shape[1]:
        problem = f"makes {states.shape[1]} states of {read.mask.shape[1]} {items}, but one per item is needed"
        raise ConfigError("model.encoder", problem, "ratio: 1, extra: 0, or another encoder")
    return states
