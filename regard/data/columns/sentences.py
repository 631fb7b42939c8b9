"""Several sentences: the context of one of them."""

from collections.abc import Sequence
from itertools import pairwise

from regard.data.columns.text import TextColumn
from regard.pieces import EOS
from regard.text import Tokenizer
from regard.text.offsets import TextPlace
from regard.text.windows import SENTENCE_TAB


class SentencesColumn(TextColumn):
    """Sentences separated by tabs: the pieces of each, followed by the end symbol: ids (batch, longest + 1).

    Its vocabulary is that of the column `source`.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        super().__init__(tokenizer)
        self.samples = False

    @classmethod
    def folder(cls, name: str, *, shared: bool) -> str:
        return super().folder("source", shared=shared)

    def key(self) -> str:
        return f"sentences {self.tokenizer.key()}"

    def encode(self, value: str) -> list[int]:
        return self.encode_batch([value])[0]

    def encode_batch(self, values: Sequence[str]) -> list[list[int]]:
        texts = [[one for one in value.split(SENTENCE_TAB) if one.strip()] for value in values]
        known = list(dict.fromkeys(one for some in texts for one in some))
        ids = dict(zip(known, self.tokenizer.encode_batch(known), strict=True))
        return [[one for text in some for one in (*ids[text], EOS)][:-1] for some in texts]

    def sample(self, value: str, seed: int) -> list[int]:
        """Return `encode(value)`: equal sentences have equal ids."""
        return self.encode(value)

    def longest(self, ids: Sequence[int]) -> int:
        """Return the length of the longest sentence, in ids: each is read separately."""
        return max(map(len, sentences_in(ids)), default=0)

    def offsets(self, value: str) -> list[TextPlace]:
        return []

    def decode(self, ids: Sequence[int]) -> str:
        return SENTENCE_TAB.join(map(self.tokenizer.decode, sentences_in(ids)))


def sentences_in(ids: Sequence[int]) -> list[list[int]]:
    """Return the ids of each sentence, without end symbols; empty sentences are left out."""
    ends = [place for place, one in enumerate(ids) if one == EOS]
    bounds = [*pairwise([-1, *ends, len(ids)])]
    return [some for start, end in bounds if (some := [*ids[start + 1 : end]])]
