"""Document vectors, trained with negative sampling of a document's words (https://arxiv.org/abs/1405.4053).

A vector h, made of the document's vector v and the vectors of context words, is scored against output vectors u. Each
variant is h = share · (v, 0 …) + rest, so v can be inferred with all else frozen: a logistic regression.
"""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.aliases import known_as
from regard.config import Doc
from regard.config.bounds import Size
from regard.data.columns import Columns
from regard.data.word_windows import CONTEXTS, DOCUMENT_NUMBERS, TARGETS
from regard.layers.embedders import Embedder
from regard.layers.embedders.words import WordEmbedder
from regard.layers.noise_contrast import noise_contrast
from regard.models.model import Model
from regard.models.word_vectors import Dim, numbered
from regard.records import TEXT, Batch

DECAYS = 0.9, 0.999  # of the means of gradients and of their squares (Adam), where a vector is inferred

_Given = tuple[Tensor, Tensor, Tensor]  # (place,) numbers of documents, contexts (place, 2 · window), targets


class SampledWords(WordEmbedder):
    """Small initial vectors. Counts the negative samples of the first epoch: the noise distribution for new texts."""

    drawn: Tensor

    def __init__(self, vocab_size: int, dim: int) -> None:
        super().__init__(vocab_size, dim, scale=False, dropout=0.0)
        nn.init.uniform_(self.table, -0.5 / dim, 0.5 / dim)  # at 0 no other vector would have a gradient
        self.register_buffer("drawn", torch.ones(vocab_size))  # counts, plus one

    def counted(self, ids: Tensor) -> Sequence[Tensor]:
        return (ids,)

    def learn(self, counts: Sequence[tuple[Tensor, Tensor]]) -> None:
        """Store the number of times that each word was sampled."""
        for ids, often in counts:
            self.drawn.fill_(1.0)
            self.drawn[ids.to(self.drawn.device)] += often.to(self.drawn)


class DocumentVectors(Model):
    """-log σ(u · h) for a word u of the document and -log σ(-u' · h) for negative samples u'."""

    def __init__(self, documents: int, vocab_size: int, dim: int, width: int) -> None:
        """`width` is that of h."""
        super().__init__()
        self.document_embedder = _table(documents, dim)
        self.outputs = SampledWords(vocab_size, width)

    def nll(self, batch: Batch, *, smoothing: float = 0.0) -> Tensor:
        documents, contexts, targets = _given(batch)
        rows, places = numbered(documents, len(self.document_embedder.table))
        vectors = self.document_embedder.word_vectors(rows)
        return self.losses(vectors, (places, contexts, targets)).unsqueeze(-1)

    def losses(self, vectors: Tensor, given: _Given) -> Tensor:
        """Return losses (place,) in nats, given vectors (document, dim) and places with rows of them, -1 for none."""
        documents, contexts, targets = given
        drawn, targets = numbered(targets, len(self.outputs.table))
        inputs, read, mean = self.inputs(vectors, documents, contexts)
        return noise_contrast(inputs, self.outputs.word_vectors(drawn), read, targets, mean=mean)

    @abstractmethod
    def inputs(self, vectors: Tensor, documents: Tensor, contexts: Tensor) -> tuple[Tensor, Tensor, bool]:
        """Return the table, the rows that each place reads, and whether their mean is scored: see `noise_contrast`."""

    @abstractmethod
    def frozen(self, contexts: Tensor) -> tuple[Tensor, Tensor]:
        """Return the share (place,) of v in h, and the rest (place, width), given contexts (place, 2 · window)."""

    def counted(self, batch: Batch) -> Tensor:
        targets = _given(batch)[-1]
        return torch.ones(len(targets), 1, dtype=torch.bool, device=targets.device)

    def reads(self, batch: Batch) -> list[tuple[Embedder, Tensor]]:
        return [(self.outputs, _given(batch)[-1][:, 1:])]

    @torch.no_grad()
    def inferred(self, passes: Iterator[Batch], count: int, rate: float) -> Tensor:
        """Infer the vector (dim,) of a text from windows sampled in each of `count` passes, with all else frozen.

        Adam, from 0, with a learning rate that decays to 0. The order of sums depends on the text alone.
        """
        dim = self.document_embedder.dim
        vector, mean, square = torch.zeros(3, dim, device=self.device)
        for number, batch in enumerate(passes, start=1):
            _, contexts, targets = _given(batch.to(self.device))
            share, rest = self.frozen(contexts)
            outputs = self.outputs.table[targets]  # (place, choice, width)
            hidden = torch.addcmul(rest, share.unsqueeze(1), functional.pad(vector, (0, rest.shape[1] - dim)))
            slopes = torch.bmm(outputs, hidden.unsqueeze(-1)).squeeze(-1).sigmoid()
            slopes[:, 0] -= 1
            gradient = ((slopes * share.unsqueeze(1)).flatten() @ outputs.flatten(0, 1))[:dim]
            mean.lerp_(gradient, 1 - DECAYS[0])
            square.lerp_(gradient.square(), 1 - DECAYS[1])
            step = (mean / (1 - DECAYS[0] ** number)) / ((square / (1 - DECAYS[1] ** number)).sqrt() + 1e-8)
            vector = vector - rate * (1 - (number - 1) / count) * step
        return vector

    def vectors(self) -> Tensor:
        """Vectors (document, dim) of all documents."""
        return self.document_embedder.table


