"""Mutated files of each kind are translated with the same tags, or refused in one line; hostile text is quick."""

import random
import re
import time
from collections import Counter
from contextlib import suppress
from html.parser import HTMLParser

import pytest
from hostile import BAD, all_translated, shouted
from lxml import etree
from office_files import DRAWING, SCHEMA, opendocument, packed, pptx, types, unpacked, xlsx

from regard.documents.files import SUFFIXES, FileError, file_document
from regard.documents.size_budget import TooLarge
from regard.errors import DataError
from regard.memory.files import read_units

WORD = f'xmlns:w="{SCHEMA}/wordprocessingml/2006/main"'
RUNS = (
    '<w:p><w:pPr><w:jc w:val="left"/></w:pPr><w:r><w:t xml:space="preserve">One </w:t></w:r><w:r><w:rPr><w:b/></w:rPr>'
    "<w:t>bold</w:t></w:r><w:r><w:t> text.</w:t><w:br/><w:t>Next line &amp; more</w:t></w:r></w:p>"
)
TEXT = "One line. See https://example.org/a_b, 3.5 kg.\n\n- “Two,” said {name}.\n%d files :smile:\n"
SRT = (
    "1\n00:00:01,000 --> 00:00:02,500\n<i>Hello</i> there.\n- Go!\n\n"
    "2\n00:00:03,000 --> 00:00:04,000\n{\\an8}Bye\nnow.\n"
)
HTML = (
    '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Title</title><style>p {a: b}</style></head>\n'
    '<body><p class="x">One <b>bold <i>word</i></b> &amp; 3&nbsp;m.<br>Next</p><img src="a.png" alt="A dog">'
    "<!-- note --><ul><li>First</li><li>Second <a href='b?x=1&amp;y=2'>link</a>.</li></ul>"
    "<script>a < b</script></body></html>"
)
MARKDOWN = (
    '---\ntitle: A\n---\n\n# Head *one*\n\nSome **bold** text with `code` and [a link](http://a.example "t").\n'
    "More.\n\n"
    "> Quote\n\n1. First\n2. Second ~~gone~~\n\n| a | b |\n|---|---|\n| x_y | <b>z</b> |\n\n"
    "```py\nx = 1\n```\n![alt](p.png)\n"
)
XLIFF = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">'
    '<file source-language="en" target-language="de" original="a"><body><trans-unit id="1"><source>Hello <g id="1">big'
    '</g> world<x id="2"/>.</source></trans-unit><trans-unit id="2"><source>Two</source><target/><note>n</note>'
    '</trans-unit><trans-unit id="3"><source>3 &lt; 4</source><target>3 &lt; 4</target></trans-unit>'
    "</body></file></xliff>\n"
)
XLIFF_2 = (
    '<xliff version="2.0" xmlns="urn:oasis:names:tc:xliff:document:2.0" srcLang="en" trgLang="de"><file id="f">'
    '<unit id="u"><originalData><data id="d">x</data></originalData><segment><source>One <pc id="1">bold</pc> word'
    '<ph id="2" dataRef="d"/>.</source></segment><segment><source>Two</source><target></target></segment>'
    "</unit></file></xliff>"
)
PO = (
    'msgid ""\nmsgstr ""\n"Language: de\\n"\n"Content-Type: text/plain; charset=UTF-8\\n"\n'
    '"Plural-Forms: nplurals=2; plural=(n != 1);\\n"\n\n#: a.c:1\n#, c-format\n'
    'msgctxt "menu"\nmsgid "Open %s"\nmsgstr ""\n\n'
    'msgid "%d file"\nmsgid_plural "%d files"\nmsgstr[0] ""\nmsgstr[1] ""\n\n'
    'msgid "Long \\"text\\"\\n"\n"more"\nmsgstr "L"\n'
)
TMX = (
    '<?xml version="1.0"?>\n<tmx version="1.4"><header srclang="en" segtype="sentence"/><body>'
    '<tu><tuv xml:lang="en"><seg>One '
    '<bpt i="1">b</bpt>dog<ept i="1"/></seg></tuv><tuv xml:lang="de"><seg>Ein Hund</seg></tuv></tu></body></tmx>\n'
)
SLIDE = '<a:p><a:r><a:rPr b="1"/><a:t>Some </a:t></a:r><a:r><a:t>text &amp; more.</a:t></a:r><a:br/></a:p>'
SHEET = "<si><t>Price</t></si><si><r><rPr><b/></rPr><t>Red </t></r><r><t>apple</t></r></si>"
ODT = (
    '<office:text><text:h text:outline-level="1">Head</text:h><text:p>One '
    '<text:span text:style-name="T1">bold</text:span>'
    "<text:s/>word.<text:line-break/>Next</text:p><table:table><table:table-row><table:table-cell><text:p>Cell</text:p>"
    "</table:table-cell></table:table-row></table:table></office:text>"
)
DOCX = packed({
    "[Content_Types].xml": types("wordprocessingml.document"),
    "word/document.xml": f"<w:document {WORD} {DRAWING}><w:body>{RUNS}{RUNS}</w:body></w:document>",
})  # fmt: skip
SAMPLES = {
    "a.txt": TEXT.encode(), "a.srt": SRT.encode(), "a.html": HTML.encode(), "a.md": MARKDOWN.encode(),
    "1.xlf": XLIFF.encode(), "2.xlf": XLIFF_2.encode(), "a.po": PO.encode(), "a.docx": DOCX, "a.pptx": pptx(SLIDE * 2),
    "a.xlsx": xlsx(SHEET, '<c t="s"><v>0</v></c><c t="s"><v>1</v></c>'), "a.odt": opendocument(ODT),
}  # fmt: skip
PIECES = [one.encode("utf-8", "surrogatepass") for one in BAD] + [
    b"\xff",
    b"\0",
    b"\r",
    b'">',
    b"]]>",
    b"<![CDATA[",
    b"_" * 9,
]
TAG = re.compile(rb"</?[A-Za-z][\w:.-]*")
SECONDS = 5.0  # for 100 kB, of which a quadratic rule takes minutes
RAW = re.compile(rb"(?is)<(title|textarea)\b.*?(?:</\1(?=[\s/>])|\Z)")  # of a page: what looks like tags is text
DIVIDED = {b"<text:s", *(b + name for b in (b"<", b"</") for name in (b"w:r", b"w:t", b"w:rpr", b"w:b"))}


