"""Answers to shards by a run that is loaded once."""

import hashlib
import os
import sys
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from regard.data.readers.lines import digest
from regard.errors import ConfigError
from regard.memory import TranslationMemory
from regard.predictor import load
from regard.predictor.kept_terms import KeptTerms
from regard.predictor.line_answers import Abstention, LineFormat, line_answer, predicted
from regard.predictor.memory_answers import MemoryAnswers
from regard.recipes.shards.plan import PLAN, PredictOptions, ShardFolder, claimed, mark_done, read_strings
from regard.runs.run import Run

FAULT, ORPHANED = 2, 3  # exit codes
_WARNINGS = 2  # of a shard that are printed
_ROWS_AT_ONCE = 1024  # answered together, sorted by length
_WAIT_SECONDS = 0.5  # between two attempts at a shard that another process holds


class ShardWorker:
    """A run, loaded once, that answers shards of a folder."""

    def __init__(self, folder: Path | str) -> None:
        """Raise ConfigError where the folder has no plan, or a run or glossary was changed since it was made."""
        self.folder = ShardFolder(Path(folder))
        plan = self.folder.plan()
        if plan is None:
            raise ConfigError(
                "--output", f"'{folder}' has no {PLAN}", "regard predict RUN FILE... --shards N -o FOLDER"
            )
        self.plan, given = plan, plan.options
        predictor = load(Path(given.run), list(given.changes), engine=given.engine)
        for name, checksum in digests_of(predictor.run, given).items():
            if plan.digests.get(name) != checksum:
                raise ConfigError(given.run, f"the {name} changed since the shards were cut", f"rm -r {folder}")
        kept = KeptTerms(None if given.glossary is None else Path(given.glossary), None, _warn)
        self._memory = MemoryAnswers(None if given.memory is None else Path(given.memory), _warn)
        kept.check(predictor)
        self._memory.check(predictor)
        sure = Abstention(given.abstain, predictor, Path(given.run), _warn)
        self._predictor = predictor
        self._answer = line_answer(predictor, kept, sure, self._memory, raw=given.raw, alignment=given.alignment)
        self._format = LineFormat(scores=given.scores, alignment=given.alignment, as_json=given.as_json)
        self._parent, self._warnings = os.getppid(), 0

    def answer(self, number: int) -> bool:
        """Answer a shard unless it is done; False: another process holds it."""
        with claimed(self.folder.shard(number, "lock")) as held:
            if held and not self.folder.done(number):
                self._warnings = 0
                mark_done(self.folder, number, self._answers(number))
                if (more := self._warnings - _WARNINGS) > 0:
                    _warn(f"shard {number}: {more:,} more warnings")
            return held

    def finish(self, numbers: Iterable[int]) -> None:
        """Answer shards, and wait for those that other processes hold: such a process may be killed."""
        left = [*numbers]
        while left := [number for number in left if not self.answer(number)]:
            time.sleep(_WAIT_SECONDS)
            self._check_parent()

    def _answers(self, number: int) -> Iterator[str]:
        shard = self.plan.shards[number]
        name = self.plan.inputs[shard.file].path
        texts = read_strings(self.folder.shard(number, "in"), shard.digest)
        chunks = self._chunks(texts)
        if self._memory.memory is not None:
            self._memory.begin(self._sentence_before(number))
        for some in predicted(self._answer, chunks, name, self._warned, before=shard.first):
            yield from (self._format.write(one, 0) for one in some)

    def _sentence_before(self, number: int) -> str:
        """Return the last sentence of its file before a shard; "" where there is none."""
        plan, task = self.plan, self._predictor.task.texts
        while number and plan.shards[number - 1].file == plan.shards[number].file:
            number -= 1
            rows = read_strings(self.folder.shard(number, "in"), plan.shards[number].digest)
            if text := next((one for one in reversed([*rows]) if one.strip()), ""):
                document = None if plan.options.raw else task.document(text, self._predictor.setup.languages[0])
                sentences = [text] if document is None else document.originals
                return next(one for one in reversed(sentences) if one.strip())
        return ""

    def _warned(self, line: str) -> None:
        """Print the first warnings of a shard, and count all."""
        self._warnings += 1
        if self._warnings <= _WARNINGS:
            _warn(line)

    def _chunks(self, texts: Iterator[str]) -> Iterator[list[str]]:
        while some := [*islice(texts, _ROWS_AT_ONCE)]:
            self._check_parent()
            yield some

    def _check_parent(self) -> None:
        """End the process where the command was killed: the next one shall find the shard free."""
        if os.getppid() != self._parent:
            sys.exit(ORPHANED)


def digests_of(run: Run, options: PredictOptions) -> dict[str, str]:
    """Return the SHA-256 of all that answers: weights of the run and of those it names, glossary and memory."""
    decoding = run.experiment.decoding
    found = {"weights of the run": run.weights_digest}
    found |= {f"weights of {other}": Run.open(other).weights_digest for other in decoding.other_runs}
    found |= {"glossary": digest(Path(options.glossary)).hex()} if options.glossary else {}
    return found | ({"memory": _digest_of_memory(options.memory)} if options.memory else {})


def _digest_of_memory(file: str) -> str:
    """Return the SHA-256 of all segments: the bytes of a file with a log change without them."""
    checksum = hashlib.sha256()
    for segment in TranslationMemory(file).segments():
        checksum.update(repr(segment).encode())
    return checksum.hexdigest()


def _warn(line: str) -> None:
    """Print a warning on stderr."""
    print(f"warning: {line}", file=sys.stderr, flush=True)
