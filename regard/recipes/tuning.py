"""`regard tune`: tables for the features of a translator's beam, and their best weights.

A round translates the dev set, adds the n-best list of each sentence to the candidates of earlier rounds, and searches
the weights with the best BLEU over all candidates (Och 2003, https://aclanthology.org/P03-1021).
"""

import json
import random
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from regard.arrays import Floats
from regard.config import as_values, staged, write_yaml
from regard.data.manifest import place_file
from regard.decoding import SEARCHES, Feature
from regard.errors import ConfigError, DataError
from regard.evaluation import METRICS
from regard.evaluation.metric import corpus_of
from regard.predictor import Predictor, check_open, predictor_of
from regard.registry import Choice
from regard.results import Prediction, TextPrediction
from regard.runs import Run
from regard.runs.folder import DECODING, TUNING
from regard.runs.lexicons import learn_tables
from regard.runs.measurements import TUNED_THRESHOLD
from regard.runs.texts import Say, dev_examples
from regard.statistical.mert import WEIGHT_SEARCHES, CandidateStatistics, Tuned, Values, bleu_values
from regard.tasks import Examples, Measure, Outcome
from regard.tasks.examples import as_rows

FIRST_FEATURES = (  # default features, with their initial weights
    Choice("ngram_model", {"weight": 0.05}),
    Choice("lexicon", {"weight": 0.05}),
    Choice("phrases", {"weight": 0.05}),
    Choice("missing_words", {"weight": 0.02}),
    Choice("coverage", {"weight": 0.02}),
    Choice("repetition", {"weight": 0.02}),
    Choice("length", {"weight": 0.05}),
)
PIECE = 40  # sentences translated between checks of the time
PROGRESS_SECONDS = 10.0  # seconds between lines of progress
PERFECT = 100.0  # BLEU
_SEED = 1  # of the order of dev sentences
_LEAST = 1e-6  # minimum absolute weight: at 0 the value of a feature cannot be recovered from its share


class Tuning(NamedTuple):
    """Result of tuning."""

    before: float  # BLEU of the dev set without features
    after: float  # and with them
    lengths: tuple[float, float]  # length ratio to the references, before and after
    weights: Mapping[str, float]
    path: Path | None  # the file with the settings; None: no improvement


def tune(run: Run, method: str, rounds: int, n_best: int, lines: int, minutes: float, say: Say) -> Tuning:
    """Learn the tables, tune the weights of features on the dev set, and save them if they beat no features.

    After `minutes`, or Ctrl-C, the best round so far is kept; the dev set is cut to a size that all rounds have time
    for. Raises ConfigError for a run that does not translate word by word, one without a dev set, and where no feature
    has a weight; DataError where the training texts are gone; KeyboardInterrupt where no round had ended.
    """
    clock, part = _Clock(minutes * 60, say), DevPart(dev_part(run, lines))
    read = run.changed([*run.changes, "decoding.features=length"])
    predictor_of(read)  # fails early for models without features
    learn_tables(run, say)
    search, choices = run.experiment.decoding.search, run.experiment.decoding.features or FIRST_FEATURES
    named = f"decoding.features={json.dumps(as_values(choices))}"
    model, wide = _LogLinear.of(predictor_of(read.changed([*run.changes, named]))), _wide(search, n_best)
    part = clock.affordable(model, part, wide, rounds)
    before = part.total(clock.translated(model.without(), part, search, "without features"))
    say(f"without features: BLEU {bleu_of(before):.2f} on {len(part.sources):,} dev sentences")
    best = _Best(model, before)
    try:
        last = _tuned(best, part, wide, WEIGHT_SEARCHES[method], rounds, clock)
        for one in {id(one): one for one in (best.model, last)}.values():  # with the search of the settings
            best.compared(one, part.total(clock.translated(one, part, search, "last comparison")))
    except (_TimeOver, KeyboardInterrupt) as end:
        if not best.rounds and isinstance(end, KeyboardInterrupt):
            raise
        over = "time is over" if isinstance(end, _TimeOver) else "stopped"
        say(f"{over}: keeps the best of {best.rounds} rounds (--minutes N gives more time)")
    features = [
        choice if one.weight is None else Choice(choice.name, {**choice.settings, "weight": round(one.weight, 6)})
        for choice, one in zip(choices, best.model.features, strict=True)
    ]
    chosen = {"search": search, "features": features}
    weights = {one.name: one.weight for one in best.model.features if one.weight is not None}
    return kept_tuning(run, before, best.sums, chosen, weights, better=bleu_of(best.sums) > bleu_of(before))


