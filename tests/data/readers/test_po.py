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
msgid "Open a "
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

#~ msgid "old"
#~ msgstr "stary"
"""
FOUND = [
    ("Open a file now", "Otwórz „plik” teraz"),
    ("Save", ""),
    ("Close", ""),
    ("one file", "plik"),
    ("%d files", "%d plików"),
]


def reader(path: Path, text: str, columns=("source", "target"), **settings):
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return READERS.build(Choice("po", {"file": str(path), **settings}), columns)


@pytest.mark.parametrize("name", ["pl.po", "pl.po.gz"])
@pytest.mark.parametrize("languages", [None, ("en", "pl"), ("en", "PL-pl")])
def test_translated_messages_are_pairs(tmp_path, name, languages):
    messages = reader(tmp_path / name, HEAD + MESSAGES, languages=languages)
    found = list(messages)
    assert [tuple(one.texts.values()) for one in found] == FOUND
    assert found == list(messages)
    lines = (HEAD + MESSAGES).splitlines()
    assert ["Open" in lines[found[0].line - 1], lines[found[1].line - 1]] == [True, 'msgid "Save"']


def test_fuzzy_translations_are_used_if_wanted(tmp_path):
    found = reader(tmp_path / "pl.po", HEAD + MESSAGES, fuzzy=True)
    assert {one.texts["source"]: one.texts["target"] for one in found}["Close"] == "Zamek"


@pytest.mark.parametrize(("text", "problem"), [
    (HEAD, "no message"),
    ("hello", "pl.po:1: "),
    ('msgid "a"\nmsgid "b"\nmsgstr "c"\n', "pl.po:1: missing msgstr"),
    (HEAD.replace("nplurals=3", "nplurals=x") + MESSAGES, "invalid literal"),
    (HEAD.replace("n==1 ?", "n** ?") + MESSAGES, "not a list of messages"),
    (HEAD.replace("UTF-8", "nothing") + MESSAGES, "not a list of messages"),
])  # fmt: skip
def test_what_is_no_list_of_messages_is_one_line(tmp_path, text, problem):
    with pytest.raises(DataError, match=problem) as raised:
        list(reader(tmp_path / "pl.po", text))
    assert "\n" not in str(raised.value)


def test_another_language_and_wrong_settings_are_refused(tmp_path):
    with pytest.raises(DataError, match="'pl-pl', by its header, not in 'de'"):
        list(reader(tmp_path / "pl.po", HEAD + MESSAGES, languages=("en", "de")))
    for settings in ({"languages": ("pl",)}, {"columns": ("text",)}):
        with pytest.raises(ConfigError):
            reader(tmp_path / "pl.po", HEAD + MESSAGES, **settings)
