"""Helpers of the endpoints under /v1: choice of the model, and form of an answer."""

import json
from typing import Any, NamedTuple

from fastapi.responses import Response

from regard.explain.page import to_json
from regard.serve.api import models
from regard.serve.api.checking import check_served, missing
from regard.serve.catalogue import ServedModel
from regard.serve.engine.questions import QuestionRow
from regard.serve.errors import ApiError, bad
from regard.serve.languages import AUTO, inward, outward
from regard.serve.service import Service
from regard.serve.settings import MIB
from regard.serve.translating import Sentence, check_pair

MAX_MAPPED = 1200  # bytes: an estimate of the tokens in any script


def asked_pair(
    service: Service, question: models.TranslateQuestion | models.ForcedQuestion
) -> tuple[str, str, ServedModel | None]:
    """Return source (may be auto), target, and the model if it is named. Raises ApiError if they do not fit."""
    source, target, model = inward(question.source), inward(question.target), None
    if question.model is not None:
        model = model_of_name(service, question.model)
        if not model.languages:
            raise bad(f"{model.name} is not a translator; use POST /v1/predict")
        own_source, own_target = map(inward, model.languages)
        target = target or own_target
        if source not in {AUTO, own_source} or target != own_target:
            own = f"{outward(own_source)} into {outward(own_target)}"
            raise bad(f"{model.name} translates {own}, not {outward(source)} into {outward(target)}")
    if not target:
        raise missing("target")
    check_served(service.catalogue, source, target)
    if source != AUTO:
        check_pair(service.catalogue, source, target)
    return source, target, model


def model_of_name(service: Service, name: str) -> ServedModel:
    """Return the model of a name. Raises ApiError for an unknown name."""
    model = service.catalogue.named(name)
    if model is None:
        raise bad(f"{name[:40]} is not a model of this server ({service.catalogue.hint(name)})")
    return model


def sentence_json(sentence: Sentence) -> dict[str, Any]:
    """Return a sentence in the form that the page reads."""
    [prediction] = to_json([sentence.prediction])["predictions"]
    return {"before": sentence.before, "after": sentence.after, **prediction}


def check_maps(*texts: str) -> None:
    """Raise ApiError for texts with too large attention maps, which grow with the square of the length."""
    size = sum(len(text.encode()) for text in texts)
    if size > MAX_MAPPED:
        limited = f"attention maps are limited to texts of {MAX_MAPPED:,} bytes, and this has {size:,}"
        raise ApiError(413, f"{limited}; send one sentence at a time, or set maps to false")


class AnswerLimit(NamedTuple):
    """An answer, and its maximum size."""

    limit: int  # bytes
    question: QuestionRow

    def check(self, size: int) -> None:
        """Raise ApiError if an answer of this many bytes is too large; the message says how to get a smaller one."""
        if size > self.limit:
            problem = f"the answer has at least {size / MIB:.1f} MiB, more than the limit of {self.limit / MIB:.1f}"
            raise ApiError(413, f"{problem}: ask for {self.question.less}")


def json_answer(answer: Any, wanted: AnswerLimit | None = None) -> Response:
    """Raise ApiError for an answer that is too large."""
    body = json.dumps(answer, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    if wanted is not None:
        wanted.check(len(body))
    return Response(body, media_type="application/json")
