"""Small files of office programs, written by hand."""

import io
import zipfile
from collections.abc import Mapping

SCHEMA = "http://schemas.openxmlformats.org"
DRAWING = f'xmlns:a="{SCHEMA}/drawingml/2006/main"'
SHEET = f'xmlns="{SCHEMA}/spreadsheetml/2006/main"'
OASIS = "urn:oasis:names:tc:opendocument:xmlns"
ODF = " ".join(f'xmlns:{name}="{OASIS}:{name}:1.0"' for name in ("office", "text", "table", "draw", "style"))


def packed(entries: Mapping[str, bytes | str], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """An archive."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", method) as file:
        for name, content in entries.items():
            file.writestr(name, content, zipfile.ZIP_STORED if name == "mimetype" else None)
    return data.getvalue()


def unpacked(data: bytes) -> dict[str, bytes]:
    """The parts of an archive."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return {name: file.read(name) for name in file.namelist()}


def types(vocabulary: str) -> str:
    """The list of content types."""
    main = f"application/vnd.openxmlformats-officedocument.{vocabulary}.main+xml"
    return f'<Types><Override PartName="/x.xml" ContentType="{main}"/></Types>'


def pptx(paragraphs: str, **parts: str) -> bytes:
    """Slides whose first one has these paragraphs, further parts by their paths with __ for /."""
    slide = f'<p:sld xmlns:p="{SCHEMA}/presentationml/2006/main" {DRAWING}><p:txBody>{paragraphs}</p:txBody></p:sld>'
    others = {f"{name.replace('__', '/')}.xml": part for name, part in parts.items()}
    return packed({
        "[Content_Types].xml": types("presentationml.presentation"), "ppt/slides/slide1.xml": slide, **others
    })  # fmt: skip


def xlsx(strings: str, sheet: str = "", **parts: str) -> bytes:
    """A workbook with these shared strings and cells."""
    others = {f"{name.replace('__', '/')}.xml": part for name, part in parts.items()}
    return packed({
        "[Content_Types].xml": types("spreadsheetml.sheet"),
        "xl/sharedStrings.xml": f"<sst {SHEET}>{strings}</sst>",
        "xl/worksheets/sheet1.xml": f'<worksheet {SHEET}><sheetData><row r="1">{sheet}</row></sheetData></worksheet>',
        **others,
    })  # fmt: skip


def opendocument(body: str, kind: str = "text", styles: str = "") -> bytes:
    """A text, presentation or spreadsheet of LibreOffice."""
    return packed({
        "mimetype": f"application/vnd.oasis.opendocument.{kind}",
        "content.xml": f"<?xml version='1.0'?>\n<office:document-content {ODF}><office:body>{body}</office:body>"
        "</office:document-content>",
        "styles.xml": f"<office:document-styles {ODF}>{styles}</office:document-styles>",
        "Pictures/a.png": b"\x89PNG\0\1",
    })  # fmt: skip
