"""Translation of texts: splitting of documents into sentences, and reassembly."""

import asyncio
import math
import random
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as changed
from functools import cache
from typing import Any, Literal, NamedTuple

from msgspec.structs import replace

from regard.documents.document import Document
from regard.documents.files import FileDocument, file_document, text_document
from regard.documents.glossary import Glossary
from regard.documents.plain_text import undivided
from regard.documents.unknown_words import copy_unknown_words
from regard.memory.reuse import join_answers, places_left
from regard.results import MemoryMatch, Prediction
from regard.serve.catalogue import Catalogue, ServedModel
from regard.serve.detection import SAMPLE, Detected, choose_language, language_of_file
from regard.serve.engine.faults import Busy, ServingError
from regard.serve.engine.questions import Explain, GivenText, Predict, Similar
from regard.serve.errors import ApiError, bad
from regard.serve.glossaries import term_counts, with_term_uses
from regard.serve.in_thread import in_thread
from regard.serve.languages import AUTO, inward, name_of, outward
from regard.serve.memories import MemoryAnswer, MemoryQuery
from regard.serve.service import Service
from regard.serve.telemetry import Asked
from regard.text.windows import with_windows

_PART = 64  # stored sentences that are aligned together
_SOON = 2  # seconds to wait for a free file slot
FILE_PATIENCE = 10  # time limit of a file, in multiples of a text's
MOST_WARNINGS = 20  # reported for a file or a text
_UNEXPLAINED = "the stored translation could not be aligned with the text: check its formatting"

Kind = Literal["text", "html", "xml"]


class TranslationRequest(NamedTuple):
    """A request for translations. Language codes are in normal form."""

    texts: Sequence[str]
    source: str  # or "auto"
    target: str
    kind: Kind = "text"
    wanted: Predict = Predict(())  # of each sentence
    model: ServedModel | None = None  # None: the default of a pair
    prefixes: Sequence[str] = ()  # prefix of each translation, if any; then there is no memory
    untouched: Collection[str] = ()  # names of elements of HTML or XML that are kept
    context: str = ""  # text before each text, for models that read several sentences together
    memory: bool = True  # exact matches of the translation memory are the answers
    similar: bool = False  # similar segments are reported, too

    @property
    def size(self) -> int:
        """Number of characters."""
        return len(self.context) + sum(map(len, self.texts))


class Sentence(NamedTuple):
    """A sentence at its place in the translation."""

    before: str
    prediction: Prediction
    after: str


@dataclass
class Translated:
    """A text and its translation."""

    source: str
    target: str
    detected: Detected | None
    model: ServedModel | None  # None: nothing to translate
    text: str
    document: Document | None = None
    prefix: str = ""  # of the translation
    context: Sequence[str] = ()  # sentences before it
    known: MemoryAnswer | None = None  # by a translation memory; None: there is none
    alternatives: list[str] = field(default_factory=list)
    sentences: list[Sentence] = field(default_factory=list)

    @property
    def warnings(self) -> list[str]:
        """Warnings of the first sentences that have one."""
        return _warnings([sentence.prediction for sentence in self.sentences])

    @property
    def matches(self) -> list[list[MemoryMatch]]:
        """Segments like each sentence to translate."""
        return (self.known or MemoryAnswer(None)).matches([] if self.document is None else self.document.texts)

    @property
    def read(self) -> Sequence[Similar]:
        """Segments that the model reads with each sentence."""
        known = () if self.known is None else self.known.read
        return known or [()] * (0 if self.document is None else len(self.document.texts))

    @property
    def score(self) -> float:
        """The sum of its sentences' scores, in nats."""
        return math.fsum(sentence.prediction.score for sentence in self.sentences)


class OpenedFile(NamedTuple):
    """A file that waits for its translation."""

    data: bytes
    document: FileDocument
    source: str
    target: str
    sample: float  # uniform in [0, 1): chooses between the default of the pair and canaries

    def model(self, service: Service) -> ServedModel | None:
        """Return the model that is to translate it, as the server has it now; None for equal languages.

        Raises ApiError for a pair that is not served.
        """
        return check_pair(service.catalogue, self.source, self.target, self.sample)


