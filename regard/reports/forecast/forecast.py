"""Forecasts the scores of phrases, a network and both in a given time, before anything long is trained."""

import random
import time
from collections.abc import Mapping, Sequence
from math import log2
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import torch

from regard.arrays import Floats
from regard.config import quoted
from regard.data.readers.lines import read_lines
from regard.errors import ConfigError, DataError
from regard.evaluation import METRICS
from regard.evaluation.metric import corpus_of
from regard.evaluation.significance import resampled
from regard.experiment import Experiment, read_experiment
from regard.experiment.time_plan import TRAINING, measured_pace
from regard.models.phrase_based import PhraseBased
from regard.ops.memory import keep_memory
from regard.registry import Choice
from regard.reports.data_check.check_data import read_text_pairs
from regard.reports.forecast.coefficients import FORECAST_SCORES, Coefficients, NetworkFacts, read_coefficients
from regard.reports.forecast.learning_curve import BAND_SAMPLES, HIGHEST, Band, LearningCurve, SlopePriors
from regard.reports.forecast.unpaired import TextsFacts, domain_overlap, texts_facts
from regard.runs.texts import Say
from regard.statistical.pair_checks import TextPair
from regard.statistical.phrase_decoder import PhraseDecoder, SearchLimits
from regard.text.words import cut_words

FEWEST_PAIRS = 200  # pairs of a forecast, without the held-out lines
MOST_FITTED = 16_000  # of the largest fit: about fifteen seconds of a core
EVALUATED_LINES = 300  # held-out lines, at most
_SHARES = (4, 2, 1)  # parts of the pairs
_RESAMPLES = 200
_LEAST_ERROR = 0.02  # of a logarithm: lines of one corpus are never as different as all that is written


class PilotFit(NamedTuple):
    """Phrases of some of the pairs, weights untuned."""

    pairs: int
    bleu: float
    chrf: float
    error: float  # standard error of the logarithm of BLEU, by resampling lines
    seconds: float  # of a core, to count
    decoding: float  # seconds of a core, for each line