def kept_tuning(
    run: Run, before: Floats, after: Floats, chosen: Mapping[str, Any], weights: Mapping[str, float], *, better: bool
) -> Tuning:
    """Return the result by BLEU's statistics of the dev set; save the settings in the run if they are better."""
    path = run.path / TUNING / DECODING if better else None
    if path is not None:
        path.parent.mkdir(exist_ok=True)
        keep_choice(path, chosen)
    lengths = float(before[0] / before[1]), float(after[0] / after[1])
    return Tuning(bleu_of(before), bleu_of(after), lengths, weights, path)


class _Best:
    """The weights with the highest BLEU so far: by the wide search of a round, then by that of the settings."""

    def __init__(self, model: "_LogLinear", before: Floats) -> None:
        self.model, self.sums, self.rounds = model, before, 0
        self._final = False

    def add(self, model: "_LogLinear", sums: Floats) -> None:
        """Add the result of a round."""
        self.rounds += 1
        if self.rounds == 1 or bleu_of(sums) > bleu_of(self.sums):
            self.model, self.sums = model, sums

    def compared(self, model: "_LogLinear", sums: Floats) -> None:
        """Add the result of the last comparison, whose first score replaces those of rounds."""
        if not self._final or bleu_of(sums) > bleu_of(self.sums):
            self.model, self.sums = model, sums
        self._final = True


def _tuned(
    best: _Best,
    part: "DevPart",
    wide: Choice,
    method: Callable[[CandidateStatistics, Floats, Values], Tuned],
    rounds: int,
    clock: "_Clock",
) -> "_LogLinear":
    """Rounds of translating and searching; return the model of the last search. Raises _TimeOver."""
    pool, model = _Pool(part), best.model
    for number in range(rounds):
        name = f"round {number + 1} of {rounds}"
        found = clock.translated(model, part, wide, name)
        fresh = pool.add(found, model)
        best.add(model, part.total(found))
        clock.say(f"{name}: BLEU {bleu_of(part.total(found)):.2f}, {pool.size:,} candidates")
        if not fresh or bleu_of(best.sums) >= PERFECT:
            break
        weights = method(pool.candidates(), np.array([1.0, *best.model.weights]), bleu_values).weights
        model = best.model.reweighted(weights[1:] / max(weights[0], _LEAST))
    return model


class _TimeOver(Exception):
    """The time limit is reached."""


class _Clock:
    """Translates the dev set in pieces, reports progress, and ends in time."""

    def __init__(self, seconds: float, say: Say) -> None:
        self.say, self._end, self._reported = say, time.monotonic() + seconds, time.monotonic()

    def affordable(self, model: "_LogLinear", part: "DevPart", search: Choice, rounds: int) -> "DevPart":
        """Return the sentences that all rounds have time for, by the time of the first ones; at least these."""
        start = time.monotonic()
        model.translated(part.sources[:PIECE], search)
        each = (time.monotonic() - start) / len(part.sources[:PIECE])
        most = max(PIECE, int(max(0.0, self._end - time.monotonic()) / (rounds + 1) / each))  # 1: the last comparison
        if most >= len(part.sources):
            return part
        self.say(
            f"takes {most:,} of {len(part.sources):,} dev sentences: the time limit allows no more in {rounds} rounds"
        )
        return part.first(most)

    def translated(self, model: "_LogLinear", part: "DevPart", search: Choice, name: str) -> list[Prediction]:
        """Translate a part. Raises _TimeOver where it does not end in time."""
        found, sources, start = list[Prediction](), part.sources, time.monotonic()
        for place in range(0, len(sources), PIECE):
            found += model.translated(sources[place : place + PIECE], search)
            now = time.monotonic()
            if now > self._end and len(found) < len(sources):
                raise _TimeOver
            if now - self._reported > PROGRESS_SECONDS and len(found) < len(sources):
                left = (now - start) / len(found) * (len(sources) - len(found))
                self.say(f"{name}: {len(found):,} of {len(sources):,} sentences, about {left:.0f} s left of it")
                self._reported = now
        return found


def keep_choice(path: Path, settings: Mapping[str, Any]) -> None:
    """Write the settings of decoding, such as search and features, that `decoding.tuned` selects."""
    new = staged(path)
    write_yaml(new, as_values(settings))
    place_file(new, path)


