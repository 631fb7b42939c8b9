"""Attention of a prediction, and the relevance of tokens to each of its tokens, as plain values."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from regard.pieces import END

if TYPE_CHECKING:  # numpy is loaded where it is used, so that a shell that needs no array starts quickly
    from numpy import float64
    from numpy.typing import NDArray


class LabelledArray(NamedTuple):
    """Weights as an array, with a name and labels for each axis."""

    values: "NDArray[float64]"
    axes: tuple[str, ...]  # "head", "query", "key", or "target", "source"
    labels: tuple[list[str], ...]  # of each axis, as many as it is long


@dataclass(frozen=True)
class AttentionMap:
    """Where one attention looked: weights[head][query][key], rows of a normalised weighting sum to one."""

    name: str  # of the module that recorded it: decoder.layers.0.cross_attention
    kind: str  # "encoder", "decoder", "cross", "pooling" for a learned question, "memory" for a head's steps over slots
    layer: int
    weights: list[list[list[float]]]
    queries: str = ""  # the column that looks; "": a learned question
    keys: str = ""  # the column that is attended to


class TokenRole(StrEnum):
    """The role of a column of tokens in an answer."""

    GIVEN = "given"  # it was read
    WRITTEN = "written"  # a text that was written, its end symbol last where it was finished
    LABEL = "label"  # a label, or what else was chosen as a whole
    ITEMS = "items"  # tags, a stretch of a text, rows of numbers
    DERIVED = "derived"  # made by the model on the way: sentences, a draft, slots of a memory
    ASIDE = "aside"  # the same, where JSON has no column for it: hops, fillings of holes


class Tokens(NamedTuple):
    """A column: the pieces that a model saw, as shown to a person."""

    texts: Sequence[str] = ()
    role: TokenRole = TokenRole.ASIDE
    offsets: Sequence[list[int] | None] = ()  # [first, behind] of each in the text as given; (): not known


class ColumnLink(NamedTuple):
    """Tokens of one column that belong to tokens of another one."""

    source: str  # the column that is attended to
    target: str  # the column that looks
    pairs: Sequence[tuple[int, int]] = ()  # (source, target) positions, from 0
    weights: Sequence[Sequence[float]] = ()  # (target, source)


@dataclass(frozen=True)
class Explanation:
    """The evidence of a prediction: columns of tokens, links between two of them, and maps of each attention.

    A translation is two columns and a link, a classifier's answer a text and a label.
    """

    columns: Mapping[str, Tokens]  # those that were given first
    links: list[ColumnLink] = field(default_factory=list)  # first that of the head that links words, or of the decoder
    maps: list[AttentionMap] = field(default_factory=list)
    method: str = ""  # the method that weighed the words, a row of RELEVANCES; "": these are weights of attention
    sides: Mapping[str, list[float]] = field(default_factory=dict)  # by column what share of each target token it has
    reasons: Mapping[str, "Explanation"] = field(default_factory=dict)  # the same answer by other methods, by name

    @classmethod
    def of_text(
        cls,
        source: Sequence[str],
        target: Sequence[str],
        pairs: Sequence[tuple[int, int]] = (),
        weights: Sequence[Sequence[float]] = (),
        maps: Sequence[AttentionMap] = (),
        **more: Any,
    ) -> Self:
        """Return the attention of a written text over its source; `more` are other fields of an explanation."""
        columns = {"source": Tokens(source, TokenRole.GIVEN), "target": Tokens(target, TokenRole.WRITTEN)}
        return cls(columns, [ColumnLink("source", "target", pairs, weights)], list(maps), **more)

    @property
    def link(self) -> ColumnLink:
        """The first link; where there is none an empty one, between the first text that was given and the answer."""
        given = next((name for name, one in self.columns.items() if one.role == TokenRole.GIVEN), "")
        return next(iter(self.links), ColumnLink(given, self.answer))

    @property
    def answer(self) -> str:
        """The name of the column of the answer."""
        answers = TokenRole.WRITTEN, TokenRole.LABEL, TokenRole.ITEMS
        return next((name for name, one in reversed([*self.columns.items()]) if one.role in answers), "")

    @property
    def is_written(self) -> bool:
        """True if the answer is a text that was written."""
        return self.column(self.answer).role == TokenRole.WRITTEN

    @property
    def has_sides_alone(self) -> bool:
        """True if all its columns are a text that was written and what it was written from."""
        return {one.role for one in self.columns.values()} <= {TokenRole.GIVEN, TokenRole.WRITTEN}

    def column(self, name: str) -> Tokens:
        """Return the tokens of a column; none of one that is not there, such as a learned question."""
        return self.columns.get(name, Tokens())

    def given_texts(self, source: str) -> dict[str, str]:
        """Return the text of each column that was given, of a source that has tabs between several."""
        return dict(zip(self.columns, source.split("\t"), strict=False)) if source else {}

    def array(self, of: AttentionMap | None = None) -> LabelledArray:
        """Return the weights of a map as (head, query, key), by default the alignment as (target, source)."""
        from numpy import array

        if of is None:
            return LabelledArray(array(self.weights), ("target", "source"), (self.target_tokens, self.source_tokens))
        rows = of.weights[0] if of.weights else []
        heads, queries, keys = (
            [*self.columns[name].texts] if name in self.columns else [str(number) for number in range(count)]
            for name, count in (("", len(of.weights)), (of.queries, len(rows)), (of.keys, len(rows[0]) if rows else 0))
        )
        return LabelledArray(array(of.weights), ("head", "query", "key"), (heads, queries, keys))

    # the names of JSON, kept for Python until the release after this one

    @property
    def source_tokens(self) -> list[str]:
        """Keys of the first link."""
        return list(self.column(self.link.source).texts)

    @property
    def target_tokens(self) -> list[str]:
        """The tokens that look in the first link; behind a label stands an end symbol."""
        texts, role, _ = self.column(self.link.target)
        return [*texts, END] if role == TokenRole.LABEL else list(texts)

    @property
    def alignment(self) -> list[tuple[int, int]]:
        """The pairs of the first link."""
        return list(self.link.pairs)

    @property
    def weights(self) -> list[list[float]]:
        """The weights of the first link; the end symbol behind a label has none."""
        rows = [list(row) for row in self.link.weights]
        of_label = rows and self.column(self.link.target).role == TokenRole.LABEL
        return [*rows, [0.0] * len(rows[0])] if of_label else rows

    @property
    def offsets(self) -> dict[str, list[list[int] | None]]:
        """Where tokens stand in the text as it was given, by column, where that is known."""
        return {name: list(one.offsets) for name, one in self.columns.items() if one.offsets}


@dataclass(frozen=True)
class WordRelevance:
    """Relevance of each input token to each token of the answer, by one method."""

    method: str  # a row of RELEVANCES
    items: list[str]  # what is explained: the tokens of an answer, or its label
    tokens: Mapping[str, list[str]]  # what was read, by column
    values: Mapping[str, list[list[float]]]  # (item, token) by column; below zero: speaks against it
    log_probs: list[float]  # of each item, in nats
    totals: list[float] | None = None  # what all tokens of an item should sum to, where the method promises a sum
    comparable: bool = True  # whether numbers of one column can be set against those of another

    def array(self, column: str | None = None) -> LabelledArray:
        """Return the relevance (item, token) of the tokens of a column, by default the first."""
        from numpy import array

        name = next(iter(self.tokens)) if column is None else column
        values = array(self.values[name]).reshape(len(self.items), len(self.tokens[name]))
        return LabelledArray(values, ("item", "token"), (self.items, self.tokens[name]))

    def sides(self) -> dict[str, list[float]]:
        """Return for each column its share of what speaks for and against each item; they sum to one, or are all 0.

        {} where columns cannot be compared.
        """
        if not self.comparable:
            return {}
        sizes = {name: [sum(map(abs, row)) for row in rows] for name, rows in self.values.items()}
        wholes = [sum(parts) or 1.0 for parts in zip(*sizes.values(), strict=True)]
        return {
            name: [part / whole for part, whole in zip(parts, wholes, strict=True)] for name, parts in sizes.items()
        }

    def scaled(self, column: str) -> list[list[float]]:
        """Return the relevance (item, token) of a column as shares: over all columns their sizes sum to one.

        Over the column alone where columns cannot be compared.
        """
        parts = zip(*(self.values.values() if self.comparable else [self.values[column]]), strict=True)
        wholes = [sum(abs(one) for row in rows for one in row) or 1.0 for rows in parts]
        return [[one / whole for one in row] for row, whole in zip(self.values[column], wholes, strict=True)]

    def without_end(self) -> "WordRelevance":
        """Return the same without the last item: the end symbol of an answer that was cut off, which nobody wrote."""
        return replace(
            self,
            items=self.items[:-1],
            values={name: rows[:-1] for name, rows in self.values.items()},
            log_probs=self.log_probs[:-1],
            totals=None if self.totals is None else self.totals[:-1],
        )

    def errors(self) -> list[float] | None:
        """Return how far the sum of each item is from what it should be, as a share; None: nothing is promised."""
        if self.totals is None:
            return None
        sums = [math.fsum(one for row in rows for one in row) for rows in zip(*self.values.values(), strict=True)]
        return [abs(one - total) / max(abs(total), 1e-12) for one, total in zip(sums, self.totals, strict=True)]
