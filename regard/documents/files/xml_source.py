"""Splits XML into tags, text and the rest, with names in namespaces. Joined, the tokens are the input."""

import re
from array import array
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple
from xml.parsers import expat

from regard.documents.files.base import FileError
from regard.documents.size_budget import SizeBudget

_DEEPEST = 200  # elements in one another
_ENCODED = re.compile(r"&(?:#([0-9]{1,9})|#x([0-9a-fA-F]{1,8})|(lt|gt|amp|quot|apos));")
_NAMED = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
_CDATA = "<![CDATA["
_EXCLUDED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufdd0-\ufdd3\ufffe\uffff]")
DECLARATION = re.compile(r"""\A(<\?xml[^>]{1,99}?\bencoding\s{0,9}=\s{0,9}["'])([A-Za-z][\w.-]{0,40})""")
_ATTRIBUTE = re.compile(r"""(?<!\s)(\s++)([^\s=]++)(\s*+=\s*+)("[^"]*"|'[^']*')""")
_XML = "http://www.w3.org/XML/1998/namespace"
_HEAD = 200  # characters that hold the declaration


class XmlToken(NamedTuple):
    """A span of the source. `raw`: comments, instructions and declarations; an empty tag has no closing one."""

    kind: Literal["open", "close", "empty", "text", "raw"]
    source: str
    name: str = ""  # with the prefix that `xml_tokens` has for its namespace
    attributes: Mapping[str, str] = {}  # names as above


def xml_tokens(text: str, prefixes: Mapping[str, str], budget: SizeBudget | None = None) -> list[XmlToken]:
    """Return the tokens of a text; `prefixes`: namespace → prefix of its names, where they are to have one.

    Neither entities nor other files are read. Raises FileError for what is not well-formed, has declarations in its
    DOCTYPE, or has elements deeper in one another than 200; TooLarge above the budget of tokens.
    """
    data = text.encode("utf-8", "surrogatepass")
    reader = _Reader(data, prefixes, budget or SizeBudget())
    try:
        reader.parser.Parse(data, True)
    except expat.ExpatError as error:
        raise FileError(f"line {error.lineno} is not XML: {expat.ErrorString(error.code)}") from error
    return reader.tokens()


def declared_encoding(data: bytes) -> str | None:
    """Return the encoding that the first line names."""
    found = DECLARATION.search(data[:_HEAD].decode("latin-1"))
    return found[2] if found else None


def xml_safe(text: str) -> str:
    """Return the text without characters that XML forbids or that encode marks."""
    return _EXCLUDED.sub("", text)


def xml_escaped(text: str) -> str:
    """Return the text as it stands between two tags."""
    return xml_safe(text).translate(_ESCAPES)


def characters(token: XmlToken) -> Iterator[tuple[str, str]]:
    """Yield the characters of a text token, each as it is and as it is written."""
    source = token.source
    if source.startswith(_CDATA):
        yield from ((one, xml_escaped(one)) for one in source.removeprefix(_CDATA).removesuffix("]]>"))
        return
    cursor = 0
    for found in _ENCODED.finditer(source):
        yield from zip(source[cursor : found.start()], source[cursor : found.start()], strict=True)
        cursor, (decimal, hexadecimal, name) = found.end(), found.groups()
        yield _NAMED[name] if name else chr(int(decimal) if decimal else int(hexadecimal, 16)), found[0]
    yield from zip(source[cursor:], source[cursor:], strict=True)


def tag_name(tag: str) -> str:
    """Return the name of an opening or empty tag as it is written."""
    return re.split(r"[\s/>]", tag[1:], maxsplit=1)[0]


def with_attributes(tag: str, given: Mapping[str, str]) -> str:
    """Return an opening or empty tag with attributes set; others stay as they are. Values need no escapes."""
    left = dict(given)

    def changed(found: re.Match[str]) -> str:
        return f'{found[1]}{found[2]}{found[3]}"{left.pop(found[2])}"' if found[2] in left else found[0]

    tag = _ATTRIBUTE.sub(changed, tag)  # of whole attributes: a value may hold what looks like one
    end = len(tag) - (2 if tag.endswith("/>") else 1)
    added = "".join(f' {name}="{value}"' for name, value in left.items())
    return f"{tag[:end].rstrip()}{added}{tag[end:]}" if added else tag


class _Reader:
    """Notes where each token begins; tokens without attributes are shared."""

    def __init__(self, data: bytes, prefixes: Mapping[str, str], budget: SizeBudget) -> None:
        self.data, self.prefixes, self.budget = data, {_XML: "xml", **prefixes}, budget
        self.starts, self.found = array("q"), list[XmlToken]()
        self.shared = dict[tuple[str, str], XmlToken]()
        self.depth, self.ended = 0, False  # elements that are open; whether a CDATA section ends here
        self.names = dict[str, str]()
        self.parser = parser = expat.ParserCreate("utf-8", namespace_separator=" ")
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler = self._text
        parser.StartCdataSectionHandler = self._cdata
        parser.EndCdataSectionHandler = self._cdata_end
        parser.CommentHandler = parser.ProcessingInstructionHandler = self._raw
        parser.EndDoctypeDeclHandler = parser.XmlDeclHandler = self._raw
        parser.StartDoctypeDeclHandler, parser.SkippedEntityHandler = self._doctype, self._entity

    def tokens(self) -> list[XmlToken]:
        """Return them with their sources; what stands before the first one is raw."""
        ends = [*self.starts[1:], len(self.data)]
        whole = [XmlToken("raw", self.data[: self.starts[0]].decode("utf-8", "surrogatepass"))]
        for start, token, end in zip(self.starts, self.found, ends, strict=True):
            source = self.data[start:end].decode("utf-8", "surrogatepass")
            if token.kind == "close" and not source and whole[-1].kind == "open":
                whole[-1] = whole[-1]._replace(kind="empty")
            else:
                whole.append(token._replace(source=source))
        return [token for token in whole if token.source]

    def _note(self, token: XmlToken) -> None:
        self.budget.count_token()
        self.starts.append(self.parser.CurrentByteIndex)
        self.found.append(token if token.attributes else self.shared.setdefault((token.kind, token.name), token))
        self.ended = False

    def _name(self, name: str) -> str:
        known = self.names.get(name)
        if known is None:
            space, _, local = name.rpartition(" ")
            prefix = self.prefixes.get(space, space)
            known = self.names[name] = f"{prefix}:{local}" if prefix else local
        return known

    def _start(self, name: str, given: dict[str, str]) -> None:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise FileError(f"more than {_DEEPEST} elements in one another")
        attributes = {self._name(key): value for key, value in given.items()} if given else given
        self._note(XmlToken("open", "", self._name(name), attributes))

    def _end(self, name: str) -> None:
        self.depth -= 1
        self._note(XmlToken("close", "", self._name(name)))

    def _text(self, _: str) -> None:
        if self.ended or self.found[-1].kind != "text":
            self._note(XmlToken("text", ""))

    def _cdata(self) -> None:
        self._note(XmlToken("text", ""))

    def _cdata_end(self) -> None:
        self.ended = True

    def _raw(self, *_: object) -> None:
        self._note(XmlToken("raw", ""))

    def _doctype(self, name: str, _system: str | None, _public: str | None, subset: bool) -> None:
        """Refuse declarations: entities, and attributes that every element has, make a small file a large one."""
        if subset:
            raise FileError(f"the DOCTYPE of '{name:.60}' has declarations: these are not read")
        self._note(XmlToken("raw", ""))

    def _entity(self, name: str, *_: object) -> None:
        raise FileError(f"the entity '{name:.60}': entities are not read")
