"""Heat maps of the attention of each part in one sentence: a forward pass of a tiny socket, the same everywhere.

Word vectors are such that a word and its translation are similar. Scores and spans with parameters are trained on this
very pair, in a few steps of gradient descent; spans and weightings are shown with a plain dot product. All random
numbers and sums are in float64 and weights are rounded, so that every machine makes the same figure.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from regard.attention import Attention, Role, recording
from regard.experiment import MECHANISMS
from regard.explain import svg
from regard.layers.pooling import POOLINGS
from regard.layers.positions import POSITIONS
from regard.models import AttentionSettings, build_attention
from regard.objectives import PENALTIES
from regard.records import Batch, Sequences
from regard.registry import Choice, Registry

_SOURCE = ["heute", "liest", "der", "Mann", "ein", "Buch", "."]
_TARGET = ["the", "man", "reads", "a", "book", "today", "."]
ALIGNED = (2, 3, 1, 4, 5, 0, 6)  # the source word of each target word
_BEFORE = (0, 0, 1, 2, 3, 4, 5)  # target of self-attention in training: the word before
_SMALL = {"radius": 2, "hops": 3, "between": "hops"}  # settings in proportion to seven words
_DIM, _HEADS, _RATE = 16, 8, 0.05
_STEPS = {"score": 8, "span": 60}  # updates; a score is soon so sure that there is nothing to see
_FLOOR = 0.01  # of a share that is to grow: a hidden key has no logarithm
_DIGITS = 2  # of a weight


def draw(kind: str, name: str) -> str | None:
    """Return an SVG of the weights of one row of a table; None: it has none.

    The target attends to its source; spans by position and poolings have self-attention of a text. A position shows its
    features, a penalty its gradient.
    """
    others = {"pooling": _pooled, "position": _placed, "penalty": _pulled}
    sources, targets, weights = others[kind](name) if kind in others else example(kind, name)
    if weights is None:
        return None
    rounded = [[round(weight, _DIGITS) + 0.0 for weight in row] for row in weights.tolist()]
    return svg(sources, targets, rounded, title=f"{kind}: {name}")


def example(kind: str, name: str) -> tuple[list[str], list[str], Tensor | None]:
    """Return columns, rows and weights (row, column) of a figure."""
    with _same_everywhere():
        queries, keys = _vectors()
        attention = socket(kind, name)
        itself = kind == "span" and not attention.span.whole and not attention.sequential
        if itself:
            queries = keys = queries / 2
        if kind != "weighting":
            _teach(attention, queries, keys, _BEFORE if itself else ALIGNED, _STEPS[kind])
        weights = _weights(attention.eval(), queries, keys)
    return _TARGET if itself else _SOURCE, _TARGET, weights.detach()


def _pooled(name: str) -> tuple[list[str], list[str], Tensor | None]:
    """Return columns, rows and weights of a pooling by attention: a row for each learned query, at most seven."""
    with _same_everywhere(), torch.no_grad():
        _, states = _vectors()
        pooling = POOLINGS.build(_small(POOLINGS, name), _DIM).eval()
        with recording(pooling) as records:
            pooling(2 * states)
    found = [attended.weights for seen in records.values() for attended in seen.answers if attended.weights is not None]
    weights = found[0].reshape(-1, len(_SOURCE))[: len(_SOURCE)] if found else None
    rows = [f"#{number}" for number in range(1, 1 + (0 if weights is None else len(weights)))]
    return _SOURCE, rows, weights


def _placed(name: str) -> tuple[list[str], list[str], Tensor | None]:
    """Return features, words and the vectors of their positions; None for learned ones, which start at random."""
    with _same_everywhere():
        position = POSITIONS.build(Choice(name), _DIM)
        fixed = not list(position.parameters())
        return [str(feature) for feature in range(_DIM)], _SOURCE, position(0, len(_SOURCE)) if fixed else None


def _pulled(name: str) -> tuple[list[str], list[str], Tensor]:
    """Columns, rows and where a penalty pulls an example's weights, of the strongest pull: below zero it lessens them.

    Minus the gradient; of hops where it can be between hops.
    """
    choice = _small(PENALTIES, name)
    hops = "between" in choice.settings
    columns, rows, weights = _pooled("structured") if hops else example("weighting", "softmax")
    assert weights is not None, "both of them look"
    with _same_everywhere():
        free = weights.detach().requires_grad_()
        words = Sequences(torch.zeros(1, len(_SOURCE), dtype=torch.long), torch.ones(1, len(_SOURCE), dtype=torch.bool))
        batch = Batch({"source": words, "target": words}, "", torch.arange(1), len(_SOURCE))
        role = Role("target", "source")
        PENALTIES.build(choice).of_one("example", role, free[None, None], batch).sum().backward()
    assert free.grad is not None, "it depends on the weights"
    return columns, rows, -free.grad / free.grad.abs().max()


def effects(name: str) -> str:
    """Return the effects of a span in words, read from its view."""
    with _same_everywhere():
        attention = socket("span", name)
        queries, keys = _vectors()
        memory = attention.remember(keys, mask=torch.arange(len(_SOURCE)).unsqueeze(0) < len(_SOURCE) - 1)
        view = attention.span(queries[:, :1], memory, attention.span.begin(queries, memory))
    effects_of = {"bias": "adds to the scores", "gain": "multiplies the weights", "values": "adds to what is read"}
    hides = "hides keys of its own" if view.mask is not None and bool((view.mask != memory.mask).any()) else ""
    does = [hides, *(words for field, words in effects_of.items() if getattr(view, field) is not None)]
    return "; ".join(["what the memory hides stays hidden", *filter(None, does)])


def socket(kind: str, name: str) -> Attention:
    """Return a tiny socket with this part; its other parts are dot product, all keys and softmax."""
    choice = _small(MECHANISMS[kind], name)
    plain = AttentionSettings(score=Choice("dot"))
    if kind == "span":
        return build_attention(replace(plain, span=(choice,)), _DIM, _DIM)
    score, weighting = (choice, plain.weighting) if kind == "score" else (plain.score, choice)
    return build_attention(replace(plain, score=score, weighting=weighting), _DIM, _DIM)


def _small(table: Registry[Any], name: str) -> Choice:
    settings = table.settings(name)
    return Choice(name, {setting: value for setting, value in _SMALL.items() if setting in settings})


def _vectors() -> tuple[Tensor, Tensor]:
    """Return queries (1, target, DIM) and keys (1, source, DIM): two noisy views of the words' meanings."""
    meanings = torch.randn(len(_SOURCE), _DIM)
    keys, queries = (meanings + 0.5 * torch.randn(len(_SOURCE), _DIM) for _ in range(2))
    return 0.5 * queries[list(ALIGNED)].unsqueeze(0), 0.5 * keys.unsqueeze(0)


