"""Translation memories (TMX 1.4, https://www.gala-global.org/tmx-14b): units of a text in several languages."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated
from xml.etree.ElementTree import Element

from regard.config import Doc
from regard.data.examples import Example
from regard.data.readers.lines import reading_faults
from regard.data.readers.reader import FileName, FileReader
from regard.data.readers.xml_units import TMX_CODES, element_language, text_without, xml_units
from regard.errors import DataError, PartError
from regard.packed import open_packed

LINE_ENDS = re.compile(r"[ \t]*[\r\n]+[ \t]*")  # with the indents that editors set


class TmxReader(FileReader):
    """`languages` are those of the columns, in order ("en" includes "en-GB"); by default those of the first unit.

    A unit that lacks one of them is empty on that side. An example has the number of its unit.
    """

    def __init__(
        self,
        columns: tuple[str, ...],
        *,
        file: FileName,
        languages: Annotated[
            tuple[str, ...] | None, Doc("Language codes of source and target; null: the two of the first unit.")
        ] = None,
    ) -> None:
        if languages is not None and len(languages) != len(columns):
            problem, hint = f"names {len(languages)}", f"one for each of {', '.join(columns)}"
            raise PartError(problem, hint, setting="languages")
        super().__init__(columns, file)
        self._languages = languages

    def key(self) -> str:
        return f"tmx {self._languages}"

    def __iter__(self) -> Iterator[Example]:
        path = self.path
        languages = self._languages
        with reading_faults(path), open_packed(path) as file:
            for number, (_, unit) in enumerate(xml_units(file, path, ("tu",), "TMX"), start=1):
                texts = {name: text for name, text in _variants(unit) if name}
                languages = languages or self._first(path, tuple(texts))
                sides = zip(self.columns, languages, strict=True)
                yield Example(number, {column: _text(texts, language) for column, language in sides})
        if languages is None:
            raise DataError(path, "there is no unit (<tu>) in it")

    def _first(self, path: Path, found: tuple[str, ...]) -> tuple[str, ...]:
        if len(found) < len(self.columns):
            problem = f"the first unit has {len(found)} languages, {len(self.columns)} are needed"
            raise DataError(path, problem, hint="name them: languages=[en, de]")
        return found[: len(self.columns)]


def _variants(unit: Element) -> Iterator[tuple[str, str]]:
    """Language and text of each variant; markup inside of a segment is left out."""
    for variant in unit.iter("tuv"):
        segment = variant.find("seg")
        yield (
            element_language(variant),
            "" if segment is None else LINE_ENDS.sub(" ", text_without(segment, TMX_CODES)).strip(" "),
        )


def _text(texts: dict[str, str], language: str) -> str:
    """Return the text of exactly this language, or of its first regional variant."""
    wanted = language.lower()
    return next((text for name, text in texts.items() if name == wanted or name.startswith(f"{wanted}-")), "")
