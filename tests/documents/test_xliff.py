"""XLIFF: untranslated units are filled, tags kept, all other bytes the same."""

import re
import tracemalloc

import pytest
from hostile import all_translated, shouted
from lxml import etree

from regard.documents.files import FileError, base, file_document
from regard.documents.files.xml_source import characters, with_attributes, xml_tokens
from regard.results import MemoryMatch, Prediction, TextPrediction

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<!-- c -->\n'
OLD = f'{HEAD}<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">\n'
NEW = f'{HEAD}<xliff version="2.0" xmlns="urn:oasis:names:tc:xliff:document:2.0" srcLang="en-US" trgLang="de">'
MACHINE = 'state="needs-review-translation" state-qualifier="mt-suggestion"'


def old(units, languages='source-language="en" target-language="de"'):
    return f"{OLD}<file {languages} original='a &gt; b'><body>\n{units}\n</body></file></xliff>\n"


def new(segments):
    return f'{NEW}<file id="f"><unit id="u">{segments}</unit></file></xliff>'


def loud(text, suffix=".xlf", **languages):
    found = file_document(text.encode(), suffix, **languages)
    return found.rebuild(shouted(found.texts), ("en", "de")).decode()


def test_a_target_follows_its_source():
    unit = '<trans-unit id="1" x="y">\n  <source>Hello &amp; <g id="1">big</g> world<x id="2"/>.</source>%s\n  <note>no'
    target = f'\n  <target {MACHINE}>HELLO &amp; <g id="1">BIG</g> WORLD<x id="2"/>.</target>'
    end = "</note></trans-unit>"
    assert loud(old(unit % "" + end)) == old(unit % target + end)


@pytest.mark.parametrize("target", ["<target/>", "<target></target>", '<target state="new">Hello</target>'])
def test_an_empty_target_is_filled(target):
    unit = "<trans-unit id='1'><source>Hello</source>%s</trans-unit>"
    assert loud(old(unit % target)) == old(unit % f"<target {MACHINE}>HELLO</target>")


KEPT = [
    '<trans-unit id="1" approved="yes"><source>Hello</source><target/></trans-unit>',
    '<trans-unit id="1" translate="no"><source>Hello</source></trans-unit>',
    '<group translate="no"><trans-unit id="1"><source>Hello</source></trans-unit></group>',
    '<trans-unit id="1"><source>Hello</source><target>Hallo</target></trans-unit>',
    '<trans-unit id="1"><source>Hello</source><target state="final"/></trans-unit>',
    '<trans-unit id="1" m:locked="true" xmlns:m="m"><source>Hello</source></trans-unit>',
    '<trans-unit id="1"><source> </source><target/></trans-unit>',
    '<trans-unit id="1"><source>Hi</source><target>Ho</target><alt-trans><source>A</source><target/></alt-trans>'
    "</trans-unit>",
]


@pytest.mark.parametrize("unit", KEPT)
def test_other_units_stay(unit):
    assert file_document(old(unit).encode(), ".xliff").texts == []
    assert loud(old(unit)) == old(unit)


def test_segments_keep_their_marks():
    source = (
        '<trans-unit id="1"><source>One two.</source><seg-source> <mrk mtype="seg" mid="1">One</mrk> '
        '<mrk mtype="seg" mid="2"><g id="7">two</g>.</mrk></seg-source>%s</trans-unit>'
    )
    whole = ' <mrk mtype="seg" mid="1">%s</mrk> <mrk mtype="seg" mid="2"><g id="7">TWO</g>.</mrk>'
    assert loud(old(source % ""), ".sdlxliff") == old(source % f"<target {MACHINE}>{whole % 'ONE'}</target>")
    half = '<target> <mrk mtype="seg" mid="1">Eins</mrk> <mrk mtype="seg" mid="2"/></target>'
    assert loud(old(source % half)) == old(source % f"<target {MACHINE}>{whole % 'Eins'}</target>")


def test_version_2():
    segment = '<segment%s>\n <source>Hi <pc id="1">you</pc> <mrk id="m" translate="no">Acme</mrk>.</source>%s</segment>'
    done = '\n <target>HI <pc id="1">YOU</pc> <mrk id="m" translate="no">Acme</mrk>.</target>'
    said = ' state="translated" subState="regard:mt-suggestion"'
    kept = '<segment state="reviewed"><source>Kept</source></segment><ignorable><source> x </source></ignorable>'
    for before in ("", ' state="initial"'):
        assert loud(new(segment % (before, "") + kept)) == new(segment % (said, done) + kept)


def reused(text):
    """A stored translation, as a memory answers."""
    return TextPrediction(text, text.upper(), 0.0, memory=[MemoryMatch(100, 1, text, text.upper(), "", "", "")])


def test_stored_translations_are_marked_as_exact_matches():
    cut = '<seg-source><mrk mtype="seg" mid="1">One.</mrk> <mrk mtype="seg" mid="2">Two.</mrk></seg-source>'
    unit = (
        f"<trans-unit id='1'><source>Hello</source></trans-unit><trans-unit id='2'><source>A</source>{cut}</trans-unit>"
    )
    for known, said in (({"Hello", "One."}, ["exact", "mt"]), ({"One.", "Two."}, ["mt", "exact"])):
        found = file_document(old(unit).encode(), ".xlf")
        out = found.rebuild([reused(text) if text in known else shouted([text])[0] for text in found.texts]).decode()
        assert re.findall(r'review-translation" state-qualifier="(exact|mt)-', out) == said
    found = file_document(new("<segment><source>Hi</source></segment>").encode(), ".xlf")
    assert '<segment state="translated" subState="regard:exact-match">' in found.rebuild([reused("Hi")]).decode()