class TranslatedFile(NamedTuple):
    """A translated file, and the terms of the glossary that occur in it."""

    data: bytes
    terms: Sequence[dict[str, Any]] = ()
    warnings: Sequence[str] = ()
    memory: dict[str, int] | None = None  # sentences, and those that a memory answered; None: no memory


async def translate(
    service: Service, question: TranslationRequest, asked: Asked, glossary: Glossary | None = None
) -> list[Translated]:
    """Return the translation of each text. Raises ApiError for a pair that is not served, and the engines' errors."""
    found = await taken_apart(service, question, asked)
    terms = await service.glossaries.lines_within(glossary, sentences_of(found)) if glossary else ()
    await answered(service, found, replace(question.wanted, glossary=terms))
    return found


async def taken_apart(service: Service, question: TranslationRequest, asked: Asked) -> list[Translated]:
    """Split the texts, recorded in `asked`, and look them up in a memory.

    Raises ApiError for a pair that is not served.
    """
    found = await in_thread(question.size, _prepare_all, service, question)
    if question.memory and not question.prefixes:
        await _recall(service, found, question)
    asked.count(question.texts, *(one.model for one in found if one.model is not None))
    return found


async def _recall(service: Service, found: Sequence[Translated], question: TranslationRequest) -> None:
    """Fill in the matches of a memory; a plain text that it has as a whole becomes one sentence."""
    for pair in dict.fromkeys((one.source, one.target) for one in found if one.document is not None):
        if (memory := service.memories.of(*pair)) is None:
            continue
        some = [(one, one.document) for one in found if one.document and (one.source, one.target) == pair]
        plain = question.kind == "text"
        sought = [
            MemoryQuery(one.text if plain else "", document.originals, one.context[-1] if one.context else "")
            for one, document in some
        ]
        model = some[0][0].model  # one for each pair
        reads = None if model is None else model.reads_memory
        found_now = await memory.recall(sought, similar=question.similar, reads=reads)
        for (one, document), known in zip(some, found_now, strict=True):
            one.known = known
            one.document = undivided(one.text) if known.recall is not None and known.recall.whole else document


def sentences_of(found: Sequence[Translated]) -> list[str]:
    """All sentences to translate."""
    return [text for one in found if one.document is not None for text in one.document.texts]


async def answered(service: Service, found: Sequence[Translated], wanted: Predict) -> None:
    """Fill in the translations. Raises the engines' errors, and ApiError if a model cannot explain as requested."""
    groups: dict[tuple[str, bool], list[Translated]] = {}
    for one in found:
        if one.model is not None and one.document is not None:
            if wanted.explain:  # for markup alone an alignment is not necessary
                check_explains(one.model)
            groups.setdefault((one.model.name, one.document.explain), []).append(one)
    answers = [_answer(some, wanted, service.settings.request_timeout) for some in groups.values()]
    if len(answers) == 1:
        return await answers[0]
    try:
        async with asyncio.TaskGroup() as tasks:
            [*map(tasks.create_task, answers)]
    except BaseExceptionGroup as group:
        raise group.exceptions[0] from None  # the first error alone, without the group


async def open_file(service: Service, data: bytes, suffix: str, source: str, target: str, asked: Asked) -> OpenedFile:
    """Return a file split into sentences, recorded in `asked` with the model that would translate them now.

    Raises FileError for an unreadable file, TooLarge above its size budget, Busy, ApiError for a pair not served.
    """
    asked.pair = f"{source}-{target}"
    if service.files.full:
        raise Busy(_SOON)
    language = None if source == AUTO else source
    found = await service.files.work(file_document, data, suffix, language=language, target=outward(target))
    if source == AUTO:
        source = await in_thread(SAMPLE, language_of_file, service, found, target)
    opened = OpenedFile(data, found, source, target, random.random())
    model = opened.model(service)
    if model is not None and found.texts:
        asked.count(found.texts, model)
    return opened


