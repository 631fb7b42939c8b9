"""Messages of gettext: empty translations are filled, all other lines the same."""

import io
import re
from contextlib import suppress
from gettext import c2py

import pytest
from babel.messages.pofile import read_po
from hostile import all_translated, shouted
from processor_time import within

from regard.documents.files import FileError, file_document
from regard.documents.files.po import with_mnemonic
from regard.results import Prediction
from regard.text.gettext_messages import Mnemonic, without_mnemonic

HEAD = (
    'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset={}\\n"\n"Language: de\\n"\n'
    '"Plural-Forms: nplurals=2; plural=(n != 1);\\n"\n\n'
)
GERMAN = HEAD.format("UTF-8")


def loud(text, encoding="utf-8", target="de"):
    found = file_document(text.encode(encoding), ".po")
    return found.rebuild(shouted(found.texts), ("en", target)).decode(encoding)


def test_empty_translations_are_filled_and_fuzzy():
    other = '#  note\n#~ msgid "Old"\n#~ msgstr ""\n\nmsgid "Done"\nmsgstr "Fertig"\n\n'
    other += '#, fuzzy\nmsgid "Half"\nmsgstr "H"\n\n'
    text = GERMAN + other + '#. help\n#: a.c:1\n#, c-format\n#| msgid "Op"\nmsgctxt "m"\nmsgid "Open %s"\nmsgstr ""\n'
    wanted = text.replace("#, c-format", "#, fuzzy, c-format").replace('%s"\nmsgstr ""', '%s"\nmsgstr "OPEN %s"')
    assert loud(text) == wanted
    assert loud(text.replace("\n", "\r\n")) == wanted.replace("\n", "\r\n")
    assert loud(wanted) == wanted


def test_lines_and_escapes_stay():
    source = 'msgid ""\n"One \\"two\\".\\n"\n"\\tThree\\\\four\\n"\n'
    filled = f'#, fuzzy\n{source}msgstr ""\n' + '"ONE \\"TWO\\".\\n"\n"\\tTHREE\\\\FOUR\\n"\n'
    assert loud(f'{GERMAN}{source}msgstr ""\n') == GERMAN + filled


def test_long_lines_are_broken_as_in_the_file():
    words = "word " * 30
    assert max(map(len, loud(f'{GERMAN}msgid "a {words[:40]}"\nmsgstr ""\n').split("\n"))) < 80
    (line,) = [line for line in loud(f'{GERMAN}msgid "{words}"\nmsgstr ""\n').split("\n") if "WORD" in line]
    assert line == f'msgstr "{words.upper()}"'


def plural(rule, singular="One file", many="%d files", forms=2):
    empty = "".join(f'msgstr[{number}] ""\n' for number in range(forms))
    text = GERMAN.replace("nplurals=2; plural=(n != 1)", rule)
    return f'{text}msgid "{singular}"\nmsgid_plural "{many}"\n{empty}'


RUSSIAN = "nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2)"


@pytest.mark.parametrize(
    ("rule", "singular", "forms"),
    [
        ("nplurals=2; plural=(n != 1)", "One file", ["ONE FILE", "%d FILES"]),
        ("nplurals=1; plural=0", "One file", ["%d FILES"]),
        (RUSSIAN, "%d file", ["%d FILE", "%d FILES", "%d FILES"]),
        (RUSSIAN, "One file", ["%d FILES"] * 3),  # the form of 1 is also that of 21
        ("nplurals=2; plural=n/0", "One file", ["ONE FILE", "%d FILES"]),
    ],
)
def test_plural_forms_follow_the_rule(rule, singular, forms):
    lines = loud(plural(rule, singular)).split("\n")
    assert [line for line in lines if line.startswith("msgstr[")] == [
        f'msgstr[{number}] "{form}"' for number, form in enumerate(forms)
    ]


def test_a_template_gets_language_and_rule():
    text = plural("nplurals=INTEGER; plural=EXPRESSION").replace("UTF-8", "CHARSET").replace(": de", ": ")
    written = loud(text, target="ja")
    assert "charset=UTF-8\\n" in written and '"Language: ja\\n"' in written
    assert "nplurals=1; plural=0;" in written and "msgstr[1]" not in written


BARE = 'msgid "%d file"\nmsgid_plural "%d files"\nmsgstr[0] ""\nmsgstr[1] ""\n'


@pytest.mark.parametrize(
    "head",
    [
        "",
        'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n',
        'msgid ""\nmsgstr ""\n"X-Source-Language: en\\n"\n"Content-Type: text/plain; charset=UTF-8"\n\n',
    ],
    ids=["none", "a line", "open"],
)
@pytest.mark.parametrize(("target", "forms"), [("pl", [0, 1, 2]), ("ja", [0, 0, 0]), ("de", [0, 1, 1])])
def test_a_header_without_language_and_rule_gets_both(head, target, forms):
    written = loud(head + BARE, target=target)
    assert f'"Language: {target}\\n"\n' in written and "charset=UTF-8" in written
    count, rule = re.search(r'"Plural-Forms: nplurals=(\d); plural=(.*);\\n"', written).groups()
    assert int(count) == len(set(forms)) == written.count('"%d FILE')
    assert [c2py(rule)(number) for number in (1, 2, 5)] == forms
    fields = written[: written.index("\n\n")].split("\n")[2:]
    assert all(line.endswith('\\n"') for line in fields if ": " in line) or '"\\n"' in fields
    assert loud(written, target=target) == written


EMPTY = 'msgid ""\nmsgstr ""\n\n'