@pytest.mark.parametrize("code", ["und", "mul", ""])
def test_codes_of_no_language_name_none(code):
    text = old("<trans-unit id='1'><source>Hi</source></trans-unit>", f"source-language='{code}' target-language='de'")
    found = file_document(text.encode(), ".xlf", language="en", target="de")
    assert (found.texts, found.source) == (["Hi"], "")


def test_other_languages_are_refused():
    text = old("<trans-unit id='1'><source>Hi</source></trans-unit>").encode()
    assert file_document(text, ".xlf", language="en", target="de-AT").texts == ["Hi"]
    assert file_document(text, ".xlf").texts == ["Hi"]
    for asked, said in (
        ({"language": "fr"}, "from 'en', not from 'fr'"),
        ({"target": "es"}, "into 'de', not into 'es'"),
    ):
        with pytest.raises(FileError, match=said):
            file_document(text, ".xlf", **asked)


def test_a_missing_target_language_is_written():
    unit = "<trans-unit id='1'><source>1</source></trans-unit>"
    assert 'source-language="en" original=\'a &gt; b\' target-language="de">' in loud(old(unit, 'source-language="en"'))


def test_white_space_counts_where_the_file_says_so():
    unit = "<trans-unit id='1'%s><source>One\n  two</source></trans-unit>"
    assert file_document(old(unit % "").encode(), ".xlf").texts == ["One two"]
    assert file_document(old(unit % " xml:space='preserve'").encode(), ".xlf").texts == ["One", "two"]


INLINE = (
    'See <g id="1">the <bx id="2"/>red <x id="3"/>button<ex id="2"/></g>, <ph id="4">&lt;br/></ph>press <it id="5" '
    'pos="open">[</it>it <bpt id="6" rid="1">{</bpt>twice<ept id="7" rid="1">}</ept>. <mrk mtype="protected">Then %s'
    '</mrk> <mrk mtype="x-term">wait</mrk> &amp; <![CDATA[<see>]]> {name}.'
)
INLINE_2 = (
    'See <pc id="1">the <sc id="2"/>red <ph id="3"/>button<ec startRef="2"/></pc>, <cp hex="0001"/>press <sm id="5"/>it'
    ' now. <mrk id="6">Then wait</mrk><em startRef="5"/> &amp; %s.'
)


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("inline", [INLINE, INLINE_2], ids=["1.2", "2.0"])
def test_tags_are_kept_whatever_is_translated(inline, seed):
    wrap = (lambda text: old(f"<trans-unit id='1'>{text}</trans-unit>")) if inline is INLINE else (
        lambda text: new(f"<segment>{text}</segment>")
    )  # fmt: skip
    found = file_document(wrap(f"<source>{inline}</source>").encode(), ".xlf")
    out = found.rebuild(all_translated(found.texts, seed))
    root = etree.fromstring(out)
    source, target = (next(root.iter(f"{{*}}{name}")) for name in ("source", "target"))

    def tags(element):
        return sorted((each.tag, sorted(each.attrib.items())) for each in element.iterdescendants())

    assert tags(source) == tags(target)
    kept = [each for each in target.iter("{*}mrk") if each.get("mtype") == "protected"]
    assert ["".join(each.itertext()) for each in kept] == ["Then %s"] * len(kept)


def test_tokens_are_the_text():
    text = "<?xml version='1.0'?><!DOCTYPE a><a  x = 'y'\n><b/>t&amp;&#233;<![CDATA[<]]>u<!-- v --><?w?></a >\n"
    tokens = xml_tokens(text, {})
    assert "".join(token.source for token in tokens) == text
    read = "".join(one for token in tokens if token.kind == "text" for one, _ in characters(token))
    assert read == "t&é<u"


def test_values_of_attributes_stay():
    tag = with_attributes("""<a n="my state='new'" state = 'b'\n />""", {"state": "c", "n": "d", "e": "f"})
    assert tag == """<a n="d" state = "c" e="f"/>"""
    assert with_attributes("<a n=' state=\"b\"'>", {"state": "c"}) == '<a n=\' state="b"\' state="c">'


def test_a_declaration_names_the_encoding_that_is_written():
    text = old('<trans-unit id="1"><source>Hello</source></trans-unit>').replace("UTF-8", "ISO-8859-1")
    found = file_document(text.encode(), ".xlf")
    written = found.rebuild([Prediction("Hello", "Grüße 你", 0.0)])
    assert etree.fromstring(written).findtext(".//{*}target") == "Grüße 你"
    text = text.replace("Hello", "Hé")
    assert b"ISO-8859-1" in file_document(text.encode("latin-1"), ".xlf").rebuild([Prediction("Hé", "ö", 0.0)])


def test_the_most_tokens_need_little_memory():
    count = 10_000
    tracemalloc.start()
    xml_tokens(f"<a>{'<b/>' * count}</a>", {})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak / (2 * count) * base.XML_TOKENS < 128 << 20


BROKEN = {
    "entity": '<!DOCTYPE a [<!ENTITY b "c">]><xliff>&b;</xliff>',
    "billion": '<!DOCTYPE a [<!ENTITY b "cccc"><!ENTITY d "&b;&b;">]><xliff>&d;</xliff>',
    "attribute": '<!DOCTYPE xliff [<!ATTLIST g x CDATA "cccc">]><xliff><g/></xliff>',
    "unknown": '<!DOCTYPE a SYSTEM "file:///etc/passwd"><xliff>&b;</xliff>',
    "deep": "<xliff>" + "<g>" * 100_000,
    "open": "<xliff><file>",
    "other": "<html></html>",
    "none": "",
    "text": "hello",
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_a_broken_file_is_one_line(text):
    with pytest.raises(FileError) as found:
        file_document(text.encode(), ".xlf")
    assert re.fullmatch("[^\n]+", str(found.value))
