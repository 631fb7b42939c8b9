"""Presentations, workbooks and OpenDocument files: only their text changes."""

import re

import pytest
from hostile import all_translated, shouted
from office_files import opendocument, packed, pptx, types, unpacked, xlsx

from regard.documents.files import FileError, file_document
from regard.results import Prediction


def loud(data, suffix, **pair):
    found = file_document(data, suffix)
    return unpacked(found.rebuild(shouted(found.texts), pair.get("pair")))


def same(data, suffix):
    found = file_document(data, suffix)
    return unpacked(found.rebuild([Prediction(text, text, 0.0) for text in found.texts]))


def run(text, properties=""):
    return f"<a:r>{properties}<a:t>{text}</a:t></a:r>"


BOLD = '<a:rPr lang="en-US" b="1" dirty="0"/>'
PLAIN = '<a:rPr lang="en-US" dirty="0"/>'
SLIDE = (
    f'<a:p><a:pPr algn="ctr"/>{run("Some ", PLAIN)}{run("bold", BOLD)}{run(" text &amp; more.", PLAIN)}<a:br/>'
    f'{run("Next ", PLAIN)}<a:fld id="1" type="slidenum"><a:t>7</a:t></a:fld><a:endParaRPr lang="en-US"/></a:p>'
)
NOTES = f"<x xmlns:a='http://schemas.openxmlformats.org/drawingml/2006/main'><a:p>{run('Notes')}</a:p></x>"


def test_slides_keep_runs_breaks_and_fields():
    data = pptx(SLIDE, ppt__notesSlides__n1=NOTES, ppt__slideLayouts__l1=NOTES)
    assert file_document(data, ".pptx").texts == ["Notes", "Some bold text & more.", "Next"]
    out, old = loud(data, ".pptx"), unpacked(data)
    assert out["ppt/slides/slide1.xml"].decode() == old["ppt/slides/slide1.xml"].decode().replace(
        "Some ", "SOME "
    ).replace(">bold<", ">BOLD<").replace(" text &amp; more.", " TEXT &amp; MORE.").replace("Next <", "NEXT <")
    assert b"<a:t>NOTES</a:t>" in out["ppt/notesSlides/n1.xml"]
    assert out["ppt/slideLayouts/l1.xml"] == old["ppt/slideLayouts/l1.xml"]
    assert b'lang="de-DE" b="1"' in loud(data, ".pptx", pair=("en", "de"))["ppt/slides/slide1.xml"]


@pytest.mark.parametrize("seed", range(40))
def test_slides_stay_valid_whatever_is_translated(seed):
    found = file_document(pptx(SLIDE), ".pptx")
    out = unpacked(found.rebuild(all_translated(found.texts, seed)))["ppt/slides/slide1.xml"].decode()
    inside = out[out.index("<a:p>") : out.index("</a:p>")]
    assert inside.startswith('<a:p><a:pPr algn="ctr"/>') and inside.endswith('<a:endParaRPr lang="en-US"/>')
    for part in ("<a:br/>", '<a:fld id="1" type="slidenum"><a:t>7</a:t></a:fld>', "<a:pPr"):
        assert inside.count(part) == 1
    assert re.sub(r"</?a:\w+[^>]*>", "", inside).count("<") == 0


STRINGS = (
    "<si><t>Price</t></si><si><t>A red apple</t></si><si><t xml:space='preserve'>One\nTwo </t></si>"
    "<si><r><t xml:space='preserve'>Very </t></r><r><rPr><b/></rPr><t>big</t></r><rPh sb='0' eb='1'><t>x</t></rPh></si>"
)
CELLS = (
    '<c r="A1" t="s"><v>0</v></c><c r="B1"><f>"Price"&amp;A1</f><v>3</v></c><c t="inlineStr"><is><t>Inline</t></is></c>'
)
TABLE = '<table><tableColumns><tableColumn id="1" name="Price"/></tableColumns></table>'


def test_workbooks_keep_formulas_numbers_and_names_of_columns():
    data = xlsx(STRINGS, CELLS, xl__tables__table1=TABLE)
    assert file_document(data, ".xlsx").texts == ["A red apple", "One", "Two", "Very big", "Inline"]
    out, old = loud(data, ".xlsx"), unpacked(data)
    strings = out["xl/sharedStrings.xml"].decode()
    keep = '<t xml:space="preserve">'
    for wanted in (
        "<si><t>Price</t></si>",
        f"<si>{keep}A RED APPLE</t></si>",
        f"<si>{keep}ONE\nTWO </t></si>",
        f"<si><r>{keep}VERY </t></r><r><rPr><b/></rPr>{keep}BIG</t></r></si>",
    ):
        assert wanted in strings
    sheet = old["xl/worksheets/sheet1.xml"].decode()
    assert out["xl/worksheets/sheet1.xml"].decode() == sheet.replace("<t>Inline", f"{keep}INLINE")
    assert file_document(xlsx(STRINGS), ".xlsx").texts[0] == "Price"