def pilot_fits(
    pairs: Sequence[TextPair], evaluated: Sequence[TextPair], say: Say = lambda line: None
) -> list[PilotFit]:
    """Fit phrases to a quarter, a half and all of the pairs, at most MOST_FITTED, and translate the held-out lines."""
    largest, found = min(len(pairs), MOST_FITTED), list[PilotFit]()
    for share in _SHARES:
        found.append(pilot_fit(pairs[: largest // share], evaluated))
        say(f"phrases of {found[-1].pairs:,} pairs: BLEU {found[-1].bleu:.1f} on {len(evaluated):,} held-out lines")
    return found


def split_pairs(
    pairs: Sequence[TextPair], evaluated: Sequence[TextPair], seed: int
) -> tuple[list[TextPair], list[TextPair]]:
    """Return the pairs in random order, and the held-out ones: a tenth of the pairs where none are given.

    Pairs that share a side with one of that tenth are left out of the others. Raises DataError if too few are left.
    """
    generator = random.Random(seed)
    known = [one for one in pairs if one.source.strip() and one.target.strip()]
    generator.shuffle(known)
    if evaluated:
        held = [one for one in evaluated if one.source.strip() and one.target.strip()]
        generator.shuffle(held)
        held = held[:EVALUATED_LINES]
    else:
        count = min(EVALUATED_LINES, len(known) // 10)
        held, known = known[:count], known[count:]
        seen = {side.casefold().strip() for one in held for side in one}
        known = [one for one in known if not seen & {side.casefold().strip() for side in one}]
    if len(known) < FEWEST_PAIRS or not held:
        problem = f"{len(known):,} pairs are too few for a forecast; {FEWEST_PAIRS} are needed, and held-out lines"
        raise DataError("pairs", problem, hint="give more pairs")
    return known, held


def pilot_fit(pairs: Sequence[TextPair], evaluated: Sequence[TextPair]) -> PilotFit:
    """Count phrases of all pairs, and translate the held-out lines with untuned weights."""
    start = time.process_time()
    model = PhraseBased([], [], SearchLimits(), order=5, max_phrase=7, iterations=5)
    model.fit([(cut_words(pair.source), cut_words(pair.target)) for pair in pairs])
    counted = time.process_time()
    texts = ["".join(_translated(model.decoder, cut_words(pair.source))).strip() for pair in evaluated]
    decoded = time.process_time()
    bleu, chrf = (METRICS.build(Choice(name)) for name in ("bleu", "chrf"))
    corpus = corpus_of(texts, [pair.target for pair in evaluated])
    statistics = bleu.statistics(corpus)
    figures = resampled(bleu, statistics[None], resamples=_RESAMPLES, seed=1)[:, 0]
    return PilotFit(
        len(pairs),
        bleu.value(statistics.sum(axis=0)),
        chrf.value(chrf.statistics(corpus).sum(axis=0)),
        max(_LEAST_ERROR, float(np.std(np.log(figures + 0.1)))),
        counted - start,
        (decoded - counted) / len(evaluated),
    )


def _translated(decoder: PhraseDecoder, words: Sequence[str]) -> Sequence[str]:
    found = decoder.translate(words, 1)
    return found[0].words if found else ()


_SIDES = ("source", "target")
MORE_PAIRS = (1_000, 10_000)
NEAR_ZERO = 3.0  # BLEU, below which hardly a sentence can be used
_STARTUP_MINUTES = 0.1  # of a command
_BEYOND = 0.05  # standard deviation of the logarithm of a score, for each doubling beyond the pairs that were fitted
_ERRORS = {"bleu": 1.0, "chrf": 0.4}  # standard errors of logarithms of scores, beside that of BLEU
_UNTAUGHT = 0.5  # BLEU, at most, of a network that has hardly learnt
_TUNED_LINES = 2_000  # of the dev set, at most


class PairsFacts(NamedTuple):
    """Measurements of pairs that take seconds."""

    pairs: int  # that are learnt from
    fits: Sequence[PilotFit]
    rows: int  # pairs of an update
    seconds: float  # of an update, on the wall
    core_fraction: float  # seconds of a core in a second on the wall
    dev_lines: int

    def curve(self, score: str, priors: SlopePriors) -> LearningCurve:
        """Return the learning curve of untuned phrases."""
        scores = [max(0.1, getattr(one, score)) for one in self.fits]
        errors = [value * one.error * _ERRORS[score] for value, one in zip(scores, self.fits, strict=True)]
        return LearningCurve.of([one.pairs for one in self.fits], scores, errors, priors)

    def phrase_samples(self, score: str, pairs: int, priors: SlopePriors) -> Floats:
        """Return sampled scores (sample,) of untuned phrases of `pairs` pairs, on lines that were not held out."""
        generator = np.random.default_rng(2)
        doublings, lines = max(0.0, log2(pairs / self.fits[-1].pairs)), self.fits[-1].error * _ERRORS[score]
        beyond = np.exp(generator.normal(0.0, np.hypot(_BEYOND * doublings, lines), BAND_SAMPLES))
        return _within(self.curve(score, priors).samples(pairs, generator) * beyond)

    def network(self, pairs: int, minutes: float) -> NetworkFacts:
        """Return the features of a training on `pairs` pairs."""
        return NetworkFacts(pairs, self.updates(minutes), float(self.rows))

    def updates(self, minutes: float) -> float:
        """Return the updates of a network in minutes on the wall."""
        return minutes * 60 * TRAINING / self.seconds


class Road(NamedTuple):
    """Expected scores of one way to train a translator."""

    name: str  # phrases, network, both or word by word
    bleu: Band
    chrf: Band
    minutes: float  # on the wall
    more: Mapping[int, Band]  # BLEU by the pairs that are added

    @property
    def hopeless(self) -> bool:
        """Return whether BLEU will stay near zero, sure to nine in ten."""
        return self.bleu.high < NEAR_ZERO


class Forecast(NamedTuple):
    """All roads for some pairs or texts within a time, and their inputs."""

    minutes: float
    roads: Sequence[Road]
    pairs: PairsFacts | None = None
    texts: TextsFacts | None = None
    overlaps: Mapping[str, float] = MappingProxyType({})  # perplexity ratios of further text, by side of the pairs

    @property
    def best(self) -> Road:
        """Return the road that pays: the highest BLEU to expect of those that fit into the time."""
        fitting = [one for one in self.roads if one.minutes <= self.minutes] or [*self.roads]
        return max(fitting, key=lambda one: one.bleu.middle)

    @property
    def longer(self) -> Road | None:
        """Return the best road that does not fit into the time, where it is better by a point of BLEU; or None."""
        least = self.best.bleu.middle + 1
        late = [
            one for one in self.roads if one.minutes > self.minutes and one.bleu.middle > least and not one.hopeless
        ]
        return max(late, key=lambda one: one.bleu.middle, default=None)


class _Samples(NamedTuple):
    """Sampled scores (sample,) of the roads at a number of pairs."""

    phrases: Floats
    network: Floats
    both: Floats


def forecast(
    files: Sequence[Path],
    minutes: float,
    *,
    dev: Sequence[Path] = (),
    text_source: Path | None = None,
    text_target: Path | None = None,
    say: Say = lambda line: None,
) -> Forecast:
    """Return what can be reached in minutes with pairs, further text, or text of two languages alone.

    `files` and `dev` are two texts or one table each. Takes about half a minute. Raises RegardError for files that
    cannot be read, too few lines or too few minutes.
    """
    texts = {side: read_text(path) for side, path in zip(_SIDES, (text_source, text_target), strict=True) if path}
    if not files:
        if len(texts) < len(_SIDES):
            problem = "without pairs, text of both languages is needed"
            raise ConfigError("FILES", problem, "--text-source FILE --text-target FILE, or --source and --target")
        return forecast_texts(texts["source"], texts["target"], minutes, read_coefficients())
    pairs = read_text_pairs(files)
    overlaps = {side: overlap for side, text in texts.items() if (overlap := _overlap(text, pairs, side, say))}
    limit = [f"training.max_minutes={minutes}"]
    if len(files) == 1:
        experiment = read_experiment(files[0], limit, say=say)
    else:
        named = (f"data.train.{side}={quoted(str(file))}" for side, file in zip(_SIDES, files, strict=True))
        experiment = read_experiment(None, [*named, *limit], say=say)
    facts = pairs_facts(experiment, pairs, read_text_pairs(dev, say) if dev else (), say=say)
    return forecast_pairs(facts, minutes, read_coefficients())._replace(overlaps=overlaps)


def _overlap(text: Sequence[str], pairs: Sequence[TextPair], side: str, say: Say) -> float | None:
    """Return the overlap of domains of a text and a side of the pairs; None, and a line, where lines are too few."""
    try:
        return domain_overlap(text, [getattr(one, side) for one in pairs])
    except DataError as error:
        say(f"the domain of the {side} text is not compared with that of the pairs: {error.problem}")
        return None


def read_text(path: Path) -> list[str]:
    """Return the lines of a text. Raises DataError where there are none."""
    if not path.is_file():
        raise DataError(path, "there is no such file")
    if not (lines := [*filter(str.strip, read_lines(path))]):
        raise DataError(path, "has no lines")
    return lines


def pairs_facts(
    experiment: Experiment,
    pairs: Sequence[TextPair],
    evaluated: Sequence[TextPair] = (),
    *,
    seed: int = 1,
    say: Say = lambda line: None,
) -> PairsFacts:
    """Fit phrases to fractions of the pairs, and time the network of a complete experiment.

    Held-out pairs evaluate them: a tenth of the pairs where none are given. Raises DataError for too few pairs.
    """
    known, held = split_pairs(pairs, evaluated, seed)
    keep_memory()  # as a training does
    pace = measured_pace(experiment)
    if pace is None:
        raise ConfigError("FILES", "no network can be timed on these pairs", "regard train on the same files says why")
    say(f"a network takes {1 / pace.seconds:.1f} updates a second, of {pace.rows} pairs each")
    fits = pilot_fits(known, held, say)
    lines = len(evaluated) or len(held)
    share = pace.core_seconds / pace.seconds
    return PairsFacts(len(known), fits, pace.rows, pace.seconds, share, min(_TUNED_LINES, lines))


def forecast_pairs(facts: PairsFacts, minutes: float, known: Coefficients) -> Forecast:
    """Return what phrases, a network and both will reach in minutes on the wall."""
    found = {
        (score, more): _samples(facts, facts.network(facts.pairs + more, minutes), score, known)
        for score in FORECAST_SCORES
        for more in ((0, *MORE_PAIRS) if score == "bleu" else (0,))
    }
    phrases = _phrases_minutes(facts, known)
    times = {"phrases": phrases, "network": minutes, "both": max(minutes, phrases)}
    roads = [
        Road(
            name,
            Band.of_samples(getattr(found["bleu", 0], name)),
            Band.of_samples(getattr(found["chrf", 0], name)),
            times[name],
            {more: Band.of_samples(getattr(found["bleu", more], name)) for more in MORE_PAIRS},
        )
        for name in _Samples._fields
    ]
    return Forecast(minutes, roads, facts)


def forecast_texts(source: Sequence[str], target: Sequence[str], minutes: float, known: Coefficients) -> Forecast:
    """Return what word-by-word translation will reach with text of two languages and no pair.

    What the first pairs would bring is the range of the data sets that were measured. Raises DataError for few lines.
    """
    start = time.monotonic()
    facts = texts_facts(source, target)
    samples = np.exp(known.unpaired.samples(facts.features(), np.random.default_rng(1))) - 0.1
    took = (time.monotonic() - start) / 60 + _STARTUP_MINUTES
    road = Road("word by word", Band.of_samples(_within(samples)), known.unpaired_chrf, took, known.first_pairs)
    return Forecast(minutes, [road], texts=facts)


def _samples(facts: PairsFacts, network: NetworkFacts, score: str, known: Coefficients) -> _Samples:
    """Sample scores of all roads from the facts and their uncertainty."""
    generator, untuned = np.random.default_rng(1), facts.phrase_samples(score, network.pairs, known.slopes[score])
    phrases = _within(untuned * np.exp(generator.normal(*known.tuning[score], BAND_SAMPLES)))
    ratios = known.network[score].samples(network.features(), generator)
    alone = (untuned + 1) * np.exp(ratios) - 1
    alone = _within(np.where(alone < 0, generator.uniform(0.0, _UNTAUGHT, BAND_SAMPLES), alone))
    better, worse = np.maximum(phrases, alone), np.minimum(phrases, alone)
    gain = generator.normal(*known.both, BAND_SAMPLES) * worse / np.maximum(better, 1e-9)
    return _Samples(phrases, alone, _within(better * np.exp(gain)))


def _within(scores: Floats) -> Floats:
    return np.clip(scores, 0.0, HIGHEST)


def _phrases_minutes(facts: PairsFacts, known: Coefficients) -> float:
    """Return the time to count and tune phrases, on the wall as busy as it is."""
    last = facts.fits[-1]
    startup, factor, per_line = known.phrases_seconds
    seconds = startup + factor * last.seconds * facts.pairs / last.pairs + per_line * last.decoding * facts.dev_lines
    return seconds / 60 / min(1.0, max(0.1, facts.core_fraction / torch.get_num_threads()))
