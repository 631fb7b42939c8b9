"""`regard tune`: tables for the features of a translator's beam, and the weights that make most of them.

A round translates the dev part, adds the n best of each sentence to the candidates of the rounds before, and searches
weights by BLEU among all of them (Och 2003, https://aclanthology.org/P03-1021).
"""

import copy
import json
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np

from regard.config import as_values, write_yaml
from regard.data.columns import Columns, TextColumn, check_one_vocabulary
from regard.decoding import SEARCHES, Feature
from regard.decoding.features.ngram_model import FILE as LANGUAGE
from regard.decoding.features.phrases import FILE as PHRASES
from regard.decoding.features.tables import LEXICON, spelled_pieces
from regard.errors import ConfigError
from regard.evaluation import METRICS
from regard.evaluation.metric import corpus_of
from regard.experiment import Experiment
from regard.predictor import Predictor, load
from regard.registry import Choice
from regard.results import Prediction, TextPrediction
from regard.runs import RunFolder
from regard.runs.assembly import task_of
from regard.runs.folder import DECODING, TUNING
from regard.runs.shortlist import training_pieces
from regard.runs.texts import dev_examples
from regard.statistical.aligner import fit_both
from regard.statistical.arpa import write_arpa
from regard.statistical.bitext import Bitext
from regard.statistical.hmm import Hmm
from regard.statistical.kneser_ney import kneser_ney
from regard.statistical.lexicon import Lexicon
from regard.statistical.mert import Candidates, Floats, Tuned, Values, bleu_values, minimise_errors, random_search
from regard.statistical.phrase_scores import phrase_table
from regard.statistical.phrase_table import PhraseEntry, PhraseTable
from regard.statistical.symmetrisation import grow_diag_final_and
from regard.tasks import Examples

METHODS: Mapping[str, Callable[[Candidates, Floats, Values], Tuned]] = {
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
MOST_PAIRS, ORDER = 500_000, 3
LONGEST, LIMIT = 3, 5  # pieces of a phrase, and its translations
RARE = 1e-3  # less likely translations of a piece are left out
LEAST = 1e-6  # smallest size of a weight: at 0 a share no longer tells the value of its feature

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
    say: Say = lambda line: None,
) -> Tuning:
    """Learn the tables, tune the weights of features on the dev part, and keep what is better than no features.

    Raises ConfigError for an unknown method, a run that does not translate word by word, one without a dev part, and
    for features without a weight alone; DataError where the training texts are gone.
    """
    if method not in METHODS:
        raise ConfigError("--method", f"there is no '{method}'", " or ".join(METHODS))
    folder = RunFolder(run)
    experiment = folder.experiment([*changes, "decoding.tuned=false"])
    part = _Part(_dev_part(experiment, folder, lines))
    load(run, [*changes, "decoding.tuned=false", "decoding.features=length"])  # refuses what takes no features, early
    learn_tables(folder, experiment, say)
    search, choices = experiment.decoding.search, experiment.decoding.features or FIRST
    wide = _wide(search, n_best)
    predictor = load(run, [*changes, "decoding.tuned=false", f"decoding.features={json.dumps(as_values(choices))}"])
    model = _LogLinear(predictor)
    model = model.reweighted(model.weights)
    if not model.weighted:
        raise ConfigError("decoding.features", "has no weight that could be tuned", "name others: ngram_model")
    before = part.total(model.without().translated(part, search))
    say(f"without features: BLEU {_bleu(before):.2f} on {len(part.sources):,} dev sentences")
    pool, best = _Pool(part), (-1.0, model)
    for number in range(rounds):
        found = model.translated(part, wide)
        value, fresh = _bleu(part.total(found)), pool.add(found, model)
        say(f"round {number + 1}: BLEU {value:.2f}, {pool.size:,} candidates")
        best = max(best, (value, model), key=lambda one: one[0])
        if not fresh:
            break
        tuned = METHODS[method](pool.candidates(), np.array([1.0, *best[1].weights]), bleu_values).weights
        model = best[1].reweighted(tuned[1:] / max(tuned[0], LEAST))
    after = [(part.total(one.translated(part, search)), one) for one in (best[1], model)]
    sums, chosen = max(after, key=lambda one: _bleu(one[0]))
    features = [_settings(choice, one) for choice, one in zip(choices, chosen.features, strict=True)]
    path = folder.path / TUNING / DECODING if _bleu(sums) > _bleu(before) else None
    if path is not None:
        write_yaml(path, as_values({"search": search, "features": features}))
    lengths = float(before[0] / before[1]), float(sums[0] / sums[1])
    weights = {one.name: one.weight for one in chosen.features if one.weight is not None}
    return Tuning(_bleu(before), _bleu(sums), lengths, weights, path)


