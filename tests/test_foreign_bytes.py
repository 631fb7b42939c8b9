"""Whatever bytes a file holds, each parser reads it or refuses it in a line: a RegardError, nothing else.

REGARD_FUZZ_SECONDS=600 pytest -m slow tests/test_foreign_bytes.py        (ten minutes each; 20 seconds by default)
"""

import gzip
import io
import json
import os
import tarfile
import tempfile
import time
from collections import Counter
from functools import cache
from pathlib import Path
from zipfile import ZipFile

import docx
import pytest
import torch
from hostile import all_translated
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from office_files import opendocument, packed, pptx, unpacked, xlsx
from safetensors.torch import save as tensors_to_bytes

from regard.config import read_yaml
from regard.data.columns import LabelColumn, NumbersColumn
from regard.data.readers import READERS
from regard.data.readers.label_table import label_layout
from regard.documents.files import FILE_READERS, file_document
from regard.errors import RegardError
from regard.evaluation.alignments import read_gold
from regard.experiment import read_experiment
from regard.recipes.download import unpack
from regard.registry import Choice
from regard.text import load_tokenizer, train_tokenizer
from regard.training import checkpoint as files

SECONDS = float(os.environ.get("REGARD_FUZZ_SECONDS", "20"))
EXAMPLES = 200  # between two looks at the clock
TEXT = "A man sees a house. Ünïcödé 你好 😀 %s <b>x</b> http://a.org\n"


def word_file():
    document, data = docx.Document(), io.BytesIO()
    for text in ("A man sees.", "Two", ""):
        document.add_paragraph(text).add_run("bold").bold = True
    document.add_table(rows=2, cols=2).cell(0, 0).text = "cell"
    document.save(data)
    return data.getvalue()


def slides():
    run = '<a:r><a:rPr b="1"/><a:t>A man</a:t></a:r>'
    return pptx(f'<a:p><a:pPr/>{run}<a:r><a:t> sees.</a:t></a:r><a:br/>{run}<a:endParaRPr lang="en-US"/></a:p>')


def workbook():
    strings = "<si><t>A man</t></si><si><r><t>sees </t></r><r><rPr><b/></rPr><t>a</t></r></si>"
    return xlsx(strings, '<c t="inlineStr"><is><t>In</t></is></c>', xl__tables__table1='<tableColumn name="A"/>')


def text_file():
    return opendocument(ODT)


def stories():
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as packed:
        found = tarfile.TarInfo("en/qa1_a_train.txt")
        found.size = len(BABI)
        packed.addfile(found, io.BytesIO(BABI))
    return data.getvalue()


def archive():
    data = io.BytesIO()
    with ZipFile(data, "w") as packed:
        for code in ("en", "es"):
            packed.writestr(f"a.{code}", "".join(f"{code} {number}\n" for number in range(60)))
    return data.getvalue()


def inside(suffix, make, part):
    """A file of an office program whose text is damaged inside, so that the archive is whole."""

    def parse(data, place):
        document(suffix)(packed({**unpacked(make()), part: data}), place)

    return parse, lambda: [unpacked(make())[part]]


TMX = (
    '<?xml version="1.0"?><!DOCTYPE tmx SYSTEM "tmx14.dtd"><tmx version="1.4"><header/><body><tu><tuv xml:lang="en">'
    f'<seg>A <ph>1</ph> {TEXT[:20]}</seg></tuv><tuv xml:lang="de-DE"><seg>Ein Mann</seg></tuv></tu></body></tmx>'
)
SRT = "1\n00:00:01,000 --> 00:00:02,500\n<i>Hello,</i>\nyou?\n\n2\n00:00:03,000 --> 00:00:04,000\n- Fine\n"
HTML = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>T</title></head><body>'
    f'<p title="x">{TEXT}</p><pre>a</pre><!-- c --><script>1</script></body></html>'
)
XLIFF = (
    '<?xml version="1.0"?>\n<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"><file source-language='
    '"en"><body><trans-unit id="1"><source>A <g id="1">man</g> sees<x id="2"/> &lt;b&gt; %s.</source>\n<target/>'
    "</trans-unit><trans-unit id='2'><source>a b</source><seg-source><mrk mtype='seg' mid='1'>a <bpt id='1'>x</bpt>b"
    '<ept id="1"/></mrk></seg-source></trans-unit></body></file></xliff>'
)
XLIFF2 = (
    '<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="en" trgLang="de"><file id="f"><unit '
    'id="u"><segment><source>A <pc id="1">man</pc> <sc id="2"/>sees<ec startRef="2"/> <mrk id="m" translate="no">a'
    "</mrk><![CDATA[<b>]]></source></segment></unit></file></xliff>"
)
PO = (
    'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n"Plural-Forms: nplurals=3; plural=n%10==1 ? 0'
    ' : n==2 ? 1 : 2;\\n"\n\n#, c-format\nmsgctxt "a"\nmsgid "_Open %d file\\n"\nmsgid_plural ""\n"Open'
    ' \\"%d\\" files\\n"\nmsgstr[0] ""\nmsgstr[1] ""\n\n#~ msgid "a"\n#~ msgstr "b"\nmsgid "&Save…"\nmsgstr ""\n'
)
ODT = (
    "<text:p>A <text:span>man</text:span> sees<text:note><text:p>a</text:p></text:note>"
    '<text:s/>it.<text:tab/></text:p><table:table-cell office:value-type="float"><text:p>b</text:p></table:table-cell>'
)
MARKDOWN = (
    "---\na: b\n---\n# A *man*\n\n> sees `x` [a](b) ![c](d)\n> on\n\n- a <b>c</b>\n  1. \\* &amp; [x]\n\n|a|b|"
    "\n|-|-|\n|c|d|\n\n~~x~~\n\n[x]: y\n"
)
YAML = "data: {train: {source: a.en, target: a.de}}\nmodel: {dim: 8, encoder: {name: transformer}}\nx: &a [1, 2]\n"
BABI = b"1 Mary went to the garden.\n2 John slept.\n3 Where is Mary?\tgarden\t1\n1 A.\n2 B?\tc\t1\n"
CONLL = b"# text = Dogs don't\n1\tDogs\tdog\tNOUN\n2-3\tdon't\t_\t_\n2\tdo\tdo\tAUX\n\n-DOCSTART- O O\n\na b c NOUN\n"
LABELLED = b"pos\ta good film\nneg\ta bad film\n" * 4
ROWS = [json.dumps({"source": "a b", "target": TEXT}), json.dumps({"source": "c", "target": "d"})]


