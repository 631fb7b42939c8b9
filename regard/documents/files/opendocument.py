"""Texts, presentations and tables of LibreOffice (OpenDocument, ISO 26300): paragraphs, notes, tables, headers."""

import re

from regard.documents.files.package import PackageKind, language_tag
from regard.documents.files.paragraphs import Dialect

_OASIS = "urn:oasis:names:tc:opendocument:xmlns:{}:1.0"
_NO_TEXT = {"table:formula": r"(?s).+", "office:value-type": "(?!string$).+"}  # of a cell
_DIALECT = Dialect(
    namespaces={_OASIS.format(name): name for name in ("text", "table", "office")},
    paragraphs=frozenset({"text:p", "text:h"}),
    roles={
        **dict.fromkeys(("text:span", "text:a", "text:meta", "text:ruby", "text:ruby-base"), "container"),
        **dict.fromkeys(("text:tab", "text:line-break"), "break"),
        "text:s": "space",
        "text:soft-page-break": "noise",
    },
    invisible=re.compile("(?!)"),  # formats are elements, not properties
    excluded={
        "text:tracked-changes": {},
        "table:table-cell": _NO_TEXT,
        "table:covered-table-cell": _NO_TEXT,
    },
)
_LABEL = re.compile(r'(fo:language=")([A-Za-z]+)("\s+fo:country=")([A-Za-z]+)(?=")')
_EASTERN_LABEL = re.compile(r'(style:language-asian=")([A-Za-z]+)("\s+style:country-asian=")([A-Za-z]+)(?=")')


def _relabelled(part: str, source: str, target: str) -> str:
    """Change language labels from source to target, for the spelling check."""
    language, _, country = language_tag(target).partition("-")

    def changed(found: re.Match[str]) -> str:
        same = found[2].lower() == source.partition("-")[0] or found.re is _EASTERN_LABEL
        return f"{found[1]}{language}{found[3]}{country or 'none'}" if same else found[0]

    return (_EASTERN_LABEL if language in ("zh", "ja", "ko") else _LABEL).sub(changed, part)


def _kind(name: str, parts: str) -> PackageKind:
    return PackageKind(
        name=f"file of {name}",
        place="mimetype",
        content=f"application/vnd.oasis.opendocument.{name}".encode(),
        dialect=_DIALECT,
        parts=re.compile(rf"(?:[^/]+/)?(?:{parts})\.xml"),
        paragraphs=re.compile(rb"<text:[ph][\s>]"),
        relabelled=_relabelled,
    )


OPENDOCUMENT = {
    ".odt": _kind("text", "content|styles"),
    ".odp": _kind("presentation", "content"),
    ".ods": _kind("spreadsheet", "content|styles"),
}
