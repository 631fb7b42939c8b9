"""Inference in the model's process: each text is answered independently of its batch."""

import copy
import functools
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

import torch

from regard.data.columns import TextColumn, longest_read
from regard.decoding import SEARCHES, Search, Unwanted
from regard.documents.glossary import Glossary
from regard.errors import ConfigError, DataError, RegardError
from regard.ops.memory import lacks_memory
from regard.predictor import Predictor, check_open, load_routes
from regard.predictor.engines import load_export
from regard.predictor.engines.runtime import RuntimeSearch, compiled_engine
from regard.registry import Choice
from regard.results import Prediction, TextPrediction
from regard.runtime.pieces import PieceTable
from regard.serve.engine.explaining import FIRST_PIECES, AttentionExplainer, rewritten
from regard.serve.engine.messages import Refused, Shortcut, TextCost
from regard.serve.engine.model_card import card_of
from regard.serve.engine.questions import GivenText, Kept, Predict, Question, context_of
from regard.tasks.example_texts import Ids
from regard.text.clean import clean

QUICK_BYTES = 2**25  # of weights: a search of a short text takes milliseconds, in which the server does nothing else
_SHARED_SETTINGS = ("max_ratio", "max_extra", "min_length")  # settings of every search

_LOG = logging.getLogger("regard.serve")

_T = TypeVar("_T")


class Answered(NamedTuple):
    """Results of a batch."""

    found: dict[int, Prediction]  # by index of their texts
    refused: dict[int, Refused]  # by index of the other texts
    out_of_memory: int  # out-of-memory errors
    sizes: Sequence[int] = ()  # of the texts in tokens with their ends, if they were counted


class _GivenUp(Exception):
    """No client waits for the explanation any more."""


