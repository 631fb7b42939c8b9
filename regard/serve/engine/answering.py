"""In the model's process: texts → answers, each for itself, whatever its batch mates do."""

import copy
import functools
import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

import torch

from regard.data.columns import TextColumn
from regard.decoding import SEARCHES, Search, Unwanted
from regard.documents.glossary import Glossary
from regard.errors import ConfigError, DataError, RegardError
from regard.ops.memory import lacks_memory
from regard.predictor import Predictor, load_routes
from regard.registry import Choice
from regard.results import Prediction
from regard.serve.engine.cost import MAX_EXPLAINED, MAX_PREFIX, PIECE, cost
from regard.serve.engine.looking import Looking
from regard.serve.engine.model_info import info_of
from regard.serve.engine.options import Options
from regard.serve.engine.word_alternatives import TRIED, rewritten
from regard.tasks.task import Ids
from regard.text.clean import clean

GLOSSARIES = 16  # of the last requests
PLAIN = Options()
KEPT = ("max_ratio", "max_extra", "min_length")  # settings that every search has

_LOG = logging.getLogger("regard.serve")

T = TypeVar("T")


class Refused(NamedTuple):
    """Why a text has no answer."""

    kind: str  # "long", "costly", "pieces", "memory", "wrong" or "failed"
    told: Any = None  # [pieces, limit], the arguments of TooCostly, pieces, nothing, or the reason


class Answered(NamedTuple):
    """A batch as it was worked on."""

    found: dict[int, Prediction]  # by the numbers of their texts
    refused: dict[int, Refused]  # and those of the others
    out_of_memory: int  # times that there was not enough of it
    sizes: Sequence[int] = ()  # of the texts in pieces, their ends included, where they were counted


class Kept(NamedTuple):
    """What translations have to keep."""

    glossary: Glossary | None
    prefix: int  # pieces


class _GivenUp(Exception):
    """Nobody waits for an explanation any more."""


