"""Phrase tables of nested fractions of the pairs, evaluated on held-out lines: a learning curve in seconds."""

import random
import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from regard.errors import DataError
from regard.evaluation import METRICS
from regard.evaluation.metric import corpus_of
from regard.evaluation.significance import resampled
from regard.models.phrase_based import PhraseBased
from regard.registry import Choice
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
