"""Word alignments of a run's training pairs: learnt once by a word aligner and saved."""

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple, cast
from zipfile import BadZipFile

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.arrays import Longs
from regard.config import staged
from regard.data import Reader
from regard.data.columns import Columns, TextColumn, of_language
from regard.data.ragged import Ragged
from regard.data.readers.lines import digest
from regard.experiment import Experiment
from regard.explain.tokens import words_of
from regard.objectives.objective import PairLinks
from regard.pieces import EOS, PAD
from regard.records import Batch
from regard.registry import Choice
from regard.runs.assembly import check_translates
from regard.runs.folder import RunFolder
from regard.runs.texts import language_of, training_readers
from regard.statistical import ALIGNERS
from regard.statistical.aligner import fit_both
from regard.statistical.bitext import Bitext
from regard.statistical.symmetrisation import grow_diag_final_and
from regard.text.word_groups import WordGroups

SIDES = ("source", "target")
MOST_PAIRS = 200_000  # that are aligned; others have no links
LINKS_FORMAT = 1  # of the file; part of its name

Hashes = NDArray[np.uint64]


class KeptLinks(NamedTuple):
    """Links of words, by the hash of the pair of texts."""

    hashes: Hashes  # in rising order
    words: Ragged  # source, target, source, target …, of each pair

    def save(self, path: Path) -> None:
        """Write to a file, in one step."""
        path.parent.mkdir(parents=True, exist_ok=True)
        new = staged(path)
        with new.open("wb") as file:
            np.savez(file, digest=self._digest(), hashes=self.hashes, data=self.words.data, offsets=self.words.offsets)
        new.replace(path)

    @classmethod
    def load(cls, path: Path) -> "KeptLinks | None":
        """Return the saved links; None where there are none, or they are damaged."""
        try:
            with np.load(path, allow_pickle=False) as file:
                found = cls(file["hashes"], Ragged(file["data"], file["offsets"]))
                whole = np.array_equal(file["digest"], found._digest()) if "digest" in file else True  # one of before
        except (OSError, ValueError, KeyError, BadZipFile):
            return None
        return found if whole else None

    def _digest(self) -> NDArray[np.uint8]:
        """SHA-256 of all numbers."""
        arrays = (self.hashes, self.words.data, self.words.offsets)
        content = hashlib.sha256(b"".join(np.ascontiguousarray(one).tobytes() for one in arrays))
        return np.frombuffer(content.digest(), np.uint8)


