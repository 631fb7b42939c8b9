"""Training of a repair: first the vectors of words that are translated wrongly; all weights where that is not enough.

Vectors of words change texts with pieces of these words alone. All weights end at the smallest change that repairs.
"""

import random
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor, nn

from regard.predictor import Predictor
from regard.recipes.repair.faults import RepairPair
from regard.recipes.weight_change import WeightChange, put_weights, weight_copies
from regard.runs.texts import Say

_Row = TypeVar("_Row")

MENDED = 0.9  # fraction of the wrong repairs that must be right afterwards
_ROWS = 48  # of each kind in an update
_HOLD = 10.0  # weight of the divergence from old answers, beside the loss of the repairs
_WORD_RATE, _WORD_UPDATES = 0.05, 200  # the rate is a fraction of the standard deviation of the vectors
_RATE, _UPDATES, _CHECK_EVERY, _PATIENCE = 5e-4, 400, 10, 50
_HALVINGS = 5  # of the range in which the least part of a change lies
_CHECKED = 100  # transfers whose answers are checked


class Transfer(NamedTuple):
    """A text with a faulty word, the same with its stand-in, and the old answer to the latter."""

    source: str
    read: str
    answer: str


class Lesson(NamedTuple):
    """Pairs and transfers that are trained, and old answers that are held."""

    repairs: Sequence[RepairPair]
    variants: Sequence[RepairPair]
    transfers: Sequence[Transfer]
    held: Sequence[RepairPair]  # beside all weights
    held_words: Sequence[RepairPair]  # beside the vectors: old texts with pieces of the words
    pieces: frozenset[int]  # of the words that are translated wrongly


class RepairUpdates(NamedTuple):
    """Updates of the vectors and of all weights, and the fraction of the change by the latter that is kept."""

    vectors: int
    weights: int
    strength: float


