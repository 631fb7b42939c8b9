"""Plans of network and schedule for a time limit, by the speed of this machine."""

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any, NamedTuple, cast

import torch

from regard.config import SETTINGS_FILE, lay, read_yaml
from regard.data.columns import Columns, learn_columns, longest_read
from regard.data.readers import READERS
from regard.errors import ConfigError, RegardError
from regard.experiment.settings import Experiment
from regard.experiment.sizes import (
    DATA_SIZES,
    FEW_PAIRS,
    LARGE_DATA,
    MANY_PAIRS,
    SENTENCE_PIECES,
    SHORT_TRAINING,
    DataSize,
    defaults_for,
    held_out_fraction,
    settings_of_size,
    size_for,
)
from regard.models import MODELS, ROUTE
from regard.ops.machine import settled
from regard.ops.memory import keep_memory
from regard.ops.timings import timings
from regard.records import UNK, Batch, Sequences
from regard.registry import Choice
from regard.tasks import TASKS
from regard.training.clock import ClockTime, now
from regard.training.optimizers import OPTIMIZERS

MIN_UPDATES = 1_000  # below this a smaller network learns more in the same time
LONG_UPDATES = 2_000  # of 20,000 pairs and more: there a short training of 29,000 is equal, at 1,600 it is better
WIDE_UPDATES = 3_000  # of wider networks for more pairs; the limit was not measured
SHORT_UPDATES = 250  # of a short training; the limit was not measured
_FEWEST_UPDATES, _ENOUGH_UPDATES = 20, 200  # a time for fewer is refused; recommended by the hint
SECONDS = 2.0  # of measurement, for each network
TRAINING = 0.85  # of the time; the rest goes to validations
WHOLE_WORDS = 30_000  # pieces of a vocabulary whose tokenizer has no size
_FIRST = 1_000  # examples from which lengths are estimated
_VALIDATIONS, _FEWEST_VALIDATIONS = 8, 4  # within the time: where they are cheap, and where they are not
_VALIDATING = 0.1  # of the time, at most, unless only the fewest validations are made
_MOST_VALIDATING = 0.2  # of the time, at most, for these, unless only two are made
FEW_EPOCHS = 10  # below this a network does not overfit and needs little dropout
_UNMEASURED = (RegardError, RuntimeError, ValueError, TypeError, LookupError, NotImplementedError)  # of faulty settings

_Say = Callable[[str], None]


class TimePlan(NamedTuple):
    """Size and updates that fit into a time."""

    size: DataSize
    updates: int
    tokens_per_second: float  # of batches, padding included


class PlannedSettings(NamedTuple):
    """Settings, in the form of a file, and the updates that they are made for."""

    settings: dict[str, Any]
    updates: int | None = None  # None: not measured


class TrainingPace(NamedTuple):
    """Speed of training."""

    seconds: float  # wall time per update
    rows: int  # examples per update
    core_seconds: float  # processor time per update


class _Vocabulary:
    """Substitute for a column of which only the size matters."""

    def __init__(self, pieces: int) -> None:
        self.pieces = pieces

    def __len__(self) -> int:
        return self.pieces


class _Sized:
    """A column learnt from few examples, or its tokenizer, with the number of pieces of a run."""

    def __init__(self, small: Any, pieces: int) -> None:
        self._small, self._pieces = small, pieces

    def __len__(self) -> int:
        return self._pieces

    @property
    def tokenizer(self) -> "_Sized":
        return _Sized(self._small.tokenizer, self._pieces)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._small, name)


def sized_columns(experiment: Experiment, small: Columns) -> dict[str, Any]:
    """Return columns with the sizes of the settings; texts with a shared vocabulary share one."""
    size = experiment.text.tokenizer.settings.get("size", WHOLE_WORDS)
    pieces = size if isinstance(size, int) else WHOLE_WORDS
    sized: dict[int, Any] = {
        id(column): column if column.tokenizer is None else _Sized(column, max(pieces, len(column.tokenizer)))
        for column in small.values()
    }
    return {name: sized[id(column)] for name, column in small.items()}


