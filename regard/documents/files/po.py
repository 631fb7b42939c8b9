"""Messages of gettext (.po, .pot): empty translations are filled and marked as fuzzy; all other lines stay."""

import math
import re
from collections.abc import Iterator, Sequence

from regard.documents.files.base import (
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
from regard.text.gettext_messages import (
    CHARSET,
    ESCAPED_CONTROLS,
    GettextMessage,
    MessageError,
    Mnemonic,
    PluralRule,
    declared_charset,
    header_language,
    header_of,
    plurals_of,
    read_messages,
    without_mnemonic,
)

_OPEN_LANGUAGE = re.compile(r'^("Language:)[ \t]*(\\n")')
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', **{sign: f"\\{name}" for name, sign in ESCAPED_CONTROLS.items()}})
_WIDTH = 79  # columns of a line
_PUNCTUATION = re.compile(r"(?<![\s.…:：。])[\s.…:：。]*+\Z")
_AGAIN = "to translate them again, first: msgattrib --clear-fuzzy --empty FILE"  # a program of gettext


def po_file(data: bytes, language: str | None) -> FileDocument:
    """Read messages. Of a plural the translation of the singular is the form of 1, that of the plural all others."""
    text, encoding = decode_text(data, declared_charset(data))
    lines, budget = re.split(r"(?<=\n)", text), file_budget()
    try:
        entries = list(read_messages(lines))
    except MessageError as error:
        raise FileError(str(error)) from error
    head = header_of(entries)
    header, place = (head.texts["msgstr"], head.lines["msgstr"]) if head else ("", None)
    waiting = [entry for entry in entries if entry.waits()]
    asked = [entry.texts[key] for entry in waiting for key in ("msgid", "msgid_plural") if key in entry.texts]
    stripped = [without_mnemonic(text) for text in asked]
    documents = [plain_document(text, language=language, budget=budget) for text, _ in stripped]
    writer = _Writer(lines, header, place)

    def rebuild(predictions: Sequence[Prediction], pair: tuple[str, str] | None = None) -> bytes:
        found = rebuild_each(documents, predictions, pair)
        texts = (with_mnemonic(text, mnemonic) for text, (_, mnemonic) in zip(found, stripped, strict=True))
        return encode_text(writer.written(waiting, texts, pair), encoding, CHARSET, "replace")

    said, fuzzy = header_language(header), sum(entry.is_fuzzy(lines) for entry in entries)
    notes = [f"{fuzzy:,} fuzzy messages keep their translations ({_AGAIN})"] if fuzzy else []
    return join_documents(documents, rebuild, [(None, said)] if said else (), notes)


class _Writer:
    """Writes translations into the lines of a file; `place`: first and last line of its header, if it has one."""

    def __init__(self, lines: Sequence[str], header: str, place: tuple[int, int] | None) -> None:
        self.lines, self.header, self.place = lines, header, place
        self.end = "\r\n" if lines[0].endswith("\r\n") else "\n"
        long = any(len(line.rstrip()) > _WIDTH and line.startswith(("msgid", '"')) for line in lines)
        self.width = math.inf if long else _WIDTH

    def written(self, entries: Sequence[GettextMessage], texts: Iterator[str], pair: tuple[str, str] | None) -> str:
        """Return the file; `texts` has the translations of each message: singular, and plural if it has one."""
        lines = [*self.lines]
        rule, head = self._label(lines, pair[1]) if pair else (PluralRule.of(*plurals_of(self.header)), "")
        for entry in entries:
            forms = {"msgstr": next(texts)}
            if "msgid_plural" in entry.texts:
                forms = _forms(entry, forms["msgstr"], next(texts), rule)
            for first, last in (entry.lines[key] for key in entry.targets()):
                lines[first : last + 1] = [""] * (last + 1 - first)
            place = entry.lines[entry.targets()[0]][0]
            lines[place] = "".join(self._message(key, text) for key, text in forms.items())
            if not entry.flags:
                lines[entry.begin] = f"#, fuzzy{self.end}{lines[entry.begin]}"
            elif not any("fuzzy" in lines[number] for number in entry.flags):
                first = entry.flags[0]
                lines[first] = lines[first].replace("#,", "#, fuzzy,", 1)
        return head + "".join(lines)

    def _label(self, lines: list[str], code: str) -> tuple[PluralRule, str]:
        """Write language and plural rule into a header that leaves them open or lacks them.

        Return the rule, and the header of a file that has none, else "".
        """
        count, expression = plurals_of(self.header)
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
        return PluralRule.of(count, expression), self._add(lines, [f"{name}: {fields[name]}" for name in missing])

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


def plural_rule(code: str) -> tuple[str, str]:
    """Return number and expression of the plural forms of a language; those of English for an unknown one."""
    from babel.core import UnknownLocaleError
    from babel.messages.plurals import get_plural

    try:
        found = get_plural(code.replace("-", "_"))
    except (UnknownLocaleError, ValueError):
        return "2", "(n != 1)"
    return str(found.num_plurals), found.plural_expr


def _forms(entry: GettextMessage, singular: str, plural: str, rule: PluralRule) -> dict[str, str]:
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
