"""Reports on a translation besides its text: glossary terms, search steps, faults by a lexicon."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

_NAMED = 3  # segments of a word in one line
Place = list[int]  # [first, behind] of some characters of a text


class TermUse(NamedTuple):
    """A term of a glossary that stands in a source, and whether its translation has it. Places: [first, behind]."""

    source: str
    targets: list[str]  # that are allowed
    place: list[int]  # in the source
    target_place: list[int] | None  # in the translation; None: it is not used

    @property
    def used(self) -> bool:
        """Return whether the translation has the term."""
        return self.target_place is not None


class TermReport(NamedTuple):
    """Use of glossary terms in a text."""

    uses: list[TermUse]
    cost: float = 0.0  # nats a word by which the translation is less likely than the one without them
    without: str = ""  # that translation, where it is another one
    method: str = "constraints"  # by which terms were kept: constraints, annotations or both

    def details(self) -> dict[str, Any]:
        """Return the fields of JSON."""
        uses = [{**one._asdict(), "used": one.used} for one in self.uses]
        fields = {"terms": uses, "term_method": self.method, "term_cost": self.cost}
        return {**fields, **({"without_terms": self.without} if self.without else {})}


class SearchNode(NamedTuple):
    """A piece that a search considered writing next."""

    parent: int  # the node that it would follow; -1: it would be the first
    token: str
    log_prob: float  # the model's own, in nats
    score: float  # the sum up to here with what features add, by which the step chose; of an end that of the answer
    fate: str  # "kept", "dropped", or "ended": an answer ends with it


class SearchTree(NamedTuple):
    """Hypotheses that a search kept and pruned, step by step, the best of each step first."""

    nodes: list[SearchNode]
    answer: int | None  # the node that the answer ends with; None: it stands in no node
    whole: bool = True  # False: further steps are not reported

    def details(self) -> dict[str, Any]:
        """Return the fields of JSON."""
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
        text = f"{self.kind}: {self.word}"
        text += f" ← {self.source}" if self.source and self.side == "target" else ""
        return text + (f" ({self.suggestion}?)" if self.suggestion else "")


class LexiconReport(NamedTuple):
    """Faults of a translation by a lexicon of translation counts."""

    faults: list[TranslationFault]  # by side and place
    usual: Mapping[str, str]  # of words of the source, in lower case: what each is most often translated by

    def details(self) -> dict[str, Any]:
        """Return the fields of JSON."""
        return {"faults": [fault._asdict() for fault in self.faults], "usual": dict(self.usual)}


class SegmentDifference(NamedTuple):
    """A stretch in which a text and a segment differ."""

    text: str
    segment: str
    place: int  # of the stretch in the segment, in characters


class MemoryMatch(NamedTuple):
    """A segment that is like a text."""

    percent: int  # 101: equal, and the text before it, too; 100: equal; less: by the edit distance of words
    segment: int  # its number in the memory
    source: str
    target: str
    origin: str  # file or client that added the segment
    author: str
    created: str  # ISO 8601, UTC
    differs: Sequence[SegmentDifference] = ()  # in order, of a match that is not exact

    @property
    def exact(self) -> bool:
        """Return True for the same text."""
        return self.percent >= 100


class SegmentEvidence(NamedTuple):
    """A segment that contributes to the probability of a piece or a word."""

    match: MemoryMatch
    fraction: float  # of the probability; a word has the mean over its pieces


class WordEvidence(NamedTuple):
    """The segments behind a word of a translation, the largest fraction first."""

    word: str
    segments: Sequence[SegmentEvidence]
    pieces: Sequence[int] = ()  # places of the word's pieces in the translation

    def __str__(self) -> str:
        named = (f"{one.fraction:.0%} “{one.match.source}” → “{one.match.target}”" for one in self.segments[:_NAMED])
        return f"{self.word} ← {', '.join(named)}"

    def details(self) -> dict[str, Any]:
        """Return the fields of JSON."""
        segments = [
            {"percent": round(100 * fraction, 1), "segment": one.segment, "source": one.source, "target": one.target}
            for one, fraction in self.segments
        ]
        return {"word": self.word, "pieces": [*self.pieces], "segments": segments}
