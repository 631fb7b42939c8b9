"""A run's lexical shortlist: learnt from the pairs that the run was trained on, and kept in its folder."""

from collections.abc import Callable, Iterator
from itertools import chain, islice
from typing import NamedTuple

import numpy as np
import torch

from regard.config import staged
from regard.data.columns import Columns, check_one_vocabulary
from regard.data.manifest import place_file
from regard.decoding.shortlist import SHORTLIST_FILE, Shortlist
from regard.experiment import Experiment
from regard.pieces import UNK
from regard.runs.assembly import check_translates, vocabularies_key
from regard.runs.run import Run, task_of
from regard.runs.texts import dev_examples, training_readers
from regard.statistical.aligner import fit
from regard.statistical.bitext import Bitext
from regard.statistical.ibm1 import Ibm1

BEST, COMMON = 50, 100  # target pieces of each source piece, and of every source
MOST_PAIRS, ROUND, ITERATIONS = 500_000, 4096, 5

Ids = list[int]


class Learnt(NamedTuple):
    """What a shortlist is like, by the dev part; NaN without one."""

    pairs: int  # it was learnt from
    vocabulary: int
    mean_length: float  # words that may be written of a sentence
    covered: float  # share of the pieces of given translations that are among them


def learn_shortlist(
    run: Run, *, best: int = BEST, common: int = COMMON, say: Callable[[str], None] = lambda line: None
) -> Learnt:
    """Learn p(target piece | source piece) by IBM model 1, and keep the `best` of each, and the `common` ones of all.

    Raises ConfigError for a run that does not translate, DataError where its training texts are gone.
    """
    experiment, columns = run.experiment, run.columns
    check_translates(columns, "decoding.shortlist")
    check_one_vocabulary(run.vocabularies, "a shortlist")
    sizes = len(columns["source"]), len(columns["target"])
    pairs = list(islice(training_pieces(experiment, columns), MOST_PAIRS))
    say(f"learning which of {sizes[1]:,} pieces translate which, from {len(pairs):,} pairs")
    bitext = Bitext.of((list(map(str, source)), list(map(str, target))) for source, target in pairs)
    lexicon = fit(bitext, Ibm1(), iterations=ITERATIONS, warm_up=0).lexicon
    likely = torch.full((sizes[0], best), UNK, dtype=torch.int32)
    for piece in set(chain.from_iterable(source for source, _ in pairs)):
        found = [int(word) for word, _ in lexicon.best(str(piece), best)]
        likely[piece, : len(found)] = torch.tensor(found, dtype=torch.int32)
    counts = np.bincount([*chain.from_iterable(target for _, target in pairs)], minlength=sizes[1])
    shortlist = Shortlist(likely, torch.from_numpy(np.argsort(-counts, kind="stable")[:common].copy()), sizes[1])
    new = staged(run.path / SHORTLIST_FILE)
    shortlist.save(new, vocabularies_key(columns))
    place_file(new, run.path / SHORTLIST_FILE)
    return _judged(shortlist, experiment, columns, len(pairs), say)


def training_pieces(experiment: Experiment, columns: Columns) -> Iterator[tuple[Ids, Ids]]:
    """The pieces of both sides of all training pairs."""
    texts = (example.texts for reader in training_readers(experiment).values() for example in reader)
    while some := list(islice(texts, ROUND)):
        sides = (columns[side].encode_batch([one[side] for one in some]) for side in ("source", "target"))
        yield from zip(*sides, strict=True)


def _judged(
    shortlist: Shortlist, experiment: Experiment, columns: Columns, pairs: int, say: Callable[[str], None]
) -> Learnt:
    """What the lists of the dev part are like."""
    task = task_of(experiment, columns)
    examples = dev_examples(experiment, task, say)
    if examples is None:
        return Learnt(pairs, shortlist.target_size, float("nan"), float("nan"))
    lengths, found, total = list[int](), 0, 0
    for source, target in zip(examples["source"], examples["target"], strict=True):
        batch = task.batch(task.encode([{"source": source, "target": target}]))
        [allowed] = shortlist.allowed(batch.sequences("source"))
        wanted = batch.sequences("target").items[0]
        lengths.append(int(allowed.sum()))
        found, total = found + int(allowed[wanted].sum()), total + len(wanted)
    return Learnt(pairs, shortlist.target_size, sum(lengths) / len(lengths), found / total)
