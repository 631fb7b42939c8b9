"""`regard align`: word alignment by statistical models, by a translator's attention or relevance; rating by gold."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import Progress

from regard.config import PartOf
from regard.config.reading import parse
from regard.data.columns import TextColumn
from regard.data.readers.parallel import ParallelReader
from regard.errors import ConfigError, DataError, RegardError
from regard.evaluation import read_gold
from regard.evaluation.alignments import GoldAlignment, Link, link_rates
from regard.explain.alignment import AlignmentHead, format_pharaoh, heads_of
from regard.explain.relevance import method_of
from regard.predictor import Predictor, load
from regard.runs.measurements import ALIGNMENT, ATTENTION
from regard.runs.texts import dev_examples, training_texts
from regard.statistical import ALIGNERS
from regard.statistical.aligner import fit_both
from regard.statistical.alignment_model import AlignmentModel
from regard.statistical.bitext import Bitext, Words, split_words
from regard.statistical.hmm import Hmm
from regard.statistical.symmetrisation import SYMMETRISATIONS, Links, grow_diag_final_and, intersection
from regard.text.offsets import TextPlace
from regard.text.words import cut_words

TRIED = (ATTENTION, "saliency", "lrp")  # default methods
DEV_PAIRS, LEARNT_PAIRS = 100, 30_000  # pairs for the selection; pairs for the statistical aligner
_PORTION = 64  # sentence pairs whose maps are held at once

Matrix = NDArray[np.float64]
_Weights = Mapping[AlignmentHead | None, Sequence[Sequence[float]]]  # (target piece, source piece), of each head


class SpannedText(NamedTuple):
    """A text, and the places of its words."""

    text: str
    spans: list[tuple[int, int]]

    @classmethod
    def of_words(cls, words: Sequence[str]) -> "SpannedText":
        """Join words with spaces."""
        starts = np.cumsum([0, *(len(word) + 1 for word in words)]).tolist()
        return cls(" ".join(words), [(start, start + len(word)) for start, word in zip(starts, words, strict=False)])

    @classmethod
    def of_text(cls, text: str) -> "SpannedText":
        """Cut a text into words and punctuation."""
        spans, end = list[tuple[int, int]](), -1
        for piece in cut_words(text):
            end += len(piece)
            if piece.strip():
                spans.append((end - len(piece.lstrip()), end))
        return cls(text, spans)

    @property
    def words(self) -> list[str]:
        """The words, spelt as in the text."""
        return [self.text[start:end] for start, end in self.spans]

    def pieces(self, places: Sequence[TextPlace]) -> Matrix:
        """Return the matrix (word, piece) of the pieces of each word; a piece may belong to several."""
        first, last = (np.array([-1 if one is None else one[side] for one in places]) for side in (0, 1))
        spans = np.array(self.spans).reshape(-1, 2)
        overlaps = (first < spans[:, 1:]) & (last > spans[:, :1])
        return cast(Matrix, overlaps.astype(float))


_Pair = tuple[SpannedText, SpannedText]


class Way(NamedTuple):
    """A method of extracting links from a translator."""

    by: str = ATTENTION  # a row of RELEVANCES
    head: AlignmentHead | None = None  # of the attention
    null: bool = False  # a word with most weight on the end symbol has no link

    def __str__(self) -> str:
        parts = (self.by, "" if self.head is None else str(self.head), "words of the end symbol left out" * self.null)
        return ", ".join(filter(None, parts))

    def plain(self) -> dict[str, Any]:
        """Return values of JSON."""
        return {**self._asdict(), "head": None if self.head is None else list(self.head)}

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> "Way":
        """Return the way from the values of `plain`."""
        head = plain["head"]
        return cls(plain["by"], None if head is None else AlignmentHead(*head), plain["null"])


class Rated(NamedTuple):
    """A way, and the alignment error rate of its links."""

    way: Way
    error_rate: float


def translated_links(
    runs: Sequence[Path | None],
    texts: Iterable[tuple[Sequence[str], Sequence[str]]],
    by: str | None,
    symmetrise: str,
    say: Callable[[str], None],
) -> list[list[Link]]:
    """Return the links of a translator, or the merged links of two directions. Raises ConfigError."""
    spanned = [(SpannedText.of_words(source), SpannedText.of_words(target)) for source, target in texts]
    directions: list[list[list[Link]]] = []
    named = zip(("--model", "--reverse"), runs, strict=True)
    predictors = [None if run is None else _translator(run, option) for option, run in named]
    _check_directions(predictors)
    turned_texts = [(target, source) for source, target in spanned]
    for run, predictor, given in zip(runs, predictors, (spanned, turned_texts), strict=True):
        if run is not None and predictor is not None:
            way = chosen_way(predictor, by, say)
            say(f"{run}: {way}")
            directions.append(translator_links(predictor, given, way))
    forward, *others = directions
    method = SYMMETRISATIONS[symmetrise]
    return [method(*both) for both in zip(forward, turned(others[0]), strict=True)] if others else forward


def _translator(run: Path, option: str) -> Predictor:
    """Load a translator. Raises ConfigError for a run of another task."""
    predictor = load(run)
    if predictor.task.spec.translated is None:
        raise ConfigError(option, f"{run} does not translate", "the folder of a translator")
    return predictor


def _check_directions(predictors: Sequence[Predictor | None]) -> None:
    """Raise ConfigError for a second translator that does not translate back."""
    pairs = [predictor.setup.languages for predictor in predictors if predictor is not None]
    if len(pairs) > 1 and None not in (*pairs[0], *pairs[1]) and pairs[1] != pairs[0][::-1]:
        (source, target), (other, another) = pairs
        raise ConfigError("--reverse", f"translates {other} → {another}", f"a run that translates {target} → {source}")


def translator_links(predictor: Predictor, pairs: Sequence[_Pair], way: Way) -> list[list[Link]]:
    """Return the links (source word, target word) of each sentence pair, at most one link per target word."""
    return [_links(found[way.head], way.null) for found in word_weights(predictor, pairs, way.by)]


def word_weights(predictor: Predictor, pairs: Sequence[_Pair], by: str) -> Iterator[dict[AlignmentHead | None, Matrix]]:
    """Yield weights (target word, source word + end symbol) of each pair: per head, or under None of a method."""
    columns = [cast(TextColumn, predictor.task.vocabularies[name]) for name in ("source", "target")]
    for start in range(0, len(pairs), _PORTION):
        some = pairs[start : start + _PORTION]
        scored = predictor.score([source.text for source, _ in some], [target.text for _, target in some])
        given = [replace(one, source=source.text) for one, (source, _) in zip(scored, some, strict=True)]
        if by == ATTENTION:
            explained = predictor.explainer.with_attention(given)
            maps = [one.explanation.maps for one in explained if one.explanation is not None]
            found: list[_Weights] = [{head: head.weights(one) for head in heads_of(one)} for one in maps]
        else:
            found = [{None: one.values["source"]} for one in predictor.explainer.relevance(given, by)]
        for pair, each in zip(some, found, strict=True):
            sides = [one.pieces(column.offsets(one.text)) for one, column in zip(pair, columns, strict=True)]
            yield {head: _of_words(np.array(weights), *sides) for head, weights in each.items()}


def _of_words(weights: Matrix, sources: Matrix, targets: Matrix) -> Matrix:
    """Merge weights (target piece, source piece) to (target word, source word); end symbols are last."""
    ended = np.zeros((len(sources) + 1, weights.shape[1]))
    ended[:-1, : sources.shape[1]], ended[-1, -1] = sources, 1.0
    means = targets / targets.sum(axis=1, keepdims=True).clip(min=1.0)
    return cast(Matrix, means @ weights[: targets.shape[1]] @ ended.T)


def _links(weights: Matrix, null: bool) -> list[Link]:
    words, end = weights[:, :-1], weights[:, -1]
    if not words.size:
        return []
    most = words.max(axis=1)
    linked = (most > 0) & ((most > end) | (not null))
    best = words.argmax(axis=1).tolist()
    return [(source, target) for target, source in enumerate(best) if linked[target]]


def rated_ways(predictor: Predictor, pairs: Sequence[_Pair], gold: Sequence[GoldAlignment], by: str) -> list[Rated]:
    """Return all ways of a method, in ascending order of their alignment error rate."""
    found = list(word_weights(predictor, pairs, by))
    ways = [Way(by, head, null) for head in found[0] for null in (False, True)] if found else []
    links = ([_links(weights[way.head], way.null) for weights in found] for way in ways)
    rated = [Rated(way, link_rates(some, gold).error_rate) for way, some in zip(ways, links, strict=True)]
    return sorted(rated, key=lambda one: one.error_rate)


def chosen_way(predictor: Predictor, by: str | None, say: Callable[[str], None]) -> Way:
    """Return the best way of a method, or of all default ones: the saved one, else measured now.

    A run without a dev set uses its trained alignment head. Raises DataError where it has none.
    """
    method = None if by is None else method_of(by).name
    kept = predictor.run.measurements.kept(ALIGNMENT) or {"ways": {}}
    missing = [one for one in ([method] if method else TRIED) if one not in kept["ways"]]
    if missing:
        dev, trained = _dev(predictor, say), predictor.task.alignment_head
        if dev is None and trained is not None and method in (None, ATTENTION):
            return Way(head=trained)
        if dev is None:
            problem, hint = "has no dev set to select an alignment on", "data.dev names one in training"
            raise DataError(str(predictor.run.path), problem, hint=hint)
        for name in missing:
            best = rated_ways(predictor, *dev, name)[:1]
            if not best:
                raise RegardError(f"{name}: this model has no attention to the source, choose another --method")
            say(f"{best[0].way}: {best[0].error_rate:.1%} of the dev links wrong")
            kept["ways"][name] = {**best[0].way.plain(), "error_rate": best[0].error_rate}
        predictor.run.measurements.keep(ALIGNMENT, kept)
    ways = kept["ways"]
    return Way.of(ways[method or min(ways, key=lambda name: ways[name]["error_rate"])])


def _dev(predictor: Predictor, say: Callable[[str], None]) -> tuple[list[_Pair], list[GoldAlignment]] | None:
    """Return dev pairs, and their links by an HMM in both directions, trained on them and the training texts."""
    experiment = predictor.run.experiment
    examples = dev_examples(experiment, predictor.task, say)
    if examples is None:
        return None
    texts = zip(examples["source"][:DEV_PAIRS], examples["target"][:DEV_PAIRS], strict=True)
    pairs = [(SpannedText.of_text(source), SpannedText.of_text(target)) for source, target in texts]
    learnt = islice(training_texts(experiment), LEARNT_PAIRS)
    words = [*([_folded(one) for one in pair] for pair in pairs)]
    words += [[_folded(SpannedText.of_text(one[name])) for name in ("source", "target")] for one in learnt]
    say(f"linking {len(pairs)} dev pairs by an HMM that learns from {len(words):,}")
    both = fit_both(Bitext.of((source, target) for source, target in words), Hmm())
    given = Bitext.of((source, target) for source, target in words[: len(pairs)])
    sure, possible = (both.links(given, one) for one in (intersection, grow_diag_final_and))
    return pairs, [GoldAlignment(frozenset(a), frozenset(b)) for a, b in zip(sure, possible, strict=True)]


def _folded(text: SpannedText) -> list[str]:
    return [word.lower() for word in text.words]


def turned(links: Sequence[Sequence[Link]]) -> list[Links]:
    """Return links with source and target exchanged."""
    return [[(source, target) for target, source in row] for row in links]


_WrittenPair = tuple[Words, Words]
_Files = tuple[Path, Path]


class Pairs(NamedTuple):
    """Sentence pairs of two files, and all training pairs."""

    written: list[_WrittenPair]  # in the spelling of the files
    given: Bitext  # the same pairs
    learnt: Bitext  # these and further training pairs


def read_pairs(files: _Files, also: _Files | None = None, *, lowercase: bool = False) -> Pairs:
    """Read two texts, and two further training texts.

    Raises DataError for files that cannot be read or differ in length.
    """
    written = _read(files)
    given, others = _lowered(written, lowercase), _lowered(_read(also) if also else [], lowercase)
    return Pairs(written, Bitext.of(given), Bitext.of([*given, *others]))


def read_gold_of(path: Path, pairs: Sequence[_WrittenPair]) -> list[GoldAlignment]:
    """Return the gold links of sentence pairs. Raises DataError for a file of other pairs."""
    gold = read_gold(path)
    if len(gold) != len(pairs):
        raise DataError(path, f"has {len(gold):,} lines, but there are {len(pairs):,} sentence pairs")
    for number, (one, (source, target)) in enumerate(zip(gold, pairs, strict=True), start=1):
        beyond = next((link for link in sorted(one.possible) if link[0] >= len(source) or link[1] >= len(target)), None)
        if beyond:
            problem = f"the link {beyond[0] + 1}-{beyond[1] + 1} is beyond {len(source)} and {len(target)} words"
            raise DataError(path, problem, line=number, hint="words are counted from 1, source first")
    return gold


def aligner_of(text: str) -> AlignmentModel[Any]:
    """Return the model of a name, or of a name and settings. Raises ConfigError."""
    value = parse(text, "--model")
    try:
        return ALIGNERS.build(PartOf(ALIGNERS).read(value), place="")
    except ConfigError as error:
        raise error.inside("--model") from None


class Learning(NamedTuple):
    """Training settings of a statistical aligner."""

    iterations: int
    warm_up: int
    alpha: float
    agree: bool
    symmetrise: str


def aligned_links(
    aligner: AlignmentModel[Any], pairs: Pairs, settings: Learning, lexicon_file: Path | None, *, quiet: bool
) -> list[list[Link]]:
    """Return the links of a model trained on the texts; its lexicon is saved in a file, if one is named."""
    iterations, warm_up, alpha, agree, symmetrise = settings
    with _progress((2 - agree) * (warm_up + iterations), quiet) as report:
        both = fit_both(
            pairs.learnt, aligner, iterations=iterations, warm_up=warm_up, alpha=alpha, agree=agree, report=report
        )
    if lexicon_file:
        both.forward.lexicon.write(lexicon_file)
    return both.links(pairs.given, SYMMETRISATIONS[symmetrise])


def rates_line(links: list[list[Link]], gold: list[GoldAlignment]) -> str:
    """Return the agreement of links with manual ones."""
    rates = link_rates(links, gold)
    return f"AER {rates.error_rate:.1%}, precision {rates.precision:.1%}, recall {rates.recall:.1%}"


def pharaoh_lines(links: list[list[Link]]) -> str:
    """Return links as text, one line per sentence pair."""
    return "".join(f"{format_pharaoh(row)}\n" for row in links)


def _read(files: _Files) -> list[_WrittenPair]:
    reader = ParallelReader(("source", "target"), files=dict(zip(("source", "target"), map(str, files), strict=True)))
    return [(split_words(one.texts["source"]), split_words(one.texts["target"])) for one in reader]


def _lowered(pairs: list[_WrittenPair], lowercase: bool) -> list[_WrittenPair]:
    if not lowercase:
        return pairs
    return [([word.lower() for word in source], [word.lower() for word in target]) for source, target in pairs]


@contextmanager
def _progress(total: int, quiet: bool) -> Iterator[Callable[[float], None]]:
    """Count iterations on a terminal."""
    with Progress(console=Console(stderr=True), transient=True, disable=quiet) as bar:
        task = bar.add_task("aligning", total=total)

        def report(log_likelihood: float) -> None:
            bar.update(task, advance=1, description=f"aligning, log-likelihood {log_likelihood:,.0f}")

        yield report