@pytest.mark.parametrize("head", ["", EMPTY, EMPTY.removesuffix("\n")], ids=["none", "empty", "empty and adjoining"])
@pytest.mark.parametrize("flags", ["", "#, c-format\n"])
def test_a_new_header_is_not_fuzzy_and_every_new_translation_is(head, flags):
    text = f'{head}{flags}msgid "One"\nmsgstr ""\n\n#. two\nmsgid "Two"\nmsgstr ""\n'
    written = loud(text)
    found = read_po(io.BytesIO(written.encode()))
    assert [(one.string, one.fuzzy) for one in found if one.id] == [("ONE", True), ("TWO", True)]
    assert (str(found.locale), found.charset, found.fuzzy) == ("de", "utf-8", False)
    assert '"\\n"' not in written.split("\n")


def test_fields_within_a_message_stay():
    source = 'msgid ""\n"Language: \\n"\n"Plural-Forms: none\\n"\n'
    text = GERMAN.replace("nplurals=2", "nplurals=INTEGER") + source + 'msgstr ""\n'
    assert source in loud(text) and "nplurals=2; plural=(n != 1);" in loud(text)


def test_fuzzy_messages_are_counted_and_stay():
    half = '#, c-format, fuzzy\nmsgid "Half %s"\nmsgstr "H %s"\n\n'
    text = f'#, fuzzy\n{GERMAN}{half}#, fuzzy\nmsgid "Open"\nmsgstr ""\n'
    (note,) = file_document(text.encode(), ".po").notes
    assert note.startswith("1 fuzzy") and half in loud(text)
    assert not file_document(GERMAN.encode(), ".po").notes


def test_other_encoding_is_kept_or_becomes_utf8():
    text = HEAD.format("ISO-8859-1") + 'msgid "Café"\nmsgstr ""\n'
    assert 'msgstr "CAFÉ"' in loud(text, "latin-1")
    found = file_document(text.encode("latin-1"), ".po")
    written = found.rebuild([Prediction("Café", "咖啡馆", 0.0)]).decode()
    assert 'msgid "Café"\nmsgstr "咖啡馆"' in written and "charset=UTF-8" in written


def test_the_language_of_the_header_is_checked():
    data = f'{GERMAN}msgid "a"\nmsgstr ""\n'.encode()
    assert file_document(data, ".po", language="en", target="de").texts == ["a"]
    with pytest.raises(FileError, match="into 'de', not into 'fr'"):
        file_document(data, ".po", target="fr")


LONG = 200_000
SLOW = {
    "blanks": " " * LONG,
    "blanks behind a key": f"msgid{' ' * LONG}x",
    "escapes": 'msgid "' + "a\\" * LONG,
    "a language of blanks": f'msgid ""\nmsgstr "Language:{" " * LONG}x y"\n',
    "short lines": 'msgid ""\n' + '"a"\n' * LONG + 'msgstr ""\n',
}


@pytest.mark.parametrize("text", SLOW.values(), ids=SLOW)
def test_hostile_messages_take_little_time(text):
    def read_or_refused():
        with suppress(FileError):
            file_document(text.encode(), ".po")

    within(3.0, read_or_refused)


def test_a_long_translation_gets_its_mnemonic_quickly():
    within(3.0, lambda: with_mnemonic(f"中{' ' * LONG}文", Mnemonic("&", "O")))


def test_a_plural_rule_is_evaluated_once():
    header, end, message = plural(f"nplurals=2; plural=({'+'.join(['n%3'] * 200)} != 1)").partition("\n\n")
    found = file_document(f"{header}{end}{message * 500}".encode(), ".po")
    within(1.5, lambda: found.rebuild(shouted(found.texts), ("en", "de")))


MESSAGE = "&Save %s of %(user)s in {0}? <b>{name}</b>\\n"


@pytest.mark.parametrize("seed", range(40))
def test_placeholders_survive(seed):
    text = f'{GERMAN}msgid "{MESSAGE}"\nmsgstr ""\n'
    found = file_document(text.encode(), ".po")
    written = found.rebuild(all_translated(found.texts, seed)).decode("utf-8")
    assert file_document(written.encode(), ".po").texts == []
    target = written.split("msgstr ", 2)[2]
    for body in ("%s", "%(user)s", "{0}", "<b>", "{name}", "</b>"):
        assert target.count(body) == 1


@pytest.mark.parametrize(
    ("text", "plain", "translation", "wanted"),
    [
        ("_Open", "Open", "Öffnen", "_Öffnen"),
        ("Save _As…", "Save As…", "Sichern als…", "Sichern _als…"),
        ("E&xit", "Exit", "Ende", "&Ende"),
        ("&Open...", "Open...", "打开...", "打开(&O)..."),
        ("Cu_t", "Cut", "Ausschneiden {t}", "Ausschneiden {t}".replace("A", "_A", 1)),
        ("AT&T", "AT&T", "x", "x"),
        ("file_name", "file_name", "x", "x"),
        ("a &nbsp; b", "a &nbsp; b", "x", "x"),
        ("_a and _b", "_a and _b", "x", "x"),
    ],
)
def test_mnemonics(text, plain, translation, wanted):
    found, mnemonic = without_mnemonic(text)
    assert found == plain
    assert with_mnemonic(translation, mnemonic) == wanted


BROKEN = [
    'msgid "a"\n\nmsgid "b"\nmsgstr ""\n',
    'msgid "a\nmsgstr ""\n',
    "hello\n",
    'msgid "a"\nmsgid "b"\nmsgstr ""\n',
]


@pytest.mark.parametrize("text", BROKEN)
def test_a_broken_file_names_its_line(text):
    with pytest.raises(FileError, match=r"line \d"):
        file_document(text.encode(), ".po")
