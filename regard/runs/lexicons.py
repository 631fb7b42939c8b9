"""Tables learnt from a run's training pairs, kept in its folder: shortlist, word translations, features."""

from collections.abc import Callable, Container, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np
import torch

from regard.config import Choice, staged
from regard.data.columns import Columns, TextColumn, check_one_vocabulary
from regard.data.manifest import place_file, verify_file
from regard.decoding.features.ngram_model import NGRAM_FILE
from regard.decoding.features.phrases import PHRASES_FILE
from regard.decoding.features.tables import LEXICON, spelled_pieces
from regard.decoding.shortlist import SHORTLIST_FILE, Shortlist
from regard.errors import CheckpointError, ConfigError
from regard.evaluation.alignments import Link
from regard.experiment import Experiment
from regard.explain.adequacy import ADEQUACIES
from regard.explain.adequacy.lexicon import TRANSLATIONS_FILE, LexiconAdequacy, folded_words
from regard.pieces import UNK
from regard.results import Prediction, as_line
from regard.runs.assembly import check_translates, vocabularies_key
from regard.runs.folder import TUNING
from regard.runs.run import Run, task_of
from regard.runs.texts import Say, dev_examples, training_texts
from regard.statistical import ALIGNERS
from regard.statistical.aligner import fit, fit_both
from regard.statistical.arpa import write_arpa
from regard.statistical.bitext import Bitext
from regard.statistical.hmm import Hmm
from regard.statistical.ibm1 import Ibm1
from regard.statistical.kneser_ney import kneser_ney
from regard.statistical.lexical_table import Lexicon
from regard.statistical.phrase_scores import phrase_table
from regard.statistical.phrase_table import PhraseTable
from regard.statistical.symmetrisation import SYMMETRISATIONS, grow_diag_final_and
from regard.statistical.translations import Translations, pseudo_target
from regard.text.words import cut_words

BEST, COMMON = 50, 100  # target pieces of each source piece, and of every source
SHORTLIST_PAIRS, TRANSLATION_PAIRS, TABLE_PAIRS = 500_000, 200_000, 500_000
ROUND, _ITERATIONS = 4096, 5
ORDER, _LONGEST, _LIMIT = 3, 3, 5  # words of an n-gram, pieces of a phrase, and its translations
RARE = 1e-3  # less likely translations of a piece are left out
AMBIGUOUS_FRACTION = 0.1  # of the frequent source words, those of the highest translation entropy
ALIGNER, SYMMETRISATION = "hmm", "grow-diag-final-and"


class LearntShortlist(NamedTuple):
    """Statistics of a shortlist on the dev set; NaN without one."""

    pairs: int  # training pairs
    vocabulary: int
    mean_length: float  # allowed target pieces per sentence
    covered: float  # fraction of the pieces of reference translations that are allowed


def learn_shortlist(
    run: Run, *, best: int = BEST, common: int = COMMON, say: Say = lambda line: None
) -> LearntShortlist:
    """Learn p(target piece | source piece) by IBM model 1, and keep the `best` of each, and the `common` ones of all.

    Raises ConfigError for a run that does not translate, DataError where its training texts are gone.
    """
    experiment, columns = run.experiment, run.columns
    check_translates(columns, "decoding.shortlist")
    check_one_vocabulary(run.vocabularies, "a shortlist")
    sizes = len(columns["source"]), len(columns["target"])
    pairs = list(islice(training_pieces(experiment, columns), SHORTLIST_PAIRS))
    say(f"learning which of {sizes[1]:,} pieces translate which, from {len(pairs):,} pairs")
    bitext = Bitext.of((list(map(str, source)), list(map(str, target))) for source, target in pairs)
    lexicon = fit(bitext, Ibm1(), iterations=_ITERATIONS, warm_up=0).lexicon
    likely = torch.full((sizes[0], best), UNK, dtype=torch.int32)
    for piece in set(chain.from_iterable(source for source, _ in pairs)):
        found = [int(word) for word, _ in lexicon.best(str(piece), best)]
        likely[piece, : len(found)] = torch.tensor(found, dtype=torch.int32)
    counts = np.bincount([*chain.from_iterable(target for _, target in pairs)], minlength=sizes[1])
    shortlist = Shortlist(likely, torch.from_numpy(np.argsort(-counts, kind="stable")[:common].copy()), sizes[1])
    new = staged(run.path / SHORTLIST_FILE)
    shortlist.save(new, vocabularies_key(columns))
    place_file(new, run.path / SHORTLIST_FILE)
    return _statistics(shortlist, experiment, columns, len(pairs), say)


