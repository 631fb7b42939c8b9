"""Predictions: one answer of a model for one example."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any, ClassVar, Self

from regard.results.explanation import Explanation
from regard.results.translation_reports import LexiconReport, MemoryMatch, Place, SearchTree, TermReport, WordEvidence

BETWEEN_ANSWERS = "\n"  # of which any is right


def as_line(values: Iterable[str]) -> str:
    """Return the line that stands for the values of several columns: tabs between them, and none in them."""
    return "\t".join(value.replace("\t", " ") for value in values)


@dataclass(frozen=True)
class Prediction:
    """One answer for one example; rows of ANSWERS have subclasses. `str` of it is the line that is printed."""

    answers: ClassVar[str] = "text"  # the part of the page that shows it

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
        """Confidence from 0 to 1: the mean of its items; None: unknown."""
        found = self.item_probabilities() if self.confidences is None else self.confidences
        mean = math.fsum(found) / len(found) if found else None
        return mean if self.calibrated_confidence is None else self.calibrated_confidence

    def warned(self, warning: str) -> Self:
        """Return the same with one more warning."""
        return replace(self, warning="; ".join(filter(None, (self.warning, warning))))

    def item_probabilities(self) -> list[float]:
        """Return what the model gives to each item of the answer: pieces without the end symbol, tags, the label."""
        return [math.exp(min(one, 0.0)) for one in (self.log_probs[:-1] if self.finished else self.log_probs)]

    def label_probabilities(self) -> Mapping[str, float]:
        """Return the probability of each label that could be the answer; none for other answers."""
        return {}

    def lexicon_report(self) -> "LexiconReport | None":
        """Return what counts of translations say of the answer; None where there are none."""
        return None

    def search_tree(self) -> "SearchTree | None":
        """Return what a search held and dropped; None where nobody asked, or nothing was searched."""
        return None

    def word_evidence(self) -> "Sequence[WordEvidence]":
        """Return the segments of a translation memory behind words of the answer; none where nobody asked."""
        return ()

    def used_terms(self) -> Sequence[Place]:
        """Return where the terms of a glossary that were used stand in the source."""
        return ()

    @property
    def reused(self) -> bool:
        """Return True for a translation of a memory, which is written as it is."""
        return False

    def details(self) -> dict[str, Any]:
        """Return the fields of JSON besides the text and its score."""
        fields: dict[str, Any] = {"warning": self.warning} if self.warning else {}
        if self.confidence is not None:
            fields |= {"confidence": self.confidence, "calibrated": self.confidences is not None}
        if self.confidences is not None and self.withheld is None:
            fields["confidences"] = list(self.confidences)
        return fields if self.withheld is None else {**fields, "abstained": True, "withheld": self.withheld}

    def _repr_html_(self) -> str:
        """Source, answer and confidence as escaped HTML without colours, for a notebook; a list shows its maps, too."""
        sure = "" if self.confidence is None else f"confidence {self.confidence:.2f}"
        notes = " · ".join(filter(None, (sure, f"score {self.score:.2f}", self.warning)))
        return f"<p>{escape(self.source)}<br><strong>{escape(str(self))}</strong><br><small>{escape(notes)}</small></p>"

    def __repr__(self) -> str:
        more = f", {len(self.alternatives)} alternatives" if self.alternatives else ""
        more += "" if self.explanation is None else ", explained"
        return f"{type(self).__name__}({self.source!r} → {self.text!r}, score {self.score:.3f}{more})"


@dataclass(frozen=True, repr=False)
class TextPrediction(Prediction):
    """A text that was written."""

    ids: list[int] | None = field(default=None, kw_only=True)  # of the pieces written; None: those that spell `text`
    document: str = field(default="", kw_only=True)  # sentences that the source was read with, tabs between; "": none
    augmented: str = field(default="", kw_only=True)  # the source as it was read, with its context; "": the source
    terms: TermReport | None = field(default=None, kw_only=True)  # of a glossary; None: none stands in the source
    uncovered: list[Place] | None = field(default=None, kw_only=True)  # in the source; None: nothing was checked
    shares: Mapping[str, float] = field(default_factory=dict, kw_only=True)  # of the score: model, features; {}: none
    lexicon: LexiconReport | None = field(default=None, kw_only=True)  # None: nobody asked, or nothing was counted
    search: SearchTree | None = field(default=None, kw_only=True)  # None: nobody asked what the search held
    memory: Sequence[MemoryMatch] = field(
        default_factory=list, kw_only=True
    )  # segments like the source, the best first
    evidence: Sequence[WordEvidence] = field(default_factory=list, kw_only=True)  # words that segments speak for

    def lexicon_report(self) -> LexiconReport | None:
        """Report of the lexicon of translation counts."""
        return self.lexicon

    def search_tree(self) -> SearchTree | None:
        """Hypotheses that a search of the source kept and pruned."""
        return self.search

    def word_evidence(self) -> Sequence[WordEvidence]:
        """Words with segments behind them."""
        return self.evidence

    def used_terms(self) -> Sequence[Place]:
        """Warnings of the report."""
        return [] if self.terms is None else [use.place for use in self.terms.uses if use.used]

    @property
    def reused(self) -> bool:
        """Return True for the translation of an exact match."""
        return any(one.exact and one.target == self.text for one in self.memory[:1])

    def details(self) -> dict[str, Any]:
        """Terms of a glossary, shares of the score, untranslated words, document, search, translation memory."""
        fields = {**super().details(), **({"shares": dict(self.shares)} if self.shares else {})}
        fields |= {} if self.document in ("", self.source) else {"document": self.document}
        fields |= {"augmented": self.augmented} if self.augmented else {}
        fields |= {} if self.lexicon is None else self.lexicon.details()
        fields |= {} if self.search is None else {"search": self.search.details()}
        fields |= {"memory": [one._asdict() for one in self.memory]} if self.memory else {}
        fields |= {"evidence": [one.details() for one in self.evidence]} if self.evidence else {}
        if (places := self.uncovered) is not None:
            fields["uncovered"] = [{"word": self.source[start:end], "place": [start, end]} for start, end in places]
        return fields if self.terms is None else {**fields, **self.terms.details()}


@dataclass(frozen=True, repr=False)
class DocumentPrediction(Prediction):
    """A text of several sentences: `parts` are theirs, `text` has all that stands between them, too."""

    parts: list[Prediction] = field(default_factory=list, kw_only=True)

    @property
    def reused(self) -> bool:
        """Return True where each sentence is."""
        return bool(self.parts) and all(one.reused for one in self.parts)

    def item_probabilities(self) -> list[float]:
        """The confidence of the least sure sentence."""
        return sorted(one.confidence for one in self.parts if one.confidence is not None)[:1]

    def details(self) -> dict[str, Any]:
        """Each sentence with its answer."""
        parts = [{"source": one.source, "text": one.text, "score": one.score, **one.details()} for one in self.parts]
        return {**super().details(), "sentences": parts}
