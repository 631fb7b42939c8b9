"""Translated files are of the same kind and keep their formatting."""

import io
import struct
import zipfile

import docx
import pytest
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from hostile import all_translated, shouted
from office_files import packed, unpacked
from processor_time import within

from regard.documents.files import SUFFIXES, FileError, base, file_document
from regard.documents.files.package import ENTRIES
from regard.documents.files.srt import wrap_lines
from regard.documents.size_budget import TooLarge
from regard.errors import RegardError
from regard.results import Prediction

SRT = (
    "1\n00:00:01,000 --> 00:00:02,500\n<i>Hello my friend,</i>\nhow are you?\n\n"
    "2\n00:00:03,000 --> 00:00:04,000\n- Fine, C:\\new {\\an8}\n- And <b>you</b>?\n\n"
    "3\n00:00:05,000 --> 00:00:06,000\n♪ ♪\n\n"
)


def loud(data: bytes, suffix: str) -> bytes:
    found = file_document(data, suffix)
    return found.rebuild(shouted(found.texts))


def word(build) -> bytes:
    document = docx.Document()
    build(document)
    data = io.BytesIO()
    document.save(data)
    return data.getvalue()


def test_kinds():
    assert {".txt", ".srt", ".html", ".md", ".docx", ".pptx", ".xlsx", ".odt", ".xlf", ".po"} < {*SUFFIXES}
    with pytest.raises(FileError, match=r"'\.pdf' cannot be translated"):
        file_document(b"", ".pdf")
    assert issubclass(FileError, RegardError)
    assert file_document(b"Hi there", ".TXT").texts == ["Hi there"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_text_file_keeps_its_encoding(encoding):
    data = "Straße.\r\n\r\n  Zwei!\n".encode(encoding)
    assert loud(data, ".txt") == "STRASSE.\r\n\r\n  ZWEI!\n".encode(encoding)


@pytest.mark.parametrize("data", [b"\xff\xfe\x00", b"caf\xe9", b"\x89PNG\r\n\x1a\n\xff"])
def test_bytes_that_are_not_text_are_refused(data):
    with pytest.raises(FileError, match="save it as UTF-8"):
        file_document(data, ".txt")


def test_page_keeps_its_encoding_with_references():
    data = '<meta charset="latin1"><p>café here'.encode("latin1")
    found = file_document(data, ".html")
    answer = shouted(found.texts)[0]
    assert found.rebuild([type(answer)(found.texts[0], "你好 café", 0.0)]) == data.replace(
        b"caf\xe9 here", b"&#20320;&#22909; caf\xe9"
    )


def test_page_names_the_encoding_that_is_written():
    found = file_document(b"<meta content='text/html; charset=latin1'><p>coffee", ".html")
    written = found.rebuild([Prediction("coffee", "caf\xe9 \u5496", 0.0)])
    assert written.decode() == "<meta content='text/html; charset=UTF-8'><p>caf\xe9 \u5496"


@pytest.mark.parametrize("name", [b"nonsense", b"undefined", b"punycode", b"idna", b"utf-8", b"base64"])
def test_undecodable_page_is_refused(name):
    with pytest.raises(FileError, match="save it as UTF-8"):
        file_document(b"<meta charset=" + name + b">\xff", ".html")


def test_subtitles():
    assert file_document(SRT.encode(), ".srt").texts == [
        "Hello my friend, how are you?",
        "Fine, C:\\new",
        "And you?",
    ]
    wanted = (
        SRT.replace("Hello my friend,", "HELLO MY FRIEND,").replace("how are you", "HOW ARE YOU")
        .replace("Fine, C:\\new", "FINE, C:\\NEW").replace("And <b>you", "AND <b>YOU")
    )  # fmt: skip
    assert loud(SRT.encode(), ".srt").decode() == wanted
    assert loud(SRT.replace("\n", "\r\n").encode(), ".srt").decode() == wanted.replace("\n", "\r\n")


def test_subtitles_keep_their_places_dashes_and_notes():
    text = (
        "1\n00:00:01,000 --> 00:00:03,000 X1:10 Y2:5\n- A dog runs.\n- A girl plays.\n\n"
        "2\n00:00:04,000 --> 00:00:05,000\n<i>♪ la di da ♪</i>\n\n"
    )
    assert loud(text.encode(), ".srt").decode() == (
        text.replace("A dog runs", "A DOG RUNS").replace("A girl plays", "A GIRL PLAYS").replace("la di da", "LA DI DA")
    )


@pytest.mark.parametrize("data", [b"", b"hello", b"1\n2\n3\n", b"\n" * 100_000, b"1\n00:00:01,000 -->\n"])
def test_text_without_subtitles_is_refused(data):
    with pytest.raises(FileError):
        file_document(data, ".srt")


@pytest.mark.parametrize("seed", range(12))
def test_subtitles_keep_times_and_tags(seed):
    found = file_document(SRT.encode(), ".srt")
    out = found.rebuild(all_translated(found.texts, seed)).decode("utf-8", "replace")
    assert [line for line in out.split("\n") if "-->" in line][:1] == ["00:00:01,000 --> 00:00:02,500"]
    for tag in ("<i>", "</i>", "{\\an8}"):
        assert out.count(tag) == 1


HOSTILE = ("x" + "\n" * 100_000 + "y", "\n1" * 50_000, "<" * 100_000, "{" * 100_000, "<i " * 33_000, "1" * 100_000)


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: repr(text[:4]))
def test_hostile_subtitles_take_little_time(text):
    start = "1\n00:00:01,000 --> 00:00:02,000\n"

    def read_or_refused():
        try:
            loud((start + text).encode(), ".srt")
        except FileError as refused:
            assert "2000 characters" in str(refused)

    within(2.0, read_or_refused)