class Answering:
    """A run, loaded and ready to answer batches, one at a time."""

    def __init__(self, predictor: Predictor, search: Choice) -> None:
        self.predictor, self.search = predictor, search
        self._searches = functools.cache(self._search)
        self.looking = Looking(predictor)
        self.routes: dict[str, Answering] = {}  # for further pairs of languages of the same model, by name

    @classmethod
    def load(cls, run: Path, *, batch_tokens: int, changes: Sequence[str] = ()) -> "tuple[Answering, dict[str, Any]]":
        """With what there is to tell of the model. Raises RegardError for a run that cannot be served."""
        settings = [f"decoding.batch_tokens={batch_tokens}", *changes]
        predictors = load_routes(run, settings)
        routes = {name: cls(one, one.run.experiment.decoding.search) for name, one in predictors.items()}
        first = routes.pop("")
        first.routes = routes
        infos = {name: info_of(one.predictor) for name, one in routes.items()}
        return first, {**info_of(first.predictor), "routes": infos}

    def along(self, route: str) -> "Answering":
        """What answers for a further pair of languages; "": this one."""
        return self.routes[route] if route else self

    def beside(self) -> "Answering":
        """For another thread: the same weights in modules of its own, so that a recording hears nobody else."""
        other = copy.copy(self)
        other.predictor = self.predictor.replica()
        other.looking = self.looking.of(other.predictor)
        other.routes = {name: one.beside() for name, one in self.routes.items()}
        return other

    def count(
        self, sources: Sequence[str], targets: Sequence[str] | None = None, options: Options = PLAIN
    ) -> list[int | Prediction | Refused]:
        """What each text costs, in pieces; what has more than the model takes, or may be explained, is refused.

        What is only copied is answered, and nothing explains it: it was not read.
        """
        task = self.predictor.task

        def read(rows: list[int]) -> list[int | Prediction | Refused]:
            if targets is None:
                examples = [task.given(clean(sources[row])) for row in rows]
            else:
                examples = [task.scored(clean(sources[row]), clean(targets[row])) for row in rows]
            copied = [None if targets else task.unanswerable(one) for one in examples]
            kept = self._kept(options)
            rows_of_ids = zip(rows, copied, task.encode(examples), strict=True)
            return [answer or self._cost(sources[row], ids, options, kept, targets) for row, answer, ids in rows_of_ids]

        found, refused, _ = _one_by_one(list(range(len(sources))), read)
        told: dict[int, int | Prediction | Refused] = {**found, **refused}
        return [told[row] for row in range(len(sources))]

    def _kept(self, options: Options) -> "Kept":
        """What translations have to keep. Raises DataError for a prefix that is too long."""
        glossary = _glossary_of(tuple(options.glossary))
        if glossary is None and not options.prefix:
            return Kept(None, 0)
        column = cast(TextColumn, self.predictor.task.vocabularies[self.predictor.task.last])
        prefix = len(column.encode(clean(options.prefix)))
        if prefix > MAX_PREFIX:
            raise DataError(
                "target_prefix", f"{prefix:,} pieces are more than {MAX_PREFIX:,}", hint="give a shorter one"
            )
        return Kept(glossary, prefix)

    def _cost(
        self, source: str, ids: Ids, options: Options, kept: "Kept", targets: Sequence[str] | None
    ) -> int | Refused:
        task, most = self.predictor.task, self.predictor.max_source - 1
        longest, lengths = task.longest(ids), [*map(len, ids.values())]
        if longest > most:
            return Refused("long", [longest, most])
        if options.explain and targets is not None and sum(lengths) > MAX_EXPLAINED:
            hint = "explain one sentence at a time"
            return Refused("costly", ["source and target have", sum(lengths), MAX_EXPLAINED, hint])
        found = kept.glossary.found(source) if kept.glossary is not None else []
        terms = [math.ceil(len(one.entry.targets[0].encode()) / PIECE) for one in found]
        return cost(options, lengths, prefix=kept.prefix, terms=terms, given=targets is not None)

    def predict(self, texts: Sequence[str], options: Options, unwanted: Unwanted = frozenset) -> Answered:
        """What the search of the run finds; with n_best > 1 the rest of the n best as alternatives.

        With terms or a prefix a beam search that keeps them.

        Texts that are `unwanted` meanwhile are given up.
        """
        return Answered(*self._predicted(texts, list(range(len(texts))), options, unwanted))

    def predict_short(
        self, texts: Sequence[str], most: float, options: Options, unwanted: Unwanted = frozenset
    ) -> Answered:
        """As `predict`, of texts that nobody has counted: what has more than `most` pieces is refused."""
        counted = self.count(texts, options=options)
        sizes = [one if isinstance(one, int) else 0 for one in counted]
        copied = {row: one for row, one in enumerate(counted) if isinstance(one, Prediction)}
        refused = {row: one for row, one in enumerate(counted) if isinstance(one, Refused)}
        refused |= {row: Refused("pieces", size) for row, size in enumerate(sizes) if size > most}
        rows = [row for row in range(len(texts)) if row not in copied and row not in refused]
        found, failed, short = self._predicted(texts, rows, options, unwanted)
        return Answered(found | copied, failed | refused, short, [size + 1 for size in sizes])

    def _predicted(
        self, texts: Sequence[str], wanted: list[int], options: Options, unwanted: Unwanted
    ) -> tuple[dict[int, Prediction], dict[int, Refused], int]:
        """Those texts whose numbers are `wanted`."""
        search, glossary = self._searches(options.n_best), _glossary_of(tuple(options.glossary))

        def ask(rows: list[int]) -> Sequence[Prediction]:
            def left() -> set[int]:
                gone = unwanted()
                return {place for place, row in enumerate(rows) if row in gone} if gone else set()

            found = self.predictor.predict(
                [texts[row] for row in rows],
                search=search.until(left),
                glossary=glossary,
                prefixes=[options.prefix] * len(rows) if options.prefix else None,
            )
            if not (options.explain or options.maps):
                return found
            return self.looking.explained(found, maps=options.maps, unwanted=left)

        return _one_by_one(wanted, ask)

    def force(
        self,
        sources: Sequence[str],
        targets: Sequence[str],
        options: Options = PLAIN,
        unwanted: Unwanted = frozenset,
    ) -> Answered:
        """The given targets, scored and explained: by what they looked at, or by a method; by others beside that.

        `sources` are lines, as `predict` takes them. With `steps` each has the steps of a search of its source.
        Between two passes through the model `unwanted` is asked; texts that are, then, have no further explanation.
        """
        if len(sources) != len(targets):
            raise ValueError("a target for each source")
        task = self.predictor.task

        def one(row: int) -> Prediction:
            def progress() -> None:
                if row in unwanted():
                    raise _GivenUp

            (scored,) = self.predictor.score([sources[row]], [targets[row]])
            given = replace(scored, source=task.given(sources[row])[task.first])
            try:
                return self._explained(given, options, progress)
            except _GivenUp:
                return given

        return Answered(*_one_by_one(list(range(len(sources))), lambda rows: [one(row) for row in rows]))

    def _explained(self, given: Prediction, options: Options, progress: Callable[[], None]) -> Prediction:
        """`progress` is called between two passes through the model."""

        def unwanted() -> frozenset[int]:
            progress()
            return frozenset()

        if options.by:
            found: Sequence[Prediction] = self.predictor.pictured([given], options.by, progress)
        else:
            found = self.looking.explained([given], maps=True, unwanted=unwanted)
        (told,) = self.predictor.with_reasons(found, options.reasons, progress)
        return self.predictor.with_search([told], unwanted)[0] if options.steps else told

    def rewrite(
        self, sources: Sequence[str], targets: Sequence[str], word: int, count: int, unwanted: Unwanted = frozenset
    ) -> Answered:
        """The given targets, each with alternatives that have another word in place of one and are explained.

        `sources` are lines, as `predict` takes them.
        """
        if len(sources) != len(targets):
            raise ValueError("a target for each source")
        search = SEARCHES.build(self.search)
        lines = frozenset(range(TRIED * count))

        def one(row: int) -> Prediction:
            mine = search.until(lambda: lines if row in unwanted() else frozenset())
            found = rewritten(self.predictor, mine, sources[row], targets[row], word, count)
            return replace(found, alternatives=self.looking.explained(found.alternatives, maps=False))

        return Answered(*_one_by_one(list(range(len(sources))), lambda rows: [one(row) for row in rows]))

    def _search(self, n_best: int) -> Search:
        """The run's own. Where that finds one target alone, a beam as wide as there are targets wanted."""
        search = self.search
        if n_best == 1:
            return SEARCHES.build(search)
        if "n_best" not in SEARCHES.settings(search.name):
            kept = {name: search.settings[name] for name in KEPT if name in search.settings}
            search = Choice("beam", {**kept, "size": n_best})
        return SEARCHES.build(Choice(search.name, {**search.settings, "n_best": n_best}))


