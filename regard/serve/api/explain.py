"""POST /v1/explain: what a model looks at when it writes a given translation."""

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from regard.errors import nearest
from regard.explain.page import page, to_json
from regard.results import Prediction
from regard.serve.api import models
from regard.serve.api.access import admitted
from regard.serve.api.answers import Wanted, asked_model, asked_pair_of_texts, json_answer, written
from regard.serve.api.documented import asked, needs_model
from regard.serve.api.request_body import JSON, read_values
from regard.serve.catalogue import Model
from regard.serve.engine import Explain
from regard.serve.engine.questions import MAX_METHODS
from regard.serve.errors import bad
from regard.serve.in_thread import LARGE, in_thread
from regard.serve.security.headers import ALONE
from regard.serve.service import Service
from regard.serve.settings import MIB
from regard.serve.translating import Sentence


def router(service: Service) -> APIRouter:
    """The endpoint."""
    routes = APIRouter(prefix="/v1", tags=["Regard"])

    @routes.post("/explain", response_model=models.ExplainAnswer, **asked(models.ExplainQuestion, JSON))
    @needs_model
    async def explain(request: Request) -> Response:
        """Score a given translation, and tell what the model looks at as it writes it, or which words speak for it."""
        question = models.ExplainQuestion.of(await admitted(service, request, read_values))
        model = asked_model(service, question, request.state.asked)
        methods = model.card.get("methods", [])
        for field, method in (
            *[("by", question.by)] * bool(question.by),
            *(("reasons", one) for one in question.reasons),
        ):
            if method not in methods:
                raise bad(f"{field}: there is no method {method[:40]} here ({nearest(method, methods)})")
        if len(question.reasons) > MAX_METHODS:
            raise bad(f"Invalid request: reasons: {len(question.reasons):,} are more than {MAX_METHODS}")
        texts, reasons = (asked_pair_of_texts(model, question),), (*dict.fromkeys(question.reasons),)
        asked_for = Explain(texts, by=question.by, reasons=reasons, steps=question.steps)
        wanted = Wanted(service.settings.max_maps, asked_for)
        [prediction] = await model.ask(asked_for, seconds=service.settings.request_timeout)
        if question.html:
            return await in_thread(LARGE, _page, prediction, wanted)
        return await in_thread(LARGE, _explained, model, prediction, wanted)

    return routes


def _explained(model: Model, prediction: Prediction, wanted: Wanted) -> Response:
    return json_answer({"model": model.name, **model.codes, "sentence": written(Sentence("", prediction, ""))}, wanted)


def _page(prediction: Prediction, wanted: Wanted) -> Response:
    text = page(to_json([prediction]), title="Regard")
    wanted._replace(limit=wanted.limit + MIB).check(len(text))  # the page itself is there, too
    return HTMLResponse(text, headers={"Content-Security-Policy": ALONE})
