"""XLIFF 1.2, 2.0 and 2.1 (OASIS): untranslated units are filled; all other bytes of the file stay."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from regard.data.readers.xml_units import CLOSING, OPENING
from regard.documents.document import Document
from regard.documents.files.base import (
    FileDocument,
    FileError,
    decode_text,
    encode_text,
    file_budget,
    join_documents,
    rebuild_each,
    shared_out,
)
from regard.documents.files.xml_source import (
    DECLARATION,
    XmlToken,
    characters,
    declared_encoding,
    tag_name,
    with_attributes,
    xml_escaped,
    xml_tokens,
)
from regard.documents.glossary_formats import LanguagePair
from regard.documents.marked_text import MarkedText
from regard.documents.passages import MarkKind
from regard.documents.rendering import Style
from regard.documents.size_budget import SizeBudget
from regard.memory.files import EXACT_MATCH, MT_SUGGESTION
from regard.results import Prediction
from regard.text.language_codes import bare_language

_OASIS = "urn:oasis:names:tc:xliff:document:"
_NAMES = {f"{_OASIS}{version}": "" for version in ("1.1", "1.2", "2.0", "2.1", "2.2")}
_UNTRANSLATED = frozenset({"new", "needs-translation", "initial"})  # states
_AROUND = frozenset({"g", "pc", "mrk"})
_LOCKS = frozenset({"approved", "confirmed", "locked"})  # attributes of a unit that stays
_OF_SEGMENT = {"state": "translated", "subState": "regard:{origin}"}  # attributes of a new translation, 2.0
_OF_TARGET = {"state": "needs-review-translation", "state-qualifier": "{origin}"}  # 1.2
_LABELS = {"file": ("source-language", "target-language"), "xliff": ("srcLang", "trgLang")}  # 1.2 and 2.0


class _StateTag(NamedTuple):
    """The opening tag of a segment (2.0) or a target (1.2), with attributes that name where its translation is from."""

    source: str
    attributes: Mapping[str, str]
    documents: Sequence[Document]  # of its unit

    def written(self, stored: Collection[int]) -> str:
        """Return the tag; `stored`: ids of documents that only the translation memory translates."""
        translated = [id(document) in stored for document in self.documents if document.texts]
        origin = EXACT_MATCH if translated and all(translated) else MT_SUGGESTION
        return with_attributes(
            self.source, {name: each.format(origin=origin) for name, each in self.attributes.items()}
        )


_Piece = str | Document | _StateTag


class _Span(NamedTuple):
    """An element: its first and its last token, equal for an empty one."""

    first: int
    last: int


@dataclass
class _Element:
    """An element that is open."""

    token: XmlToken
    place: int
    translatable: bool
    preserved: bool  # whether white space is
    parts: dict[str, _Span] = field(default_factory=dict)  # of a unit: source, seg-source, target


def xliff_file(data: bytes, language: str | None) -> FileDocument:
    """Read XLIFF. A unit that is translated, approved, locked or not to be translated stays as it is."""
    text, encoding = decode_text(data, declared_encoding(data))
    budget = file_budget()
    tokens = xml_tokens(text, _NAMES, budget)
    if next((token.name for token in tokens if token.kind == "open"), "") != "xliff":
        raise FileError("the file is not XLIFF: its first element has another name")
    labels = {place: label for place, token in enumerate(tokens) if (label := _label(token)) is not None}
    language = language or next((bare_language(label[0] or "") for label in labels.values()), None)
    edits = dict(sorted(_Reader(tokens, language, budget).edits.items()))
    documents = _documents(piece for pieces in edits.values() for piece in pieces)

    def rebuild(predictions: Sequence[Prediction], pair: tuple[str, str] | None = None) -> bytes:
        texts, written = rebuild_each(documents, predictions), [token.source for token in tokens]
        shared = shared_out(documents, predictions)
        stored = {id(document) for document, some in shared if some and all(one.reused for one in some)}
        for place, pieces in edits.items():
            written[place] = "".join(_written(piece, texts, stored) for piece in pieces)
        for place, label in labels.items():
            if pair is not None and not label[1]:
                written[place] = with_attributes(written[place], {_LABELS[tokens[place].name][1]: pair[1]})
        return encode_text("".join(written), encoding, DECLARATION, "xmlcharrefreplace")

    return join_documents(documents, rebuild, labels.values())


def _documents(pieces: Iterable[_Piece]) -> list[Document]:
    return [piece for piece in pieces if isinstance(piece, Document)]


def _written(piece: _Piece, texts: Iterator[str], stored: Collection[int]) -> str:
    """Return a piece as it is written; `texts` has the translations of the documents, in their order."""
    match piece:
        case Document():
            return next(texts)
        case _StateTag():
            return piece.written(stored)
    return piece


def _label(token: XmlToken) -> LanguagePair | None:
    """Return the languages that an element names, if it names any."""
    names = _LABELS.get(token.name, ("", ""))
    source = token.attributes.get(names[0])
    return None if source is None else (source, token.attributes.get(names[1]))


def _opened(parent: _Element, token: XmlToken, place: int) -> _Element:
    given = token.attributes
    done = any(name.rpartition(":")[2] in _LOCKS and value in ("yes", "true", "1") for name, value in given.items())
    translatable = given["translate"] != "no" if "translate" in given else parent.translatable
    preserved = given["xml:space"] == "preserve" if "xml:space" in given else parent.preserved
    return _Element(token, place, translatable and not done, preserved)


class _Reader:
    """Finds the units; `edits` has what replaces a token, by its number."""

    def __init__(self, tokens: Sequence[XmlToken], language: str | None, budget: SizeBudget) -> None:
        self.tokens, self.language, self.budget = tokens, language, budget
        self.edits: dict[int, Sequence[_Piece]] = {}
        self.ends: dict[int, int] = {}  # the last token of an element, by its first
        stack = [_Element(XmlToken("open", ""), -1, translatable=True, preserved=False)]
        for place, token in enumerate(tokens):
            if token.kind in ("open", "empty"):
                stack.append(_opened(stack[-1], token, place))
            if token.kind in ("close", "empty"):
                done = stack.pop()
                self.ends[done.place] = place
                if token.name in ("source", "seg-source", "target"):
                    stack[-1].parts.setdefault(token.name, _Span(done.place, place))
                elif token.name in ("trans-unit", "segment") and done.translatable and "source" in done.parts:
                    self._unit(done)

    def _unit(self, unit: _Element) -> None:
        target, source = unit.parts.get("target"), unit.parts.get("seg-source", unit.parts["source"])
        labelled = unit.token if unit.token.name == "segment" or target is None else self.tokens[target.first]
        state, segments = labelled.attributes.get("state"), self._segments(source)
        if not self._has_content(source) or (state or "new") not in _UNTRANSLATED:
            return
        if target is None:
            named, before = self.tokens[source.first], self.tokens[source.first - 1].source
            tag = f"<{tag_name(named.source).removesuffix(named.name)}target>"
            written = [self.tokens[source.last].source, "" if before.strip() else before]
            new = self._target(tag, unit, source, segments)
            self.edits[source.last] = [*written, *new]
        elif state is None and self._has_content(target):
            there = self._segments(target)
            missing = [name for name, span in there.items() if name in segments and not self._has_content(span)]
            new = list[_Piece]()
            for name in missing:
                pieces = self._around(self.tokens[there[name].first].source, segments[name], unit)
                self._replace(there[name], pieces)
                new += pieces
            if not missing:
                return
            if unit.token.name == "trans-unit":
                self.edits[target.first] = [_StateTag(self.tokens[target.first].source, _OF_TARGET, _documents(new))]
        else:
            new = self._target(self.tokens[target.first].source, unit, source, segments)
            self._replace(target, new)
        if unit.token.name == "segment":
            self.edits[unit.place] = [_StateTag(unit.token.source, _OF_SEGMENT, _documents(new))]

    def _replace(self, span: _Span, pieces: Sequence[_Piece]) -> None:
        self.edits |= dict.fromkeys(range(span.first, span.last + 1), ())
        self.edits[span.first] = pieces

    def _target(self, tag: str, unit: _Element, source: _Span, segments: Mapping[str, _Span]) -> list[_Piece]:
        """Return a target with the translation of all segments of a source, or of the source as a whole."""
        if segments:
            inner, cursor = list[_Piece](), source.first + 1
            for span in segments.values():
                inner += (token.source for token in self.tokens[cursor : span.first])
                inner += self._around(self.tokens[span.first].source, span, unit)
                cursor = span.last + 1
            inner += (token.source for token in self.tokens[cursor : source.last])
            opening, *rest = _enclosed(tag, inner)
        else:
            opening, *rest = self._around(tag, source, unit)
        if unit.token.name == "trans-unit":
            opening = _StateTag(_opening(tag), _OF_TARGET, _documents(rest))
        return [opening, *rest]

    def _around(self, tag: str, span: _Span, unit: _Element) -> list[_Piece]:
        """Return an element with the translation of what another one contains."""
        text, place = MarkedText(), span.first + 1
        while place < span.last:
            self.budget.count_mark()
            last = self._inline(text, place)
            place = last + 1
        found = text.split(language=self.language, budget=self.budget, lines=unit.preserved)
        return _enclosed(tag, [Document(*found, Style(xml_escaped, text.sources.__getitem__))])

    def _inline(self, text: MarkedText, place: int) -> int:
        """Read what begins at a token; return its last token."""
        token = self.tokens[place]
        if token.kind == "text":
            text.add(characters(token))
            return place
        given = token.attributes
        kept = given.get("translate") == "no" or given.get("mtype") in ("protected", "x-protected")
        if token.name in _AROUND and not kept:
            kind: MarkKind = "close" if token.kind == "close" else "open" if token.kind == "open" else "point"
            text.mark(kind, token.name, token.source)
            return place
        last = self.ends.get(place, place)
        kind = "open" if token.name in OPENING else "close" if token.name in CLOSING else "point"
        pair = next((given[name] for name in ("rid", "startRef", "id") if name in given), "")
        text.mark(kind, f"{token.name[1:]} {pair}", "".join(one.source for one in self.tokens[place : last + 1]))
        return last

    def _segments(self, span: _Span) -> dict[str, _Span]:
        """Return the segments (`mrk`) of a source or a target by their names."""
        found = dict[str, _Span]()
        for place in range(span.first + 1, span.last):
            token = self.tokens[place]
            if token.name == "mrk" and token.kind != "close" and token.attributes.get("mtype") == "seg":
                found.setdefault(token.attributes.get("mid", ""), _Span(place, self.ends.get(place, place)))
        return found

    def _has_content(self, span: _Span) -> bool:
        inside = self.tokens[span.first + 1 : span.last]
        return any(one.source.strip() if one.kind == "text" else one.name not in ("", "mrk") for one in inside)


def _enclosed(tag: str, pieces: Sequence[_Piece]) -> list[_Piece]:
    """Return an element with other content; `tag` is its opening or empty tag."""
    return [_opening(tag), *pieces, f"</{tag_name(tag)}>"]


def _opening(tag: str) -> str:
    return f"{tag.removesuffix('/>').rstrip()}>" if tag.endswith("/>") else tag
