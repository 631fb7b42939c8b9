"""Texts in, predictions out: the one road that the command line, evaluation and pages share."""

import copy
import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, partial
from itertools import accumulate
from typing import Any, TypeVar, cast

from regard.data.columns import TextColumn
from regard.data.examples import ColumnTexts
from regard.decoding import Answering, BeamSearch, Feature, Search
from regard.documents.document import Document, nth
from regard.documents.files import file_document
from regard.documents.glossary import Glossary
from regard.errors import DataError, RegardError
from regard.experiment import DecodingSettings
from regard.explain.adequacy import Adequacy, checked
from regard.explain.translation_faults import FaultFinder
from regard.models import Model
from regard.ops.kernels.packing import caches_of
from regard.predictor.confidence import calibrated
from regard.predictor.explainer import Explainer
from regard.predictor.predictions import Predictions
from regard.predictor.reranking import Reranker
from regard.predictor.terminology import TermPhrases, WantedTerms, prefixes_of_sentences, with_terms
from regard.results import DocumentPrediction, Prediction
from regard.runs import Run
from regard.statistical.calibration import Calibrations
from regard.tasks import Examples, Outcome, Task
from regard.tasks.example_texts import Ids
from regard.tasks.examples import as_rows
from regard.tasks.outcome import outcome_of
from regard.text.clean import clean
from regard.text.windows import with_windows

X = TypeVar("X", str, str | Mapping[str, str])

_LanguagePair = tuple[str, str]  # codes

_DEFAULTS = DecodingSettings()


