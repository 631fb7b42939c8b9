"""Word, PowerPoint and Excel files (Office Open XML, ISO 29500): paragraphs, notes, tables, comments, cells."""

import re

from regard.documents.files.package import PackageKind, language_tag
from regard.documents.files.paragraphs import Dialect
from regard.documents.files.xml_source import with_attributes

_SCHEMAS = ("http://schemas.openxmlformats.org/{}/2006/main", "http://purl.oclc.org/ooxml/{}/main")  # usual and strict
_PREFIXES = {"w": "wordprocessingml", "a": "drawingml", "x": "spreadsheetml"}
_DIALECT = Dialect(
    namespaces={form.format(name): prefix for prefix, name in _PREFIXES.items() for form in _SCHEMAS},
    paragraphs=frozenset({"w:p", "a:p", "x:si", "x:is", "x:text"}),
    roles={
        **dict.fromkeys(("w:hyperlink", "w:ins", "w:smartTag"), "container"),
        **dict.fromkeys(("w:tab", "w:br", "w:cr", "w:ptab", "a:br"), "break"),
        **dict.fromkeys(("w:proofErr", "w:lastRenderedPageBreak", "x:rPh", "x:phoneticPr"), "noise"),
        **dict.fromkeys(("w:pPr", "a:pPr"), "head"),
        "a:endParaRPr": "tail",
    },
    invisible=re.compile(r"<w:(?:lang|noProof)\b[^<>]*/>|\s(?:lang|altLang|dirty|err|smtClean|noProof)=\"[^\"<>]*\""),
    runs={"w": ' xml:space="preserve"', "a": "", "x": ' xml:space="preserve"'},
    lines=frozenset({"x:si", "x:is", "x:text"}),
)
_LABELLED = re.compile(r"<(?:w:lang|a:(?:r|endParaR|defR)Pr)\b[^<>]*>")
_EASTERN = frozenset({"zh", "ja", "ko"})  # Word stores the language of these scripts separately


def _relabelled(part: str, source: str, target: str) -> str:
    """Change language labels from source to target, for the spelling check."""
    name, language = language_tag(target), target.partition("-")[0]

    def changed(found: re.Match[str]) -> str:
        tag = found[0]
        key, eastern = ("w:val", "w:eastAsia") if tag.startswith("<w:") else ("lang", "")
        label = re.search(rf'\s{key}="([A-Za-z]+)', tag)
        if label is None or label[1].lower() != source.partition("-")[0]:
            return tag
        return with_attributes(tag, {key: name, **({eastern: name} if eastern and language in _EASTERN else {})})

    return _LABELLED.sub(changed, part)


def _kind(name: str, vocabulary: str, parts: str, names: bytes | None = None) -> PackageKind:
    return PackageKind(
        name=f"{name} document",
        place="[Content_Types].xml",
        content=f".{vocabulary}.".encode(),
        dialect=_DIALECT,
        parts=re.compile(parts),
        paragraphs=re.compile(rb"<(?:\w+:)?(?:p|si|is|text)[\s>]"),
        relabelled=_relabelled,
        names=re.compile(names) if names else None,
    )


OFFICE = {
    ".docx": _kind("Word", "wordprocessingml", r"(?!docProps/|customXml/|word/glossary/).*\.xml"),
    ".pptx": _kind("PowerPoint", "presentationml", r"ppt/(?!\w*(?:Masters|Layouts)/).*\.xml"),
    ".xlsx": _kind(
        "Excel", "spreadsheetml", r"xl/.*\.xml", rb'<(?:\w+:)?(?:tableColumn|cacheField)\s[^<>]*?\bname="([^"<>]*)"'
    ),
}
