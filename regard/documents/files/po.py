"""Messages of gettext (.po, .pot): empty translations are filled and marked as fuzzy; all other lines stay."""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from gettext import c2py
from typing import NamedTuple

from regard.documents.files.base import (
    ENCODING_HEAD,
    FileDocument,
    FileError,
    decode_text,
    encode_text,
    file_budget,
    join_documents,
    rebuild_each,
)
from regard.documents.placeholders import placeholders
from regard.documents.plain_text import plain_document
from regard.documents.text_spans import unspaced
from regard.results import Prediction

_LINE = re.compile(r'(?:(msgctxt|msgid_plural|msgid|msgstr(?:\[\d{1,2}\])?)\s*+)?"((?:[^"\\]|\\.)*+)"')
_CHARSET = re.compile(r"(charset=)([\w.:-]{1,40})")
_PLURALS = re.compile(r"^Plural-Forms:\s*nplurals\s*=\s*([0-9])\s*;\s*plural\s*=\s*([^;\n]{1,900})", re.MULTILINE)
_OPEN_LANGUAGE = re.compile(r'^("Language:)[ \t]*(\\n")')
_LANGUAGE = re.compile(r"^Language:[ \t]*+(\S{0,40})[ \t]*+$", re.MULTILINE)
_ESCAPE = re.compile(r"\\([0-7]{1,3}|x[0-9a-fA-F]{1,2}|.)")
_CONTROLS = dict(zip("abtnvfr", "\a\b\t\n\v\f\r", strict=True))
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', **{sign: f"\\{name}" for name, sign in _CONTROLS.items()}})
_WIDTH, _COUNTED = 79, 200  # columns of a line; numbers for which a plural rule is tried
_MNEMONIC = re.compile(
    r"(?<!\w)[&_](?=[^\W\d_])(?!\w{1,30};)"  # &Open, not &nbsp;
    r"|(?<=[A-Za-z])&(?=[a-z])(?!\w{1,30};)"  # E&xit, not AT&T
    r"|(?<=\b[A-Z])_(?=[a-z])|(?<=\b[A-Z][a-z])_(?=[a-z])"  # E_xit and Cu_t, not file_name
)
_PUNCTUATION = re.compile(r"(?<![\s.…:：。])[\s.…:：。]*+\Z")
_MOST_FORMS = 9
_AGAIN = "to translate them again, first: msgattrib --clear-fuzzy --empty FILE"  # a program of gettext


@dataclass
class _Entry:
    """A message. Lines count from 0; of a key as `msgstr[1]` both ends are in `lines`."""

    pieces: dict[str, list[str]] = field(default_factory=dict)  # of its texts, by key
    lines: dict[str, tuple[int, int]] = field(default_factory=dict)
    flags: int | None = None  # the line of its flags

    @cached_property
    def texts(self) -> dict[str, str]:
        """All texts by key, once the entry is read."""
        return {key: "".join(pieces) for key, pieces in self.pieces.items()}

    @property
    def begin(self) -> int:
        """The first line that is not a comment."""
        return min(first for first, _ in self.lines.values())

    def targets(self) -> list[str]:
        """Return the keys of its translations."""
        return [key for key in self.pieces if key.startswith("msgstr")]

    def is_fuzzy(self, lines: Sequence[str]) -> bool:
        """Return whether it is a message, not the header, with a translation that is marked as fuzzy."""
        return (
            self.flags is not None and "fuzzy" in lines[self.flags] and bool(self.texts["msgid"]) and not self.waits()
        )

    def waits(self) -> bool:
        """Return whether it has no translation; the header has one."""
        return bool(self.texts["msgid"]) and not any(self.texts[key] for key in self.targets())


def po_file(data: bytes, language: str | None) -> FileDocument:
    """Read messages. Of a plural the translation of the singular is the form of 1, that of the plural all others."""
    declared = _CHARSET.search(data[:ENCODING_HEAD].decode("latin-1"))
    text, encoding = decode_text(data, declared[2] if declared else None)
    lines, budget = re.split(r"(?<=\n)", text), file_budget()
    entries = list(_entries(lines))
    head = next((one for one in entries if not one.texts["msgid"] and "msgstr" in one.texts), None)
    header, place = (head.texts["msgstr"], head.lines["msgstr"]) if head else ("", None)
    waiting = [entry for entry in entries if entry.waits()]
    asked = [entry.texts[key] for entry in waiting for key in ("msgid", "msgid_plural") if key in entry.texts]
    stripped = [without_mnemonic(text) for text in asked]
    documents = [plain_document(text, language=language, budget=budget) for text, _ in stripped]
    writer = _Writer(lines, header, place)

    def rebuild(predictions: Sequence[Prediction], pair: tuple[str, str] | None = None) -> bytes:
        found = rebuild_each(documents, predictions, pair)
        texts = (with_mnemonic(text, mnemonic) for text, (_, mnemonic) in zip(found, stripped, strict=True))
        return encode_text(writer.written(waiting, texts, pair), encoding, _CHARSET, "replace")

    said, fuzzy = _LANGUAGE.search(header), sum(entry.is_fuzzy(lines) for entry in entries)
    notes = [f"{fuzzy:,} fuzzy messages keep their translations ({_AGAIN})"] if fuzzy else []
    return join_documents(documents, rebuild, [(None, said[1])] if said and said[1] else (), notes)


