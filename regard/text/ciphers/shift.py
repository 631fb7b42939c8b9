"""Each symbol moves on by the same number of places."""

from typing import Annotated

from regard.config import Doc
from regard.config.bounds import Count
from regard.text.ciphers.cipher import Cipher


class ShiftCipher(Cipher):
    """c = (p + by) mod size: Caesar's cipher."""

    aliases = "caesar"

    def __init__(self, *, by: Annotated[Count, Doc("Shift in the alphabet, in positions.")] = 3) -> None:
        self.by = by

    def tables(self, size: int) -> list[list[int]]:
        return [[(one + self.by) % size for one in range(size)]]
