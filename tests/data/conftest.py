"""Small corpora, built where a test asks for them."""

import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from letters import Letters

from regard.data.corpus import Corpus
from regard.data.readers import READERS, Reader
from regard.registry import Choice

COLUMNS = ("source", "target")


@pytest.fixture(scope="session")
def letters() -> Any:
    """The class of a tokenizer for which a letter is a token."""
    return Letters


@pytest.fixture(scope="session")
def write() -> Callable[..., Reader]:
    """A folder and pairs of texts → a reader of two files there that hold them."""

    def files(folder: Path, pairs: Iterable[tuple[str, str]]) -> Reader:
        names = {column: folder / f"text.{column}" for column in COLUMNS}
        for path, texts in zip(names.values(), zip(*pairs, strict=True), strict=True):
            path.write_bytes("".join(text + "\n" for text in texts).encode())
        return READERS.build(Choice("parallel", {"files": {name: str(path) for name, path in names.items()}}), COLUMNS)

    return files


@pytest.fixture(scope="session")
def corpus_of(write) -> Callable[..., Corpus]:
    """A folder and pairs of texts → a corpus there of their letters."""

    def build(folder: Path, pairs: Iterable[tuple[str, str]], **settings: Any) -> Corpus:
        return Corpus.open(write(folder, pairs), dict.fromkeys(COLUMNS, Letters()), folder / "cache", **settings)

    return build


@pytest.fixture(scope="session")
def sentences() -> list[tuple[str, str]]:
    """500 pairs, 1 to 40 letters a side, of related lengths; no two alike."""
    draws = random.Random(1)
    alphabet = "abcdefghijklmnopqrstuvwxyz äöü"
    pairs = []
    for number in range(500):
        size = draws.randint(1, 30)
        pairs.append(
            (f"{number}" + "".join(draws.choices(alphabet, k=size)), "z" * round(size * draws.uniform(1, 1.3)))
        )
    return pairs
