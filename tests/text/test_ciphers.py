"""Ciphers: what was enciphered is found again, keys by hand, and faults."""

import pytest

from regard.errors import ConfigError
from regard.registry import Choice
from regard.text.ciphers import CIPHERS, cut_symbols, join_symbols

TEXT = [0, 4, 1, 1, 3, 2, 0, 4]


@pytest.mark.parametrize("size", [2, 5, 57])
@pytest.mark.parametrize("name", CIPHERS)
def test_decryption_undoes_encryption(name, size):
    cipher, text = CIPHERS.build(Choice(name)), [one % size for one in TEXT]
    assert cipher.decrypt(cipher.encrypt(text, size), size) == text
    assert all(sorted(table) == [*range(size)] for table in cipher.tables(size))


def test_symbols_move_by_the_key_of_their_place():
    vigenere = CIPHERS.build(Choice("vigenere", {"key": "12"}))
    assert vigenere.encrypt([0, 0, 3, 4, 4], 5) == [1, 2, 4, 1, 0]


@pytest.mark.parametrize("by", [0, 3, 9])
def test_key_of_one_number_is_a_shift(by):
    shift, vigenere = CIPHERS.build(Choice("shift", {"by": by})), CIPHERS.build(Choice("vigenere", {"key": str(by)}))
    assert shift.tables(5) == vigenere.tables(5)


def test_substitutions_depend_on_the_seed_alone():
    tables = [CIPHERS.build(Choice("substitution", {"seed": seed})).tables(30) for seed in (1, 1, 2)]
    assert tables[0] == tables[1] != tables[2]


@pytest.mark.parametrize("key", ["", "3a", "²"])
def test_keys_are_digits(key):
    with pytest.raises(ConfigError, match="digits, such as '345'"):
        CIPHERS.build(Choice("vigenere", {"key": key}))


@pytest.mark.parametrize(("symbols", "cut"), [("characters", ["a", " ", "b"]), ("words", ["a", "b"])])
def test_symbols_are_joined_again(symbols, cut):
    assert cut_symbols("a b", symbols) == cut
    assert join_symbols(cut, symbols) == "a b"
