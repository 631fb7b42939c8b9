"""Messages of gettext (.po): https://www.gnu.org/software/gettext/manual/html_node/PO-Files.html"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from gettext import c2py
from typing import NamedTuple

from regard.text.byte_text import ENCODING_HEAD

CHARSET = re.compile(r"(charset=)([\w.:-]{1,40})")
_LINE = re.compile(r'(?:(msgctxt|msgid_plural|msgid|msgstr(?:\[\d{1,2}\])?)\s*+)?"((?:[^"\\]|\\.)*+)"')
_PLURALS = re.compile(r"^Plural-Forms:\s*nplurals\s*=\s*([0-9])\s*;\s*plural\s*=\s*([^;\n]{1,900})", re.MULTILINE)
_LANGUAGE = re.compile(r"^Language:[ \t]*+(\S{0,40})[ \t]*+$", re.MULTILINE)
_ESCAPE = re.compile(r"\\([0-7]{1,3}|x[0-9a-fA-F]{1,2}|.)")
ESCAPED_CONTROLS = dict(zip("abtnvfr", "\a\b\t\n\v\f\r", strict=True))
_MNEMONIC = re.compile(
    r"(?<!\w)[&_](?=[^\W\d_])(?!\w{1,30};)"  # &Open, not &nbsp;
    r"|(?<=[A-Za-z])&(?=[a-z])(?!\w{1,30};)"  # E&xit, not AT&T
    r"|(?<=\b[A-Z])_(?=[a-z])|(?<=\b[A-Z][a-z])_(?=[a-z])"  # E_xit and Cu_t, not file_name
)
_COUNTED, _MOST_FORMS = 200, 9  # numbers for which a plural rule is tried; forms of a plural


@dataclass
class GettextMessage:
    """A message. Lines count from 0; of a key as `msgstr[1]` both ends are in `lines`."""

    pieces: dict[str, list[str]] = field(default_factory=dict)  # of its texts, by key
    lines: dict[str, tuple[int, int]] = field(default_factory=dict)
    flags: list[int] = field(default_factory=list)  # the lines of its flags

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
        flagged = any("fuzzy" in lines[number] for number in self.flags)
        return flagged and bool(self.texts["msgid"]) and not self.waits()

    def waits(self) -> bool:
        """Return whether it has no translation; the header has one."""
        return bool(self.texts["msgid"]) and not any(self.texts[key] for key in self.targets())


class MessageError(ValueError):
    """A line that is not of a list of messages; `line` counts from 1."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(f"line {line}: {problem}")
        self.line, self.problem = line, problem


def read_messages(lines: Sequence[str]) -> Iterator[GettextMessage]:
    """Yield all messages that are not obsolete. Raises MessageError."""
    entry, key = GettextMessage(), ""
    for number, line in enumerate([*lines, ""]):
        bare = line.lstrip("\ufeff").strip()
        comment, text = bare.startswith("#"), _LINE.fullmatch(bare)
        starts = comment or text is None or text[1] in ("msgctxt", "msgid")
        if entry.pieces and starts and (key.startswith("msgstr") or not bare):
            if "msgid" not in entry.pieces or not entry.targets():
                raise MessageError(number, "the message before has no msgid or no msgstr")
            yield entry
            entry, key = GettextMessage(), ""
        if comment:
            if bare.startswith("#,"):
                entry.flags.append(number)
            elif bare.startswith("#~"):  # the flags before belong to an obsolete message
                entry.flags.clear()
        elif text is not None and (text[1] or key):
            key = text[1] or key
            if text[1] in entry.pieces:
                raise MessageError(number + 1, f"a second {key} of one message")
            entry.pieces.setdefault(key, []).append(_unescaped(text[2]))
            entry.lines[key] = (entry.lines.get(key, (number, 0))[0], number)
        elif bare:
            raise MessageError(number + 1, f"this is not of a list of messages: '{bare:.60}'")


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda found: _character(found[1]), text) if "\\" in text else text


def _character(escape: str) -> str:
    if escape[0] in "01234567":
        return chr(int(escape, 8))
    return chr(int(escape[1:], 16)) if len(escape) > 1 else ESCAPED_CONTROLS.get(escape, escape)


class PluralRule(NamedTuple):
    """Which form of a plural the numbers have."""

    one: int = 0  # form of 1
    alone: bool = True  # whether no other number has that form
    forms: int = 0  # number of forms; 0: as many as a message has
    many: int = 1  # form of most numbers

    @classmethod
    def of(cls, count: str, expression: str) -> "PluralRule":
        """Read a rule as gettext writes it in C; the English one in place of one that is not such a rule."""
        try:
            forms, found = int(count), [*map(c2py(expression), range(_COUNTED))]
        except (ValueError, ArithmeticError, RecursionError):
            return cls()
        valid = 0 < forms <= _MOST_FORMS and all(0 <= form < forms for form in found)
        if not valid:
            return cls()
        ((many, _),) = Counter(found[2:]).most_common(1)
        return cls(found[1], found[1] not in found[2:], forms, many)


def plurals_of(header: str) -> tuple[str, str]:
    """Return number and expression of the plural forms; "" where the header leaves them open."""
    found = _PLURALS.search(header)
    return (found[1], found[2]) if found else ("", "")


def header_of(messages: Iterable[GettextMessage]) -> GettextMessage | None:
    """Return the message without a text, whose translation is the header; None where there is none."""
    return next((one for one in messages if not one.texts["msgid"] and "msgstr" in one.texts), None)


def header_language(header: str) -> str:
    """Return the code of the target language; "" where the header leaves it open."""
    found = _LANGUAGE.search(header)
    return found[1] if found else ""


def declared_charset(data: bytes) -> str | None:
    """Return the encoding that the beginning of a file names."""
    found = CHARSET.search(data[:ENCODING_HEAD].decode("latin-1"))
    return found[2] if found else None


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


def without_mnemonics(source: str, target: str) -> tuple[str, str]:
    """Return a text and its translation without the mnemonic of the text, also in brackets: 打开(&O)."""
    plain, mnemonic = without_mnemonic(source)
    if mnemonic is None or target.count(mnemonic.sign) != 1:
        return plain, target
    sign = re.escape(mnemonic.sign)
    apart = re.search(rf"\s?[(（]{sign}\w[)）]|(?<!\w){sign}(?=[^\W\d_])(?!\w{{1,30}};)", target)
    within = re.search(rf"(?<!\w)([^\W\d_]+){sign}([^\W\d_]+)(?![\w;])", target)  # Ö_ffnen, not my_id or R&D
    if apart:
        target = target[: apart.start()] + target[apart.end() :]
    elif within and within[1][0].isupper() and within[2][0].islower():
        target = target.replace(mnemonic.sign, "")
    return plain, target
