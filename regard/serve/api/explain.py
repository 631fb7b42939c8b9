"""POST /v1/explain: what a model looks at when it writes a given translation."""

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from regard.errors import nearest
from regard.explain.page import page, to_json
from regard.results import Prediction
from regard.serve.api import models
from regard.serve.api.access import admitted
from regard.serve.api.answers import Wanted, asked_engine, asked_line, json_answer, written
from regard.serve.api.documented import asked
from regard.serve.api.reading import JSON, read_values
from regard.serve.engine import Options, Predicts
from regard.serve.engine.cost import MAX_METHODS
from regard.serve.errors import bad
from regard.serve.in_thread import LARGE, in_thread
from regard.serve.languages import inward, outward
from regard.serve.security.headers import ALONE
from regard.serve.service import Service
from regard.serve.settings import MIB
from regard.serve.translating import Sentence


def router(service: Service) -> APIRouter:
    """The endpoint."""
    routes = APIRouter(prefix="/v1", tags=["Regard"])

    @routes.post("/explain", response_model=models.ExplainAnswer, **asked(models.ExplainQuestion, JSON))
    async def explain(request: Request) -> Response:
        """Score a given translation, and tell what the model looks at as it writes it, or which words speak for it."""
        question = models.ExplainQuestion.of(await admitted(service, request, read_values))
        engine = asked_engine(service, question)
        request.state.asked.pair = f"{inward(engine.source)}-{inward(engine.target)}"
        request.state.asked.count([question.source_text], engine.name)
        wanted = Wanted(service.settings.max_maps, Options(explain=True, maps=True))
        methods = engine.info.get("methods", [])
        for field, method in (
            *[("by", question.by)] * bool(question.by),
            *(("reasons", one) for one in question.reasons),
        ):
            if method not in methods:
                raise bad(f"{field}: there is no method {method[:40]} here ({nearest(method, methods)})")
        if len(question.reasons) > MAX_METHODS:
            raise bad(f"Invalid request: reasons: {len(question.reasons):,} are more than {MAX_METHODS}")
        seconds = service.settings.request_timeout
        [prediction] = await engine.explain(
            [asked_line(engine, question)],
            [question.target_text],
            by=question.by,
            reasons=[*dict.fromkeys(question.reasons)],
            steps=question.steps,
            seconds=seconds,
        )
        if question.html:
            return await in_thread(LARGE, _page, prediction, wanted)
        return await in_thread(LARGE, _explained, engine, prediction, wanted)

    return routes


def _explained(engine: Predicts, prediction: Prediction, wanted: Wanted) -> Response:
    codes = {"source": outward(inward(engine.source)), "target": outward(inward(engine.target))}
    return json_answer({"model": engine.name, **codes, "sentence": written(Sentence("", prediction, ""))}, wanted)


def _page(prediction: Prediction, wanted: Wanted) -> Response:
    text = page(to_json([prediction]), title="Regard")
    wanted._replace(limit=wanted.limit + MIB).check(len(text))  # the page itself is there, too
    return HTMLResponse(text, headers={"Content-Security-Policy": ALONE})
