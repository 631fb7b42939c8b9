"""The contract of searches, and what all of them need."""

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.decoding.features.feature import Feature
from regard.decoding.phrases import Requirements
from regard.decoding.shortlist import QuickWriter
from regard.errors import ConfigError
from regard.ops.kernels.search import CompiledWriter, NearestStates, Required, Rules
from regard.ops.topk import top
from regard.records import BOS, EOS, PAD, Batch, Sequences, Writer

if TYPE_CHECKING:
    from regard.decoding.beam import BeamSearch
    from regard.decoding.trace import SearchTrace

SURE_END = math.log(0.5)  # log-probability of an end at the limit from which it is the model's own end
WIDEST_BEAM = 1000  # hypotheses or draws of a sentence at once: more of them take gigabytes

Unwanted = Callable[[], AbstractSet[int]]  # lines of a batch that need not be written on


class Hypothesis(NamedTuple):
    """One way to write a target."""

    ids: list[int]  # neither BOS nor EOS
    score: float  # what hypotheses are ranked by
    log_probs: list[float]  # per id, that of EOS at the end if it has one
    finished: bool  # False: the length limit cut it off, so that its end, if it has one, was forced
    shares: Mapping[str, float] = MappingProxyType({})  # what the model and features add to the score; {}: untold

    @classmethod
    def ended(cls, ids: list[int], score: float, log_probs: list[float], limit: int) -> "Hypothesis":
        """Return one with EOS at its end; at the limit an unlikely end is not the model's own."""
        return cls(ids, score, log_probs, len(log_probs) < limit or log_probs[-1] >= SURE_END)

    @property
    def has_end(self) -> bool:
        """Return whether EOS stands behind the ids, chosen or forced."""
        return len(self.log_probs) > len(self.ids)


class Likeliest(NamedTuple):
    """The best next words of each row, falling by score, and behind them EOS or others, even if they are among them."""

    words: Tensor  # (rows, count + included)
    scores: Tensor  # (rows, count + included), with what features add; -inf where a word may not stand
    log_probs: Tensor  # (rows, count + included), the model's own


class Search(ABC):
    """Finds targets of high score. It knows two verbs of a writer, `start` and `step`, and nothing else of it.

    A target has at most max_ratio · source + max_extra ids, EOS counted on both sides, and no more than its writer can
    write; min_length before EOS, unless features leave no word to write. What reaches the limit ends there with EOS at
    its probability, as in fairseq and Marian; it is cut off only where no end is possible, or where words are sampled.
    """

    width = 1  # rows that are written of a sentence at once
    n_best = 1  # hypotheses of a sentence that are wanted
    requirements = Requirements({}, np.zeros(0, np.bool_))  # what targets have to contain

    first: tuple[int, ...] = ()  # ids that every target begins with, which cost nothing: the code of its language

    def __init__(self, max_ratio: float, max_extra: int, min_length: int, at_limit: str = "end") -> None:
        self.max_ratio, self.max_extra, self.min_length = max_ratio, max_extra, min_length
        self.at_limit = at_limit
        self.unwanted: Unwanted = frozenset

    @abstractmethod
    def run(self, writer: Writer, batch: Batch, *, features: Sequence[Feature] = ()) -> list[list[Hypothesis]]:
        """For each example its hypotheses, best first, at least one. Asks `dropped` after every step."""

    def until(self, unwanted: Unwanted) -> Self:
        """The same search for one call: `unwanted` is asked after every step, and its lines are written no further.

        Such a line is answered by what is there of it, unfinished.
        """
        other = copy.copy(self)
        other.unwanted = unwanted
        return other

    def traced(self, trace: "SearchTrace") -> "Search":
        """Return the same search for one call, with its steps recorded. Raises ConfigError where it has no steps."""
        raise ConfigError("decoding.search", "records no steps", "beam or greedy, or no --steps")

    def beginning(self, first: Sequence[int]) -> Self:
        """The same search of targets that begin with these ids. Raises ConfigError where it cannot keep them."""
        self.as_beam()
        other = copy.copy(self)
        other.first = tuple(first)
        return other

    def norm(self, lengths: Any) -> Any:
        """Return the divisor of the score of a hypothesis, by its length in words with EOS."""
        return lengths * 0 + 1.0

    def as_beam(self) -> "BeamSearch":
        """The beam search that stands in for it where something is required. Raises ConfigError where none can."""
        raise ConfigError("decoding.search", "cannot keep terms and prefixes", "--search beam")

    def dropped(self, lines: Tensor) -> Tensor | None:
        """(rows,) which of these lines are to be written no further; None: all are written on."""
        unwanted = self.unwanted()
        return torch.isin(lines, torch.tensor([*unwanted], device=lines.device)) if unwanted else None

    def written(
        self, guided: "Guided", rules: Rules, lines: Tensor, required: Required | None = None
    ) -> list[list[Hypothesis]] | None:
        """Search with compiled code alone, a beam of these rules; None where steps must be taken one by one.

        lines (rows,) are those of the batch.
        """
        writer, nearest = guided.compiled_writer(int(rules.limits.max(initial=0))), guided.compiled_feature()
        if writer is None or len(guided.features) > (nearest is not None):
            return None

        def dropped() -> NDArray[np.bool_]:
            found = self.dropped(lines)
            return np.zeros(len(lines), np.bool_) if found is None else found.numpy()

        unwanted = None if self.unwanted is frozenset else dropped
        found = writer.beam(rules, unwanted, required, nearest)
        return None if found is None else [[Hypothesis(*one) for one in some] for some in found]

    def limits(self, writer: Writer, batch: Batch) -> Tensor:
        """(batch,) most ids of each target; max_extra, or what the writer can, where the examples have no source."""
        source = batch.columns.get("source")
        lengths = source.mask.sum(dim=-1) if isinstance(source, Sequences) else torch.zeros_like(batch.lines)
        most = writer.longest(batch)
        return (lengths * self.max_ratio).long().add(self.max_extra).clamp(1, None if most is None else max(1, most))