def _entries(lines: Sequence[str]) -> Iterator[_Entry]:
    """Yield all messages that are not obsolete. Raises FileError with the line that is wrong."""
    entry, key = _Entry(), ""
    for number, line in enumerate([*lines, ""]):
        bare = line.lstrip("\ufeff").strip()
        comment, text = bare.startswith("#"), _LINE.fullmatch(bare)
        starts = comment or text is None or text[1] in ("msgctxt", "msgid")
        if entry.pieces and starts and (key.startswith("msgstr") or not bare):
            if "msgid" not in entry.pieces or not entry.targets():
                raise FileError(f"line {number}: the message before has no msgid or no msgstr")
            yield entry
            entry, key = _Entry(), ""
        if comment:
            entry.flags = number if bare.startswith("#,") else entry.flags
        elif text is not None and (text[1] or key):
            key = text[1] or key
            if text[1] in entry.pieces:
                raise FileError(f"line {number + 1}: a second {key} of one message")
            entry.pieces.setdefault(key, []).append(_unescaped(text[2]))
            entry.lines[key] = (entry.lines.get(key, (number, 0))[0], number)
        elif bare:
            raise FileError(f"line {number + 1} is not of a list of messages: '{bare:.60}'")


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda found: _character(found[1]), text) if "\\" in text else text


def _character(escape: str) -> str:
    if escape[0] in "01234567":
        return chr(int(escape, 8))
    return chr(int(escape[1:], 16)) if len(escape) > 1 else _CONTROLS.get(escape, escape)


class _PluralRule(NamedTuple):
    """The form of 1, whether no other number has it, and the number of forms (0: as many as a message has)."""

    one: int = 0
    alone: bool = True
    forms: int = 0

    @classmethod
    def of(cls, count: str, expression: str) -> "_PluralRule":
        """Read a rule as gettext writes it in C; the English one in place of one that is not such a rule."""
        try:
            forms, found = int(count), [*map(c2py(expression), range(_COUNTED))]
        except (ValueError, ArithmeticError, RecursionError):
            return cls()
        valid = 0 < forms <= _MOST_FORMS and all(0 <= form < forms for form in found)
        return cls(found[1], found[1] not in found[2:], forms) if valid else cls()


class _Writer:
    """Writes translations into the lines of a file; `place`: first and last line of its header, if it has one."""

    def __init__(self, lines: Sequence[str], header: str, place: tuple[int, int] | None) -> None:
        self.lines, self.header, self.place = lines, header, place
        self.end = "\r\n" if lines[0].endswith("\r\n") else "\n"
        long = any(len(line.rstrip()) > _WIDTH and line.startswith(("msgid", '"')) for line in lines)
        self.width = math.inf if long else _WIDTH

    def written(self, entries: Sequence[_Entry], texts: Iterator[str], pair: tuple[str, str] | None) -> str:
        """Return the file; `texts` has the translations of each message: singular, and plural if it has one."""
        lines = [*self.lines]
        rule, head = self._label(lines, pair[1]) if pair else (_PluralRule.of(*_plurals(self.header)), "")
        for entry in entries:
            forms = {"msgstr": next(texts)}
            if "msgid_plural" in entry.texts:
                forms = _forms(entry, forms["msgstr"], next(texts), rule)
            for first, last in (entry.lines[key] for key in entry.targets()):
                lines[first : last + 1] = [""] * (last + 1 - first)
            place = entry.lines[entry.targets()[0]][0]
            lines[place] = "".join(self._message(key, text) for key, text in forms.items())
            if entry.flags is None:
                lines[entry.begin] = f"#, fuzzy{self.end}{lines[entry.begin]}"
            elif "fuzzy" not in lines[entry.flags]:
                lines[entry.flags] = lines[entry.flags].replace("#,", "#, fuzzy,", 1)
        return head + "".join(lines)

    def _label(self, lines: list[str], code: str) -> tuple[_PluralRule, str]:
        """Write language and plural rule into a header that leaves them open or lacks them.

        Return the rule, and the header of a file that has none, else "".
        """
        count, expression = _plurals(self.header)
        known = count.isdigit()
        if not known:
            count, expression = plural_rule(code)
        first, last = self.place or (0, -1)
        for place, line in enumerate(lines[first : last + 1], first):
            if line.startswith('"Language:'):
                lines[place] = _OPEN_LANGUAGE.sub(rf"\1 {code}\2", line)
            elif line.startswith('"Plural-Forms:') and not known:
                lines[place] = f'"Plural-Forms: nplurals={count}; plural={expression};\\n"{self.end}'
        fields = {
            "Content-Type": "text/plain; charset=UTF-8",
            "Language": code,
            "Plural-Forms": f"nplurals={count}; plural={expression};",
        }
        missing = [name for name in fields if not re.search(f"^{name}:", self.header, re.MULTILINE)]
        return _PluralRule.of(count, expression), self._add(lines, [f"{name}: {fields[name]}" for name in missing])

    def _add(self, lines: list[str], fields: Sequence[str]) -> str:
        """Add fields to the header; return a new one where there is none, else ""."""
        added = "".join(f'"{field}\\n"{self.end}' for field in fields)
        if self.place is None:
            head = ('msgid ""', 'msgstr ""')
            return "".join(f"{line}{self.end}" for line in head) + added + self.end
        if added:
            open_line = f'"\\n"{self.end}' if self.header and not self.header.endswith("\n") else ""
            last = lines[self.place[1]]
            lines[self.place[1]] = last + ("" if last.endswith("\n") else self.end) + open_line + added
        return ""

    def _message(self, key: str, text: str) -> str:
        """Return the lines of a translation, broken as gettext breaks them."""
        pieces = [piece.translate(_ESCAPES) for piece in re.split(r"(?<=\n)", text) if piece]
        if len(pieces) < 2 and len(key) + len("".join(pieces)) + 3 <= self.width:
            return f'{key} "{"".join(pieces)}"{self.end}'
        lines = [line for piece in pieces for line in self._broken(piece)]
        return "".join([f'{key} ""{self.end}', *(f'"{line}"{self.end}' for line in lines)])

    def _broken(self, text: str) -> Iterator[str]:
        line = ""
        for word in re.findall(r"\S+\s*|\s+", text):
            if line and len(line) + len(word) + 2 > self.width:
                yield line
                line = ""
            line += word
        yield line


