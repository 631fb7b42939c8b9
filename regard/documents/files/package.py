"""Archives of XML parts (Office Open XML, OpenDocument): their parts with text are read and written again."""

import re
import zlib
from collections.abc import Callable, Sequence
from html import unescape
from io import BytesIO
from typing import NamedTuple
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, LargeZipFile, ZipFile, ZipInfo

from regard.documents.files.base import FileDocument, FileError, decode_text, file_budget, join_documents, rebuild_each
from regard.documents.files.paragraphs import Dialect, XmlPart
from regard.documents.files.xml_source import declared_encoding
from regard.results import Prediction

ENTRIES = 2_000
_UNPACKED = 64 << 20  # bytes in all
_RATIO = 200  # most unpacked bytes per packed byte; text has 10, zeros have 1,000
_BROKEN = (BadZipFile, LargeZipFile, NotImplementedError, EOFError, RuntimeError, OSError, ValueError, zlib.error)
_SMALL = 1 << 20  # bytes; smaller entries may have any ratio
_NUMBER = re.compile(r"\d+")


class PackageKind(NamedTuple):
    """A kind of archive."""

    name: str  # as in "is not a …"
    place: str  # of a part that all of them have, and
    content: bytes  # bytes in it
    dialect: Dialect
    parts: re.Pattern[str]  # names of the parts with text
    paragraphs: re.Pattern[bytes]  # what such a part contains where it has any
    relabelled: Callable[[str, str, str], str]  # (part, source, target) → its language labels changed
    names: re.Pattern[bytes] | None = None  # in parts: names that formulas use; texts equal to one stay


def package_file(data: bytes, language: str | None, kind: PackageKind) -> FileDocument:
    """Read an archive; parts without text stay as they are. Raises FileError for one of another kind."""
    entries = _read(data)
    if not any(info.filename == kind.place and kind.content in entry for info, entry in entries):
        raise FileError(f"the file is broken or is not a {kind.name}")
    found = (kind.names.findall(entry) for info, entry in entries if kind.names) if kind.names else ()
    kept = frozenset(unescape(name.decode("utf-8", "replace")) for names in found for name in names)
    budget, parts = file_budget(), dict[int, tuple[XmlPart, str]]()  # with their encodings, in reading order
    for number in sorted(range(len(entries)), key=lambda number: _padded(entries[number][0].filename)):
        info, entry = entries[number]
        if kind.parts.fullmatch(info.filename) and kind.paragraphs.search(entry):
            text, encoding = decode_text(entry, declared_encoding(entry))
            parts[number] = XmlPart(text, kind.dialect, language, budget, kept), encoding
    documents = [paragraph.document for part, _ in parts.values() for paragraph in part.paragraphs]

    def rebuild(predictions: Sequence[Prediction], pair: tuple[str, str] | None = None) -> bytes:
        texts = rebuild_each(documents, predictions, pair)
        new = {number: part.written(texts) for number, (part, _) in parts.items()}
        written = BytesIO()
        with ZipFile(written, "w") as archive:
            for number, (info, entry) in enumerate(entries):
                _, encoding = parts.get(number, (None, "utf-8"))
                text = new.get(number)
                if pair is not None and info.filename.endswith(".xml"):
                    text = kind.relabelled(entry.decode(encoding, "surrogateescape") if text is None else text, *pair)
                content = entry if text is None else text.encode(encoding, "surrogateescape")
                _write(archive, info, content)
        return written.getvalue()

    return join_documents(documents, rebuild)


def language_tag(code: str) -> str:
    """Return a language code with a country, which office programs need: de → de-DE."""
    from babel.core import get_global

    likely, language = get_global("likely_subtags"), code.partition("-")[0]
    whole = likely.get(code.replace("-", "_")) or likely.get(language)
    return f"{language}-{whole.rpartition('_')[2]}" if whole else code


def _padded(name: str) -> str:
    """Return a name with numbers of equal length: slide2 comes before slide10."""
    return _NUMBER.sub(lambda found: found[0].zfill(9), name)


def _write(archive: ZipFile, info: ZipInfo, content: bytes) -> None:
    fresh = ZipInfo(info.filename, info.date_time)
    fresh.external_attr = info.external_attr
    archive.writestr(fresh, content, ZIP_STORED if info.compress_type == ZIP_STORED else ZIP_DEFLATED)


def _read(data: bytes) -> list[tuple[ZipInfo, bytes]]:
    """Return all entries of an archive with safe names and a limited unpacked size. Raises FileError otherwise."""
    try:
        with ZipFile(BytesIO(data)) as archive:
            entries = archive.infolist()
            if len(entries) > ENTRIES:
                raise FileError(f"the file has more than {ENTRIES} parts")
            if sum(entry.file_size for entry in entries) > _UNPACKED:
                raise FileError(f"the file unpacks to more than {_UNPACKED >> 20} MiB")
            return [(entry, _content(archive, entry)) for entry in entries]
    except _BROKEN as error:
        raise FileError("the file is broken or is not what its name says") from error


def _content(archive: ZipFile, entry: ZipInfo) -> bytes:
    name = entry.filename.replace("\\", "/")
    if name.startswith("/") or ".." in name.split("/") or "\0" in name:
        raise FileError("the file has a part whose name leads out of it")
    if entry.flag_bits & 0x1:
        raise FileError("the file is encrypted")
    if entry.file_size > _SMALL and entry.file_size > _RATIO * max(1, entry.compress_size):
        raise FileError("the file is packed too tightly to be a document")
    content = archive.read(entry)  # never more bytes than the entry declares
    if name.endswith((".xml", ".rels")) and (b"<!DOCTYPE" in content or b"<!ENTITY" in content):
        raise FileError("the file declares entities of its own")
    return content
