"""Who answers: the native search over a model, or another program that searches by itself."""

from collections.abc import Sequence
from typing import Protocol

from regard.decoding.features.feature import Feature
from regard.decoding.search import Hypothesis, Search
from regard.decoding.shares import with_shares
from regard.decoding.shortlist import Shortlist, ShortlistedWriter
from regard.models import Generator, Model
from regard.records import Batch


class Engine(Protocol):
    """Batches in, ranked hypotheses out."""

    @property
    def width(self) -> int:
        """Rows worked on at once for each example: batches hold fewer examples the more there are."""

    @property
    def max_source(self) -> int | None:
        """Most ids of a source, EOS included; None: any number."""

    def answer(self, batch: Batch) -> list[list[Hypothesis]]:
        """Return the hypotheses of each example, best first, at least one."""


Answering = Model | Engine  # a model that answers by itself, or what searches with one


class SearchEngine:
    """A search over a writer: the native engine."""

    def __init__(
        self, writer: Generator, search: Search, features: Sequence[Feature] = (), shortlist: Shortlist | None = None
    ) -> None:
        self.writer, self.search, self.features, self.shortlist = writer, search, tuple(features), shortlist

    @property
    def width(self) -> int:
        """Hypotheses or draws of an example at once."""
        return self.search.width

    @property
    def max_source(self) -> int | None:
        """That of the writer."""
        return self.writer.max_source

    def answer(self, batch: Batch) -> list[list[Hypothesis]]:
        """Search."""
        writer = self.writer if self.shortlist is None else ShortlistedWriter(self.writer, self.shortlist)
        found = self.search.run(writer, batch, features=self.features)
        return with_shares(writer, self.search, self.features, batch, found) if self.features else found