def _plurals(header: str) -> tuple[str, str]:
    """Return number and expression of the plural forms; "" where the header leaves them open."""
    found = _PLURALS.search(header)
    return (found[1], found[2]) if found else ("", "")


def plural_rule(code: str) -> tuple[str, str]:
    """Return number and expression of the plural forms of a language; those of English for an unknown one."""
    from babel.core import UnknownLocaleError
    from babel.messages.plurals import get_plural

    try:
        found = get_plural(code.replace("-", "_"))
    except (UnknownLocaleError, ValueError):
        return "2", "(n != 1)"
    return str(found.num_plurals), found.plural_expr


def _forms(entry: _Entry, singular: str, plural: str, rule: _PluralRule) -> dict[str, str]:
    """Return the forms of a plural.

    Where the form of 1 also counts others, a singular without the placeholders of its plural ("One file") is not it.
    """
    count = rule.forms or len(entry.targets())
    placed = [
        sorted(text[each.start : each.end] for each in placeholders(text) if each.machine)
        for text in (entry.texts["msgid"], entry.texts["msgid_plural"])
    ]
    if count == 1 or not (rule.alone or placed[0] == placed[1]):
        singular = plural
    return {f"msgstr[{number}]": singular if number == rule.one else plural for number in range(count)}


class Mnemonic(NamedTuple):
    """The sign of a label before the letter that a key press selects ("&Open", "Save _As"), and that letter."""

    sign: str
    letter: str


def without_mnemonic(text: str) -> tuple[str, Mnemonic | None]:
    """Return a text without its mnemonic, and that, if it has exactly one."""
    found = list(_MNEMONIC.finditer(text))
    if len(found) != 1 or text.count(found[0][0]) != 1 or any(sign in text for sign in ("://", "@", "<")):
        return text, None
    place = found[0].start()
    return text[:place] + text[place + 1 :], Mnemonic(found[0][0], text[place + 1])


def with_mnemonic(text: str, mnemonic: Mnemonic | None) -> str:
    """Return a translation with the mnemonic: before the same letter, best where a word begins, else before any.

    A text without spaces between words gets it in brackets at its end, as is usual: 打开(&O)…
    """
    if mnemonic is None:
        return text
    sign, letter = mnemonic
    kept = {place for one in placeholders(text) for place in range(one.start, one.end)}
    letters = [place for place, one in enumerate(text) if one.isalpha() and place not in kept]
    same = [place for place in letters if text[place].casefold() == letter.casefold()]
    first = [place for place in same if place == 0 or not text[place - 1].isalnum()]
    if not same and any(unspaced(text[place]) for place in letters):
        end = _PUNCTUATION.search(text)
        place = end.start() if end else len(text)
        return f"{text[:place]}({sign}{letter.upper()}){text[place:]}"
    place = next(iter([*first, *same, *letters]), 0)
    return f"{text[:place]}{sign}{text[place:]}"
