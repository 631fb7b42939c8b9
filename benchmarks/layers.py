"""What a layer costs by length: recurrent, convolutional, attention to everything and to a window (Table 1 of
https://arxiv.org/abs/1706.03762).

    python benchmarks/layers.py [--dims 64 128] [--lengths 64 128 256 512 1024 2048] [--rounds 5] [--json FILE]

One layer of width d, eight sentences, forward and backward, float32.
  recurrent  h_t = tanh(W x_t + U h_(t-1) + b), by torch's network
  convolution  a masked convolution of kernel 3
  attention  scaled dot, softmax, read; as in that table, without projections
  window     the same over 17 neighbours (radius 8)

Time is that of a process's own processor seconds; each round takes every contender at every length once, and medians
are told. The exponent is the slope of the logarithm of time over that of length, from LONG places on: below, what a
call costs counts for more than what it computes. Attention costs as much as another layer at the crossing, from which
on it costs more at every length, looked for between two lengths in the same scale. Counted in multiplications it is
2 n d² : 2 n² d, so n = d for the recurrent layer, n = 3/2 d for a kernel of 3, and n = 17 for the window.
"""

import itertools
import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from program import count, machine, markdown, options, save
from timing import exponent, interleaved
from torch import Tensor, nn

from regard.attention import SCORES, SPANS, WEIGHTINGS, Attention
from regard.decoders.convolutional import ConvolutionalDecoder
from regard.encoders.convolutional import ConvolutionalEncoder
from regard.layers.convolutional.convolution import Convolution
from regard.layers.embedders.words import WordEmbedder
from regard.layers.recurrent import RECURRENT
from regard.models import AttentionSettings
from regard.models.build import build_sockets
from regard.records import Sequences
from regard.registry import Choice

BATCH, RADIUS, KERNEL = 8, 8, 3
LONG = 256
ROWS, PLACES_OF_TEXT, VOCAB, SPREAD = 16, 20, 200, 0.1  # of untrained decoders; the deviation of their embeddings
TOGETHER = 1024  # places that a measurement has at least, so that short ones can be timed
NAMES = ("recurrent", "convolution", "attention", "window")
PLACES = {"recurrent": 2, "convolution": KERNEL, "window": 2 * (2 * RADIUS + 1)}  # in d² per place, or d for a window

Case = tuple[str, int, int]  # contender, dim, length