class Answering:
    """A loaded run that answers batches, one at a time."""

    def __init__(self, predictor: Predictor, search: Choice) -> None:
        self.predictor, self.search = predictor, search
        self._searches = functools.cache(self._search)
        self.looking = AttentionExplainer(predictor)
        self.routes: dict[str, Answering] = {}  # further language pairs of the same model, by name

    @classmethod
    def load(
        cls,
        run: Path,
        *,
        batch_tokens: int,
        changes: Sequence[str] = (),
        engine: str | None = None,
        threads: int | None = None,
    ) -> "tuple[Answering, dict[str, dict[str, Any]]]":
        """Load a run; return it with the model card of each language pair, by name, the first one "".

        `engine` is that of an export, which computes `threads` batches at once. Raises RegardError for a run that
        cannot be served.
        """
        settings = [f"decoding.batch_tokens={batch_tokens}", *changes]
        if engine is None:
            predictors = load_routes(run, settings)
        else:
            check_open(settings)
            predictors = {"": load_export(run, engine, settings, threads=threads)}
        along = {name: cls(one, one.run.experiment.decoding.search) for name, one in predictors.items()}
        first = along[""]
        first.routes = {name: one for name, one in along.items() if name}
        return first, {name: card_of(one.predictor) for name, one in along.items()}

    def along(self, route: str) -> "Answering":
        """Return the answering of a further language pair; "": this one."""
        return self.routes[route] if route else self

    def shortcut(self) -> Shortcut | None:
        """Return what the server needs to search short texts itself; None where more than a quick search answers."""
        setup, engine = self.predictor.setup, self.predictor.setup.engine
        if not isinstance(engine, RuntimeSearch) or setup.threshold is not None or setup.search.n_best > 1:
            return None
        translator = engine.loaded.translator
        size = sum(rows * columns * wide for _, rows, columns, wide in filter(None, translator.settings["tensors"]))
        if size > QUICK_BYTES or not all(isinstance(one, PieceTable) for one in (translator.source, translator.target)):
            return None
        pieces = self.predictor.encoder.max_source - 1
        return Shortcut(library=compiled_engine()._name, rules=engine.rules._asdict(), pieces=pieces)

    def beside(self) -> "Answering":
        """Return a copy for another thread: shared weights in modules of its own, so that recordings stay apart."""
        other = copy.copy(self)
        other.predictor = self.predictor.copy()
        other.looking = self.looking.of(other.predictor)
        other.routes = {name: one.beside() for name, one in self.routes.items()}
        return other

    def answer(
        self,
        question: Question,
        most: float | None = None,
        unwanted: Unwanted = frozenset,
        encoded: Sequence[Ids] | None = None,
    ) -> Answered:
        """Return the answers for the language pair of a question; texts that were not counted have up to `most` tokens.

        Texts that become `unwanted` are dropped. `encoded` are the texts in tokens, if they are known.
        """
        mine = self.along(question.route)
        if most is None:
            return question.run(mine, unwanted, encoded)
        counted = mine.count(question)
        sizes = [one.pieces if isinstance(one, TextCost) else 0 for one in counted]
        copied = {row: one for row, one in enumerate(counted) if isinstance(one, Prediction)}
        refused = {row: one for row, one in enumerate(counted) if isinstance(one, Refused)}
        refused |= {row: Refused("pieces", size) for row, size in enumerate(sizes) if size > most}
        read = {row: one.encoded for row, one in enumerate(counted) if isinstance(one, TextCost) and row not in refused}
        rows = [*read]
        done = question.of(question.texts[row] for row in rows).run(mine, _among(rows, unwanted), [*read.values()])
        copied |= {rows[row]: one for row, one in done.found.items()}
        refused |= {rows[row]: one for row, one in done.refused.items()}
        return Answered(copied, refused, done.out_of_memory, [size + 1 for size in sizes])

    def count(self, question: Question) -> list[TextCost | Prediction | Refused]:
        """Return the cost of each text, in tokens; refuse one that is longer than the model or an explanation allows.

        A text that is only copied is answered at once, without an explanation: the model does not read it.
        """
        task = self.predictor.task

        def encode(text: str) -> Sequence[int]:
            return cast(TextColumn, task.vocabularies[task.last]).encode(text)

        def read(rows: list[int]) -> list[TextCost | Prediction | Refused]:
            examples = [question.read(task, question.texts[row]) for row in rows]
            copied = [question.copied(task, one) for one in examples]
            kept = question.kept(encode)
            encoded = task.encode([{name: clean(value) for name, value in one.items()} for one in examples])
            texts = zip(rows, copied, encoded, strict=True)
            return [answer or self._counted(question, row, ids, kept) for row, answer, ids in texts]

        found, refused, _ = _one_by_one(list(range(len(question.texts))), read)
        costs: dict[int, TextCost | Prediction | Refused] = {**found, **refused}
        return [costs[row] for row in range(len(question.texts))]

    def _counted(self, question: Question, row: int, ids: Ids, kept: Kept) -> TextCost | Refused:
        lengths, most = [*map(len, ids.values())], self.predictor.encoder.max_source - 1
        longest = longest_read(self.predictor.task.vocabularies, ids)
        if longest > most:
            return Refused("long", [longest, most])
        text = question.texts[row]
        context = context_of(text.similar)
        sizes = [size + context for size in lengths[:1]] + lengths[1:]
        if sum(sizes) > question.most:
            what, hint = "source and target have", "explain one sentence at a time"
            if context:
                what, hint = "source, similar segments and target have", f"{hint}, or without memory"
            return Refused("costly", [what, sum(sizes), question.most, hint])
        terms = [] if kept.glossary is None else kept.terms(text.source)
        return TextCost(question.cost(sizes, prefix=kept.prefix, terms=terms), ids)

    def predict(
        self,
        question: Predict,
        glossary: Glossary | None = None,
        unwanted: Unwanted = frozenset,
        encoded: Sequence[Ids] | None = None,
    ) -> Answered:
        """Return the results of the run's search; with terms or a prefix, of a beam search that keeps them."""
        search = self._searches(question.n_best)

        def ask(rows: list[int]) -> Sequence[Prediction]:
            left = _among(rows, unwanted)
            found = self.predictor.predict(
                [question.texts[row].source for row in rows],
                search=search.until(left),
                glossary=glossary,
                prefixes=[question.prefix] * len(rows) if question.prefix else None,
                matches=[question.texts[row].similar for row in rows],
                encoded=None if encoded is None else [encoded[row] for row in rows],
            )
            if not (question.explain or question.maps):
                return found
            return self.looking.explained(found, maps=question.maps, unwanted=left)

        return Answered(*_one_by_one(list(range(len(question.texts))), ask))

    def each(
        self,
        texts: Sequence[GivenText],
        one: Callable[[GivenText, Callable[[], bool], Sequence[Ids] | None], Prediction],
        unwanted: Unwanted = frozenset,
        encoded: Sequence[Ids] | None = None,
    ) -> Answered:
        """Return the answers to texts that are processed one after the other.

        `one` gets a text, a function that returns True once it is unwanted, and its tokens, if they are known.
        """

        def ask(rows: list[int]) -> list[Prediction]:
            known = [None if encoded is None else [encoded[row]] for row in rows]
            left = [lambda row=row: row in unwanted() for row in rows]
            return [*map(one, [texts[row] for row in rows], left, known)]

        return Answered(*_one_by_one(list(range(len(texts))), ask))

    def explained(
        self,
        text: GivenText,
        is_unwanted: Callable[[], bool],
        encoded: Sequence[Ids] | None = None,
        *,
        method: str,
        reasons: Sequence[str],
        steps: bool,
    ) -> Prediction:
        """Return a given target, scored and explained: by attention or by `method`, and by further methods.

        With `steps` it has the steps of a search of its source. Between two passes through the model `is_unwanted` is
        called; once it returns True, no further explanation is computed.
        """

        def progress() -> None:
            if is_unwanted():
                raise _GivenUp

        def none_unwanted() -> frozenset[int]:
            progress()
            return frozenset()

        (scored,) = self.predictor.score([text.source], [text.target], matches=[text.similar], encoded=encoded)
        given = replace(scored, source=self.predictor.task.texts.given(text.source)[self.predictor.task.first])
        try:
            if method:
                found: Sequence[Prediction] = self.predictor.explainer.with_relevance([given], method, progress)
            else:
                found = self.looking.explained([given], maps=True, unwanted=none_unwanted)
            (explained,) = self.predictor.explainer.with_reasons(found, reasons, progress)
            return self.predictor.explainer.with_search_tree([explained], none_unwanted)[0] if steps else explained
        except _GivenUp:
            return given

    def rewritten(
        self,
        text: GivenText,
        is_unwanted: Callable[[], bool],
        encoded: Sequence[Ids] | None = None,
        *,
        word: int,
        count: int,
    ) -> Prediction:
        """Return a given target with explained alternatives that have another word in one place."""
        lines = frozenset(range(FIRST_PIECES * count))
        search = SEARCHES.build(self.search).until(lambda: lines if is_unwanted() else frozenset())
        augmented = ""
        if text.similar:
            (scored,) = self.predictor.score([text.source], [text.target], matches=[text.similar])
            augmented = cast(TextPrediction, scored).augmented
            encoded = [self.predictor.task.texts.answered(scored)]
        found = rewritten(self.predictor, search, text.source, text.target, word, count, encoded, augmented=augmented)
        return replace(found, alternatives=self.looking.explained(found.alternatives, maps=False))

    def _search(self, n_best: int) -> Search:
        """Return the run's search. If it finds one target only, a beam as wide as the targets requested."""
        search = self.search
        if n_best == 1:
            return SEARCHES.build(search)
        if "n_best" not in SEARCHES.settings(search.name):
            kept = {name: search.settings[name] for name in _SHARED_SETTINGS if name in search.settings}
            search = Choice("beam", {**kept, "size": n_best})
        return SEARCHES.build(Choice(search.name, {**search.settings, "n_best": n_best}))