async def translate_file(
    service: Service, file: OpenedFile, glossary: Glossary, *, memory: bool = True
) -> TranslatedFile:
    """Return the translation of a file, with the terms of a glossary and of a memory.

    Raises the engines' errors, ApiError for a pair that is not served any more.
    """
    found, model, pair = file.document, file.model(service), (file.source, file.target)
    if model is None or not found.texts:
        return TranslatedFile(file.data)
    terms = await service.glossaries.lines_within(glossary, found.texts)
    question = Predict((), explain=found.explain, glossary=terms)
    served = service.memories.of(*pair) if memory else None
    known = await served.recall_file(found.originals, model.reads_memory) if served else MemoryAnswer(None)
    matches, lines = known.matches(found.texts), _lines(model, found.texts)
    left = places_left(matches)
    until = asyncio.get_running_loop().time() + FILE_PATIENCE * service.settings.request_timeout
    answers = await _asked(model, question.of(known.with_similar(lines, left)), until)
    predictions = join_answers(found.texts, matches, answers)
    predictions = await in_thread(sum(map(len, found.texts)), with_term_uses, predictions, terms)
    if found.explain:
        predictions = await _explained(model, predictions, found.marked, until)
    predictions = await service.files.work(found.checked, predictions)
    written = await service.files.work(found.rebuild, predictions, (file.source, outward(file.target)))
    notes = [*found.notes, *([known.problem] if known.problem else [])]
    notes += [_unaligned(model)] if found.explain and not model.explains else []
    reused = None if served is None else {"sentences": len(lines), "reused": len(lines) - len(left)}
    return TranslatedFile(written, term_counts(predictions), [*notes, *_warnings(predictions)], reused)


def _warnings(predictions: Sequence[Prediction]) -> list[str]:
    """Return the warnings of the first sentences that have one."""
    return [f"{one.source}: {one.warning}" for one in predictions if one.warning][:MOST_WARNINGS]


def _unaligned(model: ServedModel) -> str:
    """Return the warning of a file with formatting or placeholders within sentences."""
    lack = f"the engine of {model.name} has no word alignments, which help to place"
    return f"{lack} formatting, numbers and links within a sentence: check them in the translation"


def check_pair(catalogue: Catalogue, source: str, target: str, sample: float = 1.0) -> ServedModel | None:
    """Return the translator of a pair; None for equal languages. Raises ApiError for a pair that is not served.

    `sample`: uniform in [0, 1), chooses between the default and canaries; 1: the default.
    """
    found = catalogue.model(source, target, sample)
    if found is None and source != target:
        raise bad(
            f"{name_of(target)} ({outward(target)}) is not available as a target language "
            f"from {name_of(source)} ({outward(source)})"
        )
    return found


def check_explains(model: ServedModel, asked: str = "explain, maps") -> None:
    """Raise ApiError if a model's engine has no attention weights; `asked` needs them."""
    if not model.explains:
        problem = f"{asked}: the engine of {model.name} has no attention weights"
        raise bad(f"Invalid request: {problem}; /v1/models lists models that have them with explains: true")


def _prepare_all(service: Service, question: TranslationRequest) -> list[Translated]:
    found = []
    prefixes = question.prefixes or [""] * len(question.texts)
    sample = random.random()

    @cache
    def context(language: str) -> list[str]:
        return text_document(question.context, language=language).texts

    for number, (text, prefix) in enumerate(zip(question.texts, prefixes, strict=True), 1):
        try:
            found.append(changed(_prepare(service, question, text, sample, context), prefix=prefix))
        except ApiError as error:
            if len(question.texts) == 1:
                raise
            raise ApiError(error.status, f"text {number}: {error.message}", error.headers) from error
    return found


def _prepare(
    service: Service, question: TranslationRequest, text: str, sample: float, context: Callable[[str], Sequence[str]]
) -> Translated:
    source, detected = question.source, None
    if source == AUTO:
        detected = choose_language(service, question.target, text)
        source = detected.language if question.model is None else inward(question.model.languages[0])
    if not any(character.isalpha() for character in text):  # spaces, digits, emoji
        return Translated(source, question.target, detected, None, text)
    model = question.model or check_pair(service.catalogue, source, question.target, sample)
    if model is None:
        return Translated(source, question.target, detected, None, text)
    document = text_document(text, question.kind, language=source, untouched=question.untouched)
    found = copy_unknown_words(document, model.alphabet)
    before = context(source) if model.read_together > 1 else ()
    return Translated(source, question.target, detected, model, text, found, context=before)


