"""A tokenizer as small as can be: a letter is a token, and sampling writes some letters twice."""

import random
from collections.abc import Sequence

from regard.text.tokenizer import Tokenizer


class Letters(Tokenizer):
    kind = "letters"

    def __init__(self, size: int = 1000, *, samples: bool = False, slack: float = 0.3) -> None:
        self.size, self.samples, self.slack = size, samples, slack

    def encode(self, text: str) -> list[int]:
        return [4 + ord(letter) % (self.size - 4) for letter in text]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        return [self.encode(text) for text in texts]

    def sample(self, text: str, seed: int) -> list[int]:
        draws = random.Random(seed)
        return [copy for number in self.encode(text) for copy in [number] * (1 + (draws.random() < self.slack))]

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(chr(number - 4) for number in ids)

    def pieces(self, ids: Sequence[int]) -> list[str]:
        return [self.decode([number]) for number in ids]

    def files(self) -> dict[str, bytes]:
        return {"size": str(self.size).encode()}

    def key(self) -> str:
        return f"letters {self.size}"

    def __len__(self) -> int:
        return self.size
