"""Predictions of examples: their sources with context (segments, terms), terms of a glossary, and prefixes."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

from regard.augmentations.augmentation import SourceAugmentation, SourceHints, TermHint
from regard.data.columns import Column
from regard.data.examples import ColumnTexts
from regard.decoding import Search
from regard.documents.glossary import Glossary
from regard.errors import ConfigError
from regard.explain.alignment import align
from regard.memory import MATCHES, THRESHOLD, SentenceMatches
from regard.predictor.batches import TextEncoder
from regard.predictor.terminology import RequiredTerms, with_terms
from regard.results import (
    AttentionMap,
    Explanation,
    MemoryMatch,
    Prediction,
    TextPrediction,
    TokenRole,
    Tokens,
    WordRelevance,
)
from regard.tasks.example_texts import Ids
from regard.text.clean import clean
from regard.text.source_marks import given_stretches, without_source_marks

TermMethod = Literal["constraints", "annotations", "both"]
if TYPE_CHECKING:
    from regard.predictor.setup import Setup

_SOURCE, _CONTEXT, _SETTING = "source", "context", "decoding.terms"
_NONE = -1  # no stretch of the given text
_T = TypeVar("_T")


class SourceContext:
    """Writes hints into sources as in training; a model without augmentations reads texts as they are."""

    def __init__(self, rows: Mapping[str, SourceAugmentation]) -> None:
        """`rows` are the augmentations of the training, by name."""
        self._rows = rows
        self._least = [one.min_percent for one in rows.values() if one.min_percent is not None]

    @property
    def min_percent(self) -> int:
        """Minimum similarity of the segments of a memory that are worth a search."""
        return min([THRESHOLD, *self._least])

    @property
    def reads_memory(self) -> bool:
        """Return whether the model reads segments of a translation memory."""
        return bool(self._least)

    @property
    def most_matches(self) -> int:
        """Maximum number of segments of a memory that the model reads with a source."""
        return max((one.matches for one in self._rows.values()), default=0)

    @property
    def most_searched(self) -> int:
        """Maximum number of segments of a memory that are searched for."""
        return max(MATCHES, self.most_matches)

    def term_method(self, method: Literal["auto"] | TermMethod) -> TermMethod:
        """Return how terms of a glossary are kept. Raises ConfigError for annotations that the model does not read."""
        reads_terms = any(one.reads_terms for one in self._rows.values())
        if method == "auto":
            return "annotations" if reads_terms else "constraints"
        if method != "constraints" and not reads_terms:
            problem = f"'{method}' needs a model trained with data.source_augmentations=terms"
            raise ConfigError(_SETTING, problem, f"{_SETTING}=constraints")
        return method

    def hints(
        self, sources: Sequence[str], matches: Sequence[Sequence[MemoryMatch]], glossaries: Sequence[Glossary]
    ) -> list[SourceHints]:
        """Return the hints of sources: the segments like each, and the terms of its glossary."""
        if not self._rows:
            return [SourceHints()] * len(sources)
        found = list[SourceHints]()
        for source, similar, glossary in zip(sources, matches, glossaries, strict=True):
            terms = [TermHint(one.start, one.end, one.entry.targets[0]) for one in glossary.found(clean(source))]
            found.append(SourceHints(similar, terms))
        return found

    def augmented(self, example: ColumnTexts, hints: SourceHints) -> ColumnTexts:
        """Return an example with the hints in its source; the same where there are none."""
        if not self._rows:
            return example
        given = clean(example[_SOURCE])
        source = without_source_marks(given)  # of the same length, so terms stay in their places
        for one in self._rows.values():
            source = one.augmented(source, hints)
        return example if source == given else {**example, _SOURCE: source}


class SourceParts(NamedTuple):
    """Places of the pieces of an augmented source; the end symbol belongs to the given text."""

    given: list[int]
    context: list[int]
    offsets: list[list[int] | None]  # [first, behind] of each given piece in the given text

    @classmethod
    def of(cls, column: Column, augmented: str, source: str) -> "SourceParts":
        """Return the parts of a source as `column` cuts it; `source` is the given text."""
        given, context, offsets, place = list[int](), list[int](), list[list[int] | None](), 0
        stretches = [*given_stretches(augmented)]
        moved = list[int]()  # of each stretch: from the augmented to the given text
        for start, end in stretches:
            text = augmented[start:end].strip()
            place = max(source.find(text, place), place)
            moved.append(place - augmented.index(text, start))
            place += len(text)
        places, row = column.offsets(augmented), _NONE
        rows = list[int]()  # of each piece: its stretch; a space belongs to the piece behind it
        for found in reversed(places):
            if found is not None:
                row = next((one for one, (start, end) in enumerate(stretches) if start <= found[0] < end), _NONE)
            rows.append(row)
        for number, (found, row) in enumerate(zip(places, reversed(rows), strict=True)):
            if row == _NONE:
                context.append(number)
            else:
                given.append(number)
                offsets.append(None if found is None else [one + moved[row] for one in found])
        return cls([*given, len(places)], context, [*offsets, None])

    def of_explanation(self, found: Explanation) -> Explanation:
        """Return the attention of a translation with the context in a column of its own."""
        link, tokens = found.link, found.column(_SOURCE)
        weights = [_at(row, self.given) for row in link.weights]
        pairs = align([row[:-1] for row in weights[:-1]])
        given = Tokens(_at(tokens.texts, self.given), tokens.role, self.offsets)
        columns = {_SOURCE: given, _CONTEXT: Tokens(_at(tokens.texts, self.context), TokenRole.DERIVED)}
        return replace(
            found,
            columns={**columns, **{name: one for name, one in found.columns.items() if name != _SOURCE}},
            links=[link._replace(pairs=pairs, weights=weights), *found.links[1:]],
            maps=[part for one in found.maps for part in self._maps(one)],
        )

    def of_relevance(self, found: WordRelevance) -> WordRelevance:
        """Return the relevance of a translation with the context in a column of its own."""
        parts = ((_SOURCE, self.given), (_CONTEXT, self.context))
        tokens = {name: _at(found.tokens[_SOURCE], places) for name, places in parts}
        values = {name: [_at(row, places) for row in found.values[_SOURCE]] for name, places in parts}
        return replace(found, tokens={**found.tokens, **tokens}, values={**found.values, **values})

    def _maps(self, one: AttentionMap) -> list[AttentionMap]:
        """Return a map for each part that queries, and each that is queried."""
        parts = {_SOURCE: self.given, _CONTEXT: self.context}
        queries, keys = ([*parts] if side == _SOURCE else [side] for side in (one.queries, one.keys))
        return [
            replace(
                one,
                queries=query,
                keys=key,
                weights=[_block(head, parts.get(query), parts.get(key)) for head in one.weights],
            )
            for query in queries
            for key in keys
        ]


def _at(values: Sequence[_T], places: Sequence[int]) -> list[_T]:
    return [values[place] for place in places]


def _block(
    rows: Sequence[Sequence[float]], queries: Sequence[int] | None, keys: Sequence[int] | None
) -> list[list[float]]:
    """Return some rows and columns of a map; None: all."""
    chosen = rows if queries is None else _at(rows, queries)
    return [[*row] if keys is None else _at(row, keys) for row in chosen]


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
    setup: "Setup",
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


def plain_predictions(encoder: TextEncoder, setup: "Setup", request: PredictionRequest) -> list[Prediction]:
    """Return one prediction for each example, the best one of the run's ranking."""
    rows, ranking, search = range(len(request.examples)), setup.ranking, request.search
    hints = _hints(setup, request, [Glossary([])] * len(rows))
    if ranking is None:
        return _safe(encoder, request, _predicted(encoder, setup, request, rows, hints, search))
    wide = ranking.widened(search or setup.search, setup.engine.width)
    found = _predicted(encoder, setup, request, rows, hints, wide)
    found = ranking.ranked(found, (search or setup.search).n_best, request.similar)
    return _safe(encoder, request, found)


def forced_predictions(encoder: TextEncoder, setup: "Setup", request: PredictionRequest) -> list[Prediction]:
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


def _hints(setup: "Setup", request: PredictionRequest, glossaries: Sequence[Glossary]) -> list[SourceHints]:
    return setup.context.hints([one.get(_SOURCE, "") for one in request.examples], request.similar, glossaries)


def _predicted(
    encoder: TextEncoder,
    setup: "Setup",
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
