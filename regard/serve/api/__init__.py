"""Endpoints of the server: those of LibreTranslate and of other programs, and Regard's own under /v1."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any, get_type_hints

from fastapi import FastAPI, Request
from fastapi.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from regard.serve import errors
from regard.serve.api import models
from regard.serve.api.endpoint import DOWNLOAD, Endpoint, asking, refusals
from regard.serve.api.explain import alternatives, explain_given
from regard.serve.api.files import download_file, translate_whole_file
from regard.serve.api.libretranslate import (
    DetectQuestion,
    FileAnswer,
    FileQuestion,
    LibreAnswer,
    SuggestQuestion,
    TextQuestion,
)
from regard.serve.api.offered import LimitsAnswer, frontend_settings, health, languages, limits, metrics, readiness
from regard.serve.api.pages import ReloadAnswer, add_pages, reload_runs
from regard.serve.api.predict import predict_any
from regard.serve.api.programs import program_endpoints
from regard.serve.api.request_body import JSON, MULTIPART
from regard.serve.api.suggest import all_corrections, keep_correction, keep_suggestion
from regard.serve.api.translate import detect_language, translate_texts
from regard.serve.api.v1 import all_models, confirm_translation, translate_in_detail
from regard.serve.service import Service
from regard.serve.settings import Settings

ABOUT = "Trained models: the APIs of other programs, and under /v1 the answers and the attention of every model."
LIBRE, REGARD, OPERATION, METRICS_PATH = "LibreTranslate", "Regard", "operation", "/metrics"
UNTIL_LOADED, OF_ADMIN = {"responses": refusals(503)}, {"responses": refusals(400, 403, 429, 503)}
KEPT: dict[str, Any] = {"needs_model": False, "response_model_exclude_unset": True}  # of endpoints of corrections

ENDPOINTS = {
    "/translate": asking(translate_texts, TextQuestion, LibreAnswer, tag=LIBRE),
    "/detect": asking(detect_language, DetectQuestion, list[models.Link], tag=LIBRE, needs_model=False),
    "/languages": Endpoint(languages, LIBRE, list[dict[str, Any]], UNTIL_LOADED),
    "/frontend/settings": Endpoint(frontend_settings, LIBRE, dict[str, Any], UNTIL_LOADED),
    "/healthz": Endpoint(health, OPERATION, dict[str, str]),
    "/health": Endpoint(health, LIBRE, dict[str, str]),
    "/readyz": Endpoint(readiness, OPERATION, None, UNTIL_LOADED),
    "/translate_file": asking(
        translate_whole_file, FileQuestion, FileAnswer, MULTIPART, tag=LIBRE, response_model_exclude_unset=True
    ),
    "/download_file/{name}": Endpoint(download_file, LIBRE, None, DOWNLOAD),
    "/suggest": asking(keep_suggestion, SuggestQuestion, models.CorrectionAnswer, tag=LIBRE, name="suggest", **KEPT),
    "/v1/corrections": asking(
        keep_correction, models.CorrectionQuestion, models.CorrectionAnswer, JSON, tag=REGARD, **KEPT
    ),
    "/v1/corrections/file": Endpoint(all_corrections, REGARD, None, {"response_class": Response, **OF_ADMIN}),
    "/v1/models": Endpoint(all_models, REGARD, models.ModelsAnswer, UNTIL_LOADED),
    "/v1/translate": asking(
        translate_in_detail, models.TranslateQuestion, models.TranslateAnswer, JSON, tag=REGARD, name="translate_texts"
    ),
    "/v1/memory": asking(
        confirm_translation, models.ConfirmQuestion, models.ConfirmAnswer, JSON, tag=REGARD, needs_model=False
    ),
    "/v1/limits": Endpoint(limits, REGARD, LimitsAnswer),
    "/v1/predict": asking(predict_any, models.PredictQuestion, models.PredictAnswer, JSON, tag=REGARD, name="predict"),
    "/v1/explain": asking(
        explain_given, models.ExplainQuestion, models.ExplainAnswer, JSON, tag=REGARD, name="explain"
    ),
    "/v1/alternatives": asking(alternatives, models.AlternativesQuestion, models.AlternativesAnswer, JSON, tag=REGARD),
    "/v1/reload": Endpoint(reload_runs, OPERATION, ReloadAnswer, OF_ADMIN, method="POST"),
    METRICS_PATH: Endpoint(metrics, OPERATION, None, {"response_class": Response, "responses": refusals(401)}),
}


def create_api(service: Service) -> FastAPI:
    """Return every route; the engines are loaded at startup and ended at shutdown."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        service.start()
        try:
            yield
        finally:
            await service.stop()

    prefix = service.settings.url_prefix
    app = FastAPI(
        title="Regard",
        description=ABOUT,
        version=version("regard"),
        lifespan=lifespan,
        openapi_url=f"{prefix}/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    errors.install(app)
    for path, endpoint in (*ENDPOINTS.items(), *program_endpoints(service.settings)):
        if path != METRICS_PATH or service.settings.metrics:
            endpoint.add(app, f"{prefix}{path}", service)

    async def spec() -> dict[str, Any]:  # the path that LibreTranslate uses
        return app.openapi()

    app.add_api_route(f"{prefix}/spec", spec, include_in_schema=False)
    add_pages(app, prefix, web_ui=service.settings.web_ui)
    return app


class ModelRoutes:
    """Calls the endpoints that need a model by their paths; FastAPI, which is slower to find one, has the others."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app, self._service, settings = app, service, service.settings
        self._endpoints = {
            (one.method, f"{settings.url_prefix}{path}"): one.answers
            for path, one in (*ENDPOINTS.items(), *program_endpoints(settings))
            if one.needs_model and issubclass(get_type_hints(one.answers)["return"], Response)
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answers = self._endpoints.get((scope["method"], scope["path"])) if scope["type"] == "http" else None
        if answers is None:
            await self._app(scope, receive, send)
            return
        scope["app"] = self._app  # by it starlette knows who handles the errors of a form
        try:
            response = await answers(self._service, Request(scope, receive, send))
        except Exception as error:
            response = errors.answer_to(error, scope)
        await response(scope, receive, send)


def requests_for_models(settings: Settings) -> frozenset[tuple[str, str]]:
    """Return (method, path) of the endpoints that need a model."""
    endpoints = (*ENDPOINTS.items(), *program_endpoints(settings))
    return frozenset((one.method, f"{settings.url_prefix}{path}") for path, one in endpoints if one.needs_model)
