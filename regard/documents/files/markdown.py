"""Markdown (CommonMark, with tables): code, targets of links, HTML, front matter and all other markup stay."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.common.utils import normalizeReference
from markdown_it.helpers import parseLinkDestination, parseLinkTitle
from markdown_it.token import Token

from regard.documents.document import Document
from regard.documents.files.base import FileDocument, decode_text, file_budget, join_documents
from regard.documents.marked_text import MarkedText
from regard.documents.passages import MarkKind
from regard.documents.rendering import Style
from regard.results import Prediction

_PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"]).disable("text_join")
_FRONT = re.compile(r"\A(---|\+\+\+)\n.*?\n\1[ \t]*(?:\n|\Z)", re.DOTALL)
_SKIPPED = re.compile(r"^(?::{3}|\$\$)", re.MULTILINE)  # texts with a directive or a formula
_KEPT = re.compile(  # notes, tasks, alerts, templates, attributes
    r"\[\^[^\]\s]{1,60}\]:?|\A\[[ xX]\](?=\s)|\A\[![A-Z]{1,20}\]"
    r"|\{[{%][^\n]{0,300}?[%}]\}|\{ ?[#.:][^{}\n]{0,100}\}"
)
_SOFT, _HARD = re.compile(r"[ \t]*\n[ \t]*"), re.compile(r"[ \t]*\\?\n[ \t]*")
_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL)
_AUTOLINK, _LABEL = re.compile(r"<[^<>\s]*>"), re.compile(r"\[((?:[^\[\]\\]|\\.)*)\]", re.DOTALL)
_TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9-]*)[^<>]*?(/?)>")
_BREAK = ("\v", "")  # ends a sentence; only the mark beside it is written
_ALL = {ord(sign): f"\\{sign}" for sign in "\\`*_[]<&~"}
_FIRST = re.compile(r"\A([#>+=:-]|\d{1,9}(?=[.)]))")  # begins another block
_CLOSING = re.compile(r"(?<=\s)#+\Z")  # ends a heading, and does not belong to it
_SIGNS = re.compile(r"[\\`*_\[\]<!&~|]")  # that the parser examines
_LINE_ENDS = re.compile(r"[\r\n\v\f\x85\u2028\u2029]")
_EMPTY = re.compile(r"(?:(?<!\s)\s++)?(?<![\\*_~])(\*{1,2}|_{1,2}|~~)\s*\1(?![*_~])\s*")
_SPACE, _EMPHASIS = re.compile(r"[ \t\n]*"), re.compile(r"[*_~]+")
_TEXT = frozenset({"text", "text_special", "softbreak"})
_CELLS = frozenset({"th_open", "td_open"})
_PARAGRAPH = ["paragraph_open", "inline", "paragraph_close"]


class _Block(NamedTuple):
    """The text of a paragraph, a heading or a cell."""

    token: Token
    before: Token
    start: int  # in the file
    end: int
    ends: Sequence[str]  # its line ends as they are written, with what begins the next line


def markdown_file(data: bytes, language: str | None) -> FileDocument:
    """Read Markdown. A translation that would be read as other markup is written with escapes."""
    text, encoding = decode_text(data)
    plain = re.sub(r"\r\n?", "\n", text).replace("\0", "\ufffd")
    environment, budget = dict[str, Any](), file_budget()
    file_budget().count_mark(len(_SIGNS.findall(plain)))
    front = _FRONT.match(plain)
    begin = front.end() if front else 0
    found = list[tuple[_Block, Document, _InlineReader]]()
    for block in _blocks(plain, begin, _PARSER.parse(plain[begin:], environment)):
        budget.count_mark()
        reader = _InlineReader(block, environment)
        if not _SKIPPED.search(block.token.content) and reader.read(block.token.children or ()):
            budget.count_mark(len(reader.text.marks))
            split = reader.text.split(language=language, budget=budget, lines=False)
            style = Style(partial(_escaped, signs=reader.escapes), reader.text.sources.__getitem__)
            if split.segments:
                found.append((block, Document(*split, style), reader))

    def rebuild(predictions: Sequence[Prediction], pair: tuple[str, str] | None = None) -> bytes:
        parts, cursor, first = list[str](), 0, 0
        for block, document, reader in found:
            last = first + len(document.texts)
            texts = (one.rebuild(predictions[first:last], pair) for one in _variants(document, reader))
            parts += [plain[cursor : block.start], _best(texts, block, environment)]
            cursor, first = block.end, last
        whole = "".join([*parts, plain[cursor:]])
        return (whole.replace("\n", "\r\n") if "\r\n" in text else whole).encode(encoding, "replace")

    return join_documents([document for _, document, _ in found], rebuild)


def _blocks(plain: str, begin: int, tokens: Sequence[Token]) -> Iterator[_Block]:
    """Yield the texts that stand in the file as the parser has them."""
    starts = [begin]
    for line in re.split(r"(?<=\n)", plain[begin:]):
        starts.append(starts[-1] + len(line))
    cursor = begin
    for before, token in pairwise(tokens):
        if token.type != "inline" or token.map is None or not token.content:
            continue
        content = token.content.replace("|", "\\|") if before.type in _CELLS else token.content
        places, place = list[int](), cursor
        for number, line in enumerate(content.split("\n"), start=token.map[0]):
            low, high = max(place, starts[number]), starts[number + 1]
            found = (plain.rfind if before.type == "paragraph_open" else plain.find)(line, low, high)
            if found < 0:
                break
            places += [found, found + len(line)]
            place = found + len(line)
        else:
            cursor = place
            ends = [plain[low:high] for low, high in zip(places[1:-1:2], places[2::2], strict=True)]
            yield _Block(token, before, places[0], place, ends)


def _variants(document: Document, reader: "_InlineReader") -> Iterator[Document]:
    """Yield a document with ever more in its style: full references, escapes, spaces around emphasis."""
    plain = document.style

    def full(number: int) -> str:
        return reader.labels.get(number, plain.mark(number))

    def spaced(number: int) -> str:
        source, kind = full(number), reader.text.marks[number].kind
        return source if not _EMPHASIS.fullmatch(source) else f" {source}" if kind == "open" else f"{source} "

    escaped = partial(_escaped, signs=_ALL)
    for style in (plain, Style(plain.text, full), Style(escaped, full), Style(escaped, spaced)):
        yield replace(document, style=style)


def _best(texts: Iterator[str], block: _Block, environment: Mapping[str, Any]) -> str:
    """Return the first text with the markup of a block; else the last."""
    whole, wanted, text = (
        block.before.type == "paragraph_open" or block.before.markup in ("-", "="),
        _shape([block.token]),
        "",
    )
    parse = _PARSER.parse if whole else _PARSER.parseInline
    for number, given in enumerate(texts):
        text = _CLOSING.sub(r"\\\g<0>", given.strip(" ")) if block.before.type == "heading_open" else given.strip(" ")
        if number > 1 and whole:
            text = _FIRST.sub(lambda found: f"\\{found[0]}" if not found[0].isdigit() else f"{found[0]}\\", text)
        read = parse(text, {"references": environment.get("references", {})})
        if (not whole or [one.type for one in read] == _PARAGRAPH) and _shape(read) == wanted:
            break
    else:  # emphasis that no word is left of
        text = _EMPTY.sub(" ", text)
    return text.replace("|", "\\|") if block.before.type in _CELLS else text


def _shape(tokens: Sequence[Token]) -> Counter[tuple[str, ...]]:
    """Return the markup in texts."""
    found = Counter[tuple[str, ...]]()
    for token in (child for one in tokens if one.type in ("inline", "image") for child in one.children or ()):
        if token.type not in _TEXT:
            said = token.content if token.type in ("code_inline", "html_inline") else ""
            found[token.type, token.markup, said, *(str(token.attrs.get(key)) for key in ("href", "src", "title"))] += 1
            found += _shape([token])
    return found


def _escaped(text: str, signs: Mapping[int, str]) -> str:
    return _LINE_ENDS.sub(" ", text).translate(signs)


class _InlineReader:
    """Reads a text by its tokens. These have no places, so each must begin where the one before ends."""

    def __init__(self, block: _Block, environment: Mapping[str, Any]) -> None:
        self.content, self.references = block.token.content, environment.get("references", {})
        self.text, self.place = MarkedText(), 0
        self.ends = iter(block.ends)
        self.links = list[tuple[str, int]]()  # that are open: address, and where the text begins
        self.labels = dict[int, str]()  # ends of links by their text alone, with the label, by the number of the mark
        self.escapes = dict[int, str]()  # signs that the text escapes, as it writes them

    def read(self, tokens: Sequence[Token]) -> bool:
        """Return whether these tokens are the text from here on."""
        waiting = iter(tokens)
        for token in waiting:
            if not self._token(token):
                return False
            if token.markup == "autolink":
                next(waiting), next(waiting)  # its text and its end
        return True

    def _token(self, token: Token) -> bool:
        readers: dict[str, Callable[[Token], bool]] = {
            "text": lambda token: self._plain(token.content),
            "text_special": self._special,
            "softbreak": self._line_end,
            "hardbreak": self._hard_break,
            "code_inline": lambda _: self._point(_CODE),
            "html_inline": self._tag,
            "image": self._image,
            "link_open": self._link,
            "link_close": lambda _: self._mark("close", "link", self._link_end(*self.links.pop())),
        }
        return readers.get(token.type, self._emphasis)(token)

    def _special(self, token: Token) -> bool:
        """Read an escaped sign or a reference."""
        if len(token.content) == 1:
            self.escapes[ord(token.content)] = token.markup
        return self._take(token.markup, zip(token.content, [token.markup, *[""] * len(token.content)], strict=False))

    def _line_end(self, _: Token) -> bool:
        found = _SOFT.match(self.content, self.place)
        return found is not None and self._take(found[0], [(" ", self._written(found[0]))])

    def _hard_break(self, _: Token) -> bool:
        broken = self._point(_HARD)
        self.text.add([_BREAK])
        return broken

    def _tag(self, token: Token) -> bool:
        tag = _TAG.fullmatch(token.content)
        if tag is None or tag[3]:
            return self._mark("point", "", token.content)
        return self._mark("close" if tag[1] else "open", f"<{tag[2].lower()}", token.content)

    def _image(self, token: Token) -> bool:
        begin = self.place + 2
        inside = self._mark("open", "image", "![") and self.read(token.children or ())
        return inside and self._mark("close", "image", self._link_end(str(token.attrs["src"]), begin))

    def _link(self, token: Token) -> bool:
        if token.markup == "autolink":
            return self._point(_AUTOLINK)
        self.links.append((str(token.attrs["href"]), self.place + 1))
        return self._mark("open", "link", "[")

    def _emphasis(self, token: Token) -> bool:
        name, _, kind = token.type.rpartition("_")
        return kind in ("open", "close") and self._mark("open" if kind == "open" else "close", name, token.markup)

    def _written(self, source: str) -> str:
        return re.sub("\n", lambda _: next(self.ends), source)

    def _take(self, source: str, characters: Iterable[tuple[str, str]]) -> bool:
        """Go on behind a source with the characters that it stands for, if it is here."""
        here = self.content.startswith(source, self.place)
        self.place += len(source)
        self.text.add(characters)
        return here

    def _mark(self, kind: MarkKind, name: str, source: str) -> bool:
        self.text.mark(kind, name, self._written(source))
        return bool(source) and self._take(source, ())

    def _point(self, pattern: re.Pattern[str]) -> bool:
        found = pattern.match(self.content, self.place)
        return found is not None and self._mark("point", "", found[0])

    def _plain(self, text: str) -> bool:
        cursor, here = 0, True
        for found in _KEPT.finditer(text):
            before = text[cursor : found.start()]
            here = here and self._take(before, zip(before, before, strict=True)) and self._mark("point", "", found[0])
            cursor = found.end()
        return here and self._take(text[cursor:], zip(text[cursor:], text[cursor:], strict=True))

    def _link_end(self, address: str, begin: int) -> str:
        """Return the source of the end of a link: "](address)", "][label]" or "]"; "" where there is none."""
        place = self.place + 1
        if not self.content.startswith("]", self.place):
            return ""
        if self.content.startswith("(", place) and (end := self._target_end(place + 1, address)):
            return self.content[self.place : end]
        label = _LABEL.match(self.content, place)
        if label and self.references.get(normalizeReference(label[1]), {}).get("href") == address:
            return f"]{label[0]}"
        self.labels[len(self.text.marks)] = f"][{self.content[begin : self.place]}]"
        return "][]" if label and not label[1] else "]"

    def _target_end(self, place: int, address: str) -> int | None:
        """Return the end of a target in brackets, if it is this address; a title may follow it."""
        content, limit = self.content, len(self.content)
        found = parseLinkDestination(content, _behind_space(content, place), limit)
        if not found.ok or _PARSER.normalizeLink(found.str) != address:
            return None
        place = _behind_space(content, found.pos)
        title = parseLinkTitle(content, place, limit)
        if place > found.pos and title.ok:
            place = _behind_space(content, title.pos)
        return place + 1 if content.startswith(")", place) else None


def _behind_space(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    return found.end() if found else place
