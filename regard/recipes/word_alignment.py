"""`regard align`: two texts, a model in both directions, one alignment of each sentence pair."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from regard.data.readers import ParallelReader
from regard.errors import DataError
from regard.evaluation import GoldAlignment, read_gold
from regard.statistical.bitext import Bitext, Words, split_words

Pair = tuple[Words, Words]
Files = tuple[Path, Path]


class Pairs(NamedTuple):
    """Sentence pairs of two files, and all those that are learnt from."""

    written: list[Pair]  # as the files spell them
    given: Bitext  # the same
    learnt: Bitext  # these and others


def read_pairs(files: Files, also: Files | None = None, *, lowercase: bool = False) -> Pairs:
    """Read two texts, and two others that are learnt from as well.

    Raises DataError for files that cannot be read or differ in length.
    """
    written = _read(files)
    given, others = _folded(written, lowercase), _folded(_read(also) if also else [], lowercase)
    return Pairs(written, Bitext.of(given), Bitext.of([*given, *others]))


def read_gold_of(path: Path, pairs: Sequence[Pair]) -> list[GoldAlignment]:
    """Return the gold links of sentence pairs. Raises DataError for a file that is not about them."""
    gold = read_gold(path)
    if len(gold) != len(pairs):
        raise DataError(path, f"has {len(gold):,} lines, and there are {len(pairs):,} sentence pairs")
    for number, (one, (source, target)) in enumerate(zip(gold, pairs, strict=True), start=1):
        beyond = next((link for link in sorted(one.possible) if link[0] >= len(source) or link[1] >= len(target)), None)
        if beyond:
            problem = f"the link {beyond[0] + 1}-{beyond[1] + 1} is beyond {len(source)} and {len(target)} words"
            raise DataError(path, problem, line=number, hint="words are counted from 1, source first")
    return gold


def _read(files: Files) -> list[Pair]:
    reader = ParallelReader(("source", "target"), files=dict(zip(("source", "target"), map(str, files), strict=True)))
    return [(split_words(one.texts["source"]), split_words(one.texts["target"])) for one in reader]


def _folded(pairs: list[Pair], lowercase: bool) -> list[Pair]:
    if not lowercase:
        return pairs
    return [([word.lower() for word in source], [word.lower() for word in target]) for source, target in pairs]
