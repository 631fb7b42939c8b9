"""`regard tune`: tables for the features of a translator's beam, and the weights that make most of them.

A round translates the dev part, adds the n best of each sentence to the candidates of the rounds before, and searches
weights by BLEU among all of them (Och 2003, https://aclanthology.org/P03-1021).
"""

import copy
import json
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from regard.arrays import Floats
from regard.config import as_values, staged, write_yaml
from regard.data.columns import Columns, TextColumn, check_one_vocabulary
from regard.data.manifest import place_file, verify_file
from regard.decoding import SEARCHES, Feature
from regard.decoding.features.ngram_model import NGRAM_FILE
from regard.decoding.features.phrases import PHRASES_FILE
from regard.decoding.features.tables import LEXICON, spelled_pieces
from regard.errors import CheckpointError, ConfigError
from regard.evaluation import METRICS
from regard.evaluation.metric import corpus_of
from regard.experiment import Experiment
from regard.predictor import Predictor, load
from regard.registry import Choice
from regard.results import Prediction, TextPrediction
from regard.runs import Run
from regard.runs.folder import DECODING, TUNING
from regard.runs.lexicons import training_pieces
from regard.runs.texts import dev_examples
from regard.statistical.aligner import fit_both
from regard.statistical.arpa import write_arpa
from regard.statistical.bitext import Bitext
from regard.statistical.hmm import Hmm
from regard.statistical.kneser_ney import kneser_ney
from regard.statistical.lexical_table import Lexicon
from regard.statistical.mert import CandidateStatistics, Tuned, Values, bleu_values, minimise_errors, random_search
from regard.statistical.phrase_scores import phrase_table
from regard.statistical.phrase_table import PhraseEntry, PhraseTable
from regard.statistical.symmetrisation import grow_diag_final_and
from regard.tasks import Examples

METHODS: Mapping[str, Callable[[CandidateStatistics, Floats, Values], Tuned]] = {
    "mert": minimise_errors,
    "random": random_search,
}
FIRST = (  # what is tuned where the settings name no features, and where that begins
    Choice("ngram_model", {"weight": 0.05}),
    Choice("lexicon", {"weight": 0.05}),
    Choice("phrases", {"weight": 0.05}),
    Choice("missing_words", {"weight": 0.02}),
    Choice("coverage", {"weight": 0.02}),
    Choice("repetition", {"weight": 0.02}),
    Choice("length", {"weight": 0.05}),
)
_MOST_PAIRS, ORDER = 500_000, 3
_LONGEST, _LIMIT = 3, 5  # pieces of a phrase, and its translations
RARE = 1e-3  # less likely translations of a piece are left out
PIECE = 40  # sentences that are translated until the clock is read again
TOLD_EVERY = 10.0  # seconds between lines of progress
PERFECT = 100.0  # BLEU
_LEAST = 1e-6  # smallest size of a weight: at 0 a share no longer tells the value of its feature

Say = Callable[[str], None]


class Tuning(NamedTuple):
    """What tuning found."""

    before: float  # BLEU of the dev part without features
    after: float  # and with them
    lengths: tuple[float, float]  # words of the translations for each of the references, before and after
    weights: Mapping[str, float]
    path: Path | None  # the file that keeps them; None: they were no better


