"""A bilingual dictionary from the word vectors of two languages, and its precision beside known translations."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from regard.config import PartOf
from regard.config.reading import parse
from regard.data.readers.lines import read_lines
from regard.errors import ConfigError, DataError, PartError
from regard.reports.report import Report
from regard.reports.table import Cell, Table, number_cell
from regard.runs.texts import Say
from regard.statistical.dictionaries import DICTIONARY_METHODS
from regard.statistical.dictionaries.known_pairs import fit_pairs
from regard.statistical.dictionaries.method import DictionaryMethod, Space
from regard.statistical.dictionaries.spaces import centred_units, matches, mean_csls
from regard.text.vector_files import write_word2vec
from regard.text.vector_table import VectorTable

RANKS = (1, 5, 10)  # k of the precision at k
_ROUNDS = 10  # of refinement from a dictionary in a file

WordPair = tuple[str, str]


class Dictionary(NamedTuple):
    """Translations of words by their vectors."""

    source: Space  # mapped
    target: Space  # mapped
    mean_csls: float  # of the most frequent source words: how sure the map is, without any known translation

    def translations(self, rows: Sequence[int], count: int) -> list[list[tuple[str, float]]]:
        """Return the `count` best target words of source rows, each with its CSLS."""
        # the density of all source words counts, whichever rows are asked for
        found = matches(self.source.vectors, self.target.vectors, count)
        return [
            [(self.target.words[place], float(score)) for place, score in zip(places, scores, strict=True)]
            for places, scores in zip(found.places[rows].tolist(), found.scores[rows].tolist(), strict=True)
        ]


def learn_dictionary(
    source: VectorTable,
    target: VectorTable,
    start: DictionaryMethod | Sequence[WordPair],
    *,
    words: int = 20_000,
    seed: int = 1,
    say: Say = lambda line: None,
) -> Dictionary:
    """Map the vectors of both languages into one space, by a method or from known pairs.

    The first `words` of each table are read: tables begin with the most frequent words. Raises DataError for vectors of
    different dimensions, PartError without seed words.
    """
    if source.vectors.shape[1] != target.vectors.shape[1]:
        sizes = f"{source.vectors.shape[1]:,} and {target.vectors.shape[1]:,}"
        raise DataError("vectors", f"both languages need vectors of one dimension, not {sizes}")
    one, other = (Space(each.words[:words], _vectors(each, words)) for each in (source, target))
    say(f"mapping {len(one.words):,} words to {len(other.words):,} of {source.vectors.shape[1]:,} dimensions")
    if isinstance(start, DictionaryMethod):
        maps = start.fit(one, other, torch.Generator().manual_seed(seed))
    else:
        maps = fit_pairs(one, other, start, _ROUNDS)
    mapped, others = maps.apply(one.vectors, other.vectors)
    return Dictionary(Space(one.words, mapped), Space(other.words, others), mean_csls(mapped, others))


def _vectors(table: VectorTable, words: int) -> Tensor:
    return centred_units(torch.from_numpy(table.vectors[:words]))


def word_maps(dictionary: Dictionary, known: Sequence[WordPair]) -> tuple[dict[str, str], dict[str, str]]:
    """Return each word's best translation, in both directions; known ones come first."""
    found = list[dict[str, str]]()
    backward = Dictionary(dictionary.target, dictionary.source, dictionary.mean_csls)
    for one, pairs in ((dictionary, known), (backward, [pair[::-1] for pair in known])):
        best = one.translations(range(len(one.source.words)), 1)
        words = {word: ranked[0][0] for word, ranked in zip(one.source.words, best, strict=True)}
        found.append({**words, **dict(reversed(pairs))})
    return found[0], found[1]


def dictionary_method(text: str) -> DictionaryMethod:
    """Return the method of a name, or of a name and settings. Raises ConfigError."""
    try:
        return DICTIONARY_METHODS.build(PartOf(DICTIONARY_METHODS).read(parse(text, "--method")), place="")
    except ConfigError as error:
        raise error.inside("--method") from None


def write_mapped(dictionary: Dictionary, files: Sequence[Path]) -> None:
    """Write the vectors of both languages in their common space, in word2vec's format."""
    for file, space in zip(files, (dictionary.source, dictionary.target), strict=True):
        write_word2vec(file, VectorTable(space.words, space.vectors.numpy()), binary=file.suffix == ".bin")


def read_word_pairs(path: Path) -> list[WordPair]:
    """Return the pairs of a file: two words a line, parted by a tab or a space."""
    pairs = []
    for number, line in enumerate(read_lines(path), start=1):
        if words := line.split("\t") if "\t" in line else line.split():
            if len(words) < 2 or not all(word.strip() for word in words[:2]):
                raise DataError(
                    path, f"{line[:60]!r} is not a pair of words; expected WORD<TAB>TRANSLATION", line=number
                )
            pairs.append((words[0].strip(), words[1].strip()))
    if not pairs:
        raise DataError(path, "has no pair of words")
    return pairs


def dictionary_report(dictionary: Dictionary, count: int) -> Report:
    """Report the best translations of all source words, a pair a line."""
    found = dictionary.translations(range(len(dictionary.source.words)), count)
    rows = [
        {"source": word, "target": other, "score": round(score, 4)}
        for word, others in zip(dictionary.source.words, found, strict=True)
        for other, score in others
    ]
    return Report([], rows, "\n".join(f"{row['source']}\t{row['target']}\t{row['score']:.4f}" for row in rows))


def precision_report(dictionary: Dictionary, known: Iterable[WordPair]) -> Report:
    """Report precision at 1, 5 and 10: of the source words with known translations, the share that finds one.

    Words without a vector are left out; `coverage` is the share of words that are not.
    """
    right = defaultdict[str, set[str]](set)
    for word, other in known:
        right[word].add(other)
    rows = {word: row for row, word in enumerate(dictionary.source.words)}
    words = [word for word in right if word in rows and right[word] & set(dictionary.target.words)]
    if not words:
        raise PartError("no known translation has vectors in both languages")
    found = dictionary.translations([rows[word] for word in words], max(RANKS))
    values: Mapping[str, float] = {
        f"precision_at_{k}": sum(
            any(other in right[word] for other, _ in best[:k]) for word, best in zip(words, found, strict=True)
        )
        / len(words)
        for k in RANKS
    }
    values = {**values, "words": len(words), "coverage": len(words) / len(right), "mean_csls": dictionary.mean_csls}
    heads = ["", *(f"P@{k}" for k in RANKS), "words", "coverage", "mean CSLS"]
    return Report([Table(heads, [[Cell("dictionary"), *map(number_cell, values.values())]])], values)
