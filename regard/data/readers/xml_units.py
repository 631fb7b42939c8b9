"""Units of an XML file, one at a time and with limits: translation memories, glossaries."""

import zlib
from collections import deque
from collections.abc import Collection, Iterator
from gzip import BadGzipFile
from pathlib import Path
from typing import IO
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from regard.errors import DataError

_BLOCK = 2**16  # bytes read at once
_LARGEST = 2**22  # characters and attributes of a unit, each element counting as ELEMENT; bytes of a tag or a comment
ELEMENT = 16
DEEPEST = 200  # elements in one another
_LANGUAGES = ("xml:lang", "lang")
OPENING, CLOSING = frozenset({"bx", "bpt", "sc", "sm"}), frozenset({"ex", "ept", "ec", "em"})  # inline codes of a pair
XLIFF_CODES = OPENING | CLOSING | {"x", "ph", "it", "sub", "cp"}  # markup of the text's own format
TMX_CODES = frozenset({"bpt", "ept", "ph", "it", "ut"})


def xml_units(
    file: IO[bytes], path: Path | str, names: Collection[str], what: str, *, heads: Collection[str] = ()
) -> Iterator[tuple[int, Element]]:
    """Yield the elements with one of `names`, each with its line; other elements are not kept.

    Those with one of `heads`, in which units stand, come before these, with their attributes alone. Names are read
    without their prefixes. A DOCTYPE with declarations is refused: a file neither expands nor opens others.
    Raises DataError, with the line, for a file that is not well-formed (`what` is its format) or exceeds a limit.
    """
    parser = _Parser(path, names, heads)
    try:
        for block in iter(lambda: file.read(_BLOCK), b""):
            parser.take(block)
            yield from parser.found()
        parser.end()
        yield from parser.found()
    except expat.ExpatError as error:
        if parser.empty:
            raise DataError(path, "the file is empty") from error
        raise DataError(path, f"not {what}: {expat.ErrorString(error.code)}", line=error.lineno) from error
    except (EOFError, zlib.error, BadGzipFile) as error:
        raise DataError(path, f"damaged gzip file: {error}") from error
    except (ValueError, LookupError) as error:  # an encoding that the parser does not read
        raise DataError(path, f"cannot be read: {error}", hint="save it as UTF-8") from error
    except OSError as error:
        raise DataError(path, f"cannot be read: {error.strerror or error}") from error


def element_language(element: Element) -> str:
    """Return the language that an element names, in lower case, or ""."""
    return next((element.get(name, "").lower() for name in _LANGUAGES if element.get(name)), "")


def text_without(element: Element, codes: Collection[str]) -> str:
    """Return the text of an element without that of inline elements with one of these names."""
    inner = ((text_without(one, codes) if one.tag not in codes else "") + (one.tail or "") for one in element)
    return (element.text or "") + "".join(inner)


class _Parser:
    """Collects the units of an XML file that is read in blocks."""

    def __init__(self, path: Path | str, names: Collection[str], heads: Collection[str]) -> None:
        self.path, self.names, self.heads = path, names, heads
        self.expat = parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler, parser.StartDoctypeDeclHandler = self._data, self._doctype
        parser.CommentHandler = parser.ProcessingInstructionHandler = self._passed
        self.empty = True  # nothing came yet
        self._units: deque[tuple[int, Element]] = deque()
        self._tree: TreeBuilder | None = None  # of the unit that is open
        self._depth = self._outside = self._size = self._line = self._waiting = 0

    def take(self, block: bytes) -> None:
        """Parse a block. Raises DataError for a tag or comment over the limit."""
        self.empty, self._waiting = False, self._waiting + len(block)
        self.expat.Parse(block)
        if self._waiting > _LARGEST:
            self._refuse(f"more than {_LARGEST:,} bytes in one tag, comment or declaration")

    def end(self) -> None:
        """Read the end of the file."""
        self.expat.Parse(b"", True)

    def found(self) -> Iterator[tuple[int, Element]]:
        """Yield the units that are complete by now."""
        while self._units:
            yield self._units.popleft()

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._waiting, self._depth = 0, self._depth + 1
        if self._depth > DEEPEST:
            self._refuse(f"more than {DEEPEST} elements in one another")
        name = tag.rpartition(":")[2]
        if self._tree is None and name in self.names:
            self._tree, self._outside, self._size = TreeBuilder(), self._depth, 0
            self._line = self.expat.CurrentLineNumber
        if self._tree is None and name in self.heads:
            self._units.append((self.expat.CurrentLineNumber, Element(name, attributes)))
        if self._tree is not None:
            self._count(ELEMENT + sum(map(len, attributes.values())))
            self._tree.start(name, attributes)

    def _end(self, tag: str) -> None:
        self._waiting = 0
        if self._tree is not None:
            self._tree.end(tag.rpartition(":")[2])
            if self._depth == self._outside:
                self._units.append((self._line, self._tree.close()))
                self._tree = None
        self._depth -= 1

    def _data(self, text: str) -> None:
        self._waiting = 0
        if self._tree is not None:
            self._count(len(text))
            self._tree.data(text)

    def _passed(self, *_: str) -> None:
        self._waiting = 0

    def _doctype(self, name: str, _system: str | None, _public: str | None, subset: bool) -> None:
        """Refuse declarations: entities, and attributes that every element has, make a small file a large one."""
        if subset:
            self._refuse(f"the DOCTYPE of '{name:.60}' has declarations: these are not read")

    def _count(self, size: int) -> None:
        self._size += size
        if self._size > _LARGEST:
            self._refuse(f"more than {_LARGEST:,} characters in the unit that begins in line {self._line:,}")

    def _refuse(self, problem: str) -> None:
        raise DataError(self.path, problem, line=self.expat.CurrentLineNumber, hint="damaged, or made to fill memory?")
