"""What a head of attention looks at: https://aclanthology.org/P19-1580 and https://aclanthology.org/W19-4828."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.arrays import Floats
from regard.explain.alignment_view import MEMORY, START
from regard.explain.maps import POOLING
from regard.pieces import SPECIALS, UNK
from regard.results import AttentionMap, Explanation

PATTERNS = ("previous", "same", "next", "diagonal", "separator", "rarest")
CLEAR = 0.5  # share of the words from which on a pattern names a head
NEAR = 1  # places from the diagonal
SEPARATORS = {one for number, one in enumerate(SPECIALS) if number != UNK}

Mask = NDArray[np.bool_]


class Look(NamedTuple):
    """Where the largest weight of each word lies, in one map of one example."""

    choice: NDArray[np.int64]  # (head, query): places of keys
    largest: Floats  # (head, query): their weights
    keys: list[str]  # the pieces that are looked at
    own: bool  # words look at those of their own text
    crosses: bool  # words look at those of another text
    causal: bool  # no word sees those behind it
    blind: Mask  # (query,): sees no key at all


class HeadPatterns(NamedTuple):
    """What the heads of one attention look at."""

    shares: Floats  # (head, pattern) of the words that could follow a pattern; nan: no word could
    confidence: Floats  # (head,): the mean of the largest weights


def look_of(found: Explanation, seen: AttentionMap) -> Look | None:
    """Return where one map of an explanation has its largest weights; None for slots of a memory and empty maps."""
    weights = np.array(seen.weights, dtype=float)
    if weights.ndim < 3 or not weights.size or seen.kind == MEMORY:
        return None
    labels = found.array(seen).labels[-1]
    if seen.kind == "decoder":  # it reads a piece after it was written
        labels = [START, *labels[:-1]]
    width = weights.shape[-1]
    keys = [*labels, *[""] * (width - len(labels))][:width]
    own = seen.queries == seen.keys and seen.kind != POOLING and weights.shape[1] == width
    causal, blind = own and not np.triu(weights, 1).any(), np.all(weights == 0, axis=(0, 2))
    crosses = seen.kind != POOLING and not own
    return Look(weights.argmax(axis=-1), weights.max(axis=-1), keys, own, crosses, causal, blind)


def patterns(looks: Sequence[Look], counts: Mapping[str, int]) -> HeadPatterns:
    """Return how often the largest weights of one attention lie where each pattern has them.

    previous, same and next: one place before, at or behind a word's own; diagonal: near the place in the other text
    that its own corresponds to; separator: at a piece that is no text; rarest: at the rarest piece that it sees, by
    `counts` of pieces. Words that could only follow a pattern, or could not, do not count.
    """
    heads = len(looks[0].choice)
    hits, words, largest, rows = np.zeros((heads, len(PATTERNS))), np.zeros(len(PATTERNS)), np.zeros(heads), 0
    for look in looks:
        visible = _visible(look)
        largest += look.largest[:, ~look.blind].sum(axis=-1)
        rows += int((~look.blind).sum())
        for number, wanted in enumerate(_wanted(look, visible, counts)):
            told = (wanted & visible).any(axis=-1) & (~wanted & visible).any(axis=-1) & ~look.blind
            hits[:, number] += wanted[np.arange(len(wanted)), look.choice][:, told].sum(axis=-1)
            words[number] += told.sum()
    shares = np.divide(hits, words, out=np.full_like(hits, np.nan), where=words > 0)
    return HeadPatterns(shares, largest / max(rows, 1))


def pattern_of(shares: Floats) -> str:
    """Return the pattern (pattern,) that most words of a head follow; "": none is clear."""
    known = np.nan_to_num(shares)
    return PATTERNS[int(known.argmax())] if known.max() >= CLEAR else ""


def _visible(look: Look) -> Mask:
    """Which keys each word sees (query, key)."""
    shape = look.choice.shape[1], len(look.keys)
    return np.tril(np.ones(shape, dtype=bool)) if look.causal else np.ones(shape, dtype=bool)


def _wanted(look: Look, visible: Mask, counts: Mapping[str, int]) -> list[Mask]:
    """For each pattern the mask (query, key) of where it has the largest weight."""
    queries, width = visible.shape
    steps = np.arange(width)[None, :] - np.arange(queries)[:, None]
    slope = (width - 1) / max(queries - 1, 1)
    diagonal = np.abs(np.arange(width)[None, :] - slope * np.arange(queries)[:, None]) <= NEAR + 1e-9
    separator = np.array([key in SEPARATORS for key in look.keys])
    numbers = np.array([np.inf if key in SEPARATORS else float(counts.get(key, 0)) for key in look.keys])
    seen = np.where(visible, numbers, np.inf)
    rarest = (seen == seen.min(axis=-1, keepdims=True)) & np.isfinite(seen)
    positional = [(steps == step) & look.own for step in (-1, 0, 1)]
    return [*positional, diagonal & look.crosses, np.broadcast_to(separator, visible.shape), rarest]
