"""Pre-trained word vectors, as in https://arxiv.org/abs/1408.5882."""

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Annotated

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.config import Doc
from regard.config.bounds import Size
from regard.config.common_settings import DropoutProbability
from regard.errors import PartError
from regard.layers.embedders.embedder import Embedder
from regard.layers.positions.position import Position
from regard.ops.dropout import Dropout
from regard.records import PAD
from regard.text.vector_table import VectorTable

BOUND = 0.25  # of the numbers of a word without a vector


class PretrainedEmbedder(Embedder):
    """E[id], times a matrix if `width` is not the model's dim; PE(place) is added. E starts from the vectors of a file.

    Words that the file lacks, also in lower case, are composed of n-grams where it is a fastText model; others are
    sampled from U(-0.25, 0.25). Padding stays 0. The file is read before the first update of a run, whose checkpoints
    hold the table.
    """

    aliases = "word2vec_vectors, pretrained_words, 预训练词向量"

    def __init__(
        self,
        vocab_size: int,
        dim: int,
        position: Position | None = None,
        *,
        vectors: Annotated[
            Path | None,
            Doc("Pre-trained vectors: word2vec text or binary, GloVe, fastText .vec or .bin, these as .gz, or a run."),
        ] = None,
        width: Annotated[Size | None, Doc("Dimension of the vectors in the file; null: the model's dim.")] = None,
        frozen: Annotated[bool, Doc("Freeze the vectors.")] = False,
        dropout: DropoutProbability = 0.1,
    ) -> None:
        super().__init__()
        self.dim, self.vectors = dim, vectors
        width = dim if width is None else width
        self.table = nn.Parameter(torch.empty(vocab_size, width), requires_grad=not frozen)
        nn.init.uniform_(self.table, -BOUND, BOUND)
        with torch.no_grad():
            self.table[PAD] = 0
        self.projection = None if width == dim else nn.Linear(width, dim, bias=False)
        self.position, self.dropout = position, Dropout(dropout)
        self.max_length = None if position is None else position.max_length

    def forward(self, ids: Tensor, past: int | None = None) -> tuple[Tensor, int]:
        start = past or 0
        vectors = functional.embedding(ids, self.table, padding_idx=PAD)
        vectors = vectors if self.projection is None else self.projection(vectors)
        if self.position is not None:
            vectors = vectors + self.position(start, ids.shape[-1]).to(vectors.dtype)
        return self.dropout(vectors), start + ids.shape[-1]

    def word_vectors(self, ids: Tensor) -> Tensor:
        """ids (n,), each once → vectors (n, width), before any projection."""
        return functional.embedding(ids, self.table, sparse=True)

    def output_weight(self) -> nn.Parameter | None:
        """Return E (vocab_size, dim), if it has the model's width and is not frozen."""
        return self.table if self.projection is None and self.table.requires_grad else None

    @torch.no_grad()
    def take_words(self, words: Sequence[str], read: Callable[[Path, Collection[str]], VectorTable]) -> str:
        """Fill the table; return what was found. Raises PartError without a file, and for vectors of another width."""
        if self.vectors is None:
            raise PartError("names no vectors to start from", "vectors: FILE, or a run's folder", setting="vectors")
        known = read(self.vectors, {*words, *map(str.lower, words)} - {""})
        width = known.vectors.shape[1]
        if width != self.table.shape[1]:
            problem = f"is {self.table.shape[1]}, and the vectors of {self.vectors} have {width} numbers"
            raise PartError(problem, f"width: {width}", setting="width")
        found, missing = 0, 0
        for number, word in enumerate(words):
            spelling = next((one for one in (word, word.lower()) if one in known), None)
            if spelling is not None:
                self.table[number] = torch.from_numpy(known.vector(spelling))
                found += 1
            elif word:
                missing += 1
        share = f"{missing:,} of the vocabulary ({missing / max(1, found + missing):.1%})"
        return f"{self.vectors}: vectors of {found:,} words; {share} are missing and start at random"
