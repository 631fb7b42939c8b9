"""The contract of tokenizers, and of the recipes that make them."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path

from regard.text.clean import clean
from regard.text.offsets import TextPlace, given_places, spelt_places

KIND_FILE = "kind"


class Tokenizer(ABC):
    """Text ↔ ids. Where it is `lossless`, decode(encode(text)) == clean(text): what has no piece is spelt in bytes."""

    kind: str  # the row of TOKENIZERS that loads it
    lossless = True  # False: for texts that are only read, unless it `writes`
    writes = False  # True: a text that is decoded can be shown, though it may be normalised
    keeps_words = True  # False: a word may have no piece
    samples = False  # True: `sample` differs from `encode`
    first: tuple[int, ...] = ()  # ids that every text begins with, as the code of its language
    mask: int | None = None  # the id of <mask>, where it is reserved

    @abstractmethod
    def __len__(self) -> int:
        """Size of the vocabulary, the specials included."""

    @abstractmethod
    def encode(self, text: str) -> list[int]:
        """Cleans, then cuts; neither BOS nor EOS is added."""

    @abstractmethod
    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of ids. Never fails: specials are left out, invalid UTF-8 becomes U+FFFD."""

    @abstractmethod
    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Return what each id stands for, as shown to a person."""

    @abstractmethod
    def key(self) -> str:
        """SHA-256 over everything that decides the ids."""

    @abstractmethod
    def files(self) -> dict[str, bytes]:
        """Return what its recipe loads: the content of each file by its name."""

    def save(self, folder: Path) -> None:
        """Write into a folder, which is made; `load_tokenizer` reads it."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in {**self.files(), KIND_FILE: self.kind.encode()}.items():
            (folder / name).write_bytes(content)

    def sample(self, text: str, seed: int) -> list[int]:
        """A random cutting that depends on the text and `seed` alone."""
        return self.encode(text)

    def offsets(self, text: str) -> list[TextPlace]:
        """Return the place of each piece of `encode(text)` in the given text, without the space before it.

        One that stands for no character that is seen has None.
        """
        whole = clean(text)
        return given_places(text, spelt_places(self.pieces(self.encode(text)), whole, self.spelt(whole)))

    def spelt(self, text: str) -> list[str]:
        """Each character of a clean text as pieces hold it, where they are lossless."""
        return list(text)

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """`encode` of each."""
        return [self.encode(text) for text in texts]


class Recipe(ABC):
    """A way to make a tokenizer out of text: a row of the table, with its settings."""

    lossless = True  # of the tokenizers that it makes

    @abstractmethod
    def train(self, texts: Iterable[str]) -> Tokenizer:
        """Learns from sentences. Raises DataError when there are none."""

    @staticmethod
    @abstractmethod
    def load(folder: Path) -> Tokenizer:
        """Load what a tokenizer of this kind saved. Raises CheckpointError where it is damaged."""
