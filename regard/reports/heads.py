"""Pattern and importance of each attention head of a run, and the cost of pruning, on the dev set."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, cast

import numpy as np
import torch

from regard.arrays import Floats
from regard.attention import Attention
from regard.data.columns import TextColumn
from regard.errors import DataError, RegardError
from regard.evaluation.metric import Statistics
from regard.evaluation.significance import Interval, compare_statistics, interval_of
from regard.explain.heads import (
    PATTERNS,
    HeadPatterns,
    LargestWeights,
    gate_slopes,
    gated,
    heads_in,
    largest_weights_of,
    patterns,
)
from regard.predictor import Predictor, answers_and_losses
from regard.records import Batch
from regard.runs.texts import Say, dev_examples
from regard.tasks import Examples, Measure
from regard.tasks.examples import count_of
from regard.tasks.measures import LikelihoodMeasure

_SHARES = (0.1, 0.2, 0.3, 0.5, 0.7, 0.9)  # of all heads, that are pruned
_SEED = 1  # of the random order that pruning is compared with
_ORDERS = {"importance": "the least important first", "random": "in random order"}  # orders of pruning
NATS = LikelihoodMeasure("loss", unit="nats")

_Place = tuple[str, int]  # the module of an attention, and the number of a head of it from 0


class HeadReport(NamedTuple):
    """One head."""

    module: str  # name of its attention
    attention: str  # columns of queries and keys: target → source
    layer: int  # of the attentions between these two, from 1
    head: int  # from 1
    shares: Floats  # (pattern,) of words that follow each of PATTERNS; nan: none can
    confidence: float  # mean of the largest weights; nan: nothing was seen of it
    ablation: float  # nats an item that the loss grows by without it
    interval: Interval  # of these, 95 %
    p_value: float  # that the loss does not change
    gradient: float  # mean |∂L / ∂gate| of the examples, in nats an item

    @property
    def place(self) -> _Place:
        """Return where it is in the model."""
        return self.module, self.head - 1


class Pruned(NamedTuple):
    """A model without some heads."""

    order: str  # by which they were chosen: importance, random
    heads: int  # that are out
    loss: float  # nats an item
    score: float  # the first measure of the run's task
    interval: Interval  # of the score, 95 %
    p_value: float  # of the difference from the whole model


class HeadsReport(NamedTuple):
    """All heads of a run."""

    heads: list[HeadReport]
    examples: int
    loss: float  # nats an item, of the whole model
    measure: str  # what scores of pruned models are
    pruning: list[Pruned]  # the whole model first, if any


def measured_heads(predictor: Predictor, lines: int, prune: bool, say: Say) -> HeadsReport:
    """Measure every head on the first lines of a run's dev set.

    Raises RegardError where no attention of the model has heads, and DataError without a dev set.
    """
    run, experiment = predictor.run.path, predictor.run.experiment
    known = heads_in(predictor.model)
    if not known:
        raise RegardError(f"{run}: no attention of this model has heads (model.attention.num_heads)")
    whole = dev_examples(experiment, predictor.task, say)
    if whole is None:
        raise DataError(str(run), "has no dev set to measure heads on", hint="data.dev names one in training")
    examples = {name: values[:lines] for name, values in whole.items()}
    seen = head_patterns(predictor, examples, piece_counts(predictor, whole))
    say(f"patterns of {sum(heads.num_heads for _, heads in known.values())} heads: {count_of(examples)} examples")
    slopes = mean_slopes(predictor, examples)
    say("gradients: done")
    base, without = losses(predictor, examples, {}), dict[_Place, Statistics]()
    for name, (_, heads) in known.items():
        for head in range(heads.num_heads):
            without[name, head] = losses(predictor, examples, gates_without([(name, head)], predictor))
        say(f"{name}: {heads.num_heads} heads taken out, one by one")
    named = labels({name: one for name, (one, _) in known.items()})
    reports = [
        _reported((name, head), named[name], seen.get(name), slopes[name], base, rows)
        for (name, head), rows in without.items()
    ]
    measure, *_ = *predictor.task.measures(experiment.evaluation.metrics), NATS
    pruning = prunings(predictor, examples, reports, measure, say) if prune else []
    return HeadsReport(reports, count_of(examples), NATS.value(base.sum(axis=0)), measure.name, pruning)


def head_patterns(predictor: Predictor, examples: Examples, counts: Mapping[str, int]) -> dict[str, HeadPatterns]:
    """Return the patterns of the heads of each attention, by the name of its module; not of attention without words."""
    largest_weights: dict[str, list[LargestWeights]] = {}
    for batch in _singly(predictor, examples):
        for found in predictor.task.explain(predictor.model, batch):
            for seen in found.maps:
                large = largest_weights_of(found, seen)
                if large is not None:
                    largest_weights.setdefault(seen.name.partition(" ")[0], []).append(large)
    return {name: patterns(rows, counts) for name, rows in largest_weights.items()}


def piece_counts(predictor: Predictor, examples: Examples) -> Counter[str]:
    """Return how often each piece stands in the texts of examples."""
    counts = Counter[str]()
    for name, column in predictor.task.vocabularies.items():
        if column.tokenizer is not None and name in examples:
            for ids in column.encode_batch(examples[name]):
                counts.update(cast(TextColumn, column).pieces(ids))
    return counts


def mean_slopes(predictor: Predictor, examples: Examples) -> dict[str, torch.Tensor]:
    """Return the mean over examples of |∂L/∂gate| (head,) of each attention."""
    sums: dict[str, torch.Tensor] = {}
    for batch in _singly(predictor, examples):
        for name, slope in gate_slopes(predictor.model, batch).items():
            sums[name] = sums.get(name, torch.zeros_like(slope)) + slope.abs()
    return {name: one / count_of(examples) for name, one in sums.items()}


def losses(predictor: Predictor, examples: Examples, gates: Mapping[str, torch.Tensor]) -> Statistics:
    """Return (example, 2): nats and counted items with these gates."""
    with gated(predictor.model, gates):
        return answers_and_losses(predictor, examples).losses


def gates_without(places: Sequence[_Place], predictor: Predictor) -> dict[str, torch.Tensor]:
    """Return gates (head,) of 0 at these places and 1 beside them."""
    known, found = heads_in(predictor.model), dict[str, torch.Tensor]()
    for name, head in places:
        found.setdefault(name, torch.ones(known[name][1].num_heads, device=predictor.model.device))[head] = 0.0
    return found


def prunings(
    predictor: Predictor, examples: Examples, heads: Sequence[HeadReport], measure: Measure, say: Say
) -> list[Pruned]:
    """Prune more and more heads, the least important first, and for comparison in a random order by a seed."""
    least = [one.place for one in sorted(heads, key=lambda one: one.ablation)]
    shuffled = [heads[number].place for number in np.random.default_rng(_SEED).permutation(len(heads))]
    counts = sorted({max(round(share * len(heads)), 1) for share in _SHARES})
    whole, found = _judged(predictor, examples, measure, []), list[Pruned]()
    for order, places, count in (
        ("", least, 0),
        *(
            (order, places, count)
            for order, places in (("importance", least), ("random", shuffled))
            for count in counts
        ),
    ):
        loss, rows = _judged(predictor, examples, measure, places[:count]) if count else whole
        p_value = compare_statistics(measure, whole[1], rows, "").p_value
        found.append(Pruned(order, count, loss, measure.value(rows.sum(axis=0)), interval_of(measure, rows), p_value))
        state = f"{count} of {len(heads)} heads out, {_ORDERS[order]}" if order else "all heads in"
        say(f"{state}: {measure.name} {found[-1].score:.4g}")
    return found


def labels(known: Mapping[str, Attention]) -> dict[str, tuple[str, int]]:
    """Return for each attention its columns, queries → keys, and its number among those of these columns, from 1."""
    counts, found = Counter[str](), dict[str, tuple[str, int]]()
    for name, attention in known.items():
        queries, keys, *_ = attention.role
        between = f"{queries or 'learned'} → {keys or 'memory'}"
        counts[between] += 1
        found[name] = between, counts[between]
    return found


def _singly(predictor: Predictor, examples: Examples) -> Iterator[Batch]:
    """Batches of one example each, or of one part of a long one."""
    for number in range(count_of(examples)):
        one = {name: [values[number]] for name, values in examples.items()}
        for batch in predictor.task.held(one, predictor.setup.settings.batch_tokens):
            yield batch.to(predictor.model.device)


def _judged(
    predictor: Predictor, examples: Examples, measure: Measure, places: Sequence[_Place]
) -> tuple[float, Statistics]:
    """Return the loss and the statistics of the metric without these heads."""
    with gated(predictor.model, gates_without(places, predictor)):
        outcome = answers_and_losses(predictor, examples)
        return NATS.value(outcome.losses.sum(axis=0)), measure.statistics(outcome)


def _reported(
    place: _Place,
    label: tuple[str, int],
    seen: HeadPatterns | None,
    slopes: torch.Tensor,
    base: Statistics,
    without: Statistics,
) -> HeadReport:
    change = np.stack([without[:, 0] - base[:, 0], base[:, 1]], axis=1)
    (module, head), (attention, layer) = place, label
    return HeadReport(
        module,
        attention,
        layer,
        head + 1,
        np.full(len(PATTERNS), np.nan) if seen is None else seen.shares[head],
        math.nan if seen is None else float(seen.confidence[head]),
        NATS.value(change.sum(axis=0)),
        interval_of(NATS, change),
        compare_statistics(NATS, base, without, "").p_value,
        float(slopes[head]),
    )
