"""`regard distil TEACHER... --text FILE`: a small, fast student that learns what larger translators write.

Sequence-level distillation (https://aclanthology.org/D16-1139) as small engines use it
(https://aclanthology.org/2020.ngt-1.26): teachers translate, the worst translations are dropped, a student with a deep
encoder and a shallow recurrent decoder learns them with guided alignment, and is fine-tuned with 8-bit weights. Every
step is a folder or a file beside the run, which the same command finds again.
"""

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, compress
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from regard.config import write_atomically, write_checked
from regard.data.readers.lines import digest, read_lines
from regard.errors import ConfigError, DataError, nearest
from regard.exchange.import_run import origin_of_runs
from regard.experiment import SETTINGS_FILE
from regard.experiment.complete_settings import plan_experiment
from regard.predictor import load
from regard.recipes.best.pairs import write_lines
from regard.recipes.best.workshop import copied_run
from regard.recipes.shards.plan import PredictOptions
from regard.recipes.shards.program import ShardedRequest, predict_shards
from regard.reports.evaluation import evaluate
from regard.reports.report import Report
from regard.reports.table import Cell, Table
from regard.runs import Run, RunFolder, train_run
from regard.runs.folder import IMPORTED
from regard.runs.lexicons import learn_shortlist
from regard.runs.measurements import DISTILLATION
from regard.training.checkpoint import MODEL_FILE
from regard.training.interrupt import Interrupted

Row = TypeVar("Row", bound=tuple[str, ...])

_SHARD_LINES = 2_000
_TUNED = 0.15  # share of the minutes in which 8-bit weights are learnt
_FEWEST = 500  # lines to learn from
_SHORTENED = 4_000_000  # weights of an output layer from which a shortlist saves time: it costs 0.3 ms a sentence
_RATE, _RATE_DIM = 3e-3, 128  # learning rate of a student so wide
_SOURCE, _TUNED_RUN = "source.txt", "eight-bit"
_COLUMNS = ("system", "MB", "BLEU", "95 % interval", "chrF", "95 % interval", "sentences/s", "start, s")


class StudentShape(NamedTuple):
    """Sizes of a student: a Transformer that reads, recurrent units (SSRU) that write."""

    dim: int
    feedforward_dim: int
    num_heads: int
    encoder_layers: int
    decoder_layers: int = 2

    def settings(self) -> list[str]:
        """Return the settings of the model, the shape of Marian's students, which Firefox reads, and its learning rate.

        The rate falls as 1 / sqrt(dim), as in arXiv:1706.03762; other widths than 128 were not measured.
        """
        both = f"feedforward_dim: {self.feedforward_dim}, norm: post, norm_eps: 1.0e-6, deepnet_init: true"
        return [
            f"model.dim={self.dim}",
            "model.embedder={name: words, zero_start: true}",
            "model.position={name: sinusoidal, layout: halves, frequencies: inclusive}",
            f"model.encoder={{name: transformer, num_layers: {self.encoder_layers}, {both}}}",
            f"model.decoder={{name: transformer, num_layers: {self.decoder_layers}, {both}, history: recurrent}}",
            f"model.attention={{score: scaled_dot, num_heads: {self.num_heads}}}",
            f"model.self_attention={{score: scaled_dot, num_heads: {self.num_heads}}}",
            "model.head={name: linear, bias: true}",
            "model.tied=all",
            f"training.learning_rate={_RATE * (_RATE_DIM / self.dim) ** 0.5:.2g}",
        ]


STUDENT_SHAPES = {
    "small": StudentShape(128, 512, 4, 6),
    "tiny": StudentShape(256, 1536, 8, 6),
    "base_memory": StudentShape(384, 1536, 8, 12),
    "base": StudentShape(512, 2048, 8, 6),
}
_TRAINING = (
    "text.tokenizer={name: subwords, size: 8000}",  # BPE: with unigram pieces the attention forms more slowly
    "text.shared=true",
    "model.dropout=0.1",
    "objective={name: likelihood, label_smoothing: 0}",
    "penalties={name: guided_alignment, weight: 0.05, ahead: true}",
    "training.batch_tokens=1536",  # more updates in the same time
    "training.schedule={name: linear, warmup: 400}",  # the limits shorten it to a quarter of the updates
    "training.keep_best=5",
    "training.average=5",
    "decoding.search=greedy",
    "data.test_fraction=0",
)
_FEW_UPDATES = 300
_TUNING = ("training.quantization=int8", "training.learning_rate=0.0003", "training.schedule=constant")


