"""Words that a classifier attends to most, and their polarity (association with a label)."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, cast

from regard.data.columns import TextColumn
from regard.errors import DataError, RegardError
from regard.explain.token_weights import token_weights
from regard.explain.tokens import visible_line, words_of
from regard.pieces import SPECIALS
from regard.predictor import Predictor
from regard.reports.report import Report, figure_bytes, new_figure
from regard.reports.table import Cell, Table
from regard.results import Explanation
from regard.runs.texts import Say, test_examples, training_readers
from regard.tasks.examples import as_rows, count_of

TWICE = math.log(2)  # log-odds from which on a word is polar
_SURE = 1.96  # and by how many standard errors
_COMMON = 100  # words that count as common: the most frequent of the training set
_AT_ONCE = 256  # texts whose weights are in memory
ANNOTATED = 25  # words of a plot that are named


class Polarity(NamedTuple):
    """The label that a word is associated with, and the log-odds ratio of that label in texts with the word."""

    label: str
    log_odds: float
    error: float  # standard error of these

    @property
    def polar(self) -> bool:
        """Return whether the odds are at least twice as high, and not by chance (p < 0.05)."""
        return self.log_odds >= TWICE and self.log_odds >= _SURE * self.error


class AttendedWord(NamedTuple):
    """A word, its mean attention weight and its polarity."""

    word: str
    times: int  # number of occurrences
    attention: float  # mean weight; 1: that of uniform attention
    polarity: Polarity


class AttendedWords(NamedTuple):
    """Words that the first learned query of a model attends to."""

    words: list[AttendedWord]  # frequent enough, the most attended first
    texts: int
    common: frozenset[str]  # the most frequent words of the training set
    shares: tuple[float, float]  # fractions of occurrences and of attention that common words have

    def polar_fraction(self, top: int) -> float:
        """Return the fraction of polar words among the first `top`."""
        return sum(one.polarity.polar for one in self.words[:top]) / max(len(self.words[:top]), 1)


def attended_words(predictor: Predictor, lines: int, min_count: int, say: Say) -> AttendedWords:
    """Return the attention to words in the first texts of a run's test set; polarity is from the training set.

    Words with fewer than `at_least` occurrences are left out. Raises RegardError where no learned query attends to
    words, and DataError where there is no test set.
    """
    experiment, task, run = predictor.run.experiment, predictor.task, predictor.run.path
    examples = test_examples(experiment, task)
    if examples is None:
        raise DataError(str(run), "has no test set", hint="data.test names one in training")
    sums, counts = _attention(predictor, {name: examples[name][:lines] for name in task.inputs}, str(run))
    say(f"{min(lines, count_of(examples)):,} texts read")
    column = cast(TextColumn, task.vocabularies[task.first])
    texts, labels, frequencies = Counter[tuple[str, str]](), Counter[str](), Counter[str]()
    for example in training_readers(experiment)["train"]:
        words = [word.text for word in words_of(column.pieces(column.encode(example.texts[task.first])))]
        frequencies.update(words)
        texts.update((word, example.texts[task.last]) for word in set(words))
        labels[example.texts[task.last]] += 1
    say(f"{sum(labels.values()):,} training texts counted")
    known = [
        AttendedWord(word, count, sums[word] / count, polarity(word, texts, labels))
        for word, count in counts.items()
        if count >= min_count
    ]
    common = frozenset(word for word, _ in frequencies.most_common(_COMMON))
    shares = [sum(each.get(word, 0) for word in common) / max(sum(each.values()), 1e-12) for each in (counts, sums)]
    ranked = sorted(known, key=lambda one: (-one.attention, one.word))
    return AttendedWords(ranked, min(lines, count_of(examples)), common, (shares[0], shares[1]))


def attended_words_report(predictor: Predictor, lines: int, min_count: int, top: int, say: Say) -> Report:
    """Report the `top` words that a run's model attends to most. Raises RegardError as `attended_words` does."""
    found = attended_words(predictor, lines, min_count, say)
    figure = partial(_figure, found, f"Words that {predictor.run.path.name} attends to")
    return Report([_words_table(found, top)], _as_values(found, top), _summary(found, top), figure)


def polarity(word: str, texts: Mapping[tuple[str, str], int], labels: Mapping[str, int]) -> Polarity:
    """Return the label that a word speaks for most, by the numbers of training texts with word and label, and by label.

    log-odds ratio of the label in texts with the word and without, half a text added to each of the four numbers.
    """
    whole, own = sum(labels.values()), sum(texts.get((word, label), 0) for label in labels)
    found = []
    for label, count in labels.items():
        both = texts.get((word, label), 0)
        cells = both, own - both, count - both, whole - count - own + both
        with_it, without, label_alone, neither = (cell + 0.5 for cell in cells)
        log_odds = math.log(with_it * neither / (without * label_alone))
        found.append(Polarity(label, log_odds, math.sqrt(sum(1 / (cell + 0.5) for cell in cells))))
    return max(found, key=lambda one: one.log_odds)