def document(suffix):
    def parse(data, place):
        found = file_document(data, suffix)
        found.rebuild(all_translated(found.texts, len(data)), ("en", "de"))

    return parse


def reader(name, suffix, columns=("source", "target"), **words):
    def parse(data, place):
        path = place / f"a{suffix}"
        path.write_bytes(data)
        if name == "parallel":
            words["files"] = {"source": str(path), "target": str(path)}
        given = words if name == "parallel" else {"file": str(path), **words}
        list(READERS.build(Choice(name, given), columns))

    return parse


def layout(kind):
    def parse(data, place):
        (place / f"a.{kind}").write_bytes(data)
        label_layout(place / f"a.{kind}", kind, ("text", "label"))

    return parse


def config(data, place):
    (place / "a.yaml").write_bytes(data)
    read_yaml(place / "a.yaml")
    read_experiment(place / "a.yaml", [])


@cache
def learnt(name):
    """The files of a tokenizer, the largest first."""
    with tempfile.TemporaryDirectory() as folder:
        train_tokenizer(Choice(name, {"size": 320}), [TEXT * 3]).save(Path(folder))
        found = {path.name: path.read_bytes() for path in Path(folder).iterdir()}
    return dict(sorted(found.items(), key=lambda item: -len(item[1])))


def tokenizer(name):
    def parse(data, place):
        for number, (file, content) in enumerate(learnt(name).items()):
            (place / file).write_bytes(content if number else data)
        found = load_tokenizer(place)
        found.decode(found.encode(TEXT))

    return parse


def largest(name):
    return next(iter(learnt(name).values()))


def labels(data, place):
    (place / "labels.json").write_bytes(data)
    LabelColumn.load(place)


def links(data, place):
    (place / "gold").write_bytes(data)
    read_gold(place / "gold")


def shape_of_numbers(data, place):
    (place / "numbers.json").write_bytes(data)
    NumbersColumn.load(place)


def rows_of_numbers(data, place):
    NumbersColumn.learn(data.decode("utf-8", "replace").split("\n"), Choice("words"))


def weights(data, place):
    folder = place / "step-00000001"
    folder.mkdir(exist_ok=True)
    (folder / files.MODEL_FILE).write_bytes(data)
    (folder / files.STATE_FILE).write_text("{}")
    files.load_checkpoint(folder, training=False)


def published(data, place):
    (place / "a.zip").write_bytes(data)
    unpack(place / "a.zip", ("en", "es"), place / f"to-{time.perf_counter_ns()}")


