"""What a model answers, as plain values: no torch here, so a server, a notebook and a page can hold them cheaply."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

if TYPE_CHECKING:  # numpy is loaded where it is used, so that a shell that needs no array starts quickly
    from numpy import float64
    from numpy.typing import NDArray


class LabelledArray(NamedTuple):
    """Weights as an array, with a name and labels for each axis."""

    values: "NDArray[float64]"
    axes: tuple[str, ...]  # "head", "query", "key", or "target", "source"
    labels: tuple[list[str], ...]  # of each axis, as many as it is long


Place = list[int]  # [first, behind] of some characters of a text


def as_line(values: Iterable[str]) -> str:
    """Return the line that stands for the values of several columns: tabs between them, and none in them."""
    return "\t".join(value.replace("\t", " ") for value in values)


@dataclass(frozen=True)
class AttentionMap:
    """Where one attention looked: weights[head][query][key], rows of a normalised weighting sum to one."""

    name: str  # of the module that recorded it: decoder.layers.0.cross_attention
    kind: str  # "encoder", "decoder", "cross", "pooling" for a learned question, "memory" for a head's steps over slots
    layer: int
    weights: list[list[list[float]]]
    queries: str = ""  # the column that looks; "": a learned question
    keys: str = ""  # the column that is looked at


@dataclass(frozen=True)
class Explanation:
    """What a prediction looked at. `tokens` are the pieces a model saw, as shown to a person."""

    source_tokens: list[str]
    target_tokens: list[str]
    alignment: list[tuple[int, int]]  # (source, target) token positions, from 0
    weights: list[list[float]]  # (target, source): of the head that links words, else the decoder's own alignment
    maps: list[AttentionMap] = field(default_factory=list)
    columns: Mapping[str, list[str]] = field(default_factory=dict)  # tokens by column, where an example has several
    offsets: Mapping[str, list[list[int] | None]] = field(default_factory=dict)  # [first, behind] of each such token
    by: str = ""  # the method that weighed the words, a row of RELEVANCES; "": these are weights of attention
    sides: Mapping[str, list[float]] = field(default_factory=dict)  # by column what share of each target token it has
    reasons: Mapping[str, "Explanation"] = field(default_factory=dict)  # the same answer by other methods, by name

    def array(self, of: AttentionMap | None = None) -> LabelledArray:
        """Return the weights of a map as (head, query, key), by default the alignment as (target, source)."""
        from numpy import array

        if of is None:
            return LabelledArray(array(self.weights), ("target", "source"), (self.target_tokens, self.source_tokens))
        queries = self.source_tokens if of.kind == "encoder" else self.target_tokens
        keys = self.target_tokens if of.kind == "decoder" else self.source_tokens
        if self.columns:
            questions = [str(number) for number in range(len(of.weights[0]) if of.weights else 0)]
            queries, keys = self.columns.get(of.queries, questions), self.columns[of.keys]
        heads = [str(head) for head in range(len(of.weights))]
        return LabelledArray(array(of.weights), ("head", "query", "key"), (heads, queries, keys))


@dataclass(frozen=True)
class WordRelevance:
    """How much each token that a model read speaks for each token of its answer, by one method."""

    by: str  # a row of RELEVANCES
    items: list[str]  # what is explained: the tokens of an answer, or its label
    tokens: Mapping[str, list[str]]  # what was read, by column
    values: Mapping[str, list[list[float]]]  # (item, token) by column; below zero: speaks against it
    log_probs: list[float]  # of each item, in nats
    totals: list[float] | None = None  # what all tokens of an item should sum to, where the method promises a sum
    comparable: bool = True  # whether numbers of one column can be set against those of another

    def array(self, column: str | None = None) -> LabelledArray:
        """Return the relevance (item, token) of the tokens of a column, by default the first."""
        from numpy import array

        name = next(iter(self.tokens)) if column is None else column
        values = array(self.values[name]).reshape(len(self.items), len(self.tokens[name]))
        return LabelledArray(values, ("item", "token"), (self.items, self.tokens[name]))

    def sides(self) -> dict[str, list[float]]:
        """Return for each column its share of what speaks for and against each item; they sum to one, or are all 0.

        {} where columns cannot be compared.
        """
        if not self.comparable:
            return {}
        sizes = {name: [sum(map(abs, row)) for row in rows] for name, rows in self.values.items()}
        wholes = [sum(parts) or 1.0 for parts in zip(*sizes.values(), strict=True)]
        return {
            name: [part / whole for part, whole in zip(parts, wholes, strict=True)] for name, parts in sizes.items()
        }

    def scaled(self, column: str) -> list[list[float]]:
        """Return the relevance (item, token) of a column as shares: over all columns their sizes sum to one.

        Over the column alone where columns cannot be compared.
        """
        parts = zip(*(self.values.values() if self.comparable else [self.values[column]]), strict=True)
        wholes = [sum(abs(one) for row in rows for one in row) or 1.0 for rows in parts]
        return [[one / whole for one in row] for row, whole in zip(self.values[column], wholes, strict=True)]

    def without_end(self) -> "WordRelevance":
        """Return the same without the last item: the end symbol of an answer that was cut off, which nobody wrote."""
        return replace(
            self,
            items=self.items[:-1],
            values={name: rows[:-1] for name, rows in self.values.items()},
            log_probs=self.log_probs[:-1],
            totals=None if self.totals is None else self.totals[:-1],
        )

    def errors(self) -> list[float] | None:
        """Return how far the sum of each item is from what it should be, as a share; None: nothing is promised."""
        if self.totals is None:
            return None
        sums = [math.fsum(one for row in rows for one in row) for rows in zip(*self.values.values(), strict=True)]
        return [abs(one - total) / max(abs(total), 1e-12) for one, total in zip(sums, self.totals, strict=True)]


@dataclass(frozen=True)
class Prediction:
    """One answer for one example; each kind of answer is a subclass. `str` of it is the line that is printed."""

    answers: ClassVar[str] = "text"  # what it is: "text", "label", "tags", "span" or "numbers"

    source: str  # what was given; of several columns all, with tabs between them
    text: str  # the answer, in one line
    score: float  # what the answer was ranked by, in nats
    log_probs: list[float] = field(default_factory=list)  # per piece written, the end symbol included
    finished: bool = True  # False when the length limit cut it off
    alternatives: list["Prediction"] = field(default_factory=list)  # the rest of the n best, best first
    explanation: Explanation | None = None
    warning: str = field(default="", kw_only=True)  # why it is not what was asked for, where that is known
    confidences: list[float] | None = field(default=None, kw_only=True)  # of its items, calibrated; None: they are not
    calibrated_confidence: float | None = field(default=None, kw_only=True)  # of the whole; None: the mean of these
    withheld: str | None = field(default=None, kw_only=True)  # the answer, where it is not sure enough to be given

    def __str__(self) -> str:
        return self.text if self.withheld is None else f"[no answer: confidence {self.confidence or 0.0:.2f}]"

    @property
    def confidence(self) -> float | None:
        """From 0 to 1, how sure the answer is: the mean of its items; None: nothing tells."""
        found = self.item_probabilities() if self.confidences is None else self.confidences
        mean = math.fsum(found) / len(found) if found else None
        return mean if self.calibrated_confidence is None else self.calibrated_confidence

    def item_probabilities(self) -> list[float]:
        """Return what the model gives to each item of the answer: pieces without the end symbol, tags, the label."""
        return [math.exp(min(one, 0.0)) for one in (self.log_probs[:-1] if self.finished else self.log_probs)]

    def label_probabilities(self) -> Mapping[str, float]:
        """Return the probability of each label that could be the answer; none where answers are no labels."""
        return {}

    def lexicon_report(self) -> "LexiconReport | None":
        """Return what counts of translations say of the answer; None where there are none."""
        return None

    def search_tree(self) -> "SearchTree | None":
        """Return what a search held and dropped; None where nobody asked, or nothing was searched."""
        return None

    def details(self) -> dict[str, Any]:
        """Return what JSON tells besides the text and its score."""
        told: dict[str, Any] = {"warning": self.warning} if self.warning else {}
        if self.confidence is not None:
            told |= {"confidence": self.confidence, "calibrated": self.confidences is not None}
        if self.confidences is not None and self.withheld is None:
            told["confidences"] = list(self.confidences)
        return told if self.withheld is None else {**told, "abstained": True, "withheld": self.withheld}

    def __repr__(self) -> str:
        more = f", {len(self.alternatives)} alternatives" if self.alternatives else ""
        more += "" if self.explanation is None else ", explained"
        return f"{type(self).__name__}({self.source!r} → {self.text!r}, score {self.score:.3f}{more})"


class TermUse(NamedTuple):
    """A term of a glossary that stands in a source, and whether its translation has it. Places: [first, behind]."""

    source: str
    targets: list[str]  # that are allowed
    place: list[int]  # in the source
    target_place: list[int] | None  # in the translation; None: it is not used


class TermReport(NamedTuple):
    """What became of the terms in a text."""

    uses: list[TermUse]
    cost: float = 0.0  # nats a word by which the translation is less likely than the one without them
    without: str = ""  # that translation, where it is another one

    def details(self) -> dict[str, Any]:
        """Return what JSON tells."""
        told = [{**one._asdict(), "used": one.target_place is not None} for one in self.uses]
        return {"terms": told, "term_cost": self.cost, **({"without_terms": self.without} if self.without else {})}


class SearchNode(NamedTuple):
    """A piece that a search considered writing next."""

    parent: int  # the node that it would follow; -1: it would be the first
    token: str
    log_prob: float  # the model's own, in nats
    score: float  # the sum up to here with what features add, by which the step chose; of an end that of the answer
    fate: str  # "kept", "dropped", or "ended": an answer ends with it


class SearchTree(NamedTuple):
    """What a search held and dropped, step by step, of each step the best first."""

    nodes: list[SearchNode]
    answer: int | None  # the node that the answer ends with; None: it stands in no node
    whole: bool = True  # False: further steps are not told

    def details(self) -> dict[str, Any]:
        """Return what JSON tells."""
        return {**self._asdict(), "nodes": [node._asdict() for node in self.nodes]}


class TranslationFault(NamedTuple):
    """A word of a text or its translation that is worth a look."""

    kind: str  # "dropped", "invented", "repeated", "number", "name", "untranslated" or "unknown"
    side: str  # "source" or "target": where the word stands
    word: str
    place: Place
    source: str = ""  # what it should be the translation of; "": nobody knows
    suggestion: str = ""  # what that is most often translated by

    def __str__(self) -> str:
        told = f"{self.kind}: {self.word}"
        told += f" ← {self.source}" if self.source and self.side == "target" else ""
        return told + (f" ({self.suggestion}?)" if self.suggestion else "")


class LexiconReport(NamedTuple):
    """What counts of translations say of a text and its translation."""

    faults: list[TranslationFault]  # by side and place
    usual: Mapping[str, str]  # of words of the source, in lower case: what each is most often translated by

    def details(self) -> dict[str, Any]:
        """Return what JSON tells."""
        return {"faults": [fault._asdict() for fault in self.faults], "usual": dict(self.usual)}


@dataclass(frozen=True, repr=False)
class TextPrediction(Prediction):
    """A text that was written."""

    ids: list[int] | None = field(default=None, kw_only=True)  # of the pieces written; None: those that spell `text`
    document: str = field(default="", kw_only=True)  # sentences that the source was read with, tabs between; "": none
    terms: TermReport | None = field(default=None, kw_only=True)  # of a glossary; None: none stands in the source
    uncovered: list[Place] | None = field(default=None, kw_only=True)  # in the source; None: nothing was checked
    shares: Mapping[str, float] = field(default_factory=dict, kw_only=True)  # of the score: model, features; {}: none
    lexicon: LexiconReport | None = field(default=None, kw_only=True)  # None: nobody asked, or nothing was counted
    search: SearchTree | None = field(default=None, kw_only=True)  # None: nobody asked what the search held

    def lexicon_report(self) -> LexiconReport | None:
        """What counts of translations say."""
        return self.lexicon

    def search_tree(self) -> SearchTree | None:
        """What a search of the source held and dropped."""
        return self.search

    def details(self) -> dict[str, Any]:
        """Terms of a glossary, what features add to the score, words that may be untranslated, faults by a lexicon."""
        told = {**super().details(), **({"shares": dict(self.shares)} if self.shares else {})}
        told |= {} if self.lexicon is None else self.lexicon.details()
        told |= {} if self.search is None else {"search": self.search.details()}
        if self.uncovered is not None:
            places = self.uncovered
            told["uncovered"] = [{"word": self.source[start:end], "place": [start, end]} for start, end in places]
        return told if self.terms is None else {**told, **self.terms.details()}


@dataclass(frozen=True, repr=False)
class DocumentPrediction(Prediction):
    """A text of several sentences: `parts` are theirs, `text` has all that stands between them, too."""

    parts: list[Prediction] = field(default_factory=list, kw_only=True)

    def item_probabilities(self) -> list[float]:
        """The confidence of the least sure sentence."""
        return sorted(one.confidence for one in self.parts if one.confidence is not None)[:1]

    def details(self) -> dict[str, Any]:
        """Each sentence with its answer."""
        parts = [{"source": one.source, "text": one.text, "score": one.score, **one.details()} for one in self.parts]
        return {**super().details(), "sentences": parts}


@dataclass(frozen=True, repr=False)
class LabelPrediction(Prediction):
    """One label of a closed set: `text` is its name."""

    answers = "label"
    probabilities: Mapping[str, float] = field(default_factory=dict, kw_only=True)  # of every label

    def label_probabilities(self) -> Mapping[str, float]:
        """The probability of every label."""
        return self.probabilities

    def item_probabilities(self) -> list[float]:
        """That of the label."""
        return [self.probabilities[self.text]] if self.text in self.probabilities else []

    def details(self) -> dict[str, Any]:
        """The probability of every label."""
        return {**super().details(), "probabilities": dict(self.probabilities)}


@dataclass(frozen=True, repr=False)
class TagsPrediction(Prediction):
    """A label for each word: `text` holds them, parted by spaces; `str` of it is `the/DET dog/NOUN`."""

    answers = "tags"
    tags: list[str] = field(default_factory=list, kw_only=True)
    probabilities: list[float] = field(default_factory=list, kw_only=True)  # of each tag, whatever the others are

    def __str__(self) -> str:
        words = (self.source[start:end] for start, end in self.words)
        return " ".join(f"{word}/{tag}" for word, tag in zip(words, self.tags, strict=True))

    def item_probabilities(self) -> list[float]:
        """Those of the tags."""
        return self.probabilities

    @property
    def words(self) -> list[tuple[int, int]]:
        """Where each word of the given text stands: its first character, and the first one behind it."""
        return [match.span() for match in re.finditer(r"\S+", self.source)]

    def details(self) -> dict[str, Any]:
        """The words, where they stand, and the label of each with its probability."""
        return {
            **super().details(),
            "words": [self.source[start:end] for start, end in self.words],
            "offsets": [list(place) for place in self.words],
            "tags": list(self.tags),
            "probabilities": list(self.probabilities),
        }


@dataclass(frozen=True, repr=False)
class SpanPrediction(Prediction):
    """A stretch of the given text."""

    answers = "span"
    start: int = field(default=0, kw_only=True)  # characters of the given text, from 0
    end: int = field(default=0, kw_only=True)  # the first character behind it

    def item_probabilities(self) -> list[float]:
        """That of the stretch, wherever it stands."""
        return [math.exp(self.score)]

    def details(self) -> dict[str, Any]:
        """Where it stands, and the probability of the answer, wherever it stands."""
        return {**super().details(), "start": self.start, "end": self.end, "probability": self.confidence}


@dataclass(frozen=True, repr=False)
class NumbersPrediction(Prediction):
    """Rows of numbers: `text` is `0.31 1; -0.5 0` for two rows of two."""

    answers = "numbers"
    numbers: list[list[float]] = field(default_factory=list, kw_only=True)

    def details(self) -> dict[str, Any]:
        """The numbers themselves."""
        return {**super().details(), "numbers": [list(row) for row in self.numbers]}


@dataclass(frozen=True, repr=False)
class NearestPrediction(Prediction):
    """What is near to a text: `text` has the names, tabs between them, the nearest first."""

    nearest: list[tuple[str, float]] = field(default_factory=list, kw_only=True)  # names with their cosines
    vector: list[float] = field(default_factory=list, kw_only=True)  # of the text

    def details(self) -> dict[str, Any]:
        """The names with their cosines, and the vector."""
        near = [{"name": name, "cosine": cosine} for name, cosine in self.nearest]
        return {**super().details(), "nearest": near, "vector": list(self.vector)}