def _words_table(found: AttendedWords, top: int) -> Table:
    """Return the first words; * marks those that are polar."""
    rows = [
        [
            Cell(one.word),
            Cell(f"{one.times:,}", one.times),
            Cell(f"{one.attention:.2f}", one.attention),
            Cell(f"{one.polarity.log_odds:.2f}{'*' if one.polarity.polar else ''}", one.polarity.log_odds),
            Cell(one.polarity.label),
        ]
        for one in found.words[:top]
    ]
    return Table(["word", "count", "attention", "log-odds", "label"], rows, texts=1)


def _summary(found: AttendedWords, top: int) -> str:
    """Return the table in two lines."""
    shown, (read, attended) = found.words[:top], found.shares
    common = sum(one.word in found.common for one in shown)
    return (
        f"of the {len(shown)} most attended words {found.polar_fraction(top):.0%} are polar, of all "
        f"{len(found.words):,} words {found.polar_fraction(len(found.words)):.0%}\n"
        f"the {len(found.common)} commonest words are {read:.0%} of the words read, have {attended:.0%} of the "
        f"attention, and are {common} of these {len(shown)}"
    )


def _as_values(found: AttendedWords, top: int) -> dict[str, Any]:
    """Return the same as JSON values, for all words that are frequent enough."""
    words = [
        {**one._asdict(), "polarity": {**one.polarity._asdict(), "polar": one.polarity.polar}} for one in found.words
    ]
    polar = {"top": found.polar_fraction(top), "all": found.polar_fraction(len(found.words))}
    return {"texts": found.texts, "polar": polar, "common": sorted(found.common), "words": words}


def _figure(found: AttendedWords, title: str, ending: str) -> bytes:
    """Plot attention over polarity, a point for each word; the first are named. Empty without words."""
    if not found.words:
        return b""
    figure = new_figure(8, 5)
    axes, labels = figure.subplots(), sorted({one.polarity.label for one in found.words})
    for label in labels:
        own = [one for one in found.words if one.polarity.label == label]
        across, up = [_signed(one, labels) for one in own], [one.attention for one in own]
        axes.scatter(across, up, s=8, alpha=0.5, label=visible_line(label))
    for one in found.words[:ANNOTATED]:
        name, place = visible_line(one.word).replace("$", r"\$"), (_signed(one, labels), one.attention)
        axes.annotate(name, place, fontsize=7, xytext=(2, 2), textcoords="offset points")
    axes.axhline(1.0, color="grey", linewidth=0.8)
    axes.set_xlabel("log-odds of the label" if len(labels) > 2 else f"log-odds of {labels[-1]}", parse_math=False)
    axes.set_ylabel("attention, 1: uniform")
    axes.legend(fontsize=8)
    axes.set_title(visible_line(title), fontsize=10, parse_math=False)
    return figure_bytes(figure, ending)


def _attention(
    predictor: Predictor, texts: Mapping[str, Sequence[str]], run: str
) -> tuple[dict[str, float], Counter[str]]:
    """Return by word the sum of its weights, where 1 is that of uniform attention, and its number of occurrences."""
    rows, sums, counts = as_rows(texts), defaultdict[str, float](float), Counter[str]()
    for start in range(0, len(rows), _AT_ONCE):
        for one in predictor.predict(rows[start : start + _AT_ONCE], explain=True, safeguards=False):
            for word, weight in _weighed(one.explanation, run):
                sums[word] += weight
                counts[word] += 1
    return sums, counts


def _weighed(found: Explanation | None, run: str) -> Iterable[tuple[str, float]]:
    """Return the words of a text with their weights. Raises RegardError where no learned query attends to them."""
    views = [] if found is None else [one for one in token_weights(found) if not one.of_units]
    if not views:
        hint = "regard words needs a classifier with model.pooling=attention"
        raise RegardError(f"{run}: this run has no attention pooling ({hint})")
    words, weights = views[0].words, views[0].of_words()
    pairs = zip(words, weights, strict=True)
    return [(word.text, weight * len(words)) for word, weight in pairs if word.text not in SPECIALS]


def _signed(one: AttendedWord, labels: Sequence[str]) -> float:
    """Return the log-odds; of two labels those of the second."""
    return -one.polarity.log_odds if len(labels) == 2 and one.polarity.label == labels[0] else one.polarity.log_odds
