"""Archives that are not packages of Argos Translate are refused before a model is opened, and leave no files."""

import json
import tempfile
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from regard.errors import ConfigError, DataError
from regard.reports.behaviour import contestants
from regard.reports.behaviour.contestants import open_contestants

RIGHT = {
    "en_de/metadata.json": json.dumps({"from_code": "en", "to_code": "de"}),
    "en_de/sentencepiece.model": "x",
    "en_de/model/model.bin": "x",
}


def package(folder, entries):
    with ZipFile(folder / "a.argosmodel", "w", ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return folder / "a.argosmodel"


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    yield
    assert [*(tmp_path / "tmp").iterdir()] == []


def without(name):
    return {one: content for one, content in RIGHT.items() if one != name}


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        (RIGHT, "cannot be opened"),
        ({"a.txt": "x"}, "is not a package"),
        (RIGHT | {"other/metadata.json": "{}"}, "is not a package"),
        (without("en_de/sentencepiece.model"), "has no sentencepiece.model"),
        (without("en_de/sentencepiece.model") | {"en_de/bpe.model": "x"}, "bpe.model"),
        (without("en_de/model/model.bin"), "has no model/model.bin"),
        (RIGHT | {"en_de/metadata.json": "{}"}, "from_code"),
        (RIGHT | {"en_de/metadata.json": "[1]"}, "from_code"),
        (RIGHT | {"en_de/metadata.json": "{"}, "is broken"),
        (RIGHT | {"en_de/metadata.json": RIGHT["en_de/metadata.json"] + " " * (2 << 20)}, "from_code"),
        (RIGHT | {"../outside": "x"}, "leads out"),
        (RIGHT | {"en_de/model/../../../outside": "x"}, "leads out"),
        (RIGHT | {"/outside": "x"}, "leads out"),
        (RIGHT | {"en_de\\..\\..\\outside": "x"}, "leads out"),
    ],
)
def test_another_archive_is_refused(tmp_path, entries, words):
    file = package(tmp_path, entries)
    with pytest.raises(DataError, match=f"a.argosmodel: .*{words}"):
        open_contestants([str(file)], [], None, print)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a.argosmodel", "tmp"]


def test_a_large_package_is_refused_before_it_is_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(contestants, "_UNPACKED", 1000)
    with pytest.raises(DataError, match="unpacks to more"):
        contestants.ArgosTranslator(package(tmp_path, RIGHT | {"en_de/model/model.bin": bytes(1001)}))
    stanza = {f"en_de/stanza/{number}": bytes(1001) for number in range(3)}  # is not unpacked
    with pytest.raises(DataError, match="cannot be opened"):
        contestants.ArgosTranslator(package(tmp_path, RIGHT | stanza))
    monkeypatch.setattr(contestants, "_ENTRIES", 2)
    with pytest.raises(DataError, match="more than 2 entries"):
        contestants.ArgosTranslator(package(tmp_path, RIGHT))


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no zip", b"text"])
def test_a_file_that_is_no_archive_is_refused(tmp_path, content):
    (tmp_path / "a.argosmodel").write_bytes(content)
    with pytest.raises(DataError, match="is not a package"):
        contestants.ArgosTranslator(tmp_path / "a.argosmodel")


def test_a_missing_ctranslate2_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(contestants, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"ctranslate2.*pip install"):
        open_contestants([str(package(tmp_path, RIGHT))], [], None, print)
