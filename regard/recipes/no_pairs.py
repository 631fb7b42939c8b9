"""`regard train --text a --text b`: train a translator on monolingual text of two languages.

Word vectors of each text are mapped into one space; the resulting dictionary translates word by word; a network
learns from these translations first, and then from its own, in both directions (F23, F24); phrases of both directions
are counted on its translations (F26). Every step is a folder or a file beside the run, from which the same command
resumes.
"""

import json
import math
import shutil
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from regard.config import write_atomically, write_yaml
from regard.data.readers.lines import digest, read_lines
from regard.errors import ConfigError, DataError, PartError
from regard.experiment import SETTINGS_FILE, read_experiment
from regard.experiment.data import pair_of
from regard.predictor import load
from regard.recipes.one_language import write_sentences
from regard.recipes.spent_time import SpentTime
from regard.registry import Choice
from regard.reports.dictionary import (
    Dictionary,
    WordPair,
    dictionary_method,
    learn_dictionary,
    read_word_pairs,
    word_maps,
)
from regard.runs import Run, RunFolder, train_run
from regard.runs.embeddings import read_embeddings
from regard.runs.texts import Say
from regard.statistical.language_checks import PlainText, check_disjoint, check_two_languages
from regard.text.vector_table import VectorTable
from regard.text.words import cut_words

SAME_COMMAND = "interrupted; go on with the same command"  # behind a step that has no command of its own
METHODS = ("identical", "similarity")  # of the dictionary; the one with the higher mean CSLS is used
MIN_LINES = 500  # of a text
_VECTOR_SHARE = 0.2  # of the minutes, for the word vectors of each language
_PHRASE_SHARE = 0.1  # of the minutes, for phrases behind the network
_WORDS = 20_000  # of a dictionary
_VECTORS = (  # settings of word vectors: of little text many epochs of small batches
    "text.tokenizer={name: words, size: 50000, min_count: 3}",
    "model.dim=100",
    "task.negatives=10",
    "training.batch_tokens=512",
    "training.max_epochs=15",
    "data.dev_fraction=0",
    "data.test_fraction=0",
)


@dataclass(frozen=True)
class UnpairedRequest:
    """Two texts, and the folder of the translator between them."""

    texts: tuple[Path, Path]
    run: Path
    changes: Sequence[str] = ()  # of the network's settings
    seed_pairs: Path | None = None  # words and their translations, one pair per line
    minutes: float | None = None  # wall time over all calls; such a call also resumes the network's training

    @property
    def parts(self) -> Path:
        """Folder of the network's starting data."""
        run = self.run if self.run.name else self.run.absolute()
        return run.with_name(f"{run.name}-start")

    @property
    def phrases(self) -> Path:
        """Folder of the runs of phrases that are counted on the network's translations."""
        return self.parts.with_name(f"{self.parts.name.removesuffix('-start')}-phrases")

    def known_words(self) -> list[WordPair]:
        """Return the known words; none where no file is named."""
        return [] if self.seed_pairs is None else read_word_pairs(self.seed_pairs)


class TextSide(NamedTuple):
    """One of the two languages."""

    code: str
    text: Path
    vectors: Path  # a run
    given: Path  # its text, translated word by word into the other language


def train_without_pairs(request: UnpairedRequest, say: Say, *, quiet: bool = False) -> bool:
    """Train a translator of both directions, then phrases on its translations; False when it was interrupted.

    The same call resumes, except while the network is trained: then a call with `minutes` does, or `train_run` with
    `resume`. Raises RegardError for texts that are missing, too short, or of one language, and errors of training.
    """
    check_texts(request.texts)
    with RunFolder(request.parts).begun():
        return _train_without_pairs(request, say, quiet=quiet)


def _train_without_pairs(request: UnpairedRequest, say: Say, *, quiet: bool) -> bool:
    """Train, with the folder of steps locked."""
    config, spent, sides = request.parts / "network.yaml", _Spent(request), sides_of(request)
    trained = config.is_file() and RunFolder(request.run).finished
    if trained and not all(folder.finished for folder in _phrase_folders(request, sides).values()):
        note_texts(request)
    elif not _train_network(request, config, spent, sides, say, quiet=quiet):
        return False
    return _count_phrases(request, sides, say, quiet=quiet)