def main() -> None:
    """Prints a table for each width, one of gradients by distance and one of variances by depth."""
    parser = options(__doc__, rounds=5, threads=1)
    parser.add_argument("--dims", type=count, nargs="+", default=[64, 128])
    parser.add_argument("--lengths", type=count, nargs="+", default=[64 * 2**power for power in range(6)])
    chosen = parser.parse_args()
    if sum(length >= LONG for length in chosen.lengths) < 2:
        parser.error(f"--lengths: the exponent is taken from {LONG} places on; give two such lengths at least")
    torch.set_num_threads(chosen.threads)
    cases = list(itertools.product(NAMES, chosen.dims, chosen.lengths))
    runs = {case: update(*case) for case in cases}
    spent = interleaved(runs, chosen.rounds, repeats=lambda case: max(1, TOGETHER // case[2]))
    seconds = {case: statistics.median(each) for case, each in spent.items()}
    shown = {f"Layers of width {dim}": table(dim, chosen.lengths, seconds) for dim in chosen.dims}
    for one in shown.values():
        print(one, "\n")
    print(distances(chosen.dims[0]), "\n")
    print(variances())
    names = ("contender", "dim", "length", "seconds")
    figures = [dict(zip(names, (*case, seconds[case]), strict=True)) for case in cases]
    save(chosen.json, {**machine(chosen.threads), "cases": figures, "tables": shown})


def layer(name: str, dim: int) -> Callable[[Tensor], Tensor]:
    """One layer of a kind, as a function of its inputs (batch, n, dim)."""
    if name == "recurrent":
        network = RECURRENT.build(Choice("rnn"), dim, dim)
        return lambda inputs: network(inputs, None)[0]
    if name == "convolution":
        convolution = Convolution(dim, dim, kernel=KERNEL)
        return lambda inputs: convolution(inputs, None)[0]
    span = Choice("window", {"radius": RADIUS}) if name == "window" else Choice("everywhere")
    parts = SCORES.build(Choice("scaled_dot"), dim, dim), SPANS.build(span, dim, dim)
    attention = Attention(*parts, WEIGHTINGS.build(Choice("softmax"), dim))
    return lambda inputs: attention(inputs, attention.remember(inputs)).context


def update(name: str, dim: int, length: int) -> Callable[[], None]:
    """Forward and backward, ready to be run again and again."""
    run = layer(name, dim)
    inputs = torch.randn(BATCH, length, dim, requires_grad=True)
    gradient = torch.randn(BATCH, length, dim)

    def once() -> None:
        run(inputs).backward(gradient)

    return once


def table(dim: int, lengths: Sequence[int], seconds: Mapping[Case, float]) -> str:
    """Markdown: a line for each length, the exponents, and where attention begins to cost more."""
    of = {name: {length: seconds[name, dim, length] for length in lengths} for name in NAMES}
    crossings = [as_text(crossing(of["attention"], of[name])) if name != "attention" else "" for name in NAMES]
    counted = [f"{PLACES[name] * (1 if name == 'window' else dim) / 2:.0f}" if name in PLACES else "" for name in NAMES]
    rows = [[f"{length:,}", *(f"{of[name][length] * 1e3:.2f}" for name in NAMES)] for length in lengths]
    rows.append(["exponent", *(f"{exponent(long(of[name])):.2f}" for name in NAMES)])
    rows += [["attention costs as much at", *crossings], ["by multiplications", *counted]]
    return markdown([f"d = {dim}, length", *(f"{name}, ms" for name in NAMES)], rows)


def long(seconds: Mapping[int, float]) -> dict[int, float]:
    """Those of the lengths from LONG on."""
    return {length: value for length, value in seconds.items() if length >= LONG}


def crossing(attention: Mapping[int, float], other: Mapping[int, float]) -> float:
    """The length from which on attention takes longer: nan if at the longest it does not, 0 if it does at all."""
    gaps = [(length, math.log(attention[length] / other[length])) for length in sorted(attention)]
    if all(gap > 0 for _, gap in gaps):
        return 0.0
    if gaps[-1][1] <= 0:
        return math.nan
    (before, less), (after, more) = [(a, b) for a, b in itertools.pairwise(gaps) if a[1] <= 0 < b[1]][-1]
    return math.exp(math.log(before) + math.log(after / before) * less / (less - more))


def as_text(length: float) -> str:
    """A crossing for a person."""
    return "never" if math.isnan(length) else "always" if length == 0 else f"{length:.0f}"


def distances(dim: int, places: int = 65) -> str:
    """Markdown: how much of a gradient comes from how far away, through two untrained layers of each kind.

    The norm of d out_last / d in_(last - distance), by that at distance 0.
    """
    asked = [0, 1, 2, 4, 8, 16, 32, 64]
    rows = []
    for name in NAMES:
        torch.manual_seed(1)
        stack = [layer(name, dim), layer(name, dim)]
        inputs = torch.randn(BATCH, places, dim, requires_grad=True)
        states = inputs
        for run in stack:
            states = run(states)
        (gradient,) = torch.autograd.grad(states[:, -1], inputs, torch.randn(BATCH, dim))
        norms = gradient.flip(1).norm(dim=-1).mean(dim=0)
        rows.append([name, *(f"{float(norms[far] / norms[0]):.1e}" for far in asked)])
    return markdown(["distance", *map(str, asked)], rows)


def variances(dim: int = 128, depths: Sequence[int] = (4, 10, 15)) -> str:
    """Variance of what the deepest layer of ConvS2S's decoder writes before training, as a multiple of the embeddings'.

    Contexts are projected, or added as they are (https://arxiv.org/abs/1705.03122, section 3.4).
    """
    ways = {"contexts added as they are": False, "contexts projected": True}
    rows = ([name, *(f"{deepest(dim, depth, way):.2f}" for depth in depths)] for name, way in ways.items())
    return markdown(["layers", *map(str, depths)], rows)


@torch.no_grad()
def deepest(dim: int, depth: int, projected: bool) -> float:
    """Of a decoder of so many layers, all of one width, attending to an encoder as deep."""
    torch.manual_seed(1)
    dot = AttentionSettings(score=Choice("dot"))
    sockets = build_sockets(dot, dot)
    words = WordEmbedder(VOCAB, dim, scale=False, std=SPREAD, dropout=0.0)
    settings: dict[str, Any] = {"hidden_dim": dim, "num_layers": depth, "dropout": 0.0}
    source = Sequences(torch.randn(ROWS, PLACES_OF_TEXT, dim) * SPREAD, torch.ones(ROWS, PLACES_OF_TEXT) > 0)
    read = ConvolutionalEncoder(dim, sockets, **settings)(source)
    model, found = ConvolutionalDecoder(words, dim, sockets, **settings), list[float]()
    for step in model.steps:
        if not projected:
            step.register_module("from_context", nn.Identity())
        step.register_forward_hook(lambda module, given, looked: found.append(float(looked.context.var())))
    model.eval()(torch.randint(4, VOCAB, (ROWS, PLACES_OF_TEXT)), model.start(read))
    return found[-1] / SPREAD**2


if __name__ == "__main__":
    main()