class Guided:
    """A writer and the features of a log-linear model, stepping together."""

    def __init__(self, writer: Writer, features: Sequence[Feature], batch: Batch, min_length: int) -> None:
        self.writer, self.features, self.min_length = writer, tuple(features), min_length
        self.need_weights = any(feature.needs_weights for feature in features)
        self.state: Any = writer.start(batch)
        self.guides: list[Any] = [feature.start(batch) for feature in features]
        self.ids = torch.full((len(batch.lines), 1), BOS, device=batch.lines.device)  # last written, of each row
        self.written = 0

    def step(self) -> tuple[Tensor, Tensor]:
        """(rows, vocab) scores of the next word, -inf where it may not stand, and plain log-probabilities.

        Without features both are one block, written in place: a copy would cost as much as the decoder's layers.
        """
        step, self.state = self.writer.step(self.ids, self.state, need_weights=self.need_weights)
        scores = step.log_probs
        for place, feature in enumerate(self.features):
            added, self.guides[place] = feature.step(step, self.ids, self.guides[place])
            scores = scores + added
        forbidden = torch.tensor([PAD, BOS, EOS], device=scores.device)
        if self.written < self.min_length:
            ends = scores[:, EOS].clone()
            scores.index_fill_(-1, forbidden, float("-inf"))
            stuck = scores.amax(dim=-1) == float("-inf")  # a feature forbids the rest: only the end may stand
            scores[:, EOS] = scores[:, EOS].where(~stuck, ends)
        else:
            scores.index_fill_(-1, forbidden[:2], float("-inf"))
        self.written += 1
        return scores, step.log_probs

    def compiled_writer(self, steps: int) -> CompiledWriter | None:
        """Return the compiled search, for a maximum of `limit` ids; None where the writer needs steps."""
        if not isinstance(self.writer, QuickWriter) or not len(self.ids):
            return None
        return self.writer.compiled_writer(self.ids, self.state, steps)

    def compiled_feature(self) -> NearestStates | None:
        """Return the only feature as compiled code has it; None where it needs steps."""
        return self.features[0].compiled(self.guides[0]) if len(self.features) == 1 else None

    def best(self, count: int, included: NDArray[np.int64] | None = None) -> Likeliest:
        """Return the `count` best words of each row, falling, of equals the first, and behind them those of `included`.

        included (rows, some); None: EOS. Then, without features, a head may answer without the log-probabilities of all
        words.
        """
        if included is not None or self.features or not isinstance(self.writer, QuickWriter):
            scores, log_probs = self.step()
            more = self.ids.new_full((len(self.ids), 1), EOS) if included is None else torch.from_numpy(included)
            words = torch.cat([top(scores, count)[1], more.to(scores.device)], dim=-1)
            return Likeliest(words, scores.gather(-1, words), log_probs.gather(-1, words))
        hidden = (PAD, BOS, EOS) if self.written < self.min_length else (PAD, BOS)
        words, log_probs, self.state = self.writer.best(self.ids, self.state, count, hidden, (EOS,))
        self.written += 1
        return Likeliest(words, log_probs, log_probs)

    def ending(self) -> Tensor | float:
        """Return the scores that features add to rows that end here."""
        ends = [feature.finish(guide) for feature, guide in zip(self.features, self.guides, strict=True)]
        return sum(ends) if ends else 0.0

    def repeat(self, rows: Tensor) -> None:
        """Before the first step: the given examples (rows,) in place of one row each."""
        self.state = self.state.select(rows)
        self.guides = [guide.select(rows) for guide in self.guides]
        self.ids = self.ids[rows]

    def go_on(self, ids: Tensor, rows: Tensor | None = None) -> None:
        """ids (rows,) are written next, each behind the given row; None: every row behind itself."""
        self.ids = ids.unsqueeze(-1)
        if rows is not None:
            self.state = self.state.select(rows)
            self.guides = [guide.select(rows) for guide in self.guides]