class TrainingLinks:
    """Links of the pieces of a batch: training pairs are found by their texts, with any segmentation and line."""

    def __init__(self, columns: Columns, kept: KeptLinks) -> None:
        self._kept = kept
        self._pieces = [_pieces(columns, name) for name in SIDES]
        self._groups = [*map(WordGroups, self._pieces)]

    def __call__(self, batch: Batch) -> Tensor:
        """Return (batch, target, source): True where pieces are in linked words; False for all unknown pairs."""
        ids = [batch.sequences(name).items.cpu().numpy() for name in SIDES]
        sources, targets = (groups.numbers(one) for groups, one in zip(self._groups, ids, strict=True))
        rows, places = self._known(ids)
        links, lengths = self._kept.words.gather(places)
        of_row, (source, target) = np.repeat(rows, lengths // 2), links.reshape(-1, 2).T
        words = np.zeros((len(ids[0]), int(targets.max(initial=0)) + 1, int(sources.max(initial=0)) + 1), dtype=bool)
        inside = (target < words.shape[1]) & (source < words.shape[2])
        words[of_row[inside], target[inside], source[inside]] = True
        pieces = words[np.arange(len(words))[:, None, None], targets[:, :, None], sources[:, None, :]]
        read, written = ((one != PAD) & (one != EOS) for one in ids)
        return torch.from_numpy(pieces & written[:, :, None] & read[:, None, :])

    def _known(self, ids: Sequence[Longs]) -> tuple[Longs, Longs]:
        """Return the rows of a batch that are training pairs, and their places among these."""
        hashes, texts = self._kept.hashes, list[list[str]]()
        for pieces, side in zip(self._pieces, ids, strict=True):
            texts.append(["".join(pieces[one] for one in row if one not in (PAD, EOS)) for row in side.tolist()])
        asked = np.array([pair_hash(*pair) for pair in zip(*texts, strict=True)], dtype=np.uint64)
        places = np.searchsorted(hashes, asked).clip(max=max(0, len(hashes) - 1))
        rows = np.flatnonzero(hashes[places] == asked) if len(hashes) else np.zeros(0, dtype=np.int64)
        return rows, places[rows]


def training_links(
    experiment: Experiment, folder: RunFolder, columns: Columns, say: Callable[[str], None], aligner: Choice
) -> PairLinks:
    """Return the links of a run's training pairs by a row of ALIGNERS: the saved ones, else learnt now.

    A language with its own vocabulary has its links learnt from its pairs alone.
    Raises ConfigError for a run that does not translate.
    """
    check_translates(columns, "penalties")
    by_language, found = dict[str, list[Reader]](), dict[str, TrainingLinks]()
    for corpus, reader in training_readers(experiment).items():
        language = language_of(experiment, corpus)
        by_language.setdefault(language if language in experiment.text.own_vocabularies else "", []).append(reader)
    for language, readers in by_language.items():
        cache = experiment.data.cache or folder.data
        found[language] = _links_of(readers, of_language(columns, language), cache, say, aligner)
    return lambda batch: found[batch.route if batch.route in found else ""](batch)


def _links_of(
    readers: Sequence[Reader], columns: Columns, cache: Path, say: Callable[[str], None], aligner: Choice
) -> TrainingLinks:
    """Return the links of the pairs of readers, in the pieces of columns."""
    path = cache / f"links-{_key(readers, columns, aligner)}.npz"
    kept = KeptLinks.load(path)
    if kept is None:
        start = time.monotonic()
        texts = (example.texts for reader in readers for example in reader)
        pairs = list(islice(((one["source"], one["target"]) for one in texts), MOST_PAIRS))
        say(f"linking the words of {len(pairs):,} training pairs by {aligner.name} alignment")
        kept = learnt_links(pairs, columns, aligner)
        kept.save(path)
        seconds, count = time.monotonic() - start, len(kept.words.data) // 2
        say(f"{count:,} links of words learnt in {seconds:.0f} s, kept in {path.name}")
    return TrainingLinks(columns, kept)


def learnt_links(pairs: Sequence[tuple[str, str]], columns: Columns, aligner: Choice) -> KeptLinks:
    """Link the words of pairs (source, target), joined from their pieces, in lower case and both directions."""
    sides = [[*_cut(columns, name, texts)] for name, texts in zip(SIDES, zip(*pairs, strict=True), strict=True)]
    hashes = np.array([pair_hash(*map("".join, pair)) for pair in zip(*sides, strict=True)], dtype=np.uint64)
    hashes, first = np.unique(hashes, return_index=True)
    worded = [[[word.text.lower() for word in words_of(pieces)] for pieces in side] for side in sides]
    bitext = Bitext.of(zip(*worded, strict=True))
    links = fit_both(bitext, ALIGNERS.build(aligner)).links(bitext, grow_diag_final_and)
    rows = [[*chain.from_iterable(links[place])] for place in first.tolist()]
    return KeptLinks(hashes, Ragged.of(rows, np.dtype(np.int32)))


def _cut(columns: Columns, name: str, texts: Sequence[str]) -> Iterator[list[str]]:
    pieces = _pieces(columns, name)
    for ids in columns[name].encode_batch(list(texts)):
        yield [pieces[one] for one in ids]


def _pieces(columns: Columns, name: str) -> list[str]:
    """Return all pieces of a column's vocabulary."""
    column = cast(TextColumn, columns[name])
    return column.pieces(range(len(column)))


def pair_hash(source: str, target: str) -> int:
    """Return the hash of a training pair's joined pieces."""
    return int.from_bytes(hashlib.blake2b(f"{source}\n{target}".encode(), digest_size=8).digest(), "big")


def _key(readers: Sequence[Reader], columns: Columns, aligner: Choice) -> str:
    """Return a digest of everything that determines the links."""
    files = [(reader.key(), [digest(path).hex() for path in reader.files]) for reader in readers]
    parts = LINKS_FORMAT, MOST_PAIRS, aligner, [columns[name].key() for name in SIDES], files
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]
