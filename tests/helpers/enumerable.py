"""A writer whose every target can be written down: one table of logits for each length of what was written."""

from itertools import product
from typing import Any, cast

import torch
from torch import Tensor, nn

from regard.data.collate import collate
from regard.models import ROUTE, Generator
from regard.models.model import Distributions
from regard.ops.topk import best_words
from regard.records import BOS, EOS, PAD, UNK, Batch, Decoded, Encoded, Step

VOCAB, LONGEST = 6, 2  # ids; words of a target: the limit of a search cuts it off there
WORDS = range(UNK, VOCAB)


class Told:
    """The text of ids, and what stands for a task that has it as its target."""

    stands_in = False

    def along(self, route: str) -> "Told":
        return self

    def decode(self, ids: list[int]) -> str:
        return " ".join(f"w{one}" for one in ids)

    @property
    def vocabularies(self) -> dict[str, Any]:
        return {"target": self}


class TableWriter(Generator):
    """log p(y) = Σ_t log softmax(table[t, y_(t-1)])[y_t]; a target ends after LONGEST words without an end."""

    def __init__(self, seed: int = 5) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.table = nn.Parameter(torch.randn(LONGEST + 1, VOCAB, VOCAB, dtype=torch.float64))

    def log_probs(self) -> Tensor:
        """(place, last word, word), PAD and BOS being impossible."""
        hidden = torch.zeros(VOCAB, dtype=torch.bool)
        hidden[[PAD, BOS]] = True
        return self.table.masked_fill(hidden, -1e9).log_softmax(dim=-1)

    def distributions(self, batch: Batch) -> Distributions:
        items, mask = batch.sequences("target")
        before = torch.cat([items.new_full((len(items), 1), BOS), items[:, :-1]], dim=1)
        places = torch.arange(items.shape[1]).expand_as(items)
        return Distributions(self.log_probs()[places, before][mask], items[mask])

    def nll(self, batch: Batch, *, smoothing: float = 0.0) -> Tensor:
        mask = batch.sequences("target").mask
        losses = self.distributions(batch).nll(smoothing)
        return losses.new_zeros(mask.shape).masked_scatter(mask, losses)

    def counted(self, batch: Batch) -> Tensor:
        return batch.sequences("target").mask

    def decode(self, batch: Batch, *, need_weights: bool = False) -> tuple[Decoded, Encoded | None]:
        raise NotImplementedError

    def best(self, ids: Tensor, state: Any, count: int, forbidden: Any = (), included: Any = ()) -> Any:
        step, after = self.step(ids, state)
        return *best_words(step.log_probs, count, forbidden, included), after

    def longest(self, batch: Batch) -> int:
        return LONGEST

    def start(self, batch: Batch) -> "At":
        return At(0)

    def step(self, ids: Tensor, state: "At", *, need_weights: bool = False) -> tuple[Step, "At"]:
        return Step(self.log_probs()[state.place, ids[:, 0]].detach().clone()), At(state.place + 1)


class At:
    """How many words were written."""

    def __init__(self, place: int) -> None:
        self.place = place

    def select(self, rows: Tensor) -> "At":
        return self


def every_target() -> list[tuple[int, ...]]:
    """All that a search may write: with an end, or cut off at the limit."""
    ended = [(*words, EOS) for length in range(LONGEST) for words in product(WORDS, repeat=length)]
    return [*ended, *product(WORDS, repeat=LONGEST)]


def batch_of(targets: list[tuple[int, ...]]) -> Batch:
    """Sources of one word with these targets."""
    source = collate([[UNK, EOS] for _ in targets])
    return Batch(
        {"source": source, "target": collate(targets)}, ROUTE, torch.arange(len(targets)), sum(map(len, targets))
    )


def told() -> Any:
    """A task whose targets are told in words."""
    return cast(Any, Told())
