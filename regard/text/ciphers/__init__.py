"""Ciphers: what changes the symbols of a text so that a key is needed to read it. One file a row."""

from regard.registry import Registry
from regard.text.ciphers.cipher import Cipher, cut_symbols, join_symbols
from regard.text.ciphers.shift import ShiftCipher
from regard.text.ciphers.substitution import SubstitutionCipher
from regard.text.ciphers.vigenere import VigenereCipher

CIPHERS: Registry[Cipher] = Registry(
    "cipher",
    {
        "shift": ShiftCipher,
        "substitution": SubstitutionCipher,
        "vigenere": VigenereCipher,
    },
    within="data.train={{name: ciphered, file: FILE, cipher: {part}}}",
)

__all__ = ["CIPHERS", "cut_symbols", "join_symbols"]