class DevPart:
    """The dev set, and BLEU's statistics of its translations."""

    def __init__(self, examples: Examples) -> None:
        self.examples, self.sources, self.references = examples, examples["source"], examples["target"]
        self.metric = METRICS.build(Choice("bleu"))

    def first(self, count: int) -> "DevPart":
        """Return its first `count` sentences."""
        return DevPart({name: [*islice(texts, count)] for name, texts in self.examples.items()})

    def statistics(self, places: Sequence[int], texts: Sequence[str]) -> Floats:
        """Return statistics (text, statistic) of translations of sentences."""
        return self.metric.statistics(corpus_of([*texts], [self.references[place] for place in places]))

    def total(self, found: Sequence[Prediction]) -> Floats:
        """Return the summed statistics (statistic,) of the best translations."""
        total: Floats = self.statistics(range(len(found)), [one.text for one in found]).sum(axis=0)
        return total


class _LogLinear:
    """A predictor with features, some of which have tunable weights."""

    def __init__(self, predictor: Predictor) -> None:
        self.predictor, self.features = predictor, predictor.setup.features
        self.weighted = {place: one.weight for place, one in enumerate(self.features) if one.weight is not None}
        self.weights = np.array([*self.weighted.values()])

    @classmethod
    def of(cls, predictor: Predictor) -> "_LogLinear":
        """Return the model of a predictor, without weights of 0. Raises ConfigError where no feature has a weight."""
        model = cls(predictor)
        if not model.weighted:
            raise ConfigError("decoding.features", "has no tunable weight", "name others: ngram_model")
        return model.reweighted(model.weights)

    def without(self) -> "_LogLinear":
        """Return the translator alone."""
        return self._with(())

    def reweighted(self, weights: Floats) -> "_LogLinear":
        """Return the same with other weights, none of them 0, so that values of features can be recovered."""
        features = [*self.features]
        for place, weight in zip(self.weighted, weights.tolist(), strict=True):
            features[place] = features[place].weighted(weight if abs(weight) >= _LEAST else _LEAST)
        return self._with(tuple(features))

    def translated(self, sources: Sequence[str], search: Choice) -> Sequence[Prediction]:
        """Translate sentences."""
        return self.predictor.predict(sources, search=SEARCHES.build(search), safeguards=False)

    def values(self, one: TextPrediction) -> Floats:
        """Return the factors (1 + feature,) of the weights; the model and features without a weight have weight 1."""
        shares = [*one.shares.values()]
        if not shares:
            return np.array([one.score, *(0.0 for _ in self.weighted)])
        fixed = sum(share for place, share in enumerate(shares[1:]) if place not in self.weighted)
        return np.array([shares[0] + fixed, *(shares[1 + place] / weight for place, weight in self.weighted.items())])

    def _with(self, features: tuple[Feature, ...]) -> "_LogLinear":
        other = self.predictor.copy()
        other.setup.features = features
        return _LogLinear(other)


class _Pool:
    """Distinct translations of each sentence, of all rounds."""

    def __init__(self, part: DevPart) -> None:
        self.part, self.size = part, 0
        self.rows: list[dict[str, tuple[Floats, Floats]]] = [{} for _ in part.references]

    def add(self, found: Sequence[Prediction], model: _LogLinear) -> int:
        """Add new candidates, with the values of features; return their number."""
        fresh = [
            (place, cast(TextPrediction, one))
            for place, best in enumerate(found)
            for one in {other.text: other for other in reversed([best, *best.alternatives])}.values()
            if one.text not in self.rows[place]
        ]
        if fresh:
            statistics = self.part.statistics([place for place, _ in fresh], [one.text for _, one in fresh])
            for (place, one), row in zip(fresh, statistics, strict=True):
                self.rows[place][one.text] = model.values(one), row
        self.size += len(fresh)
        return len(fresh)

    def candidates(self) -> CandidateStatistics:
        """Return all candidates."""
        features, statistics = zip(*(zip(*some.values(), strict=True) for some in self.rows), strict=True)
        return CandidateStatistics.of([np.stack(one) for one in features], [np.stack(one) for one in statistics])


def dev_part(run: Run, lines: int) -> Examples:
    """Return at most `lines` dev examples in random order, the same in each call: the first ones are a fair sample.

    Raises ConfigError where there are none, or the run does not translate.
    """
    if run.experiment.task_class.spec.translated is None or not {"source", "target"} <= run.columns.keys():
        raise ConfigError("task", "is not translation, so there is nothing to tune", "give the run of a translator")
    found = dev_examples(run.experiment, run.task(), lambda line: None)
    if not found:
        raise ConfigError("data.dev", "the run has no dev set to tune on", "data.dev={source: FILE, target: FILE}")
    order = list(range(len(found["source"])))
    random.Random(_SEED).shuffle(order)
    return {name: [texts[place] for place in order[:lines]] for name, texts in found.items()}


