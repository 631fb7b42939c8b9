"""Steps of `regard best` that count phrases."""

import time
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import ClassVar, NamedTuple

from regard.data.readers.lines import read_lines
from regard.models import PhraseBased
from regard.recipes.back_translation import kept_lines, round_trip_likeness
from regard.recipes.best.pairs import BestTexts, write_lines
from regard.recipes.best.step import NO_TIME, BestStep, Family, NoGainError
from regard.recipes.best.workshop import Workshop
from regard.recipes.one_language import BackTranslationSettings
from regard.statistical.phrase_decoder import SearchLimits
from regard.text.words import cut_words

REVERSE = "reverse"  # run that translates from target to source
_ROUNDS, _LEAST_ROUNDS, _CANDIDATES = 5, 2, 100  # of tuning
MEASURED_PAIRS, _DEV_SAMPLE = 500, 10  # pairs and dev sentences that are measured
_TUNING = 1.5  # times that a round of tuning takes, of a translation of the dev set
PATIENCE = 4.0  # times that phrases may take, of their share of the time
_BACK = 0.3  # share of the step's time in which text is translated back


class PhraseTimes(NamedTuple):
    """Seconds that phrases take on this machine, estimated."""

    fit: float  # counting words, phrases and n-grams
    dev: float  # translating the dev set, with the best candidates

    def rounds(self, seconds: float) -> int:
        """Return the rounds of tuning that fit into a time, after counting and before a last translation."""
        return max(0, min(_ROUNDS, int((seconds - self.fit - self.dev) / (_TUNING * self.dev))))


def measured_times(texts: BestTexts) -> PhraseTimes:
    """Measure the first pairs and dev sentences of the texts."""
    pairs = [*zip(*(read_lines(texts.train[side]) for side in ("source", "target")), strict=True)]
    return times_of(pairs[:MEASURED_PAIRS], len(pairs), [*read_lines(texts.dev["source"])])


def times_of(sample: Sequence[tuple[str, str]], pairs: int, dev: Sequence[str]) -> PhraseTimes:
    """Return the times by a sample of the pairs; counting grows with the pairs, searching with the dev set."""
    model = PhraseBased((), (), SearchLimits(100, 500, 20, 6), order=5, max_phrase=7, iterations=5)
    start = time.monotonic()
    model.fit([(_words(source), _words(target)) for source, target in sample])
    fitted = time.monotonic()
    for sentence in dev[:_DEV_SAMPLE]:
        model.decoder.different(_words(sentence), _CANDIDATES)
    ended = time.monotonic()
    return PhraseTimes((fitted - start) * pairs / len(sample), (ended - fitted) * len(dev) / len(dev[:_DEV_SAMPLE]))


class PhraseTuning(NamedTuple):
    """Limits of the tuning of phrases: what fits into the time, by an estimate, and the time itself."""

    rounds: int
    seconds: float

    def settings(self, data: Sequence[str]) -> list[str]:
        """Return the settings of a run of phrases that is tuned in these limits."""
        limits = f"task.rounds={self.rounds}", f"task.minutes={max(self.seconds, 1.0) / 60:.3f}"
        return [*data, "task=phrases", f"task.candidates={_CANDIDATES}", *limits]


class PhrasesOfPairs(BestStep):
    """Phrases of the pairs."""

    family: ClassVar[Family] = "phrases"
    about = "a phrase table, counted on the pairs and tuned on the dev set"
    fraction = 0.1

    def make(self, name: str, work: Workshop, seconds: float) -> str:
        tuning = affordable_tuning(work, seconds)
        work.train(name, tuning.settings(work.texts.data()))
        return f"at most {tuning.rounds} rounds of tuning"


class PhrasesOfBackTranslations(BestStep):
    """Phrases of the pairs and of text that phrases of the other direction have translated back.

    Their n-gram model reads all of that text: https://aclanthology.org/W09-0432.
    """

    family: ClassVar[Family] = "phrases"
    about = "phrases and n-grams also of text that phrases translated back"
    fraction = 0.2
    text = "target"

    def make(self, name: str, work: Workshop, seconds: float) -> str:
        back = back_translated(work, _BACK * seconds)
        joined = work.synthetic_files(name)
        for side, file in joined.items():
            if not file.is_file():
                write_lines(file, chain(read_lines(work.texts.train[side]), read_lines(back[side])))
        tuning = affordable_tuning(work, (1 - _BACK) / 2 * seconds)
        work.train(name, tuning.settings(work.texts.data(joined)))
        return f"{sum(1 for _ in read_lines(back['target'])):,} lines translated back"


def affordable_tuning(work: Workshop, seconds: float) -> PhraseTuning:
    """Return the rounds of tuning that phrases have time for; two, if these are within four times the seconds.

    Phrases without tuning say little of what they are worth. Tuning ends when the four times, or the time of the
    search, are over, as a machine that gets busy takes longer than was measured. Raises NoGainError where counting
    alone takes far longer.
    """
    times = measured_times(work.texts)
    most = min(PATIENCE * seconds, work.seconds_left)
    if times.fit + times.dev > most:
        raise NoGainError(f"{NO_TIME}: phrases would take {(times.fit + times.dev) / 60:.1f} minutes here")
    rounds = max(times.rounds(min(seconds, most)), min(_LEAST_ROUNDS, times.rounds(most)))
    return PhraseTuning(rounds, most - times.fit - times.dev)


def back_translated(work: Workshop, seconds: float) -> dict[str, Path]:
    """Return the files, by column, of target text and of its sources as phrases of the other direction write them."""
    tuning = affordable_tuning(work, seconds)
    tuning = tuning._replace(rounds=min(_LEAST_ROUNDS, tuning.rounds))
    work.train(REVERSE, tuning.settings(work.texts.data(turned=True)))
    return work.synthetic("back_translated", work.run(REVERSE), work.texts.more["target"], "source", seconds)


def kept_back_translations(work: Workshop, back: Mapping[str, Path], seconds: float) -> list[int]:
    """Return the places of the lines that pass the filter of `regard train --text-target`, with its default share.

    The phrases of the pairs translate back as many as the seconds allow; the share that is least like itself is left
    out. Without such phrases all are kept.
    """
    targets = [*read_lines(back["target"])]
    if not any(one.step == "phrases" for one in work.results):
        return [*range(len(targets))]
    found = work.translated("round_trip", work.run("phrases"), back["source"], seconds)
    likeness, dropped = round_trip_likeness(targets[: len(found)], found), BackTranslationSettings().round_trip
    return [*kept_lines([0.0] * len(found), likeness, 1.0, dropped), *range(len(found), len(targets))]


def _words(line: str) -> list[str]:
    return [word for piece in cut_words(line) if (word := piece.strip())]
