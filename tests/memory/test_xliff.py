"""XLIFF 1.2 and 2 as segments: states, inline elements, languages, and files that are damaged."""

import random

import pytest

from regard.errors import DataError
from regard.memory import TranslationUnit
from regard.memory.files import read_units, write_units

ONE = """<?xml version="1.0"?><xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2" xmlns:x="urn:x">
<file original="a" source-language="en-US" target-language="de" datatype="plaintext"><body><group id="g">
<trans-unit id="1" approved="yes"><source>A <g id="1">red</g> dog<x id="2"/>.</source>
<target state="needs-review-translation">Ein <g id="1">roter</g> Hund<ph id="2">&lt;br/></ph>.</target>
<alt-trans><source>no</source><target>nein</target></alt-trans></trans-unit>
<trans-unit id="2"><source>new</source><target state="new">neu</target></trans-unit>
<trans-unit id="3"><source>plain</source><target>schlicht</target></trans-unit>
<trans-unit id="4" approved="no"><source>draft</source><target>Entwurf</target></trans-unit>
<trans-unit id="5"><source>guess</source><target state="translated" state-qualifier="leveraged-mt">x</target>
</trans-unit>
<trans-unit id="9"><source>like</source><target state="translated" state-qualifier="fuzzy-match">x</target>
</trans-unit>
<trans-unit id="6" translate="no"><source>code</source><target>code</target></trans-unit>
<trans-unit id="7"><source>One. Two.</source>
<seg-source><mrk mtype="seg" mid="a">One.</mrk> <mrk mtype="seg" mid="b">Two.</mrk></seg-source>
<target state="final"><mrk mtype="seg" mid="a">Eins.</mrk> <mrk mtype="seg" mid="b">Zwei.</mrk></target></trans-unit>
<trans-unit id="8"><source>no target</source></trans-unit>
</group></body></file>
<file original="b" source-language="fr" target-language="de" datatype="plaintext"><body>
<trans-unit id="1"><source>un</source><target>eins</target></trans-unit></body></file></xliff>"""
TWO = """<xliff version="2.1" srcLang="en" trgLang="de-DE" xmlns="urn:oasis:names:tc:xliff:document:2.0"><file id="f">
<group id="g"><unit id="1"><originalData><data id="d">br</data></originalData>
<segment state="reviewed"><source>A <pc id="1">red</pc> dog<ph id="2" dataRef="d"/>.</source>
<target>Ein <pc id="1">roter</pc> Hund<ph id="2" dataRef="d"/>.</target></segment>
<ignorable><source> </source></ignorable>
<segment state="translated" subState="regard:mt-suggestion"><source>guess</source><target>x</target></segment>
<segment state="initial"><source>new</source><target>neu</target></segment>
<segment><source>plain</source><target>schlicht</target></segment></unit></group>
<unit id="2" translate="no"><segment><source>code</source><target>code</target></segment></unit></file></xliff>"""
FIRST = [("A red dog.", "Ein roter Hund."), ("plain", "schlicht")]


def pairs(path, **options):
    return [(one.source, one.target) for one in read_units(path, ("en", "de"), **options)]


@pytest.fixture
def files(tmp_path):
    (tmp_path / "one.xlf").write_text(ONE, encoding="utf-8")
    (tmp_path / "two.xliff").write_text(TWO, encoding="utf-8")
    return tmp_path / "one.xlf", tmp_path / "two.xliff"


def test_translated_and_approved_segments_are_read(files):
    one, two = files
    assert pairs(one) == [*FIRST, ("One.", "Eins."), ("Two.", "Zwei.")]
    assert pairs(two) == FIRST
    assert [unit.before for unit in read_units(two, ("en", "de"))] == ["", "A red dog."]


def test_all_targets_are_read_on_demand(files):
    one, two = files
    assert {source for source, _ in pairs(one, everything=True)} >= {"new", "draft", "guess", "like"}
    assert ("new", "neu") in pairs(two, everything=True)
    assert not {"code", "no", "no target", "un"} & {source for source, _ in pairs(one, everything=True)}
    assert next(read_units(one, ("fr", "de"))).target == "eins"
    with pytest.raises(DataError, match="has no pair of sv and de"):
        list(read_units(one, ("sv", "de")))


@pytest.mark.parametrize("name", ["out.xlf", "out.xliff", "out.xliff.gz"])
def test_written_files_are_read_again(tmp_path, name):
    units = [TranslationUnit("a < b & c", 'x "y" > z'), TranslationUnit("tab\x01", "\x02 [X1X] {0}")]
    assert write_units(tmp_path / name, units, ("en", "zh-Hans")) == 2
    found = [(one.source, one.target) for one in read_units(tmp_path / name, ("en", "zh"))]
    assert found == [("a < b & c", 'x "y" > z'), ("tab", " [X1X] {0}")]


def test_entities_are_refused(tmp_path):
    path = tmp_path / "a.xlf"
    path.write_text(f'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>{ONE[21:]}'.replace("plain<", "&e;<"))
    with pytest.raises(DataError, match="has declarations"):
        pairs(path)


@pytest.mark.parametrize("text", [ONE, TWO])
def test_damaged_files_raise_one_kind_of_error(tmp_path, text):
    chance, path = random.Random(5), tmp_path / "a.xlf"
    for _ in range(250):
        data = bytearray(text.encode())
        for _ in range(chance.randint(1, 6)):
            place = chance.randrange(len(data))
            data[place : place + chance.choice((0, 1, 40))] = chance.choice(
                (b"", b"<", b"\xff", b"&", b"<target>", b'"')
            )
        path.write_bytes(data)
        try:
            pairs(path)
        except DataError as error:
            assert "\n" not in str(error)
