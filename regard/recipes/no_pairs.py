"""`regard train --text a --text b`: a translator of two languages out of texts that are no translations.

Word vectors of each text are mapped into one space; the dictionary that this gives translates word by word; a network
learns from these translations first, and then from its own, in both directions (F23, F24). Every step is a folder or a
file beside the run, which the same command finds again.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from regard.config import write_atomically, write_yaml
from regard.data.readers.lines import read_lines
from regard.documents.language_detection import Detector
from regard.errors import ConfigError, DataError, PartError
from regard.experiment import read_experiment
from regard.experiment.data import pair_of
from regard.registry import Choice
from regard.reports.dictionary import Dictionary, dictionary_method, learn_dictionary
from regard.runs import RunFolder, train_run
from regard.runs.embeddings import read_embeddings
from regard.statistical.word_by_word import word_by_word
from regard.text.vector_table import VectorTable
from regard.text.words import cut_words

METHODS = ("identical", "similarity")  # of the dictionary; the one with the higher mean CSLS is taken
LEAST_LINES = 500  # of a text
_CHECKED = 20_000  # first lines by which languages are told apart
_SAME, _ALIKE = 0.7, 0.3  # shares of running words that both texts have: one language, and perhaps one
_SURE = 90.0  # per cent of confidence in a language
_DETECTED = 50  # lines
_WORDS = 20_000  # of a dictionary
_VECTORS = {"dim": 100, "window": 5, "epochs": 10}

Say = Callable[[str], None]


@dataclass(frozen=True)
class UnpairedRequest:
    """Two texts, and where the translator between them goes."""

    texts: tuple[Path, Path]
    run: Path
    changes: Sequence[str] = ()  # of the network's settings

    @property
    def parts(self) -> Path:
        """The folder of what the network starts from."""
        return self.run.with_name(f"{self.run.name}-start")


class _Side(NamedTuple):
    """One of the two languages."""

    code: str
    text: Path
    vectors: Path  # a run
    given: Path  # its text, translated word by word into the other language


def train_without_pairs(request: UnpairedRequest, say: Say, *, quiet: bool = False) -> bool:
    """Train a translator of both directions; False when it was interrupted, to go on with by the same command.

    Raises RegardError for texts that are missing, too short, or of one language, and as training does.
    """
    check_texts(request.texts)
    RunFolder(request.run).check_free()
    sides = _sides(request)
    _note_texts(request)
    for side in sides:
        if not _vectors_learnt(side, say, quiet=quiet):
            return False
    if not all(side.given.is_file() for side in sides):
        _translate_word_by_word(sides, say)
    config = request.parts / "network.yaml"
    write_yaml(config, network_settings([(side.code, side.text, side.given) for side in sides]))
    return train_run(
        read_experiment(config, [f"run={json.dumps(str(request.run))}", *request.changes], say=say), quiet=quiet
    )


def check_texts(texts: Sequence[Path]) -> None:
    """Raise RegardError for texts that are missing, too short, or of one language."""
    heads = [[line for line in islice(read_lines(text), _CHECKED) if line.strip()] for text in texts]
    for text, lines in zip(texts, heads, strict=True):
        if len(lines) < LEAST_LINES:
            raise DataError(
                text, f"has {len(lines):,} lines, too few to learn from without pairs", hint=f"{LEAST_LINES}"
            )
    share = shared_words(*heads)
    problem = f"and {texts[1]} seem to be of one language: {share:.0%} of their words stand in both"
    hint = "give texts of two languages; a language model takes one --text"
    if share > _SAME:
        raise DataError(texts[0], problem, hint=hint)
    if share > _ALIKE:
        found = [Detector([]).detect("\n".join(lines[:_DETECTED]))[:1] for lines in heads]
        if all(one and one[0][1] > _SURE for one in found) and found[0][0][0] == found[1][0][0]:
            raise DataError(texts[0], problem, hint=hint)


def shared_words(first: Sequence[str], second: Sequence[str]) -> float:
    """Return the share of running words of one text that stand in the other, of the two the smaller one."""
    counts = [Counter(word.lower() for line in lines for word in line.split()) for lines in (first, second)]
    shares = (
        sum(count for word, count in one.items() if word in other) / max(1, one.total())
        for one, other in (counts, counts[::-1])
    )
    return min(shares)


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


def _sides(request: UnpairedRequest) -> list[_Side]:
    files = {name: str(text) for name, text in zip(("source", "target"), request.texts, strict=True)}
    known = pair_of(Choice("parallel", {"files": files}))
    codes = known if None not in known and known[0] != known[1] else ("a", "b")
    return [
        _Side(str(code), text.absolute(), request.parts / f"words-{code}", request.parts / f"word-by-word.{code}")
        for code, text in zip(codes, request.texts, strict=True)
    ]


def _note_texts(request: UnpairedRequest) -> None:
    """Note the texts of the steps. Raises ConfigError for steps that were made of others."""
    mark, texts = request.parts / "texts.json", [[str(text.absolute()), text.stat().st_size] for text in request.texts]
    if mark.is_file() and json.loads(mark.read_text("utf-8")) != texts:
        raise ConfigError(
            "--run", f"'{request.parts}' was made of other texts", "choose another folder, or remove that one"
        )
    request.parts.mkdir(parents=True, exist_ok=True)
    write_atomically(mark, json.dumps(texts))


def _vectors_learnt(side: _Side, say: Say, *, quiet: bool) -> bool:
    """Learn the word vectors of a language, or go on with them; False where that was interrupted."""
    folder = RunFolder(side.vectors)
    if folder.finished:
        return True
    say(f"word vectors of {side.text}")
    changes = [
        "task=word_vectors",
        f"data.train.text={json.dumps(str(side.text))}",
        "data.dev_share=0",
        "data.test_share=0",
        "text.tokenizer={name: words, size: 50000}",
        f"model.dim={_VECTORS['dim']}",
        f"task.window={_VECTORS['window']}",
        "training.batch_tokens=1024",
        f"training.max_epochs={_VECTORS['epochs']}",
        f"run={json.dumps(str(side.vectors))}",
    ]
    return train_run(read_experiment(None, changes), resume=folder.exists, quiet=quiet)


def _translate_word_by_word(sides: Sequence[_Side], say: Say) -> None:
    """Write the text of each language in words of the other one."""
    tables = [read_embeddings(side.vectors).table for side in sides]
    found = best_dictionary(*tables, say=say)
    back = Dictionary(found.target, found.source, found.mean_csls)
    for side, dictionary in zip(sides, (found, back), strict=True):
        best = dictionary.translations(range(len(dictionary.source.words)), 1)
        words = {word: one[0][0] for word, one in zip(dictionary.source.words, best, strict=True)}
        write_atomically(side.given, "".join(f"{in_words(line, words)}\n" for line in read_lines(side.text)))


def best_dictionary(source: VectorTable, target: VectorTable, *, say: Say) -> Dictionary:
    """Return the dictionary of the method with the highest mean CSLS. Raises PartError where none finds a start."""
    found = dict[str, Dictionary]()
    for method in METHODS:
        try:
            found[method] = learn_dictionary(source, target, dictionary_method(method), words=_WORDS)
        except PartError as error:
            say(f"{method}: {error}")
    if not found:
        raise PartError("no method of the dictionary finds a start", "longer texts, or known pairs: regard dictionary")
    name = max(found, key=lambda one: found[one].mean_csls)
    say(f"dictionary by '{name}', mean CSLS {found[name].mean_csls:.3f}")
    return found[name]


def in_words(line: str, dictionary: Mapping[str, str]) -> str:
    """Return a line word by word, with its spaces and signs; words without a translation are copied."""
    pieces = cut_words(line)
    words = word_by_word([piece.strip() for piece in pieces], dictionary)
    return "".join(" " * piece.startswith(" ") + word for piece, word in zip(pieces, words, strict=True)).strip()