def _train_network(
    request: UnpairedRequest, config: Path, spent: "_Spent", sides: Sequence["TextSide"], say: Say, *, quiet: bool
) -> bool:
    """Train the network, or resume it; False when it was interrupted."""
    resume = request.minutes is not None and config.is_file() and (request.run / SETTINGS_FILE).is_file()
    if not resume:
        RunFolder(request.run).check_free()
    known = request.known_words()
    note_texts(request)
    if resume:
        run = Run.open(request.run, [*request.changes, *spent.limit()])
        return train_run(run.experiment, resume=True, opened=run, quiet=quiet) is not None
    for side in sides:
        with spent.counting():
            if not vectors_learnt(side, say, quiet=quiet, changes=spent.limit(_VECTOR_SHARE)):
                return False
    if not all(side.given.is_file() for side in sides):
        with spent.counting():
            _translate_word_by_word(sides, known, say)
    write_yaml(config, network_settings([(side.code, side.text, side.given) for side in sides]))
    changes = [f"run={json.dumps(str(request.run))}", *request.changes, *spent.limit()]
    return train_run(read_experiment(config, changes, say=say), quiet=quiet) is not None


class _Spent(SpentTime):
    """Seconds of the steps before the network, and the remaining time."""

    def __init__(self, request: UnpairedRequest) -> None:
        super().__init__(request.parts / "seconds.json")
        self._minutes = request.minutes

    def limit(self, share: float | None = None) -> list[str]:
        """Return the time limit of a training: the remaining minutes without those of phrases, or a fraction of all.

        Raises ConfigError where no time is left.
        """
        if self._minutes is None:
            return []
        left = (1 - _PHRASE_SHARE) * self._minutes - self.seconds / 60 if share is None else share * self._minutes
        if left <= 0:
            problem = f"{self._minutes:g} are over: word vectors and their dictionary took {self.seconds / 60:.1f}"
            raise ConfigError("--minutes", problem, f"--minutes {math.ceil(2 * self.seconds / 60)} or more continues")
        return [f"training.max_minutes={left:.3f}"]


def check_texts(texts: Sequence[Path]) -> None:
    """Raise RegardError for texts that are missing, too short, of one language, or that share lines."""
    heads = [PlainText(str(text), [line for line in read_lines(text) if line.strip()]) for text in texts]
    for one in heads:
        if len(one.lines) < MIN_LINES:
            problem = f"has {len(one.lines):,} lines, too few to learn from without pairs"
            raise DataError(one.place, problem, hint=f"{MIN_LINES} at least")
    check_disjoint(*heads)
    check_two_languages(*heads)


def network_settings(sides: Sequence[tuple[str, Path, Path]]) -> dict[str, Any]:
    """Return the config of a network of two directions: (code, text, its word-by-word translation) of each language."""
    (first, text, given), (second, other, other_given) = sides
    back = {"train": {"source": str(given), "target": str(text)}, "languages": [second, first]}
    return {
        "task": "unpaired_translation",
        "data": {
            "train": {"source": str(other_given), "target": str(other)},
            "languages": [first, second],
            "routes": {f"{second}-{first}": back},
        },
        "model": {"name": "many_to_many", "languages": [second, first]},
        "objective": {"name": "denoising_back_translation", "given": 1.0},
        "training": {"schedules": {"objective.given": {"name": "linear", "updates": 2_000}}},
    }  # fmt: skip


def sides_of(request: UnpairedRequest) -> list[TextSide]:
    files = {name: str(text) for name, text in zip(("source", "target"), request.texts, strict=True)}
    known = pair_of(Choice("parallel", {"files": files}))
    codes = known if None not in known and known[0] != known[1] else ("a", "b")
    return [
        TextSide(str(code), text.absolute(), request.parts / f"words-{code}", request.parts / f"word-by-word.{code}")
        for code, text in zip(codes, request.texts, strict=True)
    ]


def note_texts(request: UnpairedRequest) -> None:
    """Save the texts and known words of the steps. Raises ConfigError for steps made of others."""
    files = [*request.texts, *([] if request.seed_pairs is None else [request.seed_pairs])]
    mark, texts = request.parts / "texts.json", [digest(file).hex() for file in files]
    if mark.is_file() and json.loads(mark.read_text("utf-8")) != texts:
        problem = f"'{request.parts}' was made of other texts or known words"
        raise ConfigError("--run", problem, "choose another folder, or remove that one")
    request.parts.mkdir(parents=True, exist_ok=True)
    write_atomically(mark, json.dumps(texts))


def vectors_learnt(side: TextSide, say: Say, *, quiet: bool, changes: Sequence[str] = ()) -> bool:
    """Train or resume the word vectors of a language; False where interrupted."""
    folder = RunFolder(side.vectors)
    if folder.finished:
        return True
    say(f"word vectors of {side.text}")
    settings = [
        "task=word_vectors",
        f"data.train.text={json.dumps(str(side.text))}",
        f"run={json.dumps(str(side.vectors))}",
        *_VECTORS,
        *changes,
    ]
    if train_run(read_experiment(None, settings), resume=folder.exists, quiet=quiet, hints=False) is None:
        say(SAME_COMMAND)
        return False
    return True


