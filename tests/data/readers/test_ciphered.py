"""Enciphered texts: banks that do not match to learn from, pairs to be judged by; and banks of lines."""

import pytest

from regard.data.readers import READERS
from regard.errors import ConfigError, DataError
from regard.registry import Choice
from regard.text.ciphers import cut_symbols, join_symbols

COLUMNS = ("cipher", "plain")
WORDS = ["b", "a", "c", "a", "b", "c", "c", "a", "b", "b", "a", "c"]


@pytest.fixture
def text(tmp_path):
    """120 words in lines of 12, among them one rare one."""
    path = tmp_path / "text"
    path.write_text("\n".join([" ".join(WORDS)] * 9 + [" ".join([*WORDS[:-1], "rare", "c"])]) + "\n", "utf-8")
    return path


def read(text, part="train", **settings):
    chosen = {"file": str(text), "symbols": "words", "size": 3, "length": 4, "part": part, **settings}
    return [tuple(one.texts.values()) for one in READERS.build(Choice("ciphered", chosen), COLUMNS)]


def test_dev_and_test_parts_are_pairs(text):
    for part in ("dev", "test"):
        found = read(text, part, cipher={"name": "shift", "by": 4})
        assert len(found) == 3
        for cipher, plain in found:
            assert cipher.split() == ["abc"[("abc".index(one) + 4) % 3] for one in plain.split()]


def test_no_plain_text_is_enciphered_in_training(tmp_path):
    """Of words that are all different, those of the two banks are others."""
    path = tmp_path / "text"
    path.write_text("\n".join(f"w{number:03}" for number in range(200)), "utf-8")
    found = read(path, size=200, cipher={"name": "shift", "by": 0})
    ciphers, plains = ({word for pair in found for word in pair[side].split()} for side in (0, 1))
    assert len(ciphers) == len(plains) == 4 * len(found) == 80
    assert not ciphers & plains
    evaluated = {word for part in ("dev", "test") for pair in read(path, part, size=200) for word in pair[1].split()}
    assert not evaluated & (ciphers | plains)


def test_rare_symbols_are_dropped_or_one_symbol(text):
    assert "rare" not in str([read(text, part) for part in ("train", "dev", "test")])
    joined = [pair[1] for part in ("train", "dev", "test") for pair in read(text, part, rare="joined")]
    assert {word for one in joined for word in one.split()} <= {"a", "b", "c", "<unk>"}
    assert len({word for one in joined for word in one.split()}) == 3


def test_disjoint_ciphers_share_no_symbol_with_texts(text):
    found = read(text, disjoint=True)
    ciphers, plains = ({word for pair in found for word in pair[side].split()} for side in (0, 1))
    assert not ciphers & plains
    assert len(ciphers) == len(plains) == 3


def test_many_disjoint_symbols_stay_what_they_are(tmp_path):
    """None is a space, and none becomes two characters by NFC."""
    (path := tmp_path / "many").write_text(" ".join(f"w{number}" for number in range(9_000)), "utf-8")
    found = read(path, "test", size=9_000, length=300, disjoint=True)
    assert [len(side.split()) for pair in found for side in pair] == [300] * 6
    for symbols in ("words", "characters"):
        cut = [cut_symbols(pair[0], symbols) for pair in found]
        assert [join_symbols(one, symbols) for one in cut] == [pair[0] for pair in found]
    with pytest.raises(ConfigError, match="at most 100,000"):
        read(path, size=200_000, disjoint=True)


def test_characters_have_the_space_between_lines(tmp_path):
    path = tmp_path / "text"
    path.write_text("ab\nab\nab\n" * 10, "utf-8")
    found = read(path, "test", symbols="characters", length=3, cipher={"name": "shift", "by": 1})
    assert found == [("b a", "ab ")] * 3


def test_key_of_a_part_is_its_own(text):
    keys = {
        READERS.build(Choice("ciphered", {"file": str(text), **one}), COLUMNS).key()
        for one in ({}, {"part": "dev"}, {"cipher": "vigenere"}, {"cipher": {"name": "shift", "by": 4}}, {"length": 9})
    }
    assert len(keys) == 5


def test_faults_are_told(tmp_path, text):
    (path := tmp_path / "same").write_text("a a a\n", "utf-8")
    with pytest.raises(DataError, match="has 1 different words"):
        read(path)
    with pytest.raises(ConfigError, match="task=cipher"):
        READERS.build(Choice("ciphered", {"file": str(text)}), ("text",))


def test_shorter_bank_begins_again(tmp_path):
    for name, lines in (("cipher", "1 2 3 4 5"), ("plain", "a b")):
        (tmp_path / name).write_text(lines.replace(" ", "\n") + "\n", "utf-8")
    files = {name: str(tmp_path / name) for name in COLUMNS}
    found = [*READERS.build(Choice("unpaired", {"files": files}), COLUMNS)]
    assert [(one.line, *one.texts.values()) for one in found] == [
        (1, "1", "a"), (2, "2", "b"), (3, "3", "a"), (4, "4", "b"), (5, "5", "a")
    ]  # fmt: skip
