"""Each symbol moves on by a number that depends on its place."""

from typing import Annotated

from regard.config import Doc
from regard.errors import PartError
from regard.text.ciphers.cipher import Cipher


class VigenereCipher(Cipher):
    """c_i = (p_i + key_{i mod m}) mod size, m the length of the key. A key of one number is a shift."""

    aliases = "polyalphabetic"

    def __init__(
        self, *, key: Annotated[str, Doc("Key: shifts of successive positions, one digit each; they repeat.")] = "345"
    ) -> None:
        key = str(key)
        if not key or not all("0" <= one <= "9" for one in key):
            raise PartError(f"is '{key}'", "digits, such as '345', in quotes", setting="key")
        self.shifts = [int(one) for one in key]

    def tables(self, size: int) -> list[list[int]]:
        return [[(one + by) % size for one in range(size)] for by in self.shifts]