def _among(rows: Sequence[int], unwanted: Unwanted) -> Callable[[], set[int]]:
    """Return the unwanted ones of some rows."""

    def left() -> set[int]:
        gone = unwanted()
        return {place for place, row in enumerate(rows) if row in gone} if gone else set()

    return left


def _one_by_one(
    rows: list[int], ask: Callable[[list[int]], Sequence[_T]]
) -> tuple[dict[int, _T], dict[int, Refused], int]:
    """Answer the rows together; on an error in halves, so that only a text that fails alone is refused.

    Also returns the number of out-of-memory errors.
    """
    if not rows:
        return {}, {}, 0
    try:
        return dict(zip(rows, ask(rows), strict=True)), {}, 0
    except Exception as error:  # any error of the model belongs to one text of the batch
        short, wrong, reason = lacks_memory(error), isinstance(error, DataError | ConfigError), line_of(error)
        if len(rows) == 1 and not (short or wrong):
            _LOG.exception("a text could not be answered")
    if short and torch.cuda.is_available():  # here the error is freed, with the frames that held tensors
        torch.cuda.empty_cache()
    if len(rows) == 1:
        refused = Refused("memory") if short else Refused("wrong" if wrong else "failed", reason)
        return {}, {rows[0]: refused}, int(short)
    half = len(rows) // 2
    (found, failed, once), (others, more, again) = (_one_by_one(some, ask) for some in (rows[:half], rows[half:]))
    return {**found, **others}, {**failed, **more}, int(short) + once + again


def line_of(error: Exception) -> str:
    """Return the text of an error for a user: the whole message of Regard's errors, the class of others."""
    if isinstance(error, RegardError):
        return str(error).splitlines()[0]
    return type(error).__name__
