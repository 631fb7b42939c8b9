"""Messages of gettext (.po): texts of programs with their translations."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from regard.config import Doc
from regard.data.examples import Example
from regard.data.readers.lines import reading_faults
from regard.data.readers.reader import FileName, FileReader, check_columns
from regard.data.readers.tmx import LINE_ENDS
from regard.errors import DataError, PartError
from regard.packed import open_packed
from regard.text.byte_text import decoded_text
from regard.text.gettext_messages import (
    GettextMessage,
    MessageError,
    PluralRule,
    declared_charset,
    header_language,
    header_of,
    plurals_of,
    read_messages,
    without_mnemonics,
)
from regard.text.language_codes import bare_language

_SIDES = "source", "target"


class PoReader(FileReader):
    """A message without a translation, or with one that is marked as fuzzy, is empty on that side.

    Obsolete messages are left out, and so are the signs of mnemonics ("&Open"). The plural of a message has the form
    that most numbers have; its singular has the form of 1, and is left out where other numbers have that form, too.
    An example has the number of its line.
    """

    def __init__(
        self,
        columns: tuple[str, ...],
        *,
        file: FileName,
        languages: Annotated[
            tuple[str, ...] | None,
            Doc("Language codes of source and target; a file whose header names another target is refused."),
        ] = None,
        fuzzy: Annotated[bool, Doc("Use translations that are marked as fuzzy.")] = False,
    ) -> None:
        check_columns(columns, len(_SIDES), "holds messages and their translations", "a table: .tsv, .csv or .jsonl")
        if languages is not None and len(languages) != len(_SIDES):
            raise PartError(f"names {len(languages)}", "one for each of source, target", setting="languages")
        super().__init__(columns, file)
        self._languages, self._fuzzy = languages, fuzzy

    def key(self) -> str:
        return f"po {self._languages} {self._fuzzy}"

    def __iter__(self) -> Iterator[Example]:
        for line, source, target, fuzzy in read_po(self.path, self._languages):
            texts = source, "" if fuzzy and not self._fuzzy else target
            yield Example(line, dict(zip(self.columns, texts, strict=True)))


def read_po(path: Path, languages: tuple[str, ...] | None = None) -> Iterator[tuple[int, str, str, bool]]:
    """Yield line, source, translation, and whether that is fuzzy, of the messages of a file.

    Raises DataError for a file that is not a list of messages, and for another target language.
    """
    with reading_faults(path), open_packed(path) as file:
        data = file.read()
    try:
        lines = re.split(r"(?<=\n)", decoded_text(data, declared_charset(data))[0])
        messages = [*read_messages(lines)]
    except MessageError as error:
        raise DataError(path, error.problem, line=error.line) from error
    except ValueError as error:
        raise DataError(path, str(error)) from error
    head = header_of(messages)
    header = head.texts["msgstr"] if head else ""
    said = header_language(header)
    if said and languages and bare_language(said) != bare_language(languages[-1]):
        raise DataError(path, f"is in '{said}', by its header, not in '{languages[-1]}'")
    texts = [one for one in messages if one.texts["msgid"]]
    if not texts:
        raise DataError(path, "has no message (msgid)")
    rule = PluralRule.of(*plurals_of(header))
    for one in texts:
        for pair in _pairs(one, rule):
            source, target = map(_line, without_mnemonics(*pair))
            yield one.begin + 1, source, target, one.is_fuzzy(lines)


def _pairs(message: GettextMessage, rule: PluralRule) -> Iterator[tuple[str, str]]:
    """Source and translation: one pair, or the pairs of a plural."""
    texts = message.texts
    if "msgid_plural" not in texts:
        yield texts["msgid"], texts.get("msgstr", "")
        return
    forms = rule.forms or len(message.targets())
    if rule.alone and forms > 1:
        yield texts["msgid"], texts.get(f"msgstr[{rule.one}]", "")
    yield texts["msgid_plural"], texts.get(f"msgstr[{min(rule.many, forms - 1)}]", "")


def _line(text: str) -> str:
    return LINE_ENDS.sub(" ", text).strip(" ")