@functools.lru_cache(GLOSSARIES)
def _glossary_of(lines: tuple[str, ...]) -> Glossary | None:
    """The terms of a request, whose batches have the same."""
    return Glossary.of_lines(lines) if lines else None


def _one_by_one(
    rows: list[int], ask: Callable[[list[int]], Sequence[T]]
) -> tuple[dict[int, T], dict[int, Refused], int]:
    """Together if that goes well, else in halves: only what cannot be answered even alone is refused.

    With the times that memory was short.
    """
    if not rows:
        return {}, {}, 0
    try:
        return dict(zip(rows, ask(rows), strict=True)), {}, 0
    except Exception as error:  # whatever a model raises is the fault of some text, not of the others
        short, wrong, reason = lacks_memory(error), isinstance(error, DataError | ConfigError), line_of(error)
        if len(rows) == 1 and not (short or wrong):
            _LOG.exception("a text could not be answered")
    if short and torch.cuda.is_available():  # the error is gone here, and with it the frames that held tensors
        torch.cuda.empty_cache()
    if len(rows) == 1:
        refused = Refused("memory") if short else Refused("wrong" if wrong else "failed", reason)
        return {}, {rows[0]: refused}, int(short)
    half = len(rows) // 2
    (found, failed, once), (others, more, again) = (_one_by_one(some, ask) for some in (rows[:half], rows[half:]))
    return {**found, **others}, {**failed, **more}, int(short) + once + again


def line_of(error: Exception) -> str:
    """What a user may read: the words of our own errors, of others only what they are."""
    if isinstance(error, RegardError):
        return str(error).splitlines()[0]
    return type(error).__name__
