"""`regard tune` of the weights of reranking by another run; without one, of the features of a beam."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from regard.arrays import Floats
from regard.config import as_values
from regard.errors import ConfigError
from regard.predictor import check_open, predictor_of
from regard.predictor.reranking import NETWORK, WORDS, Reranker, candidates
from regard.recipes.tuning import PIECE, DevPart, Tuning, bleu_of, dev_part, kept_tuning, tune
from regard.results import TextPrediction
from regard.runs import Run
from regard.runs.texts import Say
from regard.statistical.mert import WEIGHT_SEARCHES, CandidateStatistics, bleu_values

_SHARE = 0.5  # initial weight of the other run, as a fraction of the spread of a text's scores
GAIN = 0.01  # minimum gain in BLEU


def tune_weights(
    run: Path,
    changes: Sequence[str],
    *,
    method: str = "mert",
    rounds: int = 4,
    n_best: int = 30,
    lines: int = 1000,
    minutes: float = 10.0,
    say: Say = lambda line: None,
) -> Tuning:
    """Tune `decoding.rerank` where the changes name a run for it, else features; save a result that beats neither.

    The n-best lists stay the same, so each round searches around the weights of the last one. Raises errors of `tune`,
    and ConfigError for an unknown method and for consensus decoding.
    """
    if method not in WEIGHT_SEARCHES:
        raise ConfigError("--method", f"there is no '{method}'", " or ".join(WEIGHT_SEARCHES))
    check_open(changes)
    opened = Run.open(run, [*changes, "decoding.tuned=false"])
    settings = opened.experiment.decoding.rerank
    if opened.experiment.decoding.consensus is not None:
        hint = "decoding.consensus=null, or regard evaluate with other values of decoding.consensus.weight"
        raise ConfigError("decoding.consensus", "has no weights that regard tune could find", hint)
    if settings is None:
        return tune(opened, method, rounds, n_best, lines, minutes, say)
    part = DevPart(dev_part(opened, lines))
    settings = replace(settings, run=settings.run.absolute(), n_best=n_best)
    predictor = predictor_of(opened.changed([*opened.changes, f"decoding.rerank.n_best={n_best}"]))
    setup = predictor.setup
    reranker = setup.ranking
    assert isinstance(reranker, Reranker)  # the settings name one
    setup.ranking = None
    wide = reranker.widened(setup.search, setup.engine.width)

    def translated(sources: Sequence[str]) -> list[list[TextPrediction]]:
        return [candidates(one) for one in predictor.predict(sources, search=wide, safeguards=False)]

    say(f"translating {len(part.sources):,} dev sentences, {n_best} ways each, and scoring them by {settings.run}")
    pool = pooled(part, translated, reranker, minutes * 60, say)
    before = pool.chosen(np.array([1.0, 0.0, 0.0]))
    best = best_weights(pool, method, rounds, settings.weight, say)
    after = pool.chosen(best)
    weight, words = (best[1:] / best[0]).tolist()
    rerank = replace(settings, weight=round(weight, 6), words=round(words, 6))
    chosen = {"search": opened.experiment.decoding.search, "rerank": as_values(rerank)}
    better = bleu_of(after) > bleu_of(before) + GAIN
    return kept_tuning(opened, before, after, chosen, {NETWORK: weight, WORDS: words}, better=better)


def pooled(
    part: DevPart,
    translated: Callable[[Sequence[str]], list[list[TextPrediction]]],
    reranker: Reranker,
    seconds: float,
    say: Say,
) -> CandidateStatistics:
    """Return candidates with features and BLEU's statistics, of as many sentences as the seconds allow."""
    rows, values = list[list[TextPrediction]](), list[list[tuple[float, float, float]]]()
    most, end = len(part.sources), time.monotonic() + seconds
    while len(rows) < most and (not rows or time.monotonic() < end):
        some = translated(part.sources[len(rows) : len(rows) + PIECE])
        rows += some
        values += reranker.values(some)
    if len(rows) < most:
        say(f"the time allows {len(rows):,} of them")
    places = [place for place, some in enumerate(rows) for _ in some]
    statistics = iter(part.statistics(places, [one.text for some in rows for one in some]))
    return CandidateStatistics.of(
        [np.array(some, np.float64) for some in values], [np.stack([next(statistics) for _ in some]) for some in rows]
    )


def best_weights(pool: CandidateStatistics, method: str, rounds: int, weight: float, say: Say) -> Floats:
    """Return the best weights (3,) of all rounds, the start and equal spreads included."""
    spreads = np.stack([one[:, :2].std(axis=0) for one in pool.features]).mean(axis=0)
    equal = _SHARE / (1 - _SHARE) * float(spreads[0] / max(spreads[1], 1e-9))
    starts = [np.array([1.0, one, 0.0]) for one in dict.fromkeys((weight, equal, 0.0))]
    best = max(starts, key=lambda one: bleu_of(pool.chosen(one)))
    for number in range(rounds):
        found = WEIGHT_SEARCHES[method](pool, best, bleu_values).weights
        if found[0] <= 0 or bleu_of(pool.chosen(found)) <= bleu_of(pool.chosen(best)) + GAIN:
            break
        best = found / found[0]
        say(f"round {number + 1}: BLEU {bleu_of(pool.chosen(best)):.2f}")
    return best