def tune(
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
    """Learn the tables, tune the weights of features on the dev part, and keep what is better than no features.

    After `minutes`, or Ctrl-C, the best round so far is kept; of the dev part no more is taken than all rounds have
    time for. Raises ConfigError for an unknown method, a run that does not translate word by word, one without a dev
    part, and for features without a weight alone; DataError where the training texts are gone; KeyboardInterrupt
    where no round had ended.
    """
    check_method(method)
    clock, opened = _Clock(minutes * 60, say), Run.open(run, [*changes, "decoding.tuned=false"])
    part = DevPart(dev_part(opened, lines))
    load(run, [*changes, "decoding.tuned=false", "decoding.features=length"])  # refuses what takes no features, early
    learn_tables(opened, say)
    search, choices = opened.experiment.decoding.search, opened.experiment.decoding.features or FIRST
    model, wide = _log_linear(run, changes, choices), _wide(search, n_best)
    part = clock.affordable(model, part, wide, rounds)
    before = part.total(clock.translated(model.without(), part, search, "without features"))
    say(f"without features: BLEU {bleu_of(before):.2f} on {len(part.sources):,} dev sentences")
    best = _Best(model, before)
    try:
        last = _tuned(best, part, wide, METHODS[method], rounds, clock)
        for one in {id(one): one for one in (best.model, last)}.values():  # as the search of the settings finds them
            best.judged(one, part.total(clock.translated(one, part, search, "last comparison")))
    except (_TimeOver, KeyboardInterrupt) as end:
        if not best.rounds and isinstance(end, KeyboardInterrupt):
            raise
        over = "time is over" if isinstance(end, _TimeOver) else "stopped"
        say(f"{over}: keeps the best of {best.rounds} rounds (--minutes N gives more time)")
    features = [_settings(choice, one) for choice, one in zip(choices, best.model.features, strict=True)]
    path = run / TUNING / DECODING if bleu_of(best.sums) > bleu_of(before) else None
    if path is not None:
        keep_choice(path, {"search": search, "features": features})
    lengths = float(before[0] / before[1]), float(best.sums[0] / best.sums[1])
    weights = {one.name: one.weight for one in best.model.features if one.weight is not None}
    return Tuning(bleu_of(before), bleu_of(best.sums), lengths, weights, path)


def _log_linear(run: Path, changes: Sequence[str], choices: Sequence[Choice]) -> "_LogLinear":
    """A run with features, none of weight 0. Raises ConfigError where none of them has a weight."""
    named = f"decoding.features={json.dumps(as_values(choices))}"
    model = _LogLinear(load(run, [*changes, "decoding.tuned=false", named]))
    model = model.reweighted(model.weights)
    if not model.weighted:
        raise ConfigError("decoding.features", "has no weight that could be tuned", "name others: ngram_model")
    return model


class _Best:
    """The weights with the highest BLEU so far: by the wide search of a round, then by that of the settings."""

    def __init__(self, model: "_LogLinear", before: Floats) -> None:
        self.model, self.sums, self.rounds = model, before, 0
        self._final = False

    def add(self, model: "_LogLinear", sums: Floats) -> None:
        """After a round."""
        self.rounds += 1
        if self.rounds == 1 or bleu_of(sums) > bleu_of(self.sums):
            self.model, self.sums = model, sums

    def judged(self, model: "_LogLinear", sums: Floats) -> None:
        """After a last comparison, whose first figure takes the place of those of rounds."""
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
    """The minutes that were given have passed."""


class _Clock:
    """Translates the dev part in pieces, says how far it is, and ends in time."""

    def __init__(self, seconds: float, say: Say) -> None:
        self.say, self._end, self._told = say, time.monotonic() + seconds, time.monotonic()

    def affordable(self, model: "_LogLinear", part: "DevPart", search: Choice, rounds: int) -> "DevPart":
        """Return as much of a part as all rounds have time for, by the time of its first sentences; at least these."""
        start = time.monotonic()
        model.translated(part.sources[:PIECE], search)
        each = (time.monotonic() - start) / len(part.sources[:PIECE])
        most = max(PIECE, int(max(0.0, self._end - time.monotonic()) / (rounds + 1) / each))  # 1: what is compared
        if most >= len(part.sources):
            return part
        self.say(f"takes {most:,} of {len(part.sources):,} dev sentences, which {rounds} rounds have time for")
        return part.first(most)

    def translated(self, model: "_LogLinear", part: "DevPart", search: Choice, name: str) -> list[Prediction]:
        """Translate a part. Raises _TimeOver where its end does not come in time."""
        found, sources, start = list[Prediction](), part.sources, time.monotonic()
        for place in range(0, len(sources), PIECE):
            found += model.translated(sources[place : place + PIECE], search)
            now = time.monotonic()
            if now > self._end and len(found) < len(sources):
                raise _TimeOver
            if now - self._told > TOLD_EVERY and len(found) < len(sources):
                left = (now - start) / len(found) * (len(sources) - len(found))
                self.say(f"{name}: {len(found):,} of {len(sources):,} sentences, about {left:.0f} s left of it")
                self._told = now
        return found


def check_method(method: str) -> None:
    """Raise ConfigError for an unknown way to search weights."""
    if method not in METHODS:
        raise ConfigError("--method", f"there is no '{method}'", " or ".join(METHODS))


def learn_tables(run: Run, say: Say = lambda line: None) -> None:
    """Learn what features read from the training texts of a run, in the pieces that it reads and writes.

    An n-gram model of the target, a lexicon by aligned words, and a phrase table; files that are there are kept.
    """
    place, names = run.path / TUNING, (NGRAM_FILE, LEXICON, PHRASES_FILE)
    if all(_is_whole(place / name) for name in names):
        return
    place.mkdir(exist_ok=True)
    check_one_vocabulary(run.vocabularies, "tuning")
    pairs = _spelled_pairs(run.experiment, run.columns)
    say(f"learning n-grams, a lexicon and phrases from {len(pairs):,} pairs; this happens once")
    bitext = Bitext.of(pairs)
    both = fit_both(bitext, Hmm())
    likely = both.forward.lexicon
    kept = likely.values >= RARE
    lexicon = Lexicon(likely.source_words, likely.target_words, likely.keys[kept], likely.values[kept])
    phrases = phrase_table(bitext, both.links(bitext, grow_diag_final_and), max_length=_LONGEST, limit=_LIMIT)
    table = PhraseTable.of((source, entry) for source, entry in phrases if len(source) == 1 or not _single(entry))
    language = kneser_ney((target for _, target in pairs), ORDER)
    writers: tuple[Callable[[Path], None], ...] = (lambda path: write_arpa(language, path), lexicon.write, table.write)
    for name, write in zip(names, writers, strict=True):
        new = place / f".new.{name}"  # the end of a name decides whether a file is compressed
        write(new)
        place_file(new, place / name)


def keep_choice(path: Path, settings: Mapping[str, Any]) -> None:
    """Write the settings of decoding, such as search and features, that `decoding.tuned` chooses."""
    new = staged(path)
    write_yaml(new, as_values(settings))
    place_file(new, path)


def _is_whole(path: Path) -> bool:
    """Whether a table is there, as it was written."""
    try:
        verify_file(path, "")
    except CheckpointError:
        return False
    return path.is_file()


def _single(entry: PhraseEntry) -> bool:
    """Whether both phrases stand for each other alone, as those do that were seen once: a table is full of them."""
    return entry.scores[0] == entry.scores[2] == 0.0


class DevPart:
    """The dev part, and BLEU's statistics of its translations."""

    def __init__(self, examples: Examples) -> None:
        self.examples, self.sources, self.references = examples, examples["source"], examples["target"]
        self.metric = METRICS.build(Choice("bleu"))

    def first(self, count: int) -> "DevPart":
        """Return so many sentences of it."""
        return DevPart({name: [*islice(texts, count)] for name, texts in self.examples.items()})

    def statistics(self, places: Sequence[int], texts: Sequence[str]) -> Floats:
        """(text, statistic) of translations of sentences."""
        return self.metric.statistics(corpus_of([*texts], [self.references[place] for place in places]))

    def total(self, found: Sequence[Prediction]) -> Floats:
        """(statistic,) of the best translations."""
        total: Floats = self.statistics(range(len(found)), [one.text for one in found]).sum(axis=0)
        return total


class _LogLinear:
    """A predictor with features, some of them with weights that can be tuned."""

    def __init__(self, predictor: Predictor) -> None:
        self.predictor, self.features = predictor, predictor.features
        self.weighted = {place: one.weight for place, one in enumerate(self.features) if one.weight is not None}
        self.weights = np.array([*self.weighted.values()])

    def without(self) -> "_LogLinear":
        """Return the translator alone."""
        return self._with(())

    def reweighted(self, weights: Floats) -> "_LogLinear":
        """Return the same with other weights, none of them 0, where a share no longer tells the value of a feature."""
        features = [*self.features]
        for place, weight in zip(self.weighted, weights.tolist(), strict=True):
            features[place] = features[place].weighted(weight if abs(weight) >= _LEAST else _LEAST)
        return self._with(tuple(features))

    def translated(self, sources: Sequence[str], search: Choice) -> Sequence[Prediction]:
        """Translate sentences."""
        return self.predictor.predict(sources, search=SEARCHES.build(search), safeguards=False)

    def values(self, one: TextPrediction) -> Floats:
        """(1 + feature,): what weights are multiplied by; the model, and what features without a weight add, has 1."""
        shares = [*one.shares.values()]
        if not shares:
            return np.array([one.score, *(0.0 for _ in self.weighted)])
        fixed = sum(share for place, share in enumerate(shares[1:]) if place not in self.weighted)
        return np.array([shares[0] + fixed, *(shares[1 + place] / weight for place, weight in self.weighted.items())])

    def _with(self, features: tuple[Feature, ...]) -> "_LogLinear":
        other = copy.copy(self.predictor)
        other.features = features
        return _LogLinear(other)


class _Pool:
    """Different translations of each sentence, of all rounds."""

    def __init__(self, part: DevPart) -> None:
        self.part, self.size = part, 0
        self.rows: list[dict[str, tuple[Floats, Floats]]] = [{} for _ in part.references]

    def add(self, found: Sequence[Prediction], model: _LogLinear) -> int:
        """Keep what is new, with the values of features; return how much that is."""
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
        """All of them."""
        features, statistics = zip(*(zip(*some.values(), strict=True) for some in self.rows), strict=True)
        return CandidateStatistics.of([np.stack(one) for one in features], [np.stack(one) for one in statistics])


def dev_part(run: Run, lines: int) -> Examples:
    """At most so many dev examples. Raises ConfigError where there are none, or nothing is translated."""
    if run.experiment.task_class.spec.translated is None or not {"source", "target"} <= run.columns.keys():
        raise ConfigError("task", "is no translation, so there is nothing to tune", "give the run of a translator")
    found = dev_examples(run.experiment, run.task(), lambda line: None)
    if not found:
        raise ConfigError("data.dev", "the run has no dev part to tune on", "data.dev={source: FILE, target: FILE}")
    return {name: list(islice(texts, lines)) for name, texts in found.items()}


def _spelled_pairs(experiment: Experiment, columns: Columns) -> list[tuple[list[str], list[str]]]:
    """The pieces of the training pairs, as tables spell them."""
    sides = [cast(TextColumn, columns[name]) for name in ("source", "target")]
    shown = [spelled_pieces(side) for side in sides]
    pairs = islice(training_pieces(experiment, columns), _MOST_PAIRS)
    return [([shown[0][one] for one in source], [shown[1][one] for one in target]) for source, target in pairs]


def _wide(search: Choice, n_best: int) -> Choice:
    """A search of so many. Raises ConfigError for one that finds a single target."""
    if "n_best" not in SEARCHES.settings(search.name):
        raise ConfigError("decoding.search", f"'{search.name}' finds one translation alone", "decoding.search=beam")
    return Choice(search.name, {**search.settings, "n_best": n_best})


def _settings(choice: Choice, feature: Feature) -> Choice:
    """The settings of a feature with the weight that it has now."""
    if feature.weight is None:
        return choice
    return Choice(choice.name, {**choice.settings, "weight": round(feature.weight, 6)})


def bleu_of(sums: Floats) -> float:
    return float(bleu_values(sums[None])[0])