def _translate_word_by_word(sides: Sequence[TextSide], known: Sequence[WordPair], say: Say) -> None:
    """Write the text of each language in words of the other one."""
    one, other = (read_embeddings(side.vectors).table for side in sides)
    there, back = word_maps(best_dictionary(one, other, known, say=say), known)
    for side, words in zip(sides, (there, back), strict=True):
        write_atomically(side.given, "".join(f"{in_words(line, words)}\n" for line in read_lines(side.text)))


def _phrase_folders(request: UnpairedRequest, sides: Sequence[TextSide]) -> dict[TextSide, RunFolder]:
    """Return the runs of phrases, by the side that they write."""
    one, other = sides
    return {two[1]: RunFolder(request.phrases / f"{two[0].code}-{two[1].code}") for two in ((one, other), (other, one))}


def _count_phrases(request: UnpairedRequest, sides: Sequence[TextSide], say: Say, *, quiet: bool) -> bool:
    """Count phrases of both directions on the network's translations of each text; False when it was interrupted.

    Those of other weights of the network are replaced.
    """
    weights = Run.open(request.run).weights_digest[:8]
    for written, folder in _phrase_folders(request, sides).items():
        file = request.parts / f"network-{weights}.{written.code}"
        if not file.is_file():
            say(f"the network translates {written.text}, for phrases")
            shutil.rmtree(folder.path, ignore_errors=True)
            route = [f"decoding.route={written.code}-{sides[0].code}"] if written is sides[1] else []
            answers = load(request.run, route).predict(read_lines(written.text))
            write_sentences(file, [one.text for one in answers])
        if not folder.finished:
            changes = phrase_settings(file, written.text, folder.path)
            if train_run(read_experiment(None, changes), resume=folder.exists, quiet=quiet, hints=False) is None:
                say(SAME_COMMAND)
                return False
        say(f"phrases counted on the network's translations: {folder.path}")
    say("without pairs none of the runs can be compared: try both, the network and phrases")
    return True


def phrase_settings(source: Path, target: Path, run: Path) -> list[str]:
    """Return settings of phrases that are counted on synthetic sources: no pair of them can choose weights."""
    named = {"data.train.source": source, "data.train.target": target, "run": run}
    files = [f"{name}={json.dumps(str(path))}" for name, path in named.items()]
    return ["task.name=phrases", "data.dev_fraction=0", "data.test_fraction=0", *files]


def best_dictionary(source: VectorTable, target: VectorTable, pairs: Sequence[WordPair], *, say: Say) -> Dictionary:
    """Return the dictionary initialised by known pairs, else that of the method with the highest mean CSLS.

    Raises PartError where no method finds one.
    """
    starts = {"known pairs": pairs} if pairs else {method: dictionary_method(method) for method in METHODS}
    found, faults = dict[str, Dictionary](), dict[str, PartError]()
    for name, start in starts.items():
        try:
            found[name] = learn_dictionary(source, target, start, words=_WORDS)
        except PartError as error:
            faults[name] = error
    if not found:
        raise next(iter(faults.values()))
    best = max(found, key=lambda one: found[one].mean_csls)
    say(f"dictionary from '{best}', mean CSLS {found[best].mean_csls:.3f}")
    return found[best]


def word_by_word(sentence: Sequence[str], dictionary: Mapping[str, str]) -> list[str]:
    """Return the translation of each word in the order of the source; a word without one is copied."""
    return [dictionary.get(word, word) for word in sentence]


def in_words(line: str, dictionary: Mapping[str, str]) -> str:
    """Return a line word by word, with its spaces; signs, numbers and words without a translation are copied.

    A word that the dictionary has in lower case alone is translated so.
    """
    pieces = cut_words(line)
    words = [piece.strip() for piece in pieces]
    asked = [word if word in dictionary or word.lower() not in dictionary else word.lower() for word in words]
    lettered = {word: dictionary[word] for word in asked if word in dictionary and _is_word(word)}
    found = [
        new if new != old else word for word, old, new in zip(words, asked, word_by_word(asked, lettered), strict=True)
    ]
    spaces = [piece[: len(piece) - len(piece.lstrip())] for piece in pieces]
    return "".join(space + word for space, word in zip(spaces, found, strict=True)).strip()


def _is_word(text: str) -> bool:
    """Return whether a text has letters alone, with their marks."""
    return all(unicodedata.category(character)[0] in "LM" for character in text)