class PageTags(HTMLParser):
    """Tags of a page by name; what looks like a tag in an attribute is none."""

    def __init__(self):
        super().__init__()
        self.found = Counter()

    def handle_starttag(self, tag, attrs):
        self.found[tag] += 1

    def handle_endtag(self, tag):
        self.found[f"/{tag}"] += 1


def mutated(data, draws):
    """A text with one to four bytes or parts changed, left out, doubled, exchanged or put in."""
    for _ in range(draws.randint(1, 4)):
        start = draws.randrange(len(data) + 1)
        end = min(start + draws.choice([1, 2, 9, 60]), len(data))
        kind = draws.randrange(6)
        middle = {
            0: b"", 1: data[start:end] * 2, 2: draws.choice(PIECES) + data[start:end], 3: draws.choice(PIECES),
            4: bytes([draws.randrange(256)]) + data[start + 1 : end], 5: data[start:end][::-1],
        }[kind]  # fmt: skip
        data = data[:start] + middle + data[end:]
    return data[: draws.randrange(len(data) + 1)] if draws.random() < 0.05 else data


def mutated_file(data, draws):
    """Of an archive one part is mutated, seldom the archive itself."""
    if not data.startswith(b"PK") or draws.random() < 0.1:
        return mutated(data, draws)
    parts = unpacked(data)
    name = draws.choice([one for one in parts if one.endswith(".xml")])
    return packed({**parts, name: mutated(parts[name], draws)})


def contents(data, suffix):
    """The texts of a file with tags."""
    if suffix in (".txt", ".po", ".srt"):
        return []
    return [*unpacked(data).values()] if data.startswith(b"PK") else [data]


def tags(data, suffix):
    """The tags of a file by name, but for spaces that are tags, and the runs that Word's breaks divide."""
    if suffix == ".html":
        page = PageTags()
        page.feed(RAW.sub(b"", data).decode("utf-8", "replace"))
        return page.found
    found = sum((Counter(one.lower() for one in TAG.findall(part)) for part in contents(data, suffix)), Counter())
    return Counter({name: count for name, count in found.items() if name not in DIVIDED})


def check_units(data):
    """Raise AssertionError unless the targets of XLIFF that were filled have the tags of their sources."""
    try:
        root = etree.fromstring(data)
    except etree.XMLSyntaxError:  # a name without its namespace, say, which is no matter of a translation
        return
    for unit in root.iter("{*}trans-unit", "{*}segment"):
        sides = [[one for one in unit if etree.QName(one).localname == name] for name in ("source", "target")]
        state = f"{unit.get('subState')} {sides[1][0].get('state-qualifier') if sides[1] else ''}"
        if "mt-suggestion" in state and [*map(len, sides)] == [1, 1]:
            found = [
                Counter((one.tag, *sorted(one.attrib.items())) for one in side.iterdescendants()) for (side,) in sides
            ]
            assert found[0] == found[1]


