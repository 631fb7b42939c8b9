"""Attention that heat maps show: to the source, or of a language model to its own words."""

from collections.abc import Sequence
from typing import NamedTuple

from regard.results import AttentionMap, Explanation

MEMORY = "memory"  # the kind of a map of a head's steps over the slots of a memory
START = "<s>"  # what a decoder reads before the first word
OWN_WORDS = "the last layer's attention to the words before, mean of its heads (--html, --json: every layer and head)"
VISITED = 0.05  # the least weight of a slot that a head counts as being at


class AlignmentView(NamedTuple):
    """Attention weights: rows are the words written, columns the words attended to."""

    columns: Sequence[str]  # tokens, as rows are
    rows: Sequence[str]
    weights: Sequence[Sequence[float]]  # (row, column)
    about: str = ""  # where it is not the decoder's own alignment
    keys: str = ""  # the column attended to, of an example in columns
    queries: str = ""  # the column that attends; "": the answer


def alignment_view(found: Explanation) -> AlignmentView | None:
    """Return the first of `alignment_views`, None where there is none."""
    return next(iter(alignment_views(found)), None)


def alignment_views(found: Explanation) -> list[AlignmentView]:
    """Return the decoder's alignment; for several given texts, the attention to each; or a language model's attention.

    The last is the attention of its last layer to its own words. A word is predicted from the words before it, so the
    first column is the start symbol. A memory adds the slots that each of its heads read at each step.
    """
    source, target, _, weights = found.link
    if weights:
        alignment = AlignmentView(found.column(source).texts, found.column(target).texts, weights, keys=source)
        return [alignment, *_memories(found)]
    if not found.is_written:
        return _by_column(found)
    own = [each for each in found.maps if each.kind == "decoder" and each.weights]
    written = found.column(found.answer).texts
    if not own or not written:
        return []
    return [AlignmentView([START, *written[:-1]], written, mean_of_heads(own[-1]), OWN_WORDS)]


def mean_of_heads(each: AttentionMap) -> list[list[float]]:
    """Return the weights [query][key] of a map, the mean over its heads."""
    heads = each.weights
    return [[sum(cells) / len(heads) for cells in zip(*rows, strict=True)] for rows in zip(*heads, strict=True)]


def _memories(found: Explanation) -> list[AlignmentView]:
    """Return for each head of a memory its weights (step, slot), for the slots that some head read."""
    maps = [each for each in found.maps if each.kind == MEMORY]
    rows = [row for each in maps for row in each.weights[0]]
    slots = list(zip(*rows, strict=True))
    used = _around([slot for slot, weights in enumerate(slots) if max(weights) >= VISITED], len(slots))
    return [
        AlignmentView(
            [found.column(each.keys).texts[slot] for slot in used],
            found.column(each.queries).texts,
            [[row[slot] for slot in used] for row in each.weights[0]],
            f"{each.name}: {each.keys} of the memory at each of the {each.queries}",
        )
        for each in maps
    ]


def _around(slots: list[int], size: int) -> list[int]:
    """Return slots of a circle in their order, from behind the widest gap on."""
    gaps = [(slot - slots[place - 1]) % size for place, slot in enumerate(slots)]
    first = gaps.index(max(gaps)) if gaps else 0
    return slots[first:] + slots[:first]


def _by_column(found: Explanation) -> list[AlignmentView]:
    """Return for each text the first attention to it from another text or from a learned query, which gives the label.

    Of several attentions, one in each layer, the lowest layer is nearest to the words themselves.
    """
    views = []
    for text in found.columns:
        each = next((each for each in found.maps if each.keys == text and each.queries != text and each.weights), None)
        if each is not None:
            weights = mean_of_heads(each)
            looks = each.queries or found.answer
            rows = [*found.column(looks).texts] * (1 if each.queries else len(weights))
            about = f"{looks} attends to {text}"
            views.append(AlignmentView(found.column(text).texts, rows, weights, about, text, each.queries))
    return views