TEXT = (
    "<text:tracked-changes><text:p>Deleted</text:p></text:tracked-changes>"
    '<text:h text:outline-level="1">A heading</text:h>\n<text:p text:style-name="P1">Some '
    '<text:span text:style-name="T1">bold</text:span> words<text:note text:id="f1"><text:note-citation>1'
    "</text:note-citation><text:note-body><text:p>The note.</text:p></text:note-body></text:note>\n"
    'and<text:s text:c="2"/>more.<text:tab/>Next <text:a href="x">link</text:a><text:bookmark text:name="b"/>'
    '</text:p><table:table><table:table-cell office:value-type="string"><text:p>Cell</text:p></table:table-cell>'
    '<table:table-cell office:value-type="date"><text:p>1 January</text:p></table:table-cell><table:table-cell '
    'table:formula="x" office:value-type="string"><text:p>Made</text:p></table:table-cell></table:table>'
)
LABELS = '<a fo:language="en" fo:country="US" style:language-asian="ja" style:country-asian="JP" xmlns:fo="fo"/>'


def test_texts_keep_spans_notes_and_cells():
    data = opendocument(TEXT, styles=f"{LABELS}<style:header><text:p>Top</text:p></style:header>")
    assert file_document(data, ".odt").texts == [
        "A heading", "The note.", "Some bold words and more.", "Next link", "Cell", "Top"
    ]  # fmt: skip
    out, old = loud(data, ".odt", pair=("en", "de")), unpacked(data)
    wanted = old["content.xml"].decode()
    for text in (
        "A heading",
        "The note.",
        "Some ",
        ">bold<",
        " words",
        "and",
        "more.",
        "Next ",
        ">link<",
        ">Cell<",
        "Top",
    ):
        wanted = wanted.replace(text, text.upper())
    assert out["content.xml"].decode() == wanted.replace("\nAND<", " AND<").replace('<text:s text:c="2"/>', " ")
    assert b'fo:language="de" fo:country="DE" style:language-asian="ja"' in out["styles.xml"]
    assert b"<text:p>TOP</text:p>" in out["styles.xml"]
    assert list(out) == list(old) and out["Pictures/a.png"] == old["Pictures/a.png"]
    assert b'asian="zh" style:country-asian="CN"' in loud(data, ".odt", pair=("en", "zh-Hans"))["styles.xml"]


@pytest.mark.parametrize(
    ("data", "suffix"), [(pptx(SLIDE), ".pptx"), (xlsx(STRINGS, CELLS), ".xlsx"), (opendocument(TEXT), ".odt")]
)  # fmt: skip
def test_unchanged_text_is_the_same_text(data, suffix):
    def plain(part):
        return " ".join(re.sub(rb"<[^>]+>", b"", part).decode("utf-8", "replace").split())

    def texts(parts):
        return [
            plain(part.replace(b"<text:s", b" <text:s").replace(b"<rPh sb='0' eb='1'><t>x", b""))
            for part in parts.values()
        ]

    assert texts(same(data, suffix)) == texts(unpacked(data))


@pytest.mark.parametrize("kind", ["presentation", "spreadsheet"])
def test_other_files_of_libreoffice(kind):
    data = opendocument(TEXT, kind)
    suffix = {"presentation": ".odp", "spreadsheet": ".ods"}[kind]
    assert "Cell" in file_document(data, suffix).texts
    assert loud(data, suffix)["mimetype"] == f"application/vnd.oasis.opendocument.{kind}".encode()


def tags(part):
    return sorted(tag.split()[0].strip("</>") for tag in re.findall(r"<[^!?][^>]*>", part) if "text:s " not in tag)


@pytest.mark.parametrize("seed", range(40))
def test_tags_of_texts_are_kept(seed):
    data = opendocument(TEXT)
    found = file_document(data, ".odt")
    out = unpacked(found.rebuild(all_translated(found.texts, seed)))["content.xml"].decode()
    assert tags(out) == tags(unpacked(data)["content.xml"].decode())
    again = file_document(packed({**unpacked(data), "content.xml": out.encode()}), ".odt")
    assert again.rebuild(shouted(again.texts))


WRONG = {
    "other kind": (xlsx(STRINGS), ".pptx"),
    "text": (opendocument(TEXT), ".ods"),
    "open": (packed({"[Content_Types].xml": types("presentationml.presentation"), "ppt/a.xml": "<p ><a:p>"}), ".pptx"),
    "deep": (pptx("<a:p>" * 300 + "</a:p>" * 300), ".pptx"),
    "entity": (pptx("<a:p>&x;</a:p>"), ".pptx"),
    "declared": (
        packed({"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": "<!DOCTYPE a>"}),
        ".odt",
    ),
    "bomb": (packed({"mimetype": "application/vnd.oasis.opendocument.text", "x": b"\0" * (60 << 20)}), ".odt"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_archives_are_refused_in_one_line(name):
    with pytest.raises(FileError) as found:
        file_document(*WRONG[name])
    assert "\n" not in str(found.value)
