"""`regard train --text a --text b task=phrases`: translate by phrases, with monolingual text alone.

A phrase table of words, from a dictionary, translates the text of one language; phrase tables of back-translations
follow in rounds, each a file beside the run (https://arxiv.org/abs/1804.07755, section 3.2).
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import torch

from regard.config import write_atomically
from regard.data.readers.lines import read_lines
from regard.experiment import read_experiment
from regard.models.phrase_based import PhraseBased
from regard.recipes.no_pairs import (
    TextSide,
    UnpairedRequest,
    best_dictionary,
    check_texts,
    note_texts,
    phrase_settings,
    sides_of,
    vectors_learnt,
)
from regard.reports.dictionary import Dictionary, WordPair
from regard.runs import RunFolder, train_run
from regard.runs.embeddings import read_embeddings
from regard.runs.texts import Say
from regard.statistical.kneser_ney import kneser_ney
from regard.statistical.phrase_decoder import MOSES_WEIGHTS, PhraseDecoder, SearchLimits
from regard.statistical.phrase_table import PhraseEntry, PhraseTable
from regard.text.words import cut_words

PHRASE_ROUNDS = 5  # of back-translation
COSINE_FACTOR = 30.0  # of cosines: 1 / temperature
_OPTIONS = 20  # translations of a word
_ORDER, _LONGEST, _ITERATIONS = 4, 5, 4
_PHRASE_LIMITS = SearchLimits(size=30, pops=120, options=_OPTIONS, jump=4)


class WordLogProbs(NamedTuple):
    """Log-probabilities (source, target) of words, both ways: rows of the first sum to 1, columns of the other."""

    forward: torch.Tensor
    reverse: torch.Tensor


def train_phrases_without_pairs(request: UnpairedRequest, say: Say, *, quiet: bool = False) -> bool:
    """Train a phrase-based translator of the first language; False when interrupted: the same command resumes it.

    Raises RegardError as `train_without_pairs` does.
    """
    check_texts(request.texts)
    with RunFolder(request.parts).begun():
        return _train_phrases(request, say, quiet=quiet)


def _train_phrases(request: UnpairedRequest, say: Say, *, quiet: bool) -> bool:
    """Train, in a folder of steps that is held."""
    RunFolder(request.run).check_free()
    sides, known_words = sides_of(request), request.known_words()
    note_texts(request)
    if not all(vectors_learnt(side, say, quiet=quiet) for side in sides):
        return False
    texts = [[cut_words(line) for line in read_lines(side.text)] for side in sides]
    for number in range(PHRASE_ROUNDS + 1):
        one, other = number % 2, 1 - number % 2  # text of `one` is written in the language of the other
        file = _file(request, sides, number)
        if file.is_file():
            continue
        if number == 0:
            decoder = _first_decoder(sides, texts, known_words, say)
        else:
            sources = [cut_words(line) for line in read_lines(_file(request, sides, number - 1))]
            decoder = _counted(zip(sources, texts[other], strict=True))
        say(f"round {number}: the text of '{sides[one].code}' is translated, {len(decoder.table):,} phrase pairs")
        found = ("".join(decoder.translate(line)[0].words).strip() for line in texts[one])
        write_atomically(file, "".join(f"{line}\n" for line in found))
    settings = phrase_settings(_file(request, sides, PHRASE_ROUNDS), sides[1].text, request.run)
    return train_run(read_experiment(None, [*settings, *request.changes], say=say), quiet=quiet) is not None


def word_log_probs(source: torch.Tensor, target: torch.Tensor) -> WordLogProbs:
    """Return p(t | s) and p(s | t) as softmax of 30 · cos of unit vectors (word, dim)."""
    logits = COSINE_FACTOR * source @ target.T
    return WordLogProbs(logits.log_softmax(dim=1), logits.log_softmax(dim=0))


def phrases_of_words(
    dictionary: Dictionary, known: Sequence[WordPair], sources: Iterable[str], targets: Iterable[str]
) -> PhraseTable:
    """Return the table of pieces of both texts: known pairs, else the likeliest words by their vectors.

    A word is written as its most frequent piece; signs have no entry, so they are copied.
    """
    usual: dict[str, str] = {piece.strip(): piece for piece, _ in reversed(Counter(targets).most_common())}
    table, rows = (
        word_log_probs(*(side.vectors for side in dictionary[:2])),
        dict[str, dict[str, tuple[float, float]]](),
    )
    best = table.forward.topk(min(_OPTIONS, len(dictionary.target.words)), dim=1)
    for row, (word, places) in enumerate(zip(dictionary.source.words, best.indices.tolist(), strict=True)):
        rows[word] = {
            dictionary.target.words[place]: (float(table.reverse[row, place]), float(table.forward[row, place]))
            for place in places
        }
    given = dict[str, dict[str, tuple[float, float]]]()
    for word, other in known:
        given.setdefault(word, {})[other] = (0.0, 0.0)
    for word, others in given.items():
        rows[word] = {other: (0.0, -math.log(len(others))) for other in others}
    return PhraseTable.of(
        ((piece,), PhraseEntry((usual[word],), (back, back, there, there), ((0, 0),)))
        for piece in dict.fromkeys(sources)
        if piece.strip().isalpha()
        for word, (back, there) in rows.get(piece.strip(), {}).items()
        if word in usual
    )


def _first_decoder(
    sides: Sequence[TextSide], texts: Sequence[list[list[str]]], known: Sequence[WordPair], say: Say
) -> PhraseDecoder:
    one, other = (read_embeddings(side.vectors).table for side in sides)
    pieces = ([piece for line in text for piece in line] for text in texts)
    table = phrases_of_words(best_dictionary(one, other, known, say=say), known, *pieces)
    return PhraseDecoder(table, kneser_ney(texts[1], _ORDER), MOSES_WEIGHTS, _PHRASE_LIMITS)


def _counted(pairs: Iterable[tuple[list[str], list[str]]]) -> PhraseDecoder:
    """Return the decoder of sentence pairs, with weights as they are before tuning."""
    model = PhraseBased([], [], _PHRASE_LIMITS, order=_ORDER, max_phrase=_LONGEST, iterations=_ITERATIONS)
    model.fit([*pairs])
    return model.decoder


def _file(request: UnpairedRequest, sides: Sequence[TextSide], number: int) -> Path:
    """Return the file of a round: the text of one language, translated."""
    return request.parts / f"phrases-{number}.{sides[number % 2].code}"