def size_defaults(given: Experiment, settings: Mapping[str, Any], pairs: int, say: _Say | None) -> PlannedSettings:
    """Return defaults by the size of the data, or by the time: as planned at the start of a resumed run."""
    planned, begun = _may_be_planned(settings, given), given.run is not None and (given.run / SETTINGS_FILE).is_file()
    if begun and given.run is not None and (planned or pairs in FEW_PAIRS):
        before = read_yaml(given.run / SETTINGS_FILE)
        groups = {group: before.get(group) or {} for group in ("data", "text", "model", "training")}
        kept = {group: groups[group] for group in ("text", "model", "training")} if planned else _of_limit(groups)
        kept["data"] = {"recombination": groups["data"].get("recombination")}
        return PlannedSettings(lay(defaults_for(pairs), kept))
    if not planned:
        return PlannedSettings(defaults_for(pairs, _limit(given, pairs)))
    return _planned_defaults(given, pairs, say) if say else PlannedSettings(defaults_for(pairs))


def _of_limit(groups: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the settings of a run whose defaults depend on its limit: another limit does not change them."""
    sampling = (groups["text"].get("tokenizer") or {}).get("sampling")
    tokenizer = {} if sampling is None else {"tokenizer": {"sampling": sampling}}
    names = ("schedule", "validate_every")
    return {
        "text": tokenizer,
        "training": {name: groups["training"][name] for name in names if name in groups["training"]},
    }


def _limit(experiment: Experiment, pairs: int) -> int | None:
    """Return the updates that training.max_updates and max_epochs allow; None: as many as the size has."""
    training, size = experiment.training, size_for(pairs)
    read = training.max_epochs and round(training.max_epochs * pairs * SENTENCE_PIECES / size.batch_tokens)
    return min((one for one in (training.max_updates, read) if one), default=None)


def pace_defaults(
    experiment: Experiment, settings: Mapping[str, Any], examples: int, say: _Say | None
) -> PlannedSettings:
    """Return warm-up and validations by the time, if not given: as planned at the start of a resumed run."""
    if not _may_be_paced(settings, experiment):
        return PlannedSettings({})
    if experiment.run is not None and (experiment.run / SETTINGS_FILE).is_file():
        before = read_yaml(experiment.run / SETTINGS_FILE).get("training", {})
        return PlannedSettings(
            {"training": {name: before[name] for name in ("schedule", "validate_every") if name in before}}
        )
    return _paced_defaults(experiment, examples, say) if say else PlannedSettings({})


_NETWORK = {"encoder", "decoder"}  # parts of the table of sizes


def _may_be_planned(settings: Mapping[str, Any], experiment: Experiment) -> bool:
    """Return whether network, vocabulary and batches are left open, and a time limit is given."""
    training, model = settings.get("training", {}), settings.get("model", {})
    timed = any(training.get(limit) for limit in ("max_minutes", "max_core_minutes"))
    free = (
        not {"batch_tokens", "batch_sentences", "accumulate", "schedule", "learning_rate", "max_updates"}
        & training.keys()
    )
    free = free and means_cpu(experiment.device)  # GPUs are not measured
    known = MODELS.settings(experiment.model.name).keys()
    sized = "model" not in experiment.task_class.spec.defaults and _NETWORK & known  # by the table of sizes
    free = (
        free and (isinstance(model, str) or model.keys() <= {"name"}) and "text" not in settings and not experiment.init
    )
    return timed and free and bool(sized)


def _may_be_paced(settings: Mapping[str, Any], experiment: Experiment) -> bool:
    """Return whether a time limits a gradient-based training, and warm-up and validations are left open."""
    training = settings.get("training", {})
    timed = any(training.get(limit) for limit in ("max_minutes", "max_core_minutes"))
    free = not {"schedule", "validate_every"} <= training.keys() and means_cpu(experiment.device)
    return timed and free and not _may_be_planned(settings, experiment)


def means_cpu(device: str) -> bool:
    """Return whether a setting of the device means the CPU here."""
    return device == "cpu" or (device == "auto" and not torch.cuda.is_available())


def _planned_defaults(experiment: Experiment, pairs: int, say: _Say) -> PlannedSettings:
    """Return settings for `pairs` within the time of the experiment."""
    minutes = _minutes(experiment)
    say(f"measuring how fast this machine trains, to plan {minutes:g} min of training")
    plan = plan_for(pairs, minutes * 60, lambda size: measured_speed(experiment, size))
    if plan.updates < _FEWEST_UPDATES:
        problem = f"{minutes:.3g} minutes are about {plan.updates:,} updates on this machine: too few to learn anything"
        needed = _ENOUGH_UPDATES * plan.size.batch_tokens / (plan.tokens_per_second * TRAINING * 60)
        hint = f"{_ENOUGH_UPDATES} updates take {max(0.1, needed):.1f} minutes"
        limit = "max_minutes" if experiment.training.max_minutes else "max_core_minutes"
        raise ConfigError(f"training.{limit}", problem, hint)
    size, epochs = plan.size, plan.updates * plan.size.batch_tokens / max(1, pairs * SENTENCE_PIECES)
    rounds = f" or {epochs:.1f} epochs" if pairs < LARGE_DATA else ""  # beyond, pairs are not counted
    say(
        f"planned: {size.num_layers} + {size.num_layers} layers of {size.dim}, {size.pieces:,} pieces, about "
        f"{plan.updates:,} updates{rounds} ({plan.tokens_per_second:,.0f} tokens/s)"
    )
    lines = _dev_lines(experiment, pairs, held_out_fraction(pairs))
    changes: dict[str, Any] = {
        "model": {"dropout": 0.1} if epochs < FEW_EPOCHS else {},
        "training": {
            "schedule": {"warmup": planned_warmup(size.warmup, plan.updates, 4 if size is SHORT_TRAINING else 10)},
            "validate_every": planned_interval(
                500, plan.updates, lines * SENTENCE_PIECES / size.batch_tokens, minimum=50
            ),
        },
    }
    return PlannedSettings(lay(settings_of_size(size, pairs, plan.updates), changes), plan.updates)


def planned_warmup(usual: int, updates: int, fraction: int = 10) -> int:
    """Return the warm-up for `updates` in total: a tenth of them, or another `fraction`, at most `usual`."""
    return min(usual, max(1, updates // fraction))


def planned_interval(usual: int, updates: int, cost: float, *, minimum: int = 10) -> int:
    """Return the interval of validations for `updates` in total: at most the `usual` one, unless validations are slow.

    A line of the dev set takes about as long as an example of training, so one validation costs as much as `cost`
    updates: the lines per example of an update.
    """
    every = min(usual, max(minimum, updates // _VALIDATIONS))
    slowest = max(updates // _FEWEST_VALIDATIONS, min(round(cost / _MOST_VALIDATING), updates // 2))
    return max(every, min(round(cost / _VALIDATING), slowest))


def _dev_lines(experiment: Experiment, examples: int, fraction: float) -> int:
    """Return the number of examples of each validation; `fraction` of all are held out where there is no dev set."""
    choice, most = experiment.reader("dev"), experiment.training.validate_lines
    if choice is None:
        return min(most, round(examples * fraction))
    return sum(1 for _ in islice(READERS.build(choice, tuple(experiment.columns), place="data.dev"), most))


def _paced_defaults(experiment: Experiment, examples: int, say: _Say) -> PlannedSettings:
    """Return warm-up and validations for the time of a complete experiment."""
    minutes, training = _minutes(experiment), experiment.training
    pace = measured_pace(experiment)
    if pace is None:
        return PlannedSettings({})
    updates = max(1, round(minutes * 60 * TRAINING / _counted(experiment, ClockTime(pace.seconds, pace.core_seconds))))
    rounds = f" or {updates * pace.rows / examples:.1f} epochs" if examples < LARGE_DATA else ""
    say(f"planned: about {updates:,} updates{rounds} in {minutes:g} minutes ({1 / pace.seconds:,.1f} updates/s)")
    warmup = training.schedule.settings.get("warmup", 0)
    lines = _dev_lines(experiment, examples, experiment.data.dev_fraction)
    every = planned_interval(training.validate_every, updates, lines / max(1, pace.rows))
    found: dict[str, Any] = {"validate_every": every}
    schedule = {"warmup": planned_warmup(warmup, updates)} if warmup else {}
    return PlannedSettings({"training": found | ({"schedule": schedule} if schedule else {})}, updates)


def measured_pace(experiment: Experiment) -> "TrainingPace | None":
    """Return the speed of training on the first examples of the data; None where it fails, or needs no measurement.

    Errors of settings or data are reported by the rehearsal, and where the data are read.
    """
    try:
        batch, columns = _first_batch(experiment)
        model = MODELS.build(experiment.model, sized_columns(experiment, columns)).train()
        weights = [one for one in model.parameters() if one.requires_grad]
        optimizer = OPTIMIZERS.build(experiment.training.optimizer, weights)

        def update() -> None:
            model.nll(batch).sum().backward()
            optimizer.step()
            optimizer.zero_grad()

        spent = _time_of(update, experiment)
    except _UNMEASURED:
        return None
    times = experiment.training.accumulate
    return TrainingPace(spent.wall * times, len(batch.lines) * times, spent.core * times)


def examples_of_update(experiment: Experiment) -> int | None:
    """Return the number of examples of an update, by the first ones; None where `measured_pace` fails, too."""
    try:
        return len(_first_batch(experiment)[0].lines) * experiment.training.accumulate
    except _UNMEASURED:
        return None


def _first_batch(experiment: Experiment) -> tuple[Batch, Columns]:
    """Return a full batch of first examples of mean length, and columns learnt from these alone."""
    choice, names = experiment.reader("train"), tuple(experiment.columns)
    if choice is None:
        raise ConfigError("data.train", "must be given")
    examples = [*islice(READERS.build(choice, names, place="data.train"), _FIRST)]
    tokenizer, shared = experiment.text.tokenizer, experiment.text.shared
    columns = learn_columns(experiment.vocabularies, [examples], tokenizer, shared=shared)
    task = TASKS.build(experiment.task, columns)
    texts = [one.texts for one in examples if task.filter.usable(one.texts)]
    rows = task.encode(texts)
    lengths = [longest_read(task.vocabularies, row) for row in rows]
    limit, mean = experiment.training.batch_sentences or len(rows), sum(lengths) / len(rows)
    if experiment.training.batch_tokens:
        limit = min(limit, int(experiment.training.batch_tokens / mean))
    nearest = sorted(
        range(len(rows)), key=lambda row: abs(lengths[row] - mean)
    )  # texts of a batch have similar lengths
    values = {name: [texts[row][name] for row in nearest[: max(1, limit)]] for name in names}
    (batch, *_) = task.held(values, tokens=10**9)
    return batch, columns


def _minutes(experiment: Experiment) -> float:
    """Return the time of a training, in minutes on the wall; with a limit of the processor, if it has all threads."""
    training = experiment.training
    cores = training.max_core_minutes and training.max_core_minutes / torch.get_num_threads()
    return min(one for one in (training.max_minutes, cores) if one)


def _counted(experiment: Experiment, spent: ClockTime) -> float:
    """Return the seconds that count for the limit of `_minutes`: other programs do not use up one of the processor."""
    limited = experiment.training.max_core_minutes and _minutes(experiment) != experiment.training.max_minutes
    return spent.core / torch.get_num_threads() if limited else spent.wall


def plan_for(pairs: int, seconds: float, speed_of: Callable[[DataSize], float]) -> TimePlan:
    """Return the largest network, within the size for the data, that makes enough updates in the time."""
    within = DATA_SIZES[: DATA_SIZES.index(size_for(pairs)) + 1]
    many = [one for one in within if one.pairs == 0 or one.pairs > MANY_PAIRS]
    large = [(one, WIDE_UPDATES if one.dim > SHORT_TRAINING.dim else LONG_UPDATES) for one in many]
    small = [(one, MIN_UPDATES) for one in within[1:] if 0 < one.pairs <= MANY_PAIRS]
    short = [(SHORT_TRAINING, SHORT_UPDATES)] if large else []
    for size, enough in (*reversed(large), *short, *reversed(small), (DATA_SIZES[0], 0)):
        speed = speed_of(size)
        updates = round(seconds * TRAINING * speed / size.batch_tokens)
        if updates >= enough:
            break
    return TimePlan(size, max(1, updates), speed)


def measured_speed(experiment: Experiment, size: DataSize) -> float:
    """Return the training speed of a network size, in tokens of batches per second, padding included."""
    known = MODELS.settings(experiment.model.name)
    sized = {name: value for name, value in settings_of_size(size, 0)["model"].items() if name in known}
    vocabulary = _Vocabulary(size.pieces)
    columns = cast(Columns, dict.fromkeys(experiment.columns, vocabulary))
    model = MODELS.build(Choice(experiment.model.name, sized), columns).train()
    rows = size.batch_tokens // SENTENCE_PIECES
    ids = torch.randint(UNK + 1, size.pieces, (rows, SENTENCE_PIECES))
    texts = Sequences(ids, torch.ones_like(ids, dtype=torch.bool))
    batch = Batch(dict.fromkeys(experiment.columns, texts), ROUTE, torch.arange(rows), ids.numel())
    spent = _time_of(lambda: model.nll(batch, smoothing=0.1).sum().backward(), experiment)
    return ids.numel() / _counted(experiment, spent)


def _time_of(update: Callable[[], object], experiment: Experiment) -> ClockTime:
    """Return the mean time of an update, with threads, products and memory as in training; the first one warms up."""
    keep_memory()
    with settled(experiment.training.products, experiment.training.threads, timings):
        update()
        count, start = 0, now()
        while not count or (now() - start).wall < SECONDS:
            update()
            count += 1
        return (now() - start) / count
