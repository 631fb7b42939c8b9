"""Writers of a handful of words in plain Python, every target they could write, and tiny translators."""

import itertools
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from networks import build_translator
from torch import Tensor

from regard.decoders import DECODERS
from regard.decoding import Feature, Hypothesis
from regard.encoders import ENCODERS
from regard.models import ROUTE, AttentionSettings, Translator
from regard.records import BOS, EOS, PAD, UNK, Batch, Sequences, Step
from regard.registry import Choice, Registry

Scores = Callable[[tuple[int, ...], tuple[int, ...]], list[float]]  # source, words so far → log-probabilities


class Histories(NamedTuple):
    """Sources and all that was written, row by row."""

    rows: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    width: int = 0  # of the padded sources

    def select(self, rows: Tensor) -> "Histories":
        return self._replace(rows=tuple(self.rows[row] for row in rows.tolist()))


class Tree:
    """A writer that looks up its next words by its source and everything it wrote."""

    def __init__(self, scores: Scores) -> None:
        self.scores = scores
        self.most: int | None = None
        self.known: dict[Any, list[float]] = {}

    def log_probs(self, source: tuple[int, ...], written: tuple[int, ...]) -> list[float]:
        if (source, written) not in self.known:
            self.known[source, written] = self.scores(source, written)
        return self.known[source, written]

    def longest(self, batch: Batch) -> int | None:
        return self.most

    def start(self, batch: Batch) -> Histories:
        source = batch.sequences("source")
        rows = tuple((tuple(ids[mask].tolist()), ()) for ids, mask in zip(source.items, source.mask, strict=True))
        return Histories(rows, source.mask.shape[1])

    def step(self, ids: Tensor, state: Histories, *, need_weights: bool = False) -> tuple[Step, Histories]:
        words = ids[:, 0].tolist()
        rows = tuple((s, w if word == BOS else (*w, word)) for (s, w), word in zip(state.rows, words, strict=True))
        log_probs = torch.tensor([self.log_probs(*row) for row in rows], dtype=torch.float64)
        weights = torch.tensor([looks(*row)[: state.width] for row in rows]) if need_weights else None
        return Step(log_probs, weights), state._replace(rows=rows)


def looks(source: tuple[int, ...], written: tuple[int, ...], width: int = 8) -> list[float]:
    """Weights over a source, and, to be caught, some on the padding behind it too."""
    draw = random.Random(f"look {source} {written}")
    found = [draw.random() for _ in range(width)]
    return [each / sum(found) for each in found]


def drawn(vocab: int, seed: int, ends: float = 0.0) -> Tree:
    """A writer drawn at random; `ends` is added to what speaks for EOS."""

    def scores(source: tuple[int, ...], written: tuple[int, ...]) -> list[float]:
        draw = random.Random(f"{seed} {source} {written}")
        raw = [2 * draw.gauss(0, 1) + ends * (word == EOS) for word in range(vocab)]
        whole = math.log(sum(math.exp(each) for each in raw))
        return [each - whole for each in raw]

    return Tree(scores)


def constant(probabilities: Sequence[float]) -> Tree:
    """A writer that always finds the same words likely."""
    logs = [math.log(each) if each else -math.inf for each in probabilities]
    return Tree(lambda source, written: logs)


def every(tree: Tree, source: list[int], limit: int, vocab: int, least: int = 0) -> Iterator[Hypothesis]:
    """All targets a limit leaves, the score of each its sum: those that end, and those the limit cuts off."""
    for length in range(limit + 1):
        for ids in itertools.product(range(UNK, vocab), repeat=length):
            finished = length < limit
            if (finished and length < least) or (not finished and length != limit):
                continue
            told = [*ids, EOS] if finished else list(ids)
            each = [tree.log_probs(tuple(source), ids[:place])[word] for place, word in enumerate(told)]
            yield Hypothesis(list(ids), sum(each), each, finished)


def batch_of(sources: list[list[int]], targets: list[list[int]] | None = None, *, width: int = 0) -> Batch:
    """Padded sources, of `width` at least."""

    def padded(rows: list[list[int]]) -> Sequences:
        longest = max([width, *(len(row) for row in rows)])
        items = torch.tensor([row + [PAD] * (longest - len(row)) for row in rows]).view(len(rows), longest)
        return Sequences(items.long(), torch.arange(longest) < torch.tensor([len(row) for row in rows]).view(-1, 1))

    columns = {"source": padded(sources)} | ({} if targets is None else {"target": padded(targets)})
    return Batch(columns, ROUTE, torch.arange(len(sources)), sum(len(row) for row in targets or []))


def sources_of(count: int, vocab: int, longest: int, seed: int = 1) -> list[list[int]]:
    """Sources of mixed lengths, EOS at their ends."""
    draw = random.Random(seed)
    return [[draw.randrange(UNK, vocab) for _ in range(draw.randrange(longest))] + [EOS] for _ in range(count)]


def sized(table: Registry[Any], name: str, sizes: Mapping[str, int]) -> Choice:
    """A part with those of the sizes that it has, and what was written read beside the source if that is a choice."""
    return Choice(name, {size: sizes[size] for size in table.settings(name) if size in sizes})


def translator(encoder: str, decoder: str, *, vocab: int, dim: int = 16, num_layers: int = 2, seed: int = 8) -> Any:
    """An untrained model whose every word hangs on the source and on what was written."""
    sizes = {"num_layers": num_layers, "feedforward_dim": 2 * dim, "hidden_dim": dim, "residual": True}
    torch.manual_seed(seed)
    settings = dict(
        dim=dim,
        encoder=sized(ENCODERS, encoder, {**sizes, "hidden_dim": dim // 2}),  # in each direction
        decoder=sized(DECODERS, decoder, sizes),
        attention=AttentionSettings(score=Choice("additive")),
        self_attention=AttentionSettings(num_heads=2),
    )
    model: Translator = build_translator(settings, vocab, vocab)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() > 1:
                parameter.normal_(std=2 / parameter.shape[-1] ** 0.5)
            if name.endswith("embedder.table"):
                parameter.mul_(0.2)  # else a word hangs on the word before it alone
            if name.endswith("bias"):
                parameter.zero_()
    return model.double().eval()


class Zero(Feature):
    """Adds nothing, but says it might: a search under it may never stop early."""

    rewards = True

    def start(self, batch: Batch) -> Histories:
        return Histories(((), ()) * len(batch.lines))  # rows are never looked at

    def step(self, step: Step, ids: Tensor, state: Histories) -> tuple[Tensor, Histories]:
        return step.log_probs.new_zeros(1, 1), Histories(((), ()) * len(ids))
