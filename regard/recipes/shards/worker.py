"""Answers to shards by a run that is loaded once."""

import os
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from regard.errors import ConfigError
from regard.predictor import load
from regard.predictor.kept_terms import KeptTerms
from regard.predictor.line_answers import Abstention, LineFormat, beside_empty, predicted, raw_lines
from regard.recipes.shards.plan import PLAN, ShardFolder, claimed, mark_done, read_strings

FAULT, ORPHANED = 2, 3  # exit codes
_ROWS_AT_ONCE = 1024  # answered together, sorted by length


class ShardWorker:
    """A run, loaded once, that answers shards of a folder."""

    def __init__(self, folder: Path | str) -> None:
        """Raise ConfigError where the folder has no plan, or the run was trained further since it was made."""
        self.folder = ShardFolder(Path(folder))
        plan = self.folder.plan()
        if plan is None:
            raise ConfigError(
                "--output", f"'{folder}' has no {PLAN}", "regard predict RUN FILE... --shards N -o FOLDER"
            )
        self.plan, given = plan, plan.options
        predictor = load(Path(given.run), list(given.changes))
        if predictor.run.weights_digest != plan.weights:
            raise ConfigError(given.run, "has other weights than when the shards were cut", f"rm -r {folder}")
        kept = KeptTerms(None if given.glossary is None else Path(given.glossary), None, _warn)
        kept.check(predictor)
        single = given.raw or given.alignment
        plain = partial(raw_lines, predictor, explain=given.alignment) if single else predictor.translate
        sure = Abstention(given.abstain, predictor, Path(given.run), _warn)
        self._answer = sure.answer(beside_empty(kept.answer(plain), predictor))
        self._format = LineFormat(scores=given.scores, alignment=given.alignment, as_json=given.as_json)
        self._parent = os.getppid()

    def answer(self, number: int) -> bool:
        """Answer a shard unless it is done; False: another process holds it."""
        with claimed(self.folder.shard(number, "lock")) as held:
            if held and not self.folder.done(number):
                mark_done(self.folder, number, [*self._answers(number)])
            return held

    def _answers(self, number: int) -> Iterator[str]:
        shard = self.plan.shards[number]
        name = self.plan.inputs[shard.file].path
        texts = read_strings(self.folder.shard(number, "in"), shard.digest)
        chunks = self._chunks(texts)
        for some in predicted(self._answer, chunks, name, _warn, before=shard.first):
            yield from (self._format.write(one, 0) for one in some)

    def _chunks(self, texts: list[str]) -> Iterator[list[str]]:
        for start in range(0, len(texts), _ROWS_AT_ONCE):
            if os.getppid() != self._parent:  # the command was killed: the next one shall find the shard free
                sys.exit(ORPHANED)
            yield texts[start : start + _ROWS_AT_ONCE]


def _warn(line: str) -> None:
    """Print a warning on stderr."""
    print(f"warning: {line}", file=sys.stderr, flush=True)