class BagOfWords(DocumentVectors):
    """h = v (PV-DBOW); with `words` each context word predicts the word as well (skip-gram)."""

    def __init__(self, documents: int, vocab_size: int, dim: int, *, words: bool) -> None:
        super().__init__(documents, vocab_size, dim, dim)
        if words:
            self.text_embedder = _table(vocab_size, dim)
        self.words = words

    def inputs(self, vectors: Tensor, documents: Tensor, contexts: Tensor) -> tuple[Tensor, Tensor, bool]:
        if not self.words:
            return vectors, documents.unsqueeze(1), False
        return *_beside(vectors, documents, self.text_embedder, contexts), False

    def frozen(self, contexts: Tensor) -> tuple[Tensor, Tensor]:
        """Return h = v: the skip-gram terms do not depend on v."""
        return _ones(contexts), torch.zeros(len(contexts), self.document_embedder.dim, device=contexts.device)


class MeanOfContext(DocumentVectors):
    """h is the mean of v and the vectors of the context words (PV-DM)."""

    def __init__(self, documents: int, vocab_size: int, dim: int, *, reach: int) -> None:
        """`reach` has no effect: all words of the window are read."""
        super().__init__(documents, vocab_size, dim, dim)
        self.text_embedder = _table(vocab_size, dim)

    def inputs(self, vectors: Tensor, documents: Tensor, contexts: Tensor) -> tuple[Tensor, Tensor, bool]:
        return *_beside(vectors, documents, self.text_embedder, contexts), True

    def frozen(self, contexts: Tensor) -> tuple[Tensor, Tensor]:
        share = 1 / (1 + (contexts >= 0).sum(dim=1))
        return share, _read(self.text_embedder, contexts).sum(dim=1) * share.unsqueeze(1)


class ConcatenatedContext(DocumentVectors):
    """h is v concatenated with the vectors of the context words, 0 where there is none (PV-DM, concatenation)."""

    def __init__(self, documents: int, vocab_size: int, dim: int, *, reach: int) -> None:
        """`reach` is the number of words read on either side."""
        super().__init__(documents, vocab_size, dim, dim * (1 + 2 * reach))
        self.text_embedder = _table(vocab_size, dim)
        self.reach = reach

    def inputs(self, vectors: Tensor, documents: Tensor, contexts: Tensor) -> tuple[Tensor, Tensor, bool]:
        known = (documents >= 0).unsqueeze(1)
        own = (
            vectors[documents.clamp(min=0)] * known if len(vectors) else vectors.new_zeros(len(known), vectors.shape[1])
        )
        places = torch.arange(len(contexts), device=contexts.device).unsqueeze(1)
        return torch.cat([own, self._around(contexts)], dim=1), places, False

    def frozen(self, contexts: Tensor) -> tuple[Tensor, Tensor]:
        around = self._around(contexts)
        return _ones(contexts), functional.pad(around, (self.document_embedder.dim, 0))

    def _around(self, contexts: Tensor) -> Tensor:
        """Return the vectors (place, 2 · reach · dim) of the nearest words on either side."""
        more = self.reach - contexts.shape[1] // 2
        return _read(self.text_embedder, functional.pad(contexts, (more, more), value=-1)).flatten(1)


MERGES: dict[str, Any] = {"mean": MeanOfContext, "concatenate": ConcatenatedContext}


@known_as("paragraph_vectors, doc2vec, distributed_bag_of_words")
def pv_dbow(
    columns: Columns,
    *,
    dim: Dim = 100,
    words: Annotated[bool, Doc("Also learn word vectors, by skip-gram.")] = False,
) -> DocumentVectors:
    """The vector of a document predicts its words (PV-DBOW), with negative sampling."""
    return BagOfWords(len(columns[DOCUMENT_NUMBERS]), len(columns[TEXT]), dim, words=words)


@known_as("distributed_memory")
def pv_dm(
    columns: Columns,
    *,
    dim: Dim = 100,
    merge: Annotated[
        Literal["mean", "concatenate"], Doc("Combination of document vector and context vectors.")
    ] = "mean",
    reach: Annotated[Size, Doc("Context window on each side, in words, when concatenated.")] = 5,
) -> DocumentVectors:
    """The vectors of a document and of the context words together predict a word (PV-DM), with negative sampling."""
    return cast(DocumentVectors, MERGES[merge](len(columns[DOCUMENT_NUMBERS]), len(columns[TEXT]), dim, reach=reach))


def _table(rows: int, dim: int) -> WordEmbedder:
    embedder = WordEmbedder(rows, dim, None, scale=False, dropout=0.0)
    nn.init.uniform_(embedder.table, -0.5 / dim, 0.5 / dim)
    return embedder


def _given(batch: Batch) -> _Given:
    documents, contexts, targets = (cast(Tensor, batch.columns[name]) for name in (DOCUMENT_NUMBERS, CONTEXTS, TARGETS))
    return documents, contexts, targets


def _beside(vectors: Tensor, documents: Tensor, embedder: WordEmbedder, contexts: Tensor) -> tuple[Tensor, Tensor]:
    """Return a table of documents, then of the words that are read; and its rows (place, 1 + 2 · window)."""
    rows, places = numbered(contexts, len(embedder.table))
    below = torch.where(places >= 0, places + len(vectors), -1)
    return torch.cat([vectors, embedder.word_vectors(rows)]), torch.cat([documents.unsqueeze(1), below], dim=1)


def _read(embedder: WordEmbedder, contexts: Tensor) -> Tensor:
    """Return vectors (place, 2 · window, dim) of contexts (place, 2 · window), 0 where there is no word."""
    rows, places = numbered(contexts, len(embedder.table))
    table = torch.cat([embedder.word_vectors(rows), embedder.table.new_zeros(1, embedder.dim)])  # -1 is the last
    return table[places.long()]


def _ones(contexts: Tensor) -> Tensor:
    return torch.ones(len(contexts), device=contexts.device)