def check(name, data, seed):
    """Raise AssertionError unless the file is refused in one line or translated with its tags."""
    suffix = f".{name.partition('.')[2]}"
    try:
        found = file_document(data, suffix, language="en", target="de")
    except (FileError, TooLarge) as error:
        assert str(error) and "\n" not in str(error) and len(str(error)) < 400, str(error)
        return
    for order, predictions in enumerate((shouted(found.texts), all_translated(found.texts, seed))):
        again = found.rebuild(found.checked(predictions), ("en", "de"))
        file_document(again, suffix)  # what is written can be read
        if suffix == ".xlf":
            check_units(again)
        elif not order:  # runs of words that change places are divided
            before, after = tags(data, suffix), tags(again, suffix)
            assert after == before, (after - before, before - after)


def fuzzed(name, seeds):
    for seed in seeds:
        data = mutated_file(SAMPLES[name], random.Random(f"{name} {seed}"))
        try:
            check(name, data, seed)
        except BaseException as error:
            error.add_note(f"{name}, seed {seed}")
            raise


MEMORIES = {
    "tmx": TMX.encode(),
    "xlf": XLIFF.encode(),
    "xliff": XLIFF_2.encode(),
    "tsv": b"One dog\tEin Hund\nTwo\tZwei\n",
}


def read_memories(kind, folder, seeds):
    for seed in seeds:
        path = folder / f"a.{kind}"
        path.write_bytes(mutated(MEMORIES[kind], random.Random(f"{kind} {seed}")))
        try:
            assert all(
                one.source.strip() and one.target.strip() for one in read_units(path, ("en", "de"), everything=True)
            )
        except DataError as error:
            assert "\n" not in str(error) and str(path) in str(error)
        except BaseException as error:
            error.add_note(f"{kind}, seed {seed}")
            raise


@pytest.mark.parametrize("kind", MEMORIES)
def test_mutated_memories_are_read_or_refused(kind, tmp_path):
    read_memories(kind, tmp_path, range(30))


@pytest.mark.slow
@pytest.mark.parametrize("kind", MEMORIES)
def test_many_mutated_memories_are_read_or_refused(kind, tmp_path):
    read_memories(kind, tmp_path, range(500))


SIGNS = (
    "<", "_", "*", "`", "[", "](", "![", "~", "|", "&", "&#", "{", "}", "%", "(", ":", "-", "#", ">", "+", "=", "/",
    "\\", "\"", "'", "$", "@", "1.", "1,", "。", "<a ", "<b>", "</", "<!--", "<![CDATA[", "<?", "<p a=", "http://",
    "a_", "**a", "_a_", "- ", "> ", "1) ", "\t", " ", "\n", "| a ", "[a]: ", "``", "~~~\n", "<script", "&amp",
    "\u200d", "e\u0301", "{{", "${", "%(a", ":a:",
)  # fmt: skip
FRAMES = {
    ".txt": "{}", ".md": "{}", ".html": "{}", ".srt": "1\n00:00:01,000 --> 00:00:02,000\n{}\n",
    ".po": 'msgid "{}"\nmsgstr ""\n', ".xlf": XLIFF.replace("Two", "{}"),
}  # fmt: skip


def check_time(suffix, signs):
    before, _, after = FRAMES[suffix].partition("{}")
    for sign in signs:
        data = f"{before}{(sign * 100_000)[:100_000]}{after}".encode()
        start = time.process_time()
        with suppress(FileError, TooLarge):
            found = file_document(data, suffix)
            found.rebuild(found.checked(shouted(found.texts)))
        assert time.process_time() - start < SECONDS, sign


@pytest.mark.parametrize("suffix", FRAMES)
def test_repeated_signs_take_little_time(suffix):
    check_time(suffix, SIGNS[:6])


@pytest.mark.slow
@pytest.mark.parametrize("suffix", FRAMES)
def test_all_repeated_signs_take_little_time(suffix):
    check_time(suffix, SIGNS[6:])


def test_every_kind_has_a_sample():
    same = {".htm": ".html", ".xliff": ".xlf", ".sdlxliff": ".xlf", ".mxliff": ".xlf", ".pot": ".po"}
    same |= {".odp": ".odt", ".ods": ".odt"}
    assert {same.get(one, one) for one in SUFFIXES} == {f".{name.partition('.')[2]}" for name in SAMPLES}


@pytest.mark.parametrize("name", SAMPLES)
def test_mutated_files_are_translated_or_refused(name):
    fuzzed(name, range(30))


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLES)
def test_many_mutated_files_are_translated_or_refused(name):
    fuzzed(name, range(500))