@dataclass(frozen=True)
class DistillationRequest:
    """Teachers, texts and the student's run."""

    teachers: Sequence[Path]  # runs, whose ensemble translates
    texts: Sequence[Path]  # of the source language
    folder: Path  # of the student
    translated: Path | None = None  # translations of the texts by another program, line by line, in place of teachers
    dev: Mapping[str, Path] | None = None  # source and target; None: the teacher's dev set
    shape: str = "tiny"
    dropped: float = 0.05  # fraction of translations, those of the lowest log-probability per character
    minutes: float = 90.0  # of training
    workers: int | None = None  # processes that translate; None: one a core
    changes: Sequence[str] = ()  # settings of the student


class Distillation:
    """The steps, each of which leaves a file or folder in `work`."""

    def __init__(self, request: DistillationRequest, say: Callable[[str], None], *, quiet: bool) -> None:
        """Raise ConfigError for a request that is not complete, or other than the one the folder was begun with, and
        where another run is in the student's folder.
        """
        if request.shape not in STUDENT_SHAPES:
            raise ConfigError("--shape", f"unknown '{request.shape}'", nearest(request.shape, STUDENT_SHAPES))
        if not request.teachers and not request.translated:
            hint = "regard distil TEACHER --text FILE, or --translated FILE"
            raise ConfigError("TEACHER", "must be given", hint)
        if request.teachers and request.translated:
            raise ConfigError("--translated", "does not go with a teacher", "regard distil TEACHER --text FILE")
        self.request, self.say, self.quiet = request, say, quiet
        self.work = request.folder.with_name(f"{request.folder.name}-distillation")
        self._note = self.work / "request.json"
        self.runs = [Run.open(path) for path in request.teachers]
        self.dev = self._dev()
        if not self._note.exists():
            RunFolder(request.folder).check_free()
        self.work.mkdir(parents=True, exist_ok=True)
        self._begin()

    def _begin(self) -> None:
        """Note what the folder is for. Raises ConfigError where it was begun for something else."""
        asked, note = self.request, self._note
        files = [*asked.texts, *([asked.translated] if asked.translated else []), *self.dev.values()]
        values: dict[str, Any] = {
            "teachers": [run.weights_digest for run in self.runs],
            "texts": [digest(file).hex() for file in files],
            "--shape": asked.shape,
            "--drop": asked.dropped,
            "settings": [*asked.changes],
        }
        made = note.exists() and any(file != note for file in self.work.iterdir())  # more than the note itself
        begun = json.loads(note.read_bytes()) if made else values
        if begun.keys() != values.keys():
            problem = f"'{self.work}' was begun by another version of Regard"
            raise ConfigError("--run", problem, f"another --run, or rm -r {self.work}")
        if other := [key for key, one in values.items() if one != begun[key]]:
            problem = f"'{self.work}' was begun with other {' and '.join(other)}"
            raise ConfigError("--run", problem, f"another --run, or rm -r {self.work}")
        write_atomically(note, json.dumps(values))

    def _dev(self) -> dict[str, Path]:
        """Return the dev set. Raises ConfigError where there is none."""
        if self.request.dev:
            return dict(self.request.dev)
        settings: Any = self.runs[0].settings.get("data", {}).get("dev") if self.runs else None
        files = settings.get("files", settings) if isinstance(settings, Mapping) else {}
        found = {side: Path(files[side]) for side in ("source", "target") if isinstance(files.get(side), str)}
        if len(found) < len(("source", "target")) or not all(file.is_file() for file in found.values()):
            hint = "the teacher names no files of a dev set" if self.runs else "a teacher would name its own"
            raise ConfigError("--dev-source", "must be given, and --dev-target", hint)
        return found

    def pairs(self) -> dict[str, Path]:
        """Return the files that the student learns from: sources, and translations that are not among the worst.

        Raises DataError where few are left.
        """
        files = {side: self.work / f"pairs.{side}" for side in ("source", "target")}
        if all(file.is_file() for file in files.values()):
            return files
        scores = np.fromiter((score / (1 + len(text)) for _, text, score in self._translations()), float)
        kept, dropped = np.ones(len(scores), bool), round(self.request.dropped * len(scores))
        if self.request.teachers and dropped:
            kept[np.argsort(scores, kind="stable")[:dropped]] = False
        if (left := int(kept.sum())) < _FEWEST:
            problem = f"{left:,} translations are left, fewer than {_FEWEST}"
            raise DataError(self.request.texts[0], problem, hint="more --text")
        self.say(f"different lines that have a translation: {len(kept):,}, dropped as the worst: {len(kept) - left:,}")
        for place, file in enumerate(files.values()):  # a pass for each side: memory holds one number for each line
            write_lines(file, map(itemgetter(place), compress(self._translations(), kept)))
        return files

    def _translations(self) -> Iterator[tuple[str, str, float]]:
        """The sources, each once, their translations and log-probabilities (0 for those of another program).

        Empty translations and copies are left out.
        """
        return (found for found in self._all_translations() if found[1] and found[1] != found[0])

    def _all_translations(self) -> Iterator[tuple[str, str, float]]:
        lines = (line.strip() for line in chain.from_iterable(map(read_lines, self.request.texts)))
        if self.request.translated is not None:
            yield from self._given(lines, self.request.translated)
            return
        texts = self.work / _SOURCE
        if not texts.is_file():
            write_lines(texts, (line for (line,) in _once(zip(lines, strict=True))))
        for line, answer in zip(read_lines(texts), read_lines(self._answers), strict=True):
            score, _, text = answer.partition("\t")
            yield line, text, float(score)

    @cached_property
    def _answers(self) -> Path:
        """The file of the teachers' scores and translations, made now if it is not there. Raises Interrupted."""
        texts = self.work / _SOURCE
        first, *others = self.request.teachers
        changes = (f"decoding.ensemble={json.dumps([str(path.resolve()) for path in others])}",) if others else ()
        options = PredictOptions(str(first), changes, raw=True, scores=True)
        shards = -(-sum(1 for _ in read_lines(texts)) // _SHARD_LINES)
        request = ShardedRequest(options, [texts], self.work / "translated", shards, self.request.workers)
        try:
            (result,) = predict_shards(request, self.say)
        except KeyboardInterrupt:
            raise Interrupted("stopped while the teachers translated") from None
        return result

    def _given(self, lines: Iterator[str], translated: Path) -> Iterator[tuple[str, str, float]]:
        """Lines, each once, and their translations in a file. Raises DataError where the numbers differ."""
        try:
            for line, text in _once(zip(lines, read_lines(translated), strict=True)):
                yield line, text.strip(), 0.0
        except ValueError as error:
            raise DataError(translated, "has not as many lines as the texts") from error

    def student(self, pairs: Mapping[str, Path]) -> Path:
        """Train the student, then with 8-bit weights, and return the second run."""
        files = [f"data.train.{side}={json.dumps(str(file))}" for side, file in pairs.items()]
        files += [f"data.dev.{side}={json.dumps(str(file))}" for side, file in self.dev.items()]
        files.append(f"data.cache={json.dumps(str(self.work / 'data'))}")  # the links of words are learnt once
        if self.runs:
            source, target = self.runs[0].experiment.data.language_pair()
            files += [f"data.languages=[{source}, {target}]"] if source and target else []
        first = [*_TRAINING, *STUDENT_SHAPES[self.request.shape].settings(), *self.request.changes]
        start = self._train("student", [*files, *first], 1 - _TUNED, None)
        kept = [one for one in (*_TRAINING, *self.request.changes) if not one.startswith(("text", "model"))]
        return self._train(_TUNED_RUN, [*files, *kept, *_TUNING], _TUNED, start)

    def _train(self, name: str, settings: Sequence[str], fraction: float, start: Path | None) -> Path:
        """Train a run, go on with it, or leave a finished one. Raises Interrupted."""
        folder = RunFolder(self.work / name)
        if folder.finished:
            return folder.path
        resume = (folder.path / SETTINGS_FILE).is_file()
        limit = f"training.max_minutes={self.request.minutes * fraction:.3f}"
        if resume:
            experiment = Run.open(folder, [limit]).experiment
        else:
            changes = [*settings, limit, f"run={json.dumps(str(folder))}"]
            experiment, updates = plan_experiment(None, changes, start=start, say=self.say)
            if start is None and updates is not None and updates < _FEW_UPDATES:
                self.say(f"after {_FEW_UPDATES} updates a student hardly translates: more --minutes make a better one")
        self.say(f"{name}: training")
        if not train_run(experiment, resume=resume, quiet=self.quiet, hints=False):
            raise Interrupted(f"stopped while the run '{name}' was trained")
        return folder.path

    def finished(self, tuned: Path) -> Path:
        """Return the student's run: 8-bit weights, greedy search, a shortlist, unused where the output is small."""
        folder = self.request.folder
        if not RunFolder(folder).finished:
            made = self.work / "finished"
            decoding = Run.open(tuned).experiment.decoding
            copied_run(tuned, made, replace(decoding, precision="int8"), seen_from=folder)
            learn_shortlist(Run.open(made), say=self.say)
            if self.runs:
                write_checked(made / IMPORTED, origin_of_runs(self.runs, "a student of their translations"))
            model = Run.open(made).experiment.model.settings
            shortened = model["dim"] * len(Run.open(made).columns["target"]) >= _SHORTENED
            copied_run(made, folder, replace(decoding, precision="int8", shortlist=shortened))
            shutil.rmtree(made)
        return folder

    def report(self, student: Path) -> Report:
        """Compare the student with its teachers on the dev set: size, scores, speed, start.

        The run before the last step is the student in float32 without a shortlist: it shows what both cost.
        """
        systems = [*self.request.teachers, self.work / _TUNED_RUN, student]
        found = evaluate(systems, self.dev)
        values, rows = [], []
        names = [*map(str, self.request.teachers), "student, float32, no shortlist", "student"]
        for path, name, system in zip(systems, names, found.systems, strict=True):
            begun = time.perf_counter()
            load(path).predict(["."])
            start = time.perf_counter() - begun
            size, speed = sum(map(_bytes, _answering_files(path))), found.examples / (system.seconds or 1e-9)
            scores = [*zip(system.scores, system.intervals, strict=True)][:2]
            shown = [text for one, (low, high) in scores for text in (f"{one.value:.2f}", f"{low:.2f} to {high:.2f}")]
            rows.append([*map(Cell, (name, f"{size / 1e6:.1f}", *shown, f"{speed:,.0f}", f"{start:.2f}"))])
            measured = {one.name: [one.value, *interval] for one, interval in scores}
            values.append(
                {"system": str(path), "bytes": size, "lines_per_second": speed, "start_seconds": start, **measured}
            )
        tests = [f"{one}: {test}" for one, test in found.comparisons]
        Run.open(student).measurements.keep(DISTILLATION, {"systems": values})
        use = f"translate with: regard predict {student} < FILE"
        return Report([Table(_COLUMNS, rows)], {"systems": values, "comparisons": tests}, "\n".join([*tests, use]))


def distil(request: DistillationRequest, say: Callable[[str], None], *, quiet: bool = False) -> Report:
    """Make a student and return its table beside the teachers'. The same call goes on after an interruption.

    Raises ConfigError, DataError and Interrupted.
    """
    steps = Distillation(request, say, quiet=quiet)
    return steps.report(steps.finished(steps.student(steps.pairs())))


def _once(rows: Iterable[Row]) -> Iterator[Row]:
    """Rows whose first text is not empty, each text once; memory holds 16 bytes of each."""
    seen = {_fingerprint("")}
    for row in rows:
        if (mark := _fingerprint(row[0])) not in seen:
            seen.add(mark)
            yield row


def _fingerprint(line: str) -> bytes:
    return hashlib.blake2b(line.encode(), digest_size=16).digest()


def _answering_files(run: Path) -> Iterator[Path]:
    """The files of a run that answers need: weights and vocabularies, not the state of its training."""
    folder = RunFolder(run)
    yield from (file for file in folder.text.rglob("*") if file.is_file())
    yield Run.open(run).checkpoint.folder / MODEL_FILE


def _bytes(file: Path) -> int:
    return file.stat().st_size
