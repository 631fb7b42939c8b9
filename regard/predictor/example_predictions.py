"""Predictions of examples: with context in their sources, terms of a glossary, and prefixes."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from regard.augmentations import SourceHints
from regard.data.examples import ColumnTexts
from regard.decoding import Search
from regard.documents.glossary import Glossary
from regard.memory import SentenceMatches
from regard.predictor.batches import TextEncoder
from regard.predictor.setup import Setup
from regard.predictor.source_context import SourceContext
from regard.predictor.terminology import RequiredTerms, with_terms
from regard.results import Prediction, TextPrediction
from regard.tasks.example_texts import Ids
from regard.text.clean import clean

_SOURCE = "source"


class PredictionRequest(NamedTuple):
    """Examples to predict from, and what goes for all of them."""

    examples: Sequence[ColumnTexts]
    search: Search | None  # in place of the run's
    safeguards: bool
    matches: SentenceMatches | None  # segments of a memory like each example
    encoded: Sequence[Ids] | None  # their ids, where they are known

    @property
    def similar(self) -> SentenceMatches:
        """Segments like each example; none without a memory."""
        return [()] * len(self.examples) if self.matches is None else self.matches


def predictions_with_terms(
    encoder: TextEncoder,
    setup: Setup,
    request: PredictionRequest,
    glossary: Glossary | Sequence[Glossary] | None,
    prefixes: Sequence[str] | None,
) -> list[Prediction]:
    """Return predictions with terms and prefixes, as `Predictor.predict` does."""
    method = setup.context.term_method(setup.settings.terms)
    for option, given in (("glossary", glossary), ("prefixes", prefixes)):
        if given is not None:
            encoder.task.texts.check_terms(option)
            if option == "prefixes" or method != "annotations":
                setup.abilities.check("terms", option)
    wanted = RequiredTerms.of(glossary, prefixes, len(request.examples))
    annotated = [Glossary([])] * len(request.examples) if method == "constraints" else wanted.glossaries
    hints = _hints(setup, request, annotated)

    def again(rows: Sequence[int], other: Search | None) -> list[Prediction]:
        return _safe(encoder, request, _predicted(encoder, setup, request, rows, hints, other or request.search))

    beam = (request.search or setup.search).as_beam()
    return with_terms(again, beam, encoder.term_phrases, wanted, setup.settings.term_cost, method)


def plain_predictions(encoder: TextEncoder, setup: Setup, request: PredictionRequest) -> list[Prediction]:
    """Return one prediction for each example, the best one of the run's reranker."""
    rows, reranker, search = range(len(request.examples)), setup.reranker, request.search
    hints = _hints(setup, request, [Glossary([])] * len(rows))
    if reranker is None:
        return _safe(encoder, request, _predicted(encoder, setup, request, rows, hints, search))
    wide = reranker.widened(search or setup.search, setup.engine.width)
    found = _predicted(encoder, setup, request, rows, hints, wide)
    found = reranker.reranked(found, (search or setup.search).n_best, request.similar)
    return _safe(encoder, request, found)


def forced_predictions(encoder: TextEncoder, setup: Setup, request: PredictionRequest) -> list[Prediction]:
    """Return the given target of each example, scored by forced decoding of the source with its context."""
    examples = request.examples
    hints = _hints(setup, request, [Glossary([])] * len(examples))
    augmented, ids = _augmented(encoder, setup.context, dict(enumerate(zip(examples, hints, strict=True))))
    plain = encoder.task.encode(examples) if request.encoded is None else request.encoded
    rows = [ids.get(row, known) for row, known in enumerate(plain)]
    forced = encoder.in_batches(rows, partial(encoder.task.force, encoder.model))
    found = [
        _without_context(one, examples[row], augmented[row]) if row in ids else one for row, one in enumerate(forced)
    ]
    return [*map(encoder.task.texts.as_given, found, examples)]


def _hints(setup: Setup, request: PredictionRequest, glossaries: Sequence[Glossary]) -> list[SourceHints]:
    return setup.context.hints([one.get(_SOURCE, "") for one in request.examples], request.similar, glossaries)


def _predicted(
    encoder: TextEncoder,
    setup: Setup,
    request: PredictionRequest,
    lines: Sequence[int],
    hints: Sequence[SourceHints],
    search: Search | None,
) -> list[Prediction]:
    """Return one prediction for each of some examples; `lines` are their places."""
    texts, examples = encoder.task.texts, [request.examples[line] for line in lines]
    answers = [*map(texts.unasked, examples)]
    if request.safeguards:
        answers = [answer or texts.unanswerable(one) for answer, one in zip(answers, examples, strict=True)]
    left = [row for row, answer in enumerate(answers) if answer is None]
    augmented, ids = _augmented(encoder, setup.context, {row: (examples[row], hints[lines[row]]) for row in left})
    plain = [row for row in left if row not in ids]
    if request.encoded is not None:
        ids |= {row: request.encoded[lines[row]] for row in plain}
    else:
        ids |= zip(
            plain, encoder.encode([examples[row] for row in plain], [lines[row] + 1 for row in plain]), strict=True
        )
    engine = setup.engine if search is None else setup.for_search(search, setup.features)
    predict = partial(encoder.task.predict, engine)
    encoded = [ids[row] for row in left]
    found = iter(encoder.in_batches(encoded, predict, width=engine.width, lines=[lines[row] for row in left]))
    whole = [next(found) if answer is None else answer for answer in answers]
    for row in {*left} - {*plain}:
        whole[row] = _without_context(whole[row], examples[row], augmented[row])
    return [*map(texts.as_given, whole, examples)]


def _augmented(
    encoder: TextEncoder, context: SourceContext, rows: Mapping[int, tuple[ColumnTexts, SourceHints]]
) -> tuple[dict[int, ColumnTexts], dict[int, Ids]]:
    """Return augmented examples by row, and the ids of those that fit. One that is too long leaves its matches out."""
    found, ids = dict[int, ColumnTexts](), dict[int, Ids]()
    terms = {row: (example, hints._replace(matches=())) for row, (example, hints) in rows.items()}
    for given in (rows, terms):
        texts = {row: context.augmented(*one) for row, one in given.items() if row not in ids}
        texts = {row: one for row, one in texts.items() if one is not rows[row][0]}
        found |= texts
        ids |= {row: one for row, one in zip(texts, encoder.encode_fitting([*texts.values()]), strict=True) if one}
    return found, ids


def _safe(encoder: TextEncoder, request: PredictionRequest, found: list[Prediction]) -> list[Prediction]:
    """Return predictions without known failures of models, where safeguards are on."""
    return [*map(encoder.task.texts.safeguarded, found)] if request.safeguards else found


def _without_context(prediction: Prediction, example: ColumnTexts, read: ColumnTexts) -> Prediction:
    """Return a prediction of an augmented source as one of the source itself."""
    best, *rest = [
        replace(one, source=clean(example[_SOURCE]), augmented=read[_SOURCE])
        for one in (prediction, *prediction.alternatives)
        if isinstance(one, TextPrediction)
    ]
    return replace(best, alternatives=[*rest])
