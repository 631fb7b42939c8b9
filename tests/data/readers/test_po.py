"""Messages of gettext as pairs: what is translated, plurals, languages, and files that are no messages."""

import gzip
from pathlib import Path

import pytest

from regard.data.readers import READERS
from regard.errors import ConfigError, DataError
from regard.registry import Choice

HEAD = r"""# Translation of a program.
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\n"
"Language: pl_PL\n"
"Plural-Forms: nplurals=3; plural=(n==1 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2);\n"

"""
MESSAGES = r"""#: main.c:7
msgctxt "menu"
msgid "_Open a "
"file\n"
"now"
msgstr "Otwórz „plik”\t\n"
"teraz"

msgid "Save"
msgstr ""

#, fuzzy
msgid "Close"
msgstr "Zamek"

msgid "one file"
msgid_plural "%d files"
msgstr[0] "plik"
msgstr[1] "%d pliki"
msgstr[2] "%d plików"

#~| msgid "older"
#~ msgid "old"
#~ msgstr "stary"
"""
RUSSIAN = "nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2);"
FOUND = [
    (9, "Open a file now", "Otwórz „plik” teraz"),
    (16, "Save", ""),
    (20, "Close", ""),
    (23, "one file", "plik"),
    (23, "%d files", "%d plików"),
]


def reader(path: Path, text: str, columns=("source", "target"), **settings):
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return READERS.build(Choice("po", {"file": str(path), **settings}), columns)


def rows(messages):
    return [(one.line, *one.texts.values()) for one in messages]


@pytest.mark.parametrize("name", ["pl.po", "pl.po.gz"])
@pytest.mark.parametrize("languages", [None, ("en", "pl"), ("en", "PL-pl")])
def test_translated_messages_are_pairs(tmp_path, name, languages):
    messages = reader(tmp_path / name, HEAD + MESSAGES, languages=languages)
    assert rows(messages) == FOUND == rows(messages)


def test_fuzzy_translations_are_used_if_wanted(tmp_path):
    found = reader(tmp_path / "pl.po", HEAD + MESSAGES, fuzzy=True)
    assert {one.texts["source"]: one.texts["target"] for one in found}["Close"] == "Zamek"


@pytest.mark.parametrize("head", [
    HEAD.replace("UTF-8", "CHARSET"),
    HEAD.replace("nplurals=3", "nplurals=INTEGER"),
    HEAD.replace("n==1 ?", "n** ?"),
    HEAD.replace('"Language', '"PO-Revision-Date: YEAR-MO-DA HO:MI+ZONE\\n"\n"Language'),
    HEAD.replace("pl_PL", ""),
    "\ufeff" + HEAD,
    "",
])  # fmt: skip
def test_a_header_that_is_not_filled_in_is_no_fault(tmp_path, head):
    found = rows(reader(tmp_path / "pl.po", head + MESSAGES, languages=("en", "pl")))
    assert [source for _, source, _ in found] == [source for _, source, _ in FOUND]
    assert found[0][2] == FOUND[0][2]


def test_another_encoding_is_read_as_declared(tmp_path):
    (tmp_path / "pl.po").write_bytes(
        (HEAD.replace("UTF-8", "ISO-8859-2") + MESSAGES).replace("„plik”", "").encode("iso-8859-2")
    )
    messages = READERS.build(Choice("po", {"file": str(tmp_path / "pl.po")}), ("source", "target"))
    assert [target for *_, target in rows(messages)][-1] == "%d plików"


@pytest.mark.parametrize(("rule", "forms", "found"), [
    ("nplurals=1; plural=0;", 1, [("%d files", "a")]),
    ("nplurals=2; plural=(n > 1);", 2, [("one file", "a"), ("%d files", "b")]),
    (RUSSIAN, 3, [("%d files", "c")]),
    ("nplurals=2; plural=(n != 1);", 2, [("one file", "a"), ("%d files", "b")]),
])  # fmt: skip
def test_a_singular_that_other_numbers_share_is_left_out(tmp_path, rule, forms, found):
    texts = "".join(f'msgstr[{number}] "{letter}"\n' for number, letter in enumerate("abc"[:forms]))
    head = f'msgid ""\nmsgstr "Plural-Forms: {rule}\\n"\n\n'
    message = f'msgid "one file"\nmsgid_plural "%d files"\n{texts}'
    assert [texts for _, *texts in rows(reader(tmp_path / "x.po", head + message))] == [[*one] for one in found]


@pytest.mark.parametrize(("text", "problem"), [
    (HEAD, "no message"),
    ("hello", r"pl\.po:1: this is not of a list of messages"),
    ('msgid "a"\nmsgid "b"\nmsgstr "c"\n', r"pl\.po:2: a second msgid"),
    ('msgid "a\\nb"\n\nmsgid "c"\nmsgstr ""\n', r"pl\.po:1: .* no msgstr"),
])  # fmt: skip
def test_what_is_no_list_of_messages_is_one_line(tmp_path, text, problem):
    with pytest.raises(DataError, match=problem) as raised:
        list(reader(tmp_path / "pl.po", text))
    assert "\n" not in str(raised.value)


def test_another_language_and_wrong_settings_are_refused(tmp_path):
    with pytest.raises(DataError, match="'pl_PL', by its header, not in 'de'"):
        list(reader(tmp_path / "pl.po", HEAD + MESSAGES, languages=("en", "de")))
    for settings in ({"languages": ("pl",)}, {"columns": ("text",)}):
        with pytest.raises(ConfigError):
            reader(tmp_path / "pl.po", HEAD + MESSAGES, **settings)


@pytest.mark.parametrize(("source", "target", "found"), [
    ("_Open", "Ö_ffnen", ("Open", "Öffnen")),
    ("&Open...", "打开(&O)...", ("Open...", "打开...")),
    ("E&xit", "Ende", ("Exit", "Ende")),
    ("Save _As", "Enregistrer sous my_id", ("Save As", "Enregistrer sous my_id")),
    ("&Save", "Enregistrer&nbsp;!", ("Save", "Enregistrer&nbsp;!")),
    ("&Save", "R&D sichern", ("Save", "R&D sichern")),
    ("&A", "&nbsp;&B", ("A", "&nbsp;&B")),  # two signs: which of them is unknown
    ("file_name", "Datei_name", ("file_name", "Datei_name")),
])  # fmt: skip
def test_signs_of_mnemonics_are_left_out(tmp_path, source, target, found):
    ((_, *texts),) = rows(reader(tmp_path / "x.po", f'msgid "{source}"\nmsgstr "{target}"\n'))
    assert tuple(texts) == found


@pytest.mark.parametrize(("flags", "target"), [
    ("#, fuzzy\n#, c-format\n", ""),
    ("#, c-format\n#, fuzzy\n", ""),
    ("#, fuzzy\n#~ msgid \"old\"\n#~ msgstr \"alt\"\n\n", "gut"),
])  # fmt: skip
def test_flags_are_those_of_the_message_below(tmp_path, flags, target):
    ((_, _, found),) = rows(reader(tmp_path / "x.po", f'{flags}msgid "good"\nmsgstr "gut"\n'))
    assert found == target