async def _answer(some: list[Translated], wanted: Predict, seconds: float) -> None:
    """Fill in the translations of the texts of one model."""
    model, documents = some[0].model, [one.document for one in some if one.document is not None]
    if model is None:
        return
    texts = [text for one in some if one.document for text in _lines(model, one.document.texts, one.context)]
    prefixes = [
        one.prefix if number == 0 else "" for one in some if one.document for number in range(len(one.document.texts))
    ]
    explain = wanted.explain or documents[0].explain
    predictions, until = dict[int, Prediction](), asyncio.get_running_loop().time() + seconds
    matches = [found for one in some for found in one.matches]
    read = [similar for one in some for similar in one.read]
    left = places_left(matches)
    for prefix in dict.fromkeys(prefixes[place] for place in left):  # usually none: each prefix is a question
        here = [place for place in left if prefixes[place] == prefix]
        asked = MemoryAnswer(None, read).with_similar(texts, here)
        answers = await _asked(model, replace(wanted, texts=asked, explain=explain, prefix=prefix), until)
        predictions |= zip(here, answers, strict=True)
    ordered = join_answers(sentences_of(some), matches, [predictions[place] for place in left])
    ordered = await in_thread(sum(map(len, texts)), with_term_uses, ordered, wanted.glossary)
    marked = [bool(passage.nodes) for each in documents for passage in each.passages]
    aligned = [place for place in range(len(texts)) if wanted.explain or marked[place]]
    ordered = await _explained(model, ordered, aligned, until, maps=wanted.maps)
    first = 0
    for one, document in zip(some, documents, strict=True):
        if one.known is not None and one.known.problem and document.texts:
            ordered[first] = ordered[first].warned(one.known.problem)
        first += len(document.texts)
    await in_thread(sum(map(len, texts)) * wanted.n_best, _fill, some, ordered, wanted.n_best)


async def _asked(model: ServedModel, question: Predict | Explain, until: float) -> list[Prediction]:
    """Return the answers to a question, which may be to nothing."""
    left = until - asyncio.get_running_loop().time()
    return await model.ask(question, seconds=left) if question.texts else []


async def _explained(
    model: ServedModel, predictions: list[Prediction], places: Sequence[int], until: float, *, maps: bool = False
) -> list[Prediction]:
    """Return the predictions with the model's attention to stored translations in some places, where it has any."""
    reused = [place for place in places if predictions[place].reused] if model.explains else []
    found = [*predictions]
    for first in range(0, len(reused), _PART):
        part = reused[first : first + _PART]
        asked = Explain(tuple(GivenText(found[one].source, found[one].text) for one in part))
        try:
            answers = await _asked(model, asked, until)
        except ServingError:  # too long to explain, or too much: the translation needs none
            for place in part:
                found[place] = found[place].warned(_UNEXPLAINED)
            continue
        for place, answer in zip(part, answers, strict=True):
            one = answer.explanation
            found[place] = changed(found[place], explanation=one if one is None or maps else changed(one, maps=[]))
    return found


def _lines(model: ServedModel, sentences: Sequence[str], context: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the sentences of a document, each with those that the model reads with it, as far as `context` before."""
    before = context[len(context) - (model.read_together - 1) :] if model.read_together > 1 else []
    return tuple(with_windows([*before, *sentences], model.read_together)[len(before) :])


def _fill(some: Sequence[Translated], predictions: Sequence[Prediction], n_best: int) -> None:
    start = 0
    for one in some:
        if one.document is not None:
            end = start + len(one.document.texts)
            _rebuild(one, one.document, predictions[start:end], n_best)
            start = end


def _rebuild(one: Translated, found: Document, predictions: Sequence[Prediction], n_best: int) -> None:
    pair, predictions = (one.source, outward(one.target)), found.checked(predictions)
    one.text = found.rebuild(predictions, pair)
    for other in found.alternatives(predictions, pair)[: n_best - 1]:
        if other and other != one.text and other not in one.alternatives:
            one.alternatives.append(other)
    befores = found.gaps(found.translations(predictions), pair[1])
    around = zip(befores, predictions, found.sentences, strict=True)
    one.sentences = [Sentence(before, prediction, place.after) for before, prediction, place in around]