class Predictor(Explainer):
    """A model and its task, ready to answer.

    >>> predictor = regard.load("runs/en-de")
    >>> for prediction in predictor.predict(["Good morning!"]):
    ...     print(prediction.text, prediction.score)
    """

    def __init__(
        self,
        model: Model,
        task: Task,
        engine: Answering,
        *,
        run: Run | None = None,
        settings: DecodingSettings = _DEFAULTS,
        search: Search | None = None,
        features: Sequence[Feature] = (),
        adequacy: Adequacy | None = None,
        calibration: Calibrations | None = None,
        reranker: Reranker | None = None,
        fault_finder: FaultFinder | None = None,
        languages: tuple[str | None, str | None] = (None, None),
    ) -> None:
        """`run` is where the model comes from; `features` go with every search that a call of `predict` names.

        `settings` have limits of batches, texts and the cost of terms; `search` is that of the run. `adequacy` tells
        words left out; `languages` are codes. `calibration` mends the probabilities that predictions tell; which answer
        is the best it does not change. `reranker` ranks the n best anew, unless terms or prefixes are wanted.
        `fault_finder` tells faults of explained translations.
        """
        self._run, self.settings, self.search, self.adequacy = run, settings, search or BeamSearch(), adequacy
        self.model, self.task, self.engine, self.features = model.eval(), task, engine, tuple(features)
        limits = [settings.max_source, model.max_source, engine.max_source]
        self.languages, self.calibration, self.reranker = languages, calibration, reranker
        self.fault_finder = fault_finder
        self.max_source = min(one for one in limits if one is not None)

    @property
    def run(self) -> Run:
        """The run that the model comes from. Raises RegardError for a model of none."""
        if self._run is None:
            raise RegardError("predictor.run: this model comes from no run folder; regard.load opens one")
        return self._run

    def __repr__(self) -> str:
        sizes = " → ".join(f"{len(one):,}" for one in dict.fromkeys(self.task.vocabularies.values()))
        count = sum(parameter.numel() for parameter in self.model.parameters())
        return f"Predictor({sizes} pieces, {count / 1e6:.1f} M parameters)"

    def replica(self) -> "Predictor":
        """Another one for another thread: the same weights in modules of its own, so that hooks stay apart."""
        weights = (*self.model.parameters(), *self.model.buffers(), *caches_of(self.model))
        shared: dict[int, Any] = {
            id(one): one
            for one in (*weights, self.task, self.adequacy, self.reranker, self.fault_finder, *self.features)
        }
        return copy.deepcopy(self, shared)

    def predict(
        self,
        texts: Iterable[str | ColumnTexts],
        *,
        explain: bool = False,
        search: Search | None = None,
        safeguards: bool = True,
        glossary: Glossary | Sequence[Glossary] | None = None,
        prefixes: Sequence[str] | None = None,
        encoded: Sequence[Ids] | None = None,
    ) -> Predictions:
        """One prediction per text, in order, each read as one sentence; with `explain` each has what it looked at.

        Where a task reads several columns, an example by column stands in for a text. A translator answers nothing with
        nothing; a language model, which goes on with a text, begins one. `search` stands in for that of the run.
        With `safeguards` texts in a script that training never saw are copied, loops cut and words left out looked for;
        a `warning` says so. `lines` of the batches that a search sees are the places of the texts, from 0.
        Terms of a `glossary` are translated as it says, by a beam search, and `terms` of a prediction tells which were
        found and used; the answer to each text begins with its own of the `prefixes`.
        Batched by length; a text's answer does not depend on the others. `encoded` are the ids of the texts, where the
        task has encoded them before. Raises TooLongError for a text that is longer
        than `max_source` pieces, or than the model knows places, and TypeError for anything but texts.
        """
        examples = self.given(_listed(texts, "predict([text])"))
        self.check(examples)
        if glossary is None and prefixes is None:
            found = self._predicted(examples, range(len(examples)), search, safeguards, self.reranker, encoded)
        else:
            for option, given in (("glossary", glossary), ("prefixes", prefixes)):
                if given is not None:
                    self.task.texts.check_terms(option)

            def predicted(rows: Sequence[int], other: Search | None) -> list[Prediction]:
                known = None if encoded is None else [encoded[row] for row in rows]
                return self._predicted([examples[row] for row in rows], rows, other or search, safeguards, None, known)

            wanted = WantedTerms.of(glossary, prefixes, len(examples))
            beam = (search or self.search).as_beam()
            found = with_terms(predicted, beam, self.term_phrases, wanted, self.settings.term_cost)
        found = calibrated(self.task, found, self.calibration)
        found = checked(found, self.adequacy if safeguards else None, self.linked)
        return self.explained(found) if explain else Predictions(found)

    def _predicted(
        self,
        examples: Sequence[ColumnTexts],
        lines: Sequence[int],
        search: Search | None,
        safeguards: bool,
        reranker: Reranker | None = None,
        encoded: Sequence[Ids] | None = None,
    ) -> list[Prediction]:
        """One prediction for each example; `lines` are their places among those that were given."""
        texts = self.task.texts
        answers = [*map(texts.unasked, examples)]
        if safeguards:
            answers = [answer or texts.unanswerable(one) for answer, one in zip(answers, examples, strict=True)]
        asked = [row for row, answer in enumerate(answers) if answer is None]
        if encoded is None:
            rows = self.encode([examples[row] for row in asked], [lines[row] + 1 for row in asked])
        else:
            rows = [encoded[row] for row in asked]
        if reranker is not None:
            wanted = (search or self.search).n_best
            search = reranker.widened(search or self.search, self.engine.width)
        engine = self.engine if search is None else self.task.engine(self.model, search, self.features)
        predict = partial(self.task.predict, engine)
        found = iter(self.in_batches(rows, predict, width=engine.width, lines=[lines[row] for row in asked]))
        whole = [next(found) if answer is None else answer for answer in answers]
        predictions = [*map(texts.as_given, whole, examples)]
        if reranker is not None:
            predictions = reranker.reranked(predictions, wanted)
        return [*map(texts.safeguarded, predictions)] if safeguards else predictions

    @cached_property
    def term_phrases(self) -> TermPhrases:
        """What terms of a glossary are in the pieces of translations."""
        target, source = (
            self.task.vocabularies.get(name) for name in (self.task.last, self.task.spec.translated or "")
        )
        return TermPhrases(cast(TextColumn, target), cast(TextColumn | None, source))

    def translate(
        self,
        texts: Iterable[str],
        *,
        search: Search | None = None,
        glossary: Glossary | Sequence[Glossary] | None = None,
        prefixes: Sequence[str] | None = None,
    ) -> Predictions:
        """One prediction per text of any length: its sentences are predicted one by one, and put together again.

        Line ends, addresses, numbers and emoji stay as they are. A text of several sentences has a DocumentPrediction.
        `glossary` and `prefixes` are as of `predict`; the first sentence of a text begins with its prefix. Where the
        task answers a text as a whole, this is `predict`.
        """
        read = _listed(texts, "translate([text])")
        if any(not isinstance(text, str) for text in read):
            raise TypeError("translate takes texts; predict takes examples by column")
        documents = [self.task.texts.document(text, self.languages[0]) for text in read]
        pairs = zip(read, documents, strict=True)
        asked = [
            [text] if document is None else with_windows(document.texts, self.task.texts.window)
            for text, document in pairs
        ]
        begins = None if prefixes is None else prefixes_of_sentences(prefixes, asked)
        flat = [one for some in asked for one in some]
        with _naming_documents(asked):
            found = iter(self.predict(flat, search=search, glossary=glossary, prefixes=begins))
        answers = [[next(found) for _ in some] for some in asked]
        return Predictions(_composed(read, documents, answers, self.linked, _known_pair(self.languages)))

    def translate_file(
        self,
        data: bytes,
        suffix: str,
        *,
        search: Search | None = None,
        glossary: Glossary | Sequence[Glossary] | None = None,
    ) -> tuple[bytes, list[Prediction]]:
        """The same file with its sentences translated, and their predictions; layout, markup and code stay.

        `suffix` tells the kind: .txt, .srt, .html or .docx. Raises FileError for any other and for a broken file,
        TooLarge above 20,000 sentences, and DataError where the task reads no source and target.
        """
        if self.task.texts.document("", self.languages[0]) is None:
            raise DataError("file", "this model translates no files", hint="give it texts")
        document = file_document(data, suffix, language=self.languages[0])
        found: list[Prediction] = self.predict(
            with_windows(document.texts, self.task.texts.window), search=search, glossary=glossary
        )
        if document.explain:
            found = list(self.linked(found))
        found = document.checked(found)
        return document.rebuild(found, _known_pair(self.languages)), found

    def score(
        self, sources: Iterable[str], targets: Iterable[str], *, encoded: Sequence[Ids] | None = None
    ) -> Predictions:
        """How likely the model finds each given target (forced decoding): log-probabilities per piece, in nats.

        For a language model a target is what follows on its source, which may be empty. A source may be a line of
        several columns, with tabs between them, as `predict` takes it. `encoded` are the ids of the texts with their
        targets, where the task has encoded them before. Raises DataError where the counts differ, or a source is too
        long.
        """
        example = "score([source], [target])"
        read, wanted = _listed(sources, example), _listed(targets, example)
        if encoded is None:
            self.encode(self.given(read))
        if len(read) != len(wanted):
            raise DataError("target", f"{len(wanted):,} texts, but the source has {len(read):,}")
        pairs = zip(read, wanted, strict=True)
        examples = [self.task.texts.scored(clean(source), target) for source, target in pairs]
        rows = self.task.encode(examples) if encoded is None else encoded
        forced = self.in_batches(rows, partial(self.task.force, self.model))
        found = [*map(self.task.texts.as_given, forced, examples)]
        return Predictions(calibrated(self.task, found, self.calibration))

    def outcome(self, examples: Examples) -> Outcome:
        """Answers and losses of examples by column, for measures; each is computed when it is first asked for."""
        computed = outcome_of(self.task, self.model, self.engine, examples, self.settings.batch_tokens)
        given = as_rows({name: examples[name] for name in self.task.inputs})
        return Outcome(examples, lambda: self.predict(given, safeguards=False), lambda: computed.losses)