class RepairTrainer:
    """Trains the weights of `after`; the weights of `before` stay."""

    def __init__(self, before: Predictor, after: Predictor, lesson: Lesson, seed: int, say: Say) -> None:
        self.before, self.after, self.lesson, self.say = before, after, lesson, say
        self.draw = random.Random(seed)
        self.right = [*lesson.repairs, *lesson.variants]
        self.checked = [(one.source, one.answer) for one in lesson.transfers[:_CHECKED]]

    def train(self) -> RepairUpdates:
        """Train the vectors, then all weights where less than 90 % of the wrong repairs are right.

        Vectors with which no wrong repair is right are not kept.
        """
        given = right_answers(self.before, self.lesson.repairs)
        wrong = [pair for pair, right in zip(self.lesson.repairs, given, strict=True) if not right]
        start = weight_copies(self.after.model)
        self.say("training the vectors of wrong words")
        vectors = self._train_vectors()
        mended = sum(right_answers(self.after, wrong))
        if mended >= MENDED * len(wrong):
            return RepairUpdates(vectors, 0, 0.0)
        if mended:
            start = weight_copies(self.after.model)
        else:
            put_weights(self.after.model, start)
            vectors = 0
        self.say(f"training all weights, at most {_UPDATES} updates: {mended} of {len(wrong)} repairs hold by vectors")
        updates = self._train([*self.after.model.parameters()], _RATE, _UPDATES, self.lesson.held)
        return RepairUpdates(vectors, updates, self._weaken(start))

    def _tables(self) -> list[nn.Parameter | None]:
        """Return the embedding matrices of source and target; None: words have no vectors of their own."""
        reads = self.after.model.reads(_batch(self.after, self.lesson.repairs[:1]))
        return [embedder.output_weight() for embedder, _ in reads]

    def _train_vectors(self) -> int:
        """Train the vectors of the pieces; where the target shares them, all old answers are held."""
        table, *others = self._tables() or [None]
        if table is None or not self.lesson.pieces:
            return 0
        held = self.lesson.held if any(one is table for one in others) else self.lesson.held_words
        kept = torch.ones(len(table), 1, dtype=torch.bool, device=table.device)
        kept[[*self.lesson.pieces]] = False
        handle = table.register_hook(lambda gradient: gradient.masked_fill(kept, 0.0))
        rate = _WORD_RATE * table.detach().std().item()
        updates = self._train([table], rate, _WORD_UPDATES, held)
        handle.remove()
        return updates

    def _train(self, parameters: list[nn.Parameter], rate: float, updates: int, held: Sequence[RepairPair]) -> int:
        """Train until all is answered right, or no more is for 50 updates; return the update with most right answers.

        Its weights are kept.
        """
        optimizer = torch.optim.AdamW(parameters, lr=rate, weight_decay=0.0)
        best, last, kept = -1, 0, weight_copies(self.after.model)
        for update in range(1, updates + 1):
            loss = self._loss(held)
            self.after.model.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            optimizer.step()
            if update % _CHECK_EVERY == 0 or update == updates:
                right, count = self._learned(), len(self.right) + len(self.checked)
                self.say(f"update {update}: loss {loss.item():.3f}, {right} of {count} repairs and variants right")
                if right > best:
                    best, last, kept = right, update, weight_copies(self.after.model)
                if right == count or update - last >= _PATIENCE:
                    break
        put_weights(self.after.model, kept)
        return last

    def _learned(self) -> int:
        """Return how many pairs and transfers are answered right."""
        return sum(right_answers(self.after, [*self.right, *self.checked]))

    def _loss(self, held: Sequence[RepairPair]) -> Tensor:
        loss = nll(self.after, self._rows())
        if some := self._some(self.lesson.transfers):
            read, source = [(one.read, one.answer) for one in some], [(one.source, one.answer) for one in some]
            loss = loss + divergence(self.before, self.after, read, source)
        if pairs := self._some(held):
            loss = loss + _HOLD * divergence(self.before, self.after, pairs, pairs)
        return loss

    def _rows(self) -> list[RepairPair]:
        """Sample the pairs of an update: half of them repairs, more where there are few variants."""
        repairs, variants = self.lesson.repairs, self._some(self.lesson.variants)
        count = max(_ROWS // 2, _ROWS - len(variants))
        return [*(repairs if len(repairs) <= count else self.draw.sample(repairs, count)), *variants][:_ROWS]

    def _some(self, rows: Sequence[_Row]) -> list[_Row]:
        return self.draw.sample(rows, min(len(rows), _ROWS))

    def _weaken(self, start: list[Tensor]) -> float:
        """Return the least part of the change that keeps as many pairs right, and go back to it."""
        change, most = WeightChange(self.after.model, start, weight_copies(self.after.model)), self._right()
        too_little, least = 0.0, 1.0
        for _ in range(_HALVINGS):
            middle = (too_little + least) / 2
            change.keep(middle)
            too_little, least = (too_little, middle) if self._right() >= most else (middle, least)
        change.keep(least)
        return least

    def _right(self) -> int:
        return sum(right_answers(self.after, self.right))


def _batch(predictor: Predictor, pairs: Sequence[RepairPair]) -> Any:
    examples = [{"source": source, "target": target} for source, target in pairs]
    return predictor.task.batch(predictor.task.encode(examples)).to(predictor.model.device)


def nll(after: Predictor, pairs: Sequence[RepairPair]) -> Tensor:
    """Return the loss of a target token, in nats."""
    batch = _batch(after, pairs)
    return after.model.nll(batch).sum() / batch.count


def divergence(before: Predictor, after: Predictor, old: Sequence[RepairPair], new: Sequence[RepairPair]) -> Tensor:
    """Return KL(before, after) of a target token, in nats, of equal answers to `old` by the one, to `new` by the other.

    The order of the texts is the same.
    """
    with torch.no_grad():
        one = before.model.distributions(_batch(before, old)).log_probs
    other = after.model.distributions(_batch(after, new)).log_probs
    return (one.exp() * (one - other)).sum(dim=-1).mean()


def answers(predictor: Predictor, texts: Sequence[str]) -> list[str]:
    """Return the answers to texts, each read as one sentence."""
    return [one.text for one in predictor.predict(texts)]


def right_answers(predictor: Predictor, pairs: Sequence[RepairPair]) -> list[bool]:
    """Return which pairs are answered as given."""
    given = answers(predictor, [source for source, _ in pairs])
    return [answer == right for answer, (_, right) in zip(given, pairs, strict=True)]
