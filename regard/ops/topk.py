"""The largest values of a row, exactly, of equals the first."""

from collections.abc import Sequence

import torch
from torch import Tensor

BLOCKS_FROM = 2000  # values from which two passes beat torch's selection (measured on two cores)


def top(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The `count` largest of the last axis and where they stand, exactly, of equals the first.

    Blocks first: one fast pass on a CPU.
    """
    size = values.shape[-1]
    block = next((size // parts for parts in (100, 128, 64, 125, 80, 50) if size % parts == 0), 0)
    if size < BLOCKS_FROM or not block or count > size // block:
        return _largest(values, min(count, size))
    blocks = values.unflatten(-1, (-1, block))
    chosen = _largest(blocks.amax(dim=-1), count)[1].sort(dim=-1).values  # in order, so that equals stay so too
    inside = blocks.gather(-2, chosen.unsqueeze(-1).expand(*chosen.shape, block)).flatten(-2)
    found, places = _largest(inside, count)
    return found, chosen.gather(-1, places // block) * block + places % block


def best_words(
    log_probs: Tensor, count: int, forbidden: Sequence[int] = (), included: Sequence[int] = ()
) -> tuple[Tensor, Tensor]:
    """(rows, vocab) → the `count` likeliest words and behind them those `included`, with their log-probabilities.

    `forbidden` words, which may be included, too, get -inf in place.
    """
    log_probs[:, [*forbidden]] = float("-inf")
    found, words = top(log_probs, count)
    if included:
        more = torch.tensor([*included], device=words.device).expand(len(words), -1)
        words, found = torch.cat([words, more], dim=-1), torch.cat([found, log_probs.gather(-1, more)], dim=-1)
    return words, found


def _largest(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """torch's topk takes any of equal values, in any order; this the first."""
    if count == 1:
        found, places = values.max(dim=-1, keepdim=True)
        return found, places
    found, places = values.topk(min(count + 1, values.shape[-1]), dim=-1)
    tied = found[..., count - 1] == found[..., -1]
    if found.shape[-1] > count and bool(tied.any()):
        places[tied, :count] = _first(values[tied], found[tied, -1:], count)
    places = places[..., :count].sort(dim=-1).values
    found, order = values.gather(-1, places).sort(dim=-1, descending=True, stable=True)
    return found, places.gather(-1, order)


def _first(values: Tensor, least: Tensor, count: int) -> Tensor:
    """(rows, size) values → where those above `least` (rows, 1) stand and the first equal to it, `count` in all."""
    above, equal = values > least, values == least
    chosen = above | (equal & (equal.cumsum(dim=-1) <= count - above.sum(dim=-1, keepdim=True)))
    return chosen.nonzero()[:, 1].view(-1, count)