def learn_tables(folder: RunFolder, experiment: Experiment, say: Say = lambda line: None) -> None:
    """Learn what features read from the training texts of a run, in the pieces that it reads and writes.

    An n-gram model of the target, a lexicon by aligned words, and a phrase table; files that are there are kept.
    """
    place, names = folder.path / TUNING, (LANGUAGE, LEXICON, PHRASES)
    if all((place / name).is_file() for name in names):
        return
    place.mkdir(exist_ok=True)
    check_one_vocabulary(folder.vocabularies(experiment), "tuning")
    columns = folder.columns(experiment)
    pairs = _spelled_pairs(experiment, columns)
    say(f"learning n-grams, a lexicon and phrases from {len(pairs):,} pairs; this happens once")
    bitext = Bitext.of(pairs)
    both = fit_both(bitext, Hmm())
    likely = both.forward.lexicon
    kept = likely.values >= RARE
    lexicon = Lexicon(likely.source_words, likely.target_words, likely.keys[kept], likely.values[kept])
    phrases = phrase_table(bitext, both.links(bitext, grow_diag_final_and), max_length=LONGEST, limit=LIMIT)
    table = PhraseTable.of((source, entry) for source, entry in phrases if len(source) == 1 or not _single(entry))
    language = kneser_ney((target for _, target in pairs), ORDER)
    writers: tuple[Callable[[Path], None], ...] = (lambda path: write_arpa(language, path), lexicon.write, table.write)
    for name, write in zip(names, writers, strict=True):
        new = place / f".new.{name}"  # the end of a name decides whether a file is compressed
        write(new)
        new.replace(place / name)


def _single(entry: PhraseEntry) -> bool:
    """Whether both phrases stand for each other alone, as those do that were seen once: a table is full of them."""
    return entry.scores[0] == entry.scores[2] == 0.0


class _Part:
    """The dev part, and BLEU's statistics of its translations."""

    def __init__(self, examples: Examples) -> None:
        self.sources, self.references = examples["source"], examples["target"]
        self.metric = METRICS.build(Choice("bleu"))

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
            features[place] = features[place].weighted(weight if abs(weight) >= LEAST else LEAST)
        return self._with(tuple(features))

    def translated(self, part: _Part, search: Choice) -> Sequence[Prediction]:
        """Translate the dev part."""
        return self.predictor.predict(part.sources, search=SEARCHES.build(search), safeguards=False)

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

    def __init__(self, part: _Part) -> None:
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

    def candidates(self) -> Candidates:
        """All of them."""
        features, statistics = zip(*(zip(*some.values(), strict=True) for some in self.rows), strict=True)
        return Candidates.of([np.stack(one) for one in features], [np.stack(one) for one in statistics])


def _dev_part(experiment: Experiment, folder: RunFolder, lines: int) -> Examples:
    """At most so many dev examples. Raises ConfigError where there are none, or nothing is translated."""
    columns = folder.columns(experiment)
    if experiment.task_class.translated is None or not {"source", "target"} <= columns.keys():
        raise ConfigError("task", "is no translation, so there is nothing to tune", "give the run of a translator")
    found = dev_examples(experiment, task_of(experiment, columns), lambda line: None)
    if not found:
        raise ConfigError("data.dev", "the run has no dev part to tune on", "data.dev={source: FILE, target: FILE}")
    return {name: list(islice(texts, lines)) for name, texts in found.items()}


def _spelled_pairs(experiment: Experiment, columns: Columns) -> list[tuple[list[str], list[str]]]:
    """The pieces of the training pairs, as tables spell them."""
    sides = [cast(TextColumn, columns[name]) for name in ("source", "target")]
    shown = [spelled_pieces(side) for side in sides]
    pairs = islice(training_pieces(experiment, columns), MOST_PAIRS)
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


def _bleu(sums: Floats) -> float:
    return float(bleu_values(sums[None])[0])
