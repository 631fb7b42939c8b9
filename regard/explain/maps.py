"""Records of attention → plain maps for plots and pages."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

import torch
from torch import Tensor
from torch.nn import functional

from regard.attention import EACH, Attended, Recorded, Records
from regard.results import AttentionMap, Explanation

POOLING = "pooling"  # the kind of a map with a learned query, which comes from no column
MAP_DIGITS = 4  # of a weight on a page: a 64 by 64 map of 8 heads stays under 300 kB


def attention_maps(
    records: Records, row: int, lengths: Mapping[str, int], *, pooled: bool = False
) -> list[AttentionMap]:
    """Return the maps of one sentence (`row` of the batch), recorded in one forced pass, without padding.

    `lengths` are those of its columns, the target last. Attention without a column of queries or of keys has no map;
    with `pooled` learned queries have one, a row for each. Words read from right to left are put back in their order.
    """
    counts: dict[str, int] = {}
    maps = []
    for name, (role, answers) in records.items():
        learned = pooled and role.queries is None
        queries, keys = lengths.get(role.queries or ""), lengths.get(role.keys or "")
        if keys is None or (queries is None and not learned):
            continue
        weights = _weights(answers, row, 0 if role.crosses else queries or 0)
        if weights is None:
            continue
        kind = "cross" if role.crosses else "decoder" if role.keys == [*lengths][-1] else "encoder"
        kind = POOLING if learned else kind
        shown = weights[:, :queries, :keys].float().round(decimals=MAP_DIGITS)
        if role.reversed:
            shown = shown.flip(-2, -1)
        layer = counts.setdefault(kind, 0)
        maps.append(AttentionMap(name, kind, layer, shown.tolist(), role.queries or "", role.keys or ""))
        counts[kind] += 1
    return maps


def apart(records: Records, columns: Sequence[str]) -> Records:
    """Split the record of a module that reads all columns at once, their rows concatenated (EACH), by column."""
    found: dict[str, Recorded] = {}
    for name, (role, answers) in records.items():
        if EACH not in role:
            found[name] = Recorded(role, answers)
            continue
        for number, column in enumerate(columns):
            queries, keys = (column if side == EACH else side for side in (role.queries, role.keys))
            of_column = [
                answer._replace(weights=None if answer.weights is None else answer.weights.chunk(len(columns))[number])
                for answer in answers
            ]
            found[f"{name} ({column})"] = Recorded(role._replace(queries=queries, keys=keys), of_column)
    return found


def mean_of_questions(maps: Sequence[AttentionMap], column: str) -> list[float]:
    """Return the weights (key,) of the first pooling of a column, the mean over its heads and its questions.

    [] where there is none.
    """
    heads = next((one.weights for one in maps if one.kind == POOLING and one.keys == column), [])
    rows = [row for head in heads for row in head]
    return [sum(cells) / len(rows) for cells in zip(*rows, strict=True)]


def without_end(found: Explanation) -> Explanation:
    """Return the explanation of a target that was cut off, without its end symbol, which the model did not write."""
    sides = {name: shares[:-1] for name, shares in found.sides.items()}
    written = found.column(found.answer)
    columns = {**found.columns, found.answer: written._replace(texts=written.texts[:-1])}
    links = [one._replace(weights=one.weights[:-1]) for one in found.links]
    return replace(found, columns=columns, links=links, maps=list(map(_cut, found.maps)), sides=sides)


def _cut(each: AttentionMap) -> AttentionMap:
    if each.kind == "encoder":
        return each
    heads = [head[:-1] for head in each.weights]
    if each.kind == "decoder":
        heads = [[row[:-1] for row in head] for head in heads]
    return replace(each, weights=heads)


def _weights(answers: Sequence[Attended], row: int, words: int) -> Tensor | None:
    """Return (head, query, key) of one sentence; a decoder that runs step by step has one answer per step.

    `words`: the number of words in self-attention, 0 for attention to another column.
    """
    found = [answer.weights[row] for answer in answers if answer.weights is not None]
    if not found:
        return None
    if words and sum(one.shape[-2] for one in found) >= words:
        found = _in_place(found)
    joined = found[0] if len(found) == 1 else torch.cat(found, dim=-2)
    return joined if joined.dim() == 3 else joined.unsqueeze(0)  # (head, query, key)


def _in_place(found: Sequence[Tensor]) -> list[Tensor]:
    """Return self-attention with each word in its column.

    In one pass over all words the last keys are these words. In a pass for each word the word is the last key, and the
    number of keys grows. Keys before the first word are cut off; forgotten and later keys are 0.
    """
    ends = list(accumulate(one.shape[-2] for one in found))
    count, widths = ends[-1], {one.shape[-1] for one in found}
    if len(widths) == 1 and min(widths) >= count:
        ends = [count] * len(found)
    return [functional.pad(one, (end - one.shape[-1], count - end)) for one, end in zip(found, ends, strict=True)]