def training_pieces(experiment: Experiment, columns: Columns) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the pieces of both sides of all training pairs."""
    texts = training_texts(experiment)
    while some := list(islice(texts, ROUND)):
        sides = (columns[side].encode_batch([one[side] for one in some]) for side in ("source", "target"))
        yield from zip(*sides, strict=True)


def _statistics(
    shortlist: Shortlist, experiment: Experiment, columns: Columns, pairs: int, say: Say
) -> LearntShortlist:
    """Return the statistics of the shortlist on the dev set."""
    task = task_of(experiment, columns)
    examples = dev_examples(experiment, task, say)
    if examples is None:
        return LearntShortlist(pairs, shortlist.target_size, float("nan"), float("nan"))
    lengths, found, total = list[int](), 0, 0
    for source, target in zip(examples["source"], examples["target"], strict=True):
        batch = task.batch(task.encode([{"source": source, "target": target}]))
        [allowed] = shortlist.allowed(batch.sequences("source"))
        wanted = batch.sequences("target").items[0]
        lengths.append(int(allowed.sum()))
        found, total = found + int(allowed[wanted].sum()), total + len(wanted)
    return LearntShortlist(pairs, shortlist.target_size, sum(lengths) / len(lengths), found / total)


class LearntTranslations(NamedTuple):
    """Translations of words, and the rate of warnings on reference translations; NaN without a dev set."""

    translations: Translations
    pairs: int  # training pairs
    reported: float  # fraction of the dev set's source words that the check reports


def learn_translations(run: Run, *, pseudo: Path | None = None, say: Say = lambda line: None) -> LearntTranslations:
    """Count the links of each source word in the training pairs of a run, and save the counts in its folder.

    `pseudo` is a table of these pairs to write, with a pseudo-token for each translation of an ambiguous word.
    Raises ConfigError for a run that does not translate, or between several languages, DataError where its training
    texts are gone.
    """
    experiment = run.experiment
    check_translates(run.columns, ADEQUACIES.place)
    if experiment.data.routes:
        problem = "names further language pairs, and words are counted in one"
        raise ConfigError("data.routes", problem, "train a run of that pair, or link words with regard align")
    pairs = [(one["source"], one["target"]) for one in islice(training_texts(experiment), TRANSLATION_PAIRS)]
    say(f"linking the words of {len(pairs):,} pairs")
    texts = [(_words(source), _words(target)) for source, target in pairs]
    bitext = Bitext.of(texts)
    links = fit_both(bitext, ALIGNERS.build(Choice(ALIGNER))).links(bitext, SYMMETRISATIONS[SYMMETRISATION])
    translations = Translations.of(texts, links)
    if pseudo is not None:
        _write_pseudo(pseudo, pairs, links, {*translations.ambiguous(AMBIGUOUS_FRACTION)})
    new = staged(run.path / TRANSLATIONS_FILE)
    translations.write(new)
    place_file(new, run.path / TRANSLATIONS_FILE)
    given = dev_examples(experiment, run.task(), say)
    if given is None:
        return LearntTranslations(translations, len(pairs), float("nan"))
    check = LexiconAdequacy(run.path)
    answers = [Prediction(source, target, 0.0) for source, target in zip(given["source"], given["target"], strict=True)]
    found = sum(len(check.uncovered(one)) for one in answers)
    return LearntTranslations(translations, len(pairs), found / max(1, sum(len(_words(one.source)) for one in answers)))


def _write_pseudo(
    path: Path, pairs: Sequence[tuple[str, str]], links: Sequence[list[Link]], ambiguous: Container[str]
) -> None:
    """Write lines of source, tab, target, with punctuation, spaces and capitals unchanged."""
    with path.open("w", encoding="utf-8") as file:
        for (source, target), row in zip(pairs, links, strict=True):
            pieces = [piece for piece in cut_words(target) if piece.strip()]
            text = "".join(pseudo_target(_words(source), pieces, row, ambiguous)).strip()
            file.write(as_line((source, text)) + "\n")


def _words(text: str) -> list[str]:
    """Return the words and punctuation of a text, in lower case."""
    return [word for word, _ in folded_words(text)]


def learn_tables(run: Run, say: Say = lambda line: None) -> None:
    """Learn the tables of features from the training texts of a run, in its source and target pieces.

    An n-gram model of the target, a lexicon by aligned words, and a phrase table; existing files are kept.
    """
    place, names = run.path / TUNING, (NGRAM_FILE, LEXICON, PHRASES_FILE)
    if all(_is_whole(place / name) for name in names):
        return
    place.mkdir(exist_ok=True)
    check_one_vocabulary(run.vocabularies, "tuning")
    pairs = _spelled_pairs(run.experiment, run.columns)
    say(f"learning n-grams, a lexicon and phrases from {len(pairs):,} pairs; this happens once")
    bitext = Bitext.of(pairs)
    both = fit_both(bitext, Hmm())
    likely = both.forward.lexicon
    kept = likely.values >= RARE
    lexicon = Lexicon(likely.source_words, likely.target_words, likely.keys[kept], likely.values[kept])
    phrases = phrase_table(bitext, both.links(bitext, grow_diag_final_and), max_length=_LONGEST, limit=_LIMIT)
    rows = (row for row in phrases if len(row[0]) == 1 or not row[1].scores[0] == row[1].scores[2] == 0.0)
    table = PhraseTable.of(rows)  # without long phrases that only translate each other, such as those seen once
    language = kneser_ney((target for _, target in pairs), ORDER)
    writers: tuple[Callable[[Path], None], ...] = (lambda path: write_arpa(language, path), lexicon.write, table.write)
    for name, write in zip(names, writers, strict=True):
        new = place / f".new.{name}"  # the end of a name decides whether a file is compressed
        write(new)
        place_file(new, place / name)


def _spelled_pairs(experiment: Experiment, columns: Columns) -> list[tuple[list[str], list[str]]]:
    """Return the pieces of the training pairs, in the spelling of tables."""
    sides = [cast(TextColumn, columns[name]) for name in ("source", "target")]
    shown = [spelled_pieces(side) for side in sides]
    pairs = islice(training_pieces(experiment, columns), TABLE_PAIRS)
    return [([shown[0][one] for one in source], [shown[1][one] for one in target]) for source, target in pairs]


def _is_whole(path: Path) -> bool:
    """Return whether a table exists and is intact."""
    try:
        verify_file(path, "")
    except CheckpointError:
        return False
    return path.is_file()
