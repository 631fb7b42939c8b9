"""Pattern and importance of each attention head of a run, and the cost of pruning, on the dev set."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, cast

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
    pattern_of,
    patterns,
)
from regard.predictor import Predictor, answers_and_losses
from regard.records import Batch
from regard.reports.report import Report, figure_bytes, new_figure
from regard.reports.table import DASH, Cell, Table, number
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
    for place in range(count_of(examples)):
        one = {name: [values[place]] for name, values in examples.items()}
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


_SURE = 0.05  # significance level
MIXED = "mixed"  # pattern of a head that follows none clearly
ORDERS = ("importance", "random")


def heads_report(predictor: Predictor, lines: int, prune: bool, say: Say) -> Report:
    """Report pattern and importance of the heads of a run. Raises RegardError as `measured_heads` does."""
    found = measured_heads(predictor, lines, prune, say)
    names = ["head", *PATTERNS, "weight", "ablation", "gradient", "pattern"]
    tables = [Table(names, [_row(one) for one in found.heads], texts=1)]
    tables += [_pruning_table(found)] if found.pruning else []
    title = f"Heads of {predictor.run.path.name}, {found.examples} dev examples"
    return Report(tables, _as_values(found), _summary(found), partial(_figure, found, title))


def _pruning_table(found: HeadsReport) -> Table:
    """Return a row for each number of pruned heads; * marks a score that differs from the whole model's."""
    by, rows = {(one.order, one.heads): one for one in found.pruning}, list[list[Cell]]()
    for count in sorted({one.heads for one in found.pruning}):
        rows.append([Cell(str(count), count)])
        for one in (by.get((order, count), by["", 0]) for order in ORDERS):
            low, high = one.interval
            score = f"{number(one.score)} [{number(low)}, {number(high)}]{'*' if one.p_value < _SURE else ''}"
            rows[-1] += [Cell(score, one.score), Cell(f"{one.loss:.3f}", one.loss)]
    names = [f"{score}, {order}" for order in ("by importance", "at random") for score in (found.measure, "loss")]
    return Table(["heads out", *names], rows)


def _summary(found: HeadsReport) -> str:
    """Return in one line the number of important heads, and the number that can be pruned."""
    sure = sum(one.ablation > 0 and one.p_value < _SURE for one in found.heads)
    line = f"of {len(found.heads)} heads {sure} raise the loss when they alone are pruned (p < {_SURE})"
    if not found.pruning:
        return line
    free = [one.heads for one in found.pruning if one.order != "random" and one.p_value >= _SURE]
    return f"{line}; {max(free)} can be pruned together before {found.measure} changes"


def _as_values(found: HeadsReport) -> dict[str, Any]:
    """Return everything as JSON values."""
    return {
        "examples": found.examples,
        "loss": found.loss,
        "heads": [_values(one) for one in found.heads],
        "measure": found.measure,
        "pruning": [{**one._asdict(), "interval": list(one.interval)} for one in found.pruning],
    }


def _figure(found: HeadsReport, title: str, ending: str) -> bytes:
    """Plot a row for each attention, a column for each head, darker is more important; and the cost of pruning."""
    rows = len({(one.module) for one in found.heads})
    charts = 3 if found.pruning else 2
    figure = new_figure(5.2 * charts, max(2.5, 0.42 * rows + 1.6))
    first, second, *others = figure.subplots(1, charts, squeeze=False)[0]
    _draw_heads(first, found.heads, lambda one: one.ablation, "nats lost without it")
    _draw_heads(second, found.heads, lambda one: one.gradient, "|∂L / ∂gate|, nats")
    for axes in others:
        _draw_pruning(axes, found)
    figure.suptitle(title, fontsize=10, parse_math=False)
    return figure_bytes(figure, ending)


def _row(one: HeadReport) -> list[Cell]:
    """Return the table row of a head; * marks a significant ablation."""
    shares = [Cell(DASH if math.isnan(share) else f"{share:.0%}", share) for share in one.shares.tolist()]
    return [
        Cell(f"{one.attention} {one.layer}.{one.head}"),
        *shares,
        Cell(DASH if math.isnan(one.confidence) else f"{one.confidence:.2f}", one.confidence),
        Cell(f"{one.ablation:+.4f}{'*' if one.p_value < _SURE else ''}", one.ablation),
        Cell(f"{one.gradient:.4f}", one.gradient),
        Cell(_pattern(one)),
    ]


def _pattern(one: HeadReport) -> str:
    return DASH if np.isnan(one.shares).all() else pattern_of(one.shares) or MIXED


def _values(one: HeadReport) -> dict[str, Any]:
    shares = zip(PATTERNS, one.shares.tolist(), strict=True)
    return {
        **one._asdict(),
        "shares": {name: None if math.isnan(share) else share for name, share in shares},
        "confidence": None if math.isnan(one.confidence) else one.confidence,
        "interval": list(one.interval),
        "pattern": pattern_of(one.shares) or None,
    }


def _draw_heads(axes: Any, heads: Sequence[HeadReport], value: Callable[[HeadReport], float], label: str) -> None:
    """A heat map with the pattern of each head in its cell."""
    modules = list(dict.fromkeys(one.module for one in heads))
    cells = np.full((len(modules), max(one.head for one in heads)), np.nan)
    for one in heads:
        cells[modules.index(one.module), one.head - 1] = value(one)
    highest = max(float(np.nanmax(cells)), 1e-12)
    image = axes.imshow(cells, cmap="Purples", vmin=0.0, vmax=highest, aspect="auto")
    for one in heads:
        dark = value(one) > 0.6 * highest
        text = "" if _pattern(one) in (MIXED, DASH) else _pattern(one)
        place = one.head - 1, modules.index(one.module)
        axes.text(*place, text, ha="center", va="center", fontsize=6, color="white" if dark else "black")
    names = {one.module: f"{one.attention} {one.layer}" for one in heads}
    axes.set_yticks(range(len(modules)), [names[module] for module in modules], fontsize=7)
    axes.set_xticks(range(cells.shape[1]), [str(number + 1) for number in range(cells.shape[1])], fontsize=7)
    axes.set_xlabel("head")
    axes.set_title(label, fontsize=8)
    axes.figure.colorbar(image, ax=axes, shrink=0.8)


def _draw_pruning(axes: Any, found: HeadsReport) -> None:
    """Plot the score over the number of pruned heads."""
    for order, marker in zip(ORDERS, "os", strict=True):
        steps = [one for one in found.pruning if one.order in ("", order)]
        sides = [[one.score - one.interval.low for one in steps], [one.interval.high - one.score for one in steps]]
        counts, scores = [one.heads for one in steps], [one.score for one in steps]
        axes.errorbar(counts, scores, yerr=np.maximum(sides, 0), marker=marker, markersize=4, capsize=2, label=order)
    axes.set_xlabel("heads out")
    axes.set_title(found.measure, fontsize=8)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=7)
