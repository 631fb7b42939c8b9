"""Explanations of answers that are no texts, made by hand."""

from collections.abc import Mapping, Sequence
from typing import Any

from regard.results import AttentionMap, ColumnLink, Explanation, TokenRole, Tokens

DERIVED = ("sentences", "steps", "slots")  # columns that a model makes itself


def of_label(
    columns: Mapping[str, Sequence[str]],
    maps: Sequence[AttentionMap] = (),
    links: Sequence[ColumnLink] = (),
    offsets: Mapping[str, Any] = {},
    **more: Any,
) -> Explanation:
    """What was looked at for a label, which is the last of the columns."""
    last = [*columns][-1]
    roles = {name: TokenRole.DERIVED if name in DERIVED else TokenRole.GIVEN for name in columns} | {
        last: TokenRole.LABEL
    }
    found = {name: Tokens(texts, roles[name], offsets.get(name, ())) for name, texts in columns.items()}
    return Explanation(found, list(links), list(maps), **more)


def of_hops(columns: Mapping[str, Sequence[str]], rows: Mapping[str, list[float]]) -> Explanation:
    """What was looked at for a label in a memory of sentences: a row of weights for each hop."""
    maps = [AttentionMap(name, "pooling", at, [[row]], "", "sentences") for at, (name, row) in enumerate(rows.items())]
    found = of_label(columns, maps, [ColumnLink("sentences", "hops", [], [*rows.values()])])
    return Explanation({**found.columns, "hops": Tokens([*rows])}, found.links, maps)
