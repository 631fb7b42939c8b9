"""Texts inside a model, sentence by sentence: ids (batch, n) → places (batch, sentence, word)."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.pieces import UNK

SENTENCES = "sentences"  # in roles of attention: keys that are not a column of a batch
ENDINGS = ".!?…。！？．"
CLOSINGS = "\"')]}»”’」』）】"  # they belong to the sentence that ended before them


class Sentences(NamedTuple):
    """Places of the words of each sentence in their text; rows without words are padding."""

    places: Tensor  # (batch, sentence, word), from 0; 0 where the mask hides it
    mask: Tensor  # (batch, sentence, word)

    @property
    def shown(self) -> Tensor:
        """Mask of existing sentences (batch, sentence)."""
        return self.mask.any(dim=-1)

    def of(self, row: int) -> list[list[int]]:
        """Return the places of the words of each sentence of a text."""
        pairs = zip(self.places[row], self.mask[row], strict=True)
        return [places[mask].tolist() for places, mask in pairs if bool(mask.any())]

    def take(self, items: Tensor) -> Tensor:
        """Gather items (batch, n, ...) of words → (batch, sentence, word, ...); masked ones are arbitrary."""
        rows = torch.arange(len(items), device=items.device).view(-1, 1, 1)
        return items[rows, self.places]

    def put_back(self, values: Tensor, length: int) -> Tensor:
        """Scatter values (batch, sentence, word) → (batch, length) in text order; 0 outside of all sentences."""
        shown = values.masked_fill(~self.mask, 0.0).flatten(1)
        return shown.new_zeros(len(shown), length).scatter_add(1, self.places.flatten(1), shown)


class BySentence(nn.Module):
    """Finds sentences by the pieces that end one (. ! ? 。！？), with closing quotes and brackets after them.

    Built with the vocabulary's pieces in the form of `TextColumn.pieces`. The end symbol belongs to the last sentence.
    Sentences above `max_words` are continued in a further sentence, so nothing is lost; of more than `max_sentences`
    the first are kept, with `latest` the last.
    """

    ends: Tensor
    closes: Tensor

    def __init__(
        self,
        pieces: Sequence[str],
        *,
        max_sentences: int | None = None,
        max_words: int | None = None,
        latest: bool = False,
    ) -> None:
        super().__init__()
        self.max_sentences, self.max_words, self.latest = max_sentences, max_words, latest
        cores = [piece.strip("\u2581 ") for piece in pieces]
        ends = [core.rstrip(CLOSINGS).endswith(tuple(ENDINGS)) for core in cores]
        closes = [
            end or number < UNK or not core.strip(CLOSINGS)  # an unknown piece is a word
            for number, (end, core) in enumerate(zip(ends, cores, strict=True))
        ]
        self.register_buffer("ends", torch.tensor(ends), persistent=False)
        self.register_buffer("closes", torch.tensor(closes), persistent=False)

    def forward(self, ids: Tensor, mask: Tensor) -> Sentences:
        """Return the sentences of ids (batch, n) with mask (batch, n), padded on the right."""
        batch, length = ids.shape
        place = torch.arange(length, device=ids.device).expand(batch, length)
        begins = self._begins(ids, place)
        offset = place - place.where(begins, 0).cummax(dim=1).values
        if self.max_words is not None:
            offset = offset % self.max_words
        sentence = (offset == 0).cumsum(dim=1) - 1
        counts = sentence.masked_fill(~mask, -1).amax(dim=1, keepdim=True) + 1 if length else place.new_zeros(batch, 1)
        if self.max_sentences is not None:
            if self.latest:
                sentence = sentence - (counts - self.max_sentences).clamp(min=0)
            mask = mask & (sentence >= 0) & (sentence < self.max_sentences)
            counts = counts.clamp(max=self.max_sentences)
        return _grid(place, mask, sentence, offset, int(counts.max()) if batch else 0)

    def _begins(self, ids: Tensor, place: Tensor) -> Tensor:
        """Return whether a sentence begins: at the first place, and at a word after an ending."""
        words, ends = ~self.closes[ids], self.ends[ids]
        last_word, last_end = (
            functional.pad((place + 1).where(kind, 0).cummax(dim=1).values, (1, 0))[:, :-1] for kind in (words, ends)
        )
        return (words & (last_end > last_word)) | (place == 0)


def _grid(place: Tensor, mask: Tensor, sentence: Tensor, offset: Tensor, sentences: int) -> Sentences:
    """Arrange (batch, n) each as (batch, sentence, word), padded to the longest sentence."""
    words = int(offset.masked_fill(~mask, -1).max()) + 1 if mask.numel() else 0
    cells = sentences * words
    index = (sentence * words + offset).masked_fill(~mask, cells)  # masked places go into a separate cell
    places = place.new_zeros(len(place), cells + 1).scatter(1, index, place)[:, :cells]
    shown = mask.new_zeros(len(place), cells + 1).scatter(1, index, mask)[:, :cells]
    shape = (len(place), sentences, words)
    return Sentences(places.masked_fill(~shown, 0).view(shape), shown.view(shape))
