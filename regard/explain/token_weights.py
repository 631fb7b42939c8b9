"""Attention of learned queries, recorded by a pooling or a hop: to words of a text, or to units such as sentences."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from regard.explain.alignment_view import mean_of_heads
from regard.explain.scale import are_fractions
from regard.explain.tokens import Word, given_spans, given_words, words_of
from regard.results import Explanation

_NEAR = 120  # letters that may stand between two words that a model read


class TokenWeights(NamedTuple):
    """A column, and the weights that each question gave to its tokens."""

    column: str
    tokens: list[str]
    questions: list[str]
    weights: list[list[float]]  # (question, token), means over heads
    shares: bool  # whether every row sums to one
    offsets: Sequence[list[int] | None] = ()  # where each token stands in the text as it was given, if that is known

    @property
    def of_units(self) -> bool:
        """Return whether a token is more than a word, as a sentence is."""
        return _several_words(self.tokens)

    @property
    def words(self) -> list[Word]:
        """The words that the tokens are pieces of."""
        return words_of(self.tokens)

    def places(self, text: str) -> list[tuple[int, int] | None]:
        """Return the place of each word in the text; without offsets, search for it."""
        if not self.offsets:
            return search_words(text, [word.text for word in self.words])
        return given_spans(self.words, self.offsets)

    def spelt(self, text: str) -> list[str]:
        """Return each word as spelt in the text; a word without a place, like the end symbol, as read."""
        return [word.text for word in given_words(self.words, self.offsets, text)]

    def of_words(self) -> list[float]:
        """The weight of each word: the sum of its pieces, the mean over the questions."""
        count = len(self.weights)
        return [sum(row[piece] for row in self.weights for piece in word.pieces) / count for word in self.words]


def token_weights(found: Explanation) -> list[TokenWeights]:
    """Return the attention of learned queries to each column; [] without learned queries, or where links have words.

    A given text has its first map; for units of several words, such as sentences, each map is a query.
    """
    if found.link.pairs or found.is_written:
        return []
    answer = found.column(found.answer).texts
    columns = dict.fromkeys(one.keys for one in found.maps if not one.queries and one.weights)
    views = []
    for column in columns:
        maps = [one for one in found.maps if one.keys == column and not one.queries and one.weights]
        tokens, _, offsets = found.column(column)
        maps = maps if _several_words(tokens) else maps[:1]
        rows = [row for one in maps for row in mean_of_heads(one)]
        names = [one.name for one in maps for _ in one.weights[0]] if len(maps) > 1 else [*answer] * len(rows)
        shares = all(are_fractions(head) for one in maps for head in one.weights)
        views.append(TokenWeights(column, list(tokens), names, rows, shares, offsets))
    return views


def without_questions(found: Explanation) -> Explanation:
    """Return an explanation without the maps that `token_weights` returns."""
    if found.link.pairs or found.is_written:
        return found
    return replace(found, links=[], maps=[one for one in found.maps if one.queries])


def search_words(text: str, words: Sequence[str], *, near: int = _NEAR) -> list[tuple[int, int] | None]:
    """Return where each word stands in a text; None for one that is not near the word before it, in letters."""
    found, after = list[tuple[int, int] | None](), 0
    for word in words:
        start = text.find(word, after, after + near + len(word)) if word else -1
        found.append(None if start < 0 else (start, start + len(word)))
        after = after if start < 0 else start + len(word)
    return found


def _several_words(tokens: Sequence[str]) -> bool:
    return any(len(token.split()) > 1 for token in tokens)