def _teach(attention: Attention, queries: Tensor, keys: Tensor, wanted: Sequence[int], steps: int) -> None:
    """Train for a few updates on -log(weight of the wanted key)."""
    parameters = list(attention.parameters())
    if not parameters:
        return
    optimizer = torch.optim.Adam(parameters, lr=_RATE, eps=1e-3)  # so that no gradient of rounding errors counts
    for _ in range(steps):
        shares = _weights(attention, queries, keys)[range(len(wanted)), wanted]
        optimizer.zero_grad()
        (-(shares + _FLOOR).log().mean()).backward()
        optimizer.step()


def _weights(attention: Attention, queries: Tensor, keys: Tensor) -> Tensor:
    """Return (target, source) of the first head: heads are equal, except for a part that counts them."""
    queries, keys = (vectors.unsqueeze(1).expand(-1, _HEADS, -1, -1) for vectors in (queries, keys))
    weights = attention(queries, attention.remember(keys), need_weights=True).weights
    assert weights is not None, "they were asked for"
    return weights[0, 0]


@contextmanager
def _same_everywhere() -> Iterator[None]:
    """Set a seed and float64 inside, and restore both after it."""
    before = torch.get_default_dtype()
    try:
        torch.set_default_dtype(torch.float64)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(1)
            yield
    finally:
        torch.set_default_dtype(before)