def _wide(search: Choice, n_best: int) -> Choice:
    """Return the search with `n_best` results. Raises ConfigError for one that finds a single target."""
    if "n_best" not in SEARCHES.settings(search.name):
        raise ConfigError("decoding.search", f"'{search.name}' finds only one translation", "decoding.search=beam")
    return Choice(search.name, {**search.settings, "n_best": n_best})


def bleu_of(sums: Floats) -> float:
    return float(bleu_values(sums[None])[0])


_MOST = 100  # thresholds that are tried
_FEW = 200  # examples


class TunedThreshold(NamedTuple):
    """The threshold with the best figure on the dev set."""

    threshold: float
    metric: str
    before: float  # the figure at the usual threshold
    after: float
    path: (
        Path | None
    )  # the file that keeps it; None: settings were changed, other than the metric, or nothing is gained


def decides_by_threshold(run: Path, changes: Sequence[str]) -> bool:
    """Return whether the answers of a run depend on a threshold."""
    return Run.open(run, changes).experiment.task_class.answer.threshold is not None


def tune_threshold(
    run: Path, changes: Sequence[str], *, lines: int = 1000, say: Say = lambda line: None
) -> TunedThreshold:
    """Choose the threshold with the best first metric of the run on its dev set, and keep it in the run.

    Of equal figures the threshold nearest to the usual one, which needs no file. Raises ConfigError where no threshold
    decides, before any prediction; DataError without a dev set, and where all its probabilities are equal.
    """
    check_open([one for one in changes if not one.startswith("data.")])
    predictor = predictor_of(opened := Run.open(run, changes))
    task, setup = predictor.task, predictor.setup
    row = task.answer.checked_threshold(task.vocabularies[task.last], "regard tune")
    setup.threshold = setup.calibration = None
    dev = dev_examples(opened.experiment, task, say)
    if dev is None:
        raise DataError("data.dev", "there is no dev set to tune with", hint="data.dev names one")
    examples = {name: values[:lines] for name, values in dev.items()}
    rows = as_rows(examples)
    say(f"answering {len(rows):,} dev examples")
    if len(rows) < _FEW:
        say("so few examples choose a threshold by chance: measure the gain on others, with regard evaluate")
    found = predictor.predict([{name: row[name] for name in task.inputs} for row in rows], safeguards=False)
    tried = thresholds([chance for one in found for chance in row.compared(one)])
    if not tried:
        raise DataError("data.dev", "all its probabilities are equal: thresholds do not differ", hint="more examples")
    (measure,) = task.measures(opened.experiment.evaluation.metrics[:1])
    measure.check(examples)
    sign = -1 if measure.higher_is_better is False else 1
    figures = {
        one: _figure(measure, examples, [row.decided(answer, one) for answer in found]) for one in (row.usual, *tried)
    }
    best = max(figures, key=lambda one: (sign * figures[one], -abs(one - row.usual)))
    values = {"threshold": best, "metric": measure.key, "before": figures[row.usual], "after": figures[best]}
    path = opened.path / TUNED_THRESHOLD if all(one.startswith("evaluation.") for one in changes) else None
    if path is not None and best != row.usual:
        opened.measurements.keep(TUNED_THRESHOLD, values)
    elif path is not None:
        path.unlink(missing_ok=True)  # of an earlier tuning
    return TunedThreshold(best, measure.name, figures[row.usual], figures[best], None if best == row.usual else path)


def thresholds(probabilities: Sequence[float]) -> list[float]:
    """Return thresholds between different probabilities, _MOST at most, spread over their quantiles."""
    known = np.unique(probabilities)
    between = (known[1:] + known[:-1]) / 2
    if len(between) > _MOST:
        between = between[np.linspace(0, len(between) - 1, _MOST).round().astype(int)]
    return [*map(float, between)]


def _figure(measure: Measure, examples: Examples, answers: Sequence[Prediction]) -> float:
    outcome = Outcome(examples, partial(_same, answers), partial(np.zeros, (len(answers), 2)))
    return measure.value(measure.statistics(outcome).sum(axis=0))


def _same(answers: Sequence[Prediction]) -> Sequence[Prediction]:
    return answers