def paragraphs(paragraph: bytes) -> bytes:
    """A Word document with a million bytes of equal paragraphs."""
    entries = unpacked(word(lambda document: document.add_paragraph("Hello")))
    place = "word/document.xml"
    entries[place] = entries[place].replace(b"<w:sectPr", filled(paragraph) + b"<w:sectPr", 1)
    return packed(entries, zipfile.ZIP_STORED)


def crowded(content: bytes, count: int) -> bytes:
    """A Word document with this beside the paragraph of each of many parts."""
    entries = unpacked(word(lambda document: document.add_paragraph("Hello")))
    begin, end = entries["word/document.xml"].split(b"<w:p>", 1)
    part = begin + content + b"<w:p>" + end
    return packed(entries | {f"word/footer{number}.xml": part for number in range(count)})


def filled(part: bytes) -> bytes:
    return part * (1_000_000 // len(part))


RUN = b"<w:r><w:t>a</w:t></w:r>"
CROWDS = {
    "lines": (".txt", lambda: filled(b"a\n")),
    "lines of digits": (".txt", lambda: filled(b"1\n")),
    "sentences of one line": (".txt", lambda: filled(b"A b. ")),
    "numbers": (".txt", lambda: filled(b"1 ")),
    "blocks": (".html", lambda: filled(b"<p>")),
    "blocks with words": (".html", lambda: filled(b"<p>a")),
    "nested": (".html", lambda: filled(b"<b>")),
    "points": (".html", lambda: filled(b"a<img>")),
    "kept": (".html", lambda: b"<code>" + filled(b"<b></b>")),
    "subtitles": (".srt", lambda: filled(b"1\n00:00:01,000 --> 00:00:02,000\na\n\n")),
    "tags": (".srt", lambda: (b"1\n00:00:01,000 --> 00:00:02,000\n" + b"<i>" * 600 + b"\n\n") * 500),
    "paragraphs": (".docx", lambda: paragraphs(b"<w:p/>")),
    "paragraphs with words": (".docx", lambda: paragraphs(b"<w:p>" + RUN + b"</w:p>")),
    "runs": (".docx", lambda: paragraphs(b"<w:p>" + RUN * 20_000 + b"</w:p>")),
    "strangers in many parts": (".docx", lambda: crowded(b"<a/>" * 10_000, 12)),
    "strangers": (".docx", lambda: paragraphs(b"<w:p>" + b"<a/>" * 200_000 + b"</w:p>")),
}


@pytest.mark.parametrize("name", CROWDS)
def test_too_large_file_is_refused_early(name, monkeypatch):
    monkeypatch.setattr(base, "MOST_SENTENCES", 2_000)
    monkeypatch.setattr(base, "MARKS", 20_000)
    monkeypatch.setattr(base, "XML_TOKENS", 200_000)
    suffix, made = CROWDS[name]
    data = made()

    def refused():
        with pytest.raises(TooLarge, match="the file has more than 2"):
            file_document(data, suffix)

    within(1.5, refused)


def test_largest_files_are_read_quickly():
    assert within(6.0, lambda: loud(b"a\n" * base.MOST_SENTENCES, ".txt")) == b"A\n" * base.MOST_SENTENCES
    count = base.MARKS // 2 - 1
    page = b"<b>" * count + b"a" + b"</b>" * count
    assert within(12.0, lambda: loud(page, ".html")) == page.replace(b">a<", b">A<")


def test_thousands_of_subtitles():
    subtitles = ("1\n00:00:01,000 --> 00:00:02,000\n{a\n\n" * 3_000).encode()
    written = within(5.0, lambda: loud(subtitles, ".srt"))
    assert written.count(b" --> ") == 3_000


def test_wrapping():
    assert wrap_lines("one two three four", 2) == "one two\nthree four"
    assert wrap_lines("<i>one two</i> three four", 2) == "<i>one two</i>\nthree four"
    assert wrap_lines("今天天气很好", 2) == "今天天\n气很好"
    assert wrap_lines("word", 3) == "word" and wrap_lines("", 2) == "" and wrap_lines("a b", 1) == "a b"


def test_word_files_keep_formats_tables_and_headers():
    def build(document):
        paragraph = document.add_paragraph("Hello ")
        paragraph.add_run("bold").bold = True
        paragraph.add_run(" world. Second sentence\tTab here.")
        document.add_heading("A title", 2)
        table = document.add_table(1, 2)
        table.cell(0, 0).text, table.cell(0, 1).text = "cell one", "12"
        document.sections[0].header.paragraphs[0].text = "My header {name}"

    data = word(build)
    found = file_document(data, ".docx")
    assert found.texts == ["Hello bold world.", "Second sentence", "Tab here.", "A title", "cell one", "My header"]
    assert found.explain
    out = docx.Document(io.BytesIO(found.rebuild(shouted(found.texts))))
    assert [(run.text, run.bold) for run in out.paragraphs[0].runs if run.bold] == [("BOLD", True)]
    assert out.paragraphs[0].text == "HELLO BOLD WORLD. SECOND SENTENCE\tTAB HERE."
    assert out.paragraphs[1].style.name == "Heading 2"
    assert [cell.text for cell in out.tables[0].row_cells(0)] == ["CELL ONE", "12"]
    assert out.sections[0].header.paragraphs[0].text == "MY HEADER {name}"
    again = docx.Document(io.BytesIO(found.rebuild(shouted(found.texts))))
    assert [each.text for each in again.paragraphs] == [each.text for each in out.paragraphs]


def linked(document):
    """A paragraph with a link, a field, a drawing's place and an insertion of another writer."""
    paragraph = document.add_paragraph("See ")
    link = OxmlElement("w:hyperlink")
    link.set(qn("w:anchor"), "there")
    inside = paragraph.add_run("this place")
    inside.italic = True
    link.append(inside._r)
    paragraph._p.append(link)
    paragraph.add_run(" on page ")
    for kind in ("begin", None, "separate", "text", "end"):
        run = paragraph.add_run("7" if kind == "text" else "")
        if kind is None:
            code = OxmlElement("w:instrText")
            code.text = " PAGEREF x "
            run._r.append(code)
        elif kind != "text":
            mark = OxmlElement("w:fldChar")
            mark.set(qn("w:fldCharType"), kind)
            run._r.append(mark)
    paragraph.add_run(" or later.")


@pytest.mark.parametrize("seed", range(12))
def test_word_links_and_fields_stay_whole(seed):
    found = file_document(word(linked), ".docx")
    assert found.texts == ["See this place on page or later."]
    out = docx.Document(io.BytesIO(found.rebuild(all_translated(found.texts, seed))))
    paragraph = out.paragraphs[0]._p
    assert [link.get(qn("w:anchor")) for link in paragraph.iter(qn("w:hyperlink"))] == ["there"]
    assert [mark.get(qn("w:fldCharType")) for mark in paragraph.iter(qn("w:fldChar"))] == ["begin", "separate", "end"]
    order = [each.tag for each in paragraph.iter(qn("w:fldChar"), qn("w:instrText"))]
    assert order == [qn("w:fldChar"), qn("w:instrText"), qn("w:fldChar"), qn("w:fldChar")]


def test_word_file_without_letters_is_kept():
    data = word(lambda document: document.add_paragraph("12 😀"))
    assert docx.Document(io.BytesIO(file_document(data, ".docx").rebuild([]))).paragraphs[0].text == "12 😀"


@pytest.mark.parametrize(
    ("target", "said"), [("de", ("de-DE", None)), ("zh-Hans", ("zh-CN", "zh-CN")), ("xx", ("xx", None))]
)
def test_word_file_language_label_is_updated(target, said):
    def build(document):
        for code in ("en-US", "fr-FR"):
            lang = OxmlElement("w:lang")
            lang.set(qn("w:val"), code)
            document.add_paragraph().add_run("Hello").element.get_or_add_rPr().append(lang)

    found = file_document(word(build), ".docx")
    out = docx.Document(io.BytesIO(found.rebuild(shouted(found.texts), ("en", target))))
    langs = [each for each in out.element.iter(qn("w:lang"))]
    assert (langs[0].get(qn("w:val")), langs[0].get(qn("w:eastAsia"))) == said
    assert langs[1].get(qn("w:val")) == "fr-FR"


def understated(data: bytes) -> bytes:
    """The same archive, whose directory declares only a hundred bytes."""
    place = data.rindex(b"PK\x01\x02")
    return data[: place + 24] + struct.pack("<I", 100) + data[place + 28 :]


BOMBS = {
    "zeros": packed({"word/document.xml": b"\0" * (60 << 20)}),
    "too large": packed({f"word/{number}.xml": b"\0" * (9 << 20) for number in range(8)}),
    "many parts": packed({f"word/{number}.xml": b"" for number in range(ENTRIES + 1)}),
    "leads out": packed({"../../etc/passwd": b"x"}),
    "absolute": packed({"/etc/passwd": b"x"}),
    "entities": packed({"word/document.xml": b'<!DOCTYPE a [<!ENTITY b "bbbb">]><a>&b;</a>'}),
    "understated": understated(packed({"word/document.xml": b"\0" * (30 << 20)})),
    "no document": packed({"a.xml": b"<a/>"}),
    "empty": packed({}),
    "nothing": b"",
    "text": b"hello",
    "cut off": packed({"word/document.xml": b"<a/>"})[:-30],
    "nested": packed({"inner.zip": packed({"a": b"\0" * (1 << 20)})}),
}


@pytest.mark.parametrize("name", BOMBS)
def test_hostile_archives_are_refused_in_one_line(name):
    def refused():
        with pytest.raises(FileError) as found:
            file_document(BOMBS[name], ".docx")
        return str(found.value)

    assert "\n" not in within(4.0, refused)


def chained(length: int) -> bytes:
    """A document whose header has a header, and so on."""
    kinds = "http://schemas.openxmlformats.org/package/2006/"
    header = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/header"
    entries = unpacked(word(lambda document: document.add_paragraph("Hello")))
    first = b'Id="rId900" Type="%b" Target="h0.xml"/></Relationships>' % header.encode()
    place = "word/_rels/document.xml.rels"
    entries[place] = entries[place].replace(b"</Relationships>", b"<Relationship " + first)
    for number in range(length):
        entries[f"word/h{number}.xml"] = b"<a/>"
        link = f'<Relationship Id="r" Type="{header}" Target="h{number + 1}.xml"/>' if number + 1 < length else ""
        entries[f"word/_rels/h{number}.xml.rels"] = (
            f'<Relationships xmlns="{kinds}relationships">{link}</Relationships>'.encode()
        )
    return packed(entries)


def test_word_file_with_chained_parts():
    assert file_document(chained(3), ".docx").texts == ["Hello"]
    assert file_document(chained(990), ".docx").texts == ["Hello"]


@pytest.mark.parametrize("seed", range(40))
def test_a_damaged_word_file_is_refused_or_read(seed):
    data = bytearray(word(linked))
    for step in range(5):
        data[(seed * 7919 + step * 104729) % len(data)] ^= 1 << (seed % 8)
    try:
        found = file_document(bytes(data), ".docx")
    except FileError:
        return
    assert found.rebuild(shouted(found.texts))


def test_half_a_surrogate_pair_in_a_subtitle_is_written():
    found = file_document(SRT.encode(), ".srt")
    written = found.rebuild([Prediction(text, "\ud800!", 0.0) for text in found.texts])
    assert b"?!" in written