def _listed(texts: Iterable[X], example: str) -> list[X]:
    """Raises TypeError for one text, which would be read letter by letter, and for items that are no text."""
    one = isinstance(texts, str)
    listed = [] if one else list(texts)
    strange = [type(item).__name__ for item in listed if not isinstance(item, str | Mapping)]
    if one or strange:
        given = "one text" if one else f"items of type {strange[0]}"
        raise TypeError(f"a list of texts is needed, not {given}; one text: {example}")
    return listed


@contextmanager
def _naming_documents(asked: Sequence[Sequence[str]]) -> Iterator[None]:
    """Have faults of sentences name the text that they are of, by its number."""
    try:
        yield
    except DataError as error:
        if error.line is None:
            raise
        ends = list(accumulate(map(len, asked)))
        raise error.at(bisect_left(ends, error.line) + 1) from error


def _composed(
    texts: Sequence[str],
    documents: Sequence[Document | None],
    answers: list[list[Prediction]],
    linked: Callable[[Sequence[Prediction]], Iterable[Prediction]],
    pair: _LanguagePair | None,
) -> list[Prediction]:
    """Return one prediction per text, put together from the answers to its sentences.

    Those with placeholders are `linked` first: links tell where each goes.
    """
    _explain_placeholders(documents, answers, linked)
    checks = zip(answers, documents, strict=True)
    checked = [parts if document is None else document.checked(parts) for parts, document in checks]
    return [
        parts[0] if document is None else _whole_text(text, document, parts, pair)
        for text, document, parts in zip(texts, documents, checked, strict=True)
    ]


def _known_pair(languages: tuple[str | None, str | None]) -> _LanguagePair | None:
    """Return the languages, where both are known."""
    source, target = languages
    return None if source is None or target is None else (source, target)


def _explain_placeholders(
    documents: Sequence[Document | None],
    answers: list[list[Prediction]],
    linked: Callable[[Sequence[Prediction]], Iterable[Prediction]],
) -> None:
    """Explain the sentences with placeholders, of all documents, in place."""
    where = [
        (number, place)
        for number, document in enumerate(documents)
        for place, passage in enumerate(document.passages if document else ())
        if passage.explain
    ]
    explained = linked([answers[number][place] for number, place in where])
    for (number, place), one in zip(where, explained, strict=True):
        answers[number][place] = one


def _whole_text(text: str, document: Document, parts: list[Prediction], pair: _LanguagePair | None) -> Prediction:
    """The prediction of a text, by those of its sentences."""
    whole = document.rebuild(parts, pair)
    if parts and parts[0].source == text:
        alternatives = [replace(one, source=text, text=document.rebuild([one], pair)) for one in parts[0].alternatives]
        return replace(parts[0], source=text, text=whole, alternatives=alternatives)
    others: list[Prediction] = [
        DocumentPrediction(text, other, math.fsum(nth(one, number).score for one in parts))
        for number, other in enumerate(document.alternatives(parts, pair))
    ]
    least = min((one.confidence or 0.0 for one in parts if one.confidences is not None), default=None)
    return DocumentPrediction(
        text,
        whole,
        math.fsum(one.score for one in parts),
        [value for one in parts for value in one.log_probs],
        all(one.finished for one in parts),
        others,
        warning="; ".join(dict.fromkeys(one.warning for one in parts if one.warning)),
        parts=parts,
        confidences=None if least is None else [least],
    )