PARSERS = {
    ".txt": (document(".txt"), lambda: [TEXT.encode()]),
    ".srt": (document(".srt"), lambda: [SRT.encode()]),
    ".html": (document(".html"), lambda: [HTML.encode()]),
    ".docx": (document(".docx"), lambda: [word_file()]),
    ".pptx": (document(".pptx"), lambda: [slides()]),
    ".xlsx": (document(".xlsx"), lambda: [workbook()]),
    ".odt": (document(".odt"), lambda: [text_file()]),
    ".odp": (document(".odp"), lambda: [opendocument(ODT, "presentation")]),
    ".ods": (document(".ods"), lambda: [opendocument(ODT, "spreadsheet")]),
    ".md": (document(".md"), lambda: [MARKDOWN.encode()]),
    ".docx inside": inside(".docx", word_file, "word/document.xml"),
    ".pptx inside": inside(".pptx", slides, "ppt/slides/slide1.xml"),
    ".xlsx inside": inside(".xlsx", workbook, "xl/sharedStrings.xml"),
    ".odt inside": inside(".odt", text_file, "content.xml"),
    ".xlf": (document(".xlf"), lambda: [XLIFF.encode(), XLIFF2.encode(), XLIFF.encode("utf-16")]),
    ".po": (document(".po"), lambda: [PO.encode()]),
    "lines": (reader("parallel", ".txt"), lambda: [TEXT.encode() * 3]),
    "gzip lines": (reader("parallel", ".gz"), lambda: [gzip.compress(TEXT.encode() * 30, mtime=0)]),
    "tsv": (reader("tsv", ".tsv"), lambda: [b"a b\tc d\n1\t2\n"]),
    "csv": (reader("csv", ".csv"), lambda: [b'a,"b ""x""\nc"\n1,2\n']),
    "jsonl": (reader("jsonl", ".jsonl"), lambda: ["\n".join(ROWS).encode()]),
    "conll": (reader("conll", ".conll", ("text", "tags"), fields={"text": 2, "tags": 4}), lambda: [CONLL]),
    "babi": (reader("babi", ".txt", ("passage", "question", "answer")), lambda: [BABI]),
    "babi archive": (reader("babi", ".tar.gz", ("passage", "question", "answer"), task=1), lambda: [stories()]),
    "layout tsv": (layout("tsv"), lambda: [LABELLED]),
    "layout csv": (layout("csv"), lambda: [b"label,text\n" + LABELLED.replace(b"\t", b",")]),
    "layout jsonl": (layout("jsonl"), lambda: ["\n".join(ROWS).encode() * 3]),
    "shape of numbers": (shape_of_numbers, lambda: [b'{"width": 2, "rows": 3}']),
    "rows of numbers": (rows_of_numbers, lambda: [b"1 2;3 4.5;-1e3 0\n1 2;3 4\n"]),
    "tmx": (reader("tmx", ".tmx"), lambda: [TMX.encode(), TMX.encode("utf-16")]),
    "settings": (config, lambda: [YAML.encode()]),
    "subwords": (tokenizer("subwords"), lambda: [largest("subwords")]),
    "words": (tokenizer("words"), lambda: [largest("words")]),
    "labels": (labels, lambda: [b'["a", "b"]']),
    "links": (links, lambda: [b"0-0 1p2 3-4\n\n1-1\n"]),
    "weights": (weights, lambda: [tensors_to_bytes({"a": torch.zeros(3), "b": torch.ones(2, 2)})]),
    "published texts": (published, lambda: [archive()]),
}
EDITS = st.tuples(
    st.sampled_from(["flip", "cut", "insert", "repeat", "swap"]),
    st.floats(0, 1, exclude_max=True),
    st.binary(min_size=1, max_size=8) | st.sampled_from([b"\0", b"\xff\xfe", b"<", b">", b"&", b"\n", b"-->", b"\xf0"]),
)  # fmt: skip


def edited(data, edits):
    """Bytes with damages: a bit, a cut, something put in, something twice, two parts exchanged."""
    for kind, share, found in edits:
        at = int(share * len(data))
        if kind == "flip" and data:
            data = data[:at] + bytes([data[at] ^ (1 << found[0] % 8)]) + data[at + 1 :]
        elif kind == "cut":
            data = data[:at] + data[at + found[0] :]
        elif kind == "insert":
            data = data[:at] + found + data[at:]
        elif kind == "repeat":
            data = data[:at] + data[at : at + found[0]] * 3 + data[at + found[0] :]
        elif kind == "swap":
            data = data[at:] + data[:at]
    return data


def run(name, place, examples, number):
    """Parse so many damages → how many were read, and how many were refused with a message."""
    parse, make = PARSERS[name]
    seeds, found = make(), Counter()

    @seed(number)
    @settings(max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(st.sampled_from(seeds), st.lists(EDITS, min_size=1, max_size=6) | st.binary(max_size=60))
    def check(data, edits):
        try:
            parse(edits if isinstance(edits, bytes) else edited(data, edits), place)
            found["read"] += 1
        except RegardError as error:
            found["refused" if str(error) else "refused without a word"] += 1

    check()
    return found


def test_every_kind_of_document_is_tried():
    assert {read for suffix, read in FILE_READERS.items() if suffix in PARSERS} == {*FILE_READERS.values()}


@pytest.mark.parametrize("name", PARSERS)
def test_damaged_bytes_are_read_or_refused(name, tmp_path):
    found = run(name, tmp_path, 15, 0)
    assert found["read"] + found["refused"] == found.total() >= 15


@pytest.mark.slow
@pytest.mark.parametrize("name", PARSERS)
def test_damaged_bytes_for_a_long_time(name, tmp_path):
    until, rounds, found = time.monotonic() + SECONDS, 0, Counter()
    while time.monotonic() < until:
        rounds += 1
        found += run(name, tmp_path, EXAMPLES, rounds)
    print(f"{name}: {found.total():,} damages")
    assert found["read"] + found["refused"] == found.total() >= EXAMPLES
