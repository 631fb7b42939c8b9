"""What a picture of an explanation shows: the source that was looked at, or the words that were there already."""

from collections.abc import Sequence
from typing import NamedTuple

from regard.results import AttentionMap, Explanation

START = "<s>"  # what a decoder reads before the first word
OWN = "the last layer's attention to the words before, mean of its heads (--html, --json: every layer and head)"


class Looked(NamedTuple):
    """Rows are what is written, columns what was looked at."""

    columns: list[str]  # tokens, as rows are
    rows: list[str]
    weights: Sequence[Sequence[float]]  # (row, column)
    about: str = ""  # where it is not the decoder's own alignment


def looked(found: Explanation) -> Looked | None:
    """The decoder's own alignment; where it has none, what its last layer looked at of its own words; None: nothing.

    A word is written by what has read those before it, so the first column is the start.
    """
    if found.weights:
        return Looked(found.source_tokens, found.target_tokens, found.weights)
    own = [each for each in found.maps if each.kind == "decoder" and each.weights]
    if not own or not found.target_tokens:
        return None
    return Looked([START, *found.target_tokens[:-1]], found.target_tokens, _mean(own[-1]), OWN)


def _mean(each: AttentionMap) -> list[list[float]]:
    """Over the heads."""
    heads = each.weights
    return [[sum(cells) / len(heads) for cells in zip(*rows, strict=True)] for rows in zip(*heads, strict=True)]
