"""Attention weights → word alignments. Everything here is plain lists; rows are targets, columns are sources."""

from collections.abc import Collection, Iterable, Sequence
from typing import Literal, NamedTuple, get_args

from regard.errors import ConfigError, RegardError, nearest
from regard.evaluation.alignments import Link
from regard.explain.alignment_view import mean_of_heads
from regard.explain.tokens import Word, is_end, words_of
from regard.pieces import END
from regard.results import AttentionMap, Explanation

Weights = Sequence[Sequence[float]]
LinkMethod = Literal["argmax", "mutual", "threshold"]


class WordAlignment(NamedTuple):
    """An alignment of words, and the weights it was read from."""

    source_words: list[Word]
    target_words: list[Word]
    weights: list[list[float]]  # (target word, source word)
    links: list[Link]  # of word positions


def align(
    weights: Weights,
    *,
    method: LinkMethod = "argmax",
    threshold: float = 0.0,
    skip_sources: Collection[int] = (),
    skip_targets: Collection[int] = (),
) -> list[Link]:
    """(target, source) weights → links (source, target), sorted by target.

    `argmax`: link each target to its source of largest weight, the first of equals; `mutual`: keep the links whose
    target also has the largest weight on that source; `threshold`: keep every pair. A link's weight must be above zero
    and not below `threshold`. Skipped positions (end symbols) are left out. Raises ConfigError for an unknown method.
    """
    columns = [source for source in range(_width(weights)) if source not in skip_sources]
    rows = [target for target in range(len(weights)) if target not in skip_targets]
    if method not in get_args(LinkMethod):
        raise ConfigError("method", f"there is no '{method}'", nearest(method, get_args(LinkMethod)))
    if method == "threshold" or not columns:
        links = [(source, target) for target in rows for source in columns]
    else:
        links = [(_most(weights[target], columns), target) for target in rows]
    if method == "mutual":
        transposed = list(zip(*weights, strict=True))
        links = [(source, target) for source, target in links if _most(transposed[source], rows) == target]
    return [(source, target) for source, target in links if weights[target][source] >= max(threshold, 1e-12)]


def word_alignment(
    source_tokens: Sequence[str],
    target_tokens: Sequence[str],
    weights: Weights,
    *,
    method: LinkMethod = "argmax",
    threshold: float = 0.0,
) -> WordAlignment:
    """Pieces and their weights → words and their links; end symbols are left out.

    The weights of a target word are the mean over its pieces, the weight of a source word is the sum over its pieces.
    So rows that sum to one still do, up to the weight of the end symbol. Raises RegardError when the counts differ.
    """
    if len(weights) != len(target_tokens) or (weights and _width(weights) != len(source_tokens)):
        raise RegardError(
            f"alignment: weights of {len(weights)} by {_width(weights)}, but {len(target_tokens)} target and "
            f"{len(source_tokens)} source tokens"
        )
    sources = [word for word in words_of(source_tokens) if not is_end(source_tokens, word.pieces[0])]
    targets = [word for word in words_of(target_tokens) if not is_end(target_tokens, word.pieces[0])]
    merged = merge_weights(weights, [word.pieces for word in targets], [word.pieces for word in sources])
    return WordAlignment(sources, targets, merged, align(merged, method=method, threshold=threshold))


def aligned_words(found: Explanation) -> WordAlignment:
    """Return the words of the two columns that an explanation links, and their links. Raises RegardError as above."""
    source, target = (found.column(name).texts for name in found.link[:2])
    return word_alignment(source, target, found.link.weights)


def neighbours_explained(read: Sequence[str], near: Sequence[str], weights: Weights) -> Explanation:
    """Return what tokens that were read say for each of their neighbours (neighbour, token); both texts get an end."""
    whole = [[*row, 0.0] for row in [*weights, [0.0] * len(read)]]
    return Explanation.of_text([*read, END], [*near, END], align(whole), whole)


def merge_weights(
    weights: Weights, rows: Sequence[Sequence[int]], columns: Sequence[Sequence[int]]
) -> list[list[float]]:
    """Mean over the rows of a group, sum over its columns."""
    return [
        [sum(weights[row][column] for row in group for column in others) / len(group) for others in columns]
        for group in rows
    ]


def format_pharaoh(links: Iterable[Link]) -> str:
    """`0-0 1-2`: source before target, from 0."""
    return " ".join(f"{source}-{target}" for source, target in links)


def parse_pharaoh(text: str) -> list[Link]:
    """`0-0 1-2` → links. Raises RegardError for anything else."""
    links = []
    for item in text.split():
        source, dash, target = item.partition("-")
        if not (dash and _number(source) and _number(target)):
            raise RegardError(f"alignment: '{item[:40]}' is not a link; expected source-target, both from 0: 0-0 1-2")
        links.append((int(source), int(target)))
    return links


def _number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 9


def _width(weights: Weights) -> int:
    widths = {len(row) for row in weights}
    if len(widths) > 1:
        raise RegardError(f"alignment: rows of weights differ in length: {sorted(widths)}")
    return widths.pop() if widths else 0


def _most(row: Sequence[float], allowed: Sequence[int]) -> int:
    return max(allowed, key=lambda position: (row[position], -position))


_Rows = list[list[float]]  # (target piece, source piece)


class AlignmentHead(NamedTuple):
    """A head of a layer. The one that aligns best differs between models: chosen on a dev set in arXiv:2004.14837."""

    layer: int
    head: int | None = None  # None: the mean of the layer's heads
    ahead: bool = False  # link a word by the attention of the next step, at which the model has read it

    def weights(self, maps: Sequence[AttentionMap]) -> _Rows:
        """Return the weights (target, source) of this head, from all attention maps of one sentence."""
        layer = _crossing(maps)[self.layer]
        rows = mean_of_heads(layer) if self.head is None else layer.weights[self.head]
        return [*rows[1:], *rows[-1:]] if self.ahead else rows

    def __str__(self) -> str:
        head = "mean of the heads" if self.head is None else f"head {self.head + 1}"
        return f"layer {self.layer + 1}, {head}{', a step ahead' if self.ahead else ''}"


def heads_of(maps: Sequence[AttentionMap]) -> list[AlignmentHead]:
    """Return all heads that attend to the source, and their means, each at the step of a piece and at the next step."""
    return [
        AlignmentHead(layer, head, ahead)
        for layer, each in enumerate(_crossing(maps))
        for head in (None, *range(len(each.weights)))
        for ahead in (False, True)
    ]


def _crossing(maps: Sequence[AttentionMap]) -> list[AttentionMap]:
    return [each for each in maps if each.kind == "cross" and each.keys == "source"]
