"""What a prediction looked at, and what speaks for each of its tokens, as plain values."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

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
    keys: str = ""  # the column that is looked at


@dataclass(frozen=True)
class Explanation:
    """What a prediction looked at. `tokens` are the pieces a model saw, as shown to a person."""

    source_tokens: list[str]
    target_tokens: list[str]
    alignment: list[tuple[int, int]]  # (source, target) token positions, from 0
    weights: list[list[float]]  # (target, source): of the head that links words, else the decoder's own alignment
    maps: list[AttentionMap] = field(default_factory=list)
    columns: Mapping[str, list[str]] = field(default_factory=dict)  # tokens by column, where an example has several
    offsets: Mapping[str, list[list[int] | None]] = field(default_factory=dict)  # [first, behind] of each such token
    by: str = ""  # the method that weighed the words, a row of RELEVANCES; "": these are weights of attention
    sides: Mapping[str, list[float]] = field(default_factory=dict)  # by column what share of each target token it has
    reasons: Mapping[str, "Explanation"] = field(default_factory=dict)  # the same answer by other methods, by name

    def array(self, of: AttentionMap | None = None) -> LabelledArray:
        """Return the weights of a map as (head, query, key), by default the alignment as (target, source)."""
        from numpy import array

        if of is None:
            return LabelledArray(array(self.weights), ("target", "source"), (self.target_tokens, self.source_tokens))
        queries = self.source_tokens if of.kind == "encoder" else self.target_tokens
        keys = self.target_tokens if of.kind == "decoder" else self.source_tokens
        if self.columns:
            questions = [str(number) for number in range(len(of.weights[0]) if of.weights else 0)]
            queries, keys = self.columns.get(of.queries, questions), self.columns[of.keys]
        heads = [str(head) for head in range(len(of.weights))]
        return LabelledArray(array(of.weights), ("head", "query", "key"), (heads, queries, keys))


@dataclass(frozen=True)
class WordRelevance:
    """How much each token that a model read speaks for each token of its answer, by one method."""

    by: str  # a row of RELEVANCES
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
