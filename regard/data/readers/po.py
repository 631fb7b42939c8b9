"""Messages of gettext (.po, https://www.gnu.org/software/gettext/manual): texts of programs with their translations."""

from collections import Counter
from collections.abc import Iterator
from gettext import c2py
from typing import TYPE_CHECKING, Annotated

from regard.config import Doc
from regard.data.examples import Example
from regard.data.readers.lines import reading_faults
from regard.data.readers.reader import FileName, FileReader
from regard.data.readers.tmx import LINE_ENDS
from regard.errors import DataError, PartError
from regard.packed import open_packed

if TYPE_CHECKING:
    from babel.messages import Catalog, Message

_SIDES = "source", "target"
_COUNTED = range(2, 200)  # numbers for which a plural rule is tried


class PoReader(FileReader):
    """A message without a translation, or with one that is marked as fuzzy, is empty on that side.

    Obsolete messages are left out. Of a plural, the singular has the form of 1, and the plural the form that most
    other numbers have. An example has the number of its line.
    """

    def __init__(
        self,
        columns: tuple[str, ...],
        *,
        file: FileName,
        languages: Annotated[
            tuple[str, ...] | None, Doc("Language codes of source and target; null: those of the file.")
        ] = None,
        fuzzy: Annotated[bool, Doc("Use translations that are marked as fuzzy.")] = False,
    ) -> None:
        if len(columns) != len(_SIDES):
            raise PartError(f"messages have two sides, not {len(columns)}", "the columns source and target")
        if languages is not None and len(languages) != len(_SIDES):
            raise PartError(f"names {len(languages)}", "one for each of source, target", setting="languages")
        super().__init__(columns, file)
        self._languages, self._fuzzy = languages, fuzzy

    def key(self) -> str:
        return f"po {self._languages} {self._fuzzy}"

    def __iter__(self) -> Iterator[Example]:
        from babel.messages.pofile import PoFileError, read_po

        path = self.path
        with reading_faults(path), open_packed(path) as file:
            try:
                catalog = read_po(file, ignore_obsolete=True, abort_invalid=True)
                self._check_language(catalog)
                messages = [message for message in catalog if message.id]
                pairs = [(one.lineno or 0, *pair) for one in messages for pair in _pairs(catalog, one)]
            except PoFileError as error:
                problem = str(error).removesuffix(f" on {error.lineno}")
                raise DataError(path, problem, line=error.lineno + 1) from error
            except (ValueError, LookupError, ArithmeticError, RecursionError) as error:  # of its header and its bytes
                raise DataError(path, f"is not a list of messages: {error}") from error
        if not pairs:
            raise DataError(path, "there is no message (msgid) in it")
        for number, source, target, fuzzy in pairs:
            texts = source, "" if fuzzy and not self._fuzzy else target
            yield Example(number, dict(zip(self.columns, map(_line, texts), strict=True)))

    def _check_language(self, catalog: "Catalog") -> None:
        """Raise DataError for messages in another language than the target."""
        found = (catalog.locale_identifier or "").lower().replace("_", "-")
        wanted = self._languages[1].lower() if self._languages else found
        if found and found != wanted and not found.startswith(f"{wanted}-"):
            raise DataError(self.path, f"is in '{found}', by its header, not in '{wanted}'")


def _pairs(catalog: "Catalog", message: "Message") -> Iterator[tuple[str, str, bool]]:
    """Source, translation, and whether it is fuzzy, of both forms of a plural."""
    fuzzy, translated = message.fuzzy, message.string or ""
    if isinstance(message.id, str) or isinstance(translated, str):
        yield str(message.id), str(translated), fuzzy
        return
    form = c2py(catalog.plural_expr)
    ((many, _),) = Counter(map(form, _COUNTED)).most_common(1)
    for source, place in zip(message.id, (form(1), many), strict=False):
        yield source, translated[place] if 0 <= place < len(translated) else "", fuzzy


def _line(text: str) -> str:
    return LINE_ENDS.sub(" ", text or "").strip(" ")
