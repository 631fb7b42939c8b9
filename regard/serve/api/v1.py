"""POST /v1/translate and GET /v1/models: scores, words, alternatives and attention."""

import math
from typing import Any

from fastapi import Request
from fastapi.responses import Response
from msgspec.structs import replace

from regard.documents.document import nth
from regard.serve.api import models
from regard.serve.api.access import admitted
from regard.serve.api.answers import AnswerLimit, asked_pair, check_maps, json_answer, sentence_json
from regard.serve.api.checking import asked_texts, check_sizes, missing
from regard.serve.api.request_body import read_values
from regard.serve.api.translate import client_guess
from regard.serve.catalogue import ServedModel
from regard.serve.detection import SAMPLE, SURE, Detected, detect
from regard.serve.engine.questions import Predict
from regard.serve.errors import LATE, ApiError, bad, later
from regard.serve.in_thread import LARGE, in_thread
from regard.serve.languages import inward, outward
from regard.serve.memories import READ_ONLY, confirm
from regard.serve.security import SUGGEST
from regard.serve.service import Service
from regard.serve.translating import Translated, TranslationRequest, answered, sentences_of, taken_apart

SCORE_DIGITS = 3


async def all_models(service: Service, _: Request) -> Response:
    """Return the models of the server."""
    public = not service.settings.keys  # example sentences of a private server need a key
    return json_answer({"models": [_model(model, public) for model in service.catalogue.models]})


async def translate_in_detail(service: Service, request: Request) -> Response:
    """Translate, with scores, n-best translations, words and attention."""
    question = models.TranslateQuestion.of(await admitted(service, request, read_values))
    texts = asked_texts(question.q)
    check_sizes(texts, service.settings)
    if question.maps:
        check_maps(*texts)
    source, target, model = asked_pair(service, question)
    request.state.asked.pair = f"{source}-{target}"
    glossary = await service.glossaries.read(question.glossary, (source, target))
    explain = question.explain or question.maps
    asked_for = Predict((), n_best=question.n_best, explain=explain, maps=question.maps)
    prefixes = _prefixes(question, len(texts))
    whole = TranslationRequest(texts, source, target, question.format, model=model, prefixes=prefixes)
    whole = whole._replace(memory=question.memory, similar=True)
    wanted = AnswerLimit(service.settings.max_maps, asked_for)
    found = await taken_apart(service, whole, request.state.asked)
    sentences = sentences_of(found)
    size = sum(len(text.encode("utf-8", "replace")) for text in sentences)  # an answer repeats the source
    wanted.check(question.n_best * size)
    terms = await service.glossaries.lines_within(glossary, sentences)
    await answered(service, found, replace(asked_for, glossary=terms))
    size = LARGE if explain else whole.size * question.n_best
    seem = [_seems(service, one, text) for one, text in zip(found, texts, strict=True)]
    return await in_thread(size, _translated, found, seem, (source, target), wanted)


async def confirm_translation(service: Service, request: Request) -> models.ConfirmAnswer:
    """Store a translation in the memory of its languages, where the next request finds it."""
    question = models.ConfirmQuestion.of(await admitted(service, request, read_values, right=SUGGEST))
    pair, texts = (inward(question.source), inward(question.target)), (question.source_text, question.target_text)
    for name, text in zip(("source_text", "target_text", "source", "target"), (*texts, *pair), strict=True):
        if not text.strip():
            raise missing(name)
    check_sizes([*texts, question.before], service.settings)
    if service.memories.of(*pair) is None:
        raise ApiError(403, f"This server has no translation memory of {' → '.join(map(outward, pair))}")
    if not service.memories.writable:
        raise ApiError(403, READ_ONLY)
    stored = await confirm(service.memories, pair, *texts, request.state.asked.key, before=question.before)
    if not stored:
        raise later(503, "the translation memory cannot be written now", LATE)
    return models.ConfirmAnswer(segments=stored)


def _prefixes(question: models.TranslateQuestion, texts: int) -> list[str]:
    """Return the prefix of each translation; none without a request. Raises ApiError for too few or too many."""
    given = question.target_prefix
    prefixes = given if isinstance(given, list) else [given] * (texts if isinstance(question.q, str) else 0)
    if not any([given] if isinstance(given, str) else given):
        return []
    if len(prefixes) != texts:
        raise bad("Invalid request: target_prefix: expected one prefix for each text of q")
    return prefixes


def _model(model: ServedModel, with_examples: bool) -> dict[str, Any]:
    card = {name: model.card.get(name) for name in models.ModelAnswer.model_fields}
    own = {
        "name": model.name,
        "version": model.version,
        **model.codes,
        "ready": model.engine.ready,
        "given": list(model.given),
    }
    own["answers"] = model.answer.form
    return {**card, **own, "examples": model.card.get("examples", []) if with_examples else []}


def _translated(
    found: list[Translated], seem: list[Detected | None], pair: tuple[str, str], wanted: AnswerLimit
) -> Response:
    names = list(dict.fromkeys(one.model.name for one in found if one.model is not None))
    sources = {one.source for one in found}
    source = sources.pop() if len(sources) == 1 else pair[0]
    answer = {
        "model": names[0] if len(names) == 1 else None,
        "source": outward(source),
        "target": outward(pair[1]),
        "texts": [_text(one, guess) for one, guess in zip(found, seem, strict=True)],
    }
    return json_answer(answer, wanted)


def _seems(service: Service, one: Translated, text: str) -> Detected | None:
    """Return the target language if the text is clearly in it, although another source was named."""
    if one.detected is not None or one.model is None:
        return None
    guess = detect(service, text[:SAMPLE])[0]
    return guess if guess.language == one.target and guess.confidence >= SURE else None


def _text(one: Translated, seems: Detected | None) -> dict[str, Any]:
    score = one.score
    answer: dict[str, Any] = {"translatedText": one.text}
    answer["score"] = round(score, SCORE_DIGITS) if math.isfinite(score) else None
    if one.detected is not None:
        answer["detectedLanguage"] = client_guess(one.detected)
    if seems is not None:
        answer["seems"] = client_guess(seems)
    answer["model"] = None if one.model is None else one.model.name
    answer["version"] = None if one.model is None else one.model.version
    sentences: list[dict[str, Any]] = [sentence_json(sentence) for sentence in one.sentences]
    for number, column in enumerate(_in_place(one)):
        for sentence, translation in zip(sentences, column, strict=True):
            if number == 0:
                sentence["translation"] = translation
            elif number <= len(sentence["alternatives"]):
                sentence["alternatives"][number - 1]["translation"] = translation
    answer["sentences"] = sentences
    return answer


def _in_place(one: Translated) -> list[list[str]]:
    """Return the output of each sentence with its placeholders: the best, then each of the n best."""
    if one.document is None:
        return []
    found = [sentence.prediction for sentence in one.sentences]
    most = max((len(prediction.alternatives) for prediction in found), default=0)
    ranks = [found, *([nth(prediction, number) for prediction in found] for number in range(most))]
    return [one.document.translations(rank) for rank in ranks]
