"""The application: a FastAPI of all parts."""

from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from importlib.metadata import version

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from regard.serve import errors
from regard.serve.api import (
    alternatives,
    explain,
    files,
    limits,
    measured,
    offered,
    pages,
    predict,
    suggest,
    translate,
    v1,
)
from regard.serve.api.documented import paths_that_need_models
from regard.serve.middleware import Bounded, Framed, Guarded
from regard.serve.service import Service

ABOUT = "Trained runs: the API of LibreTranslate, and under /v1 every model's answers and what it looked at."


def create_app(service: Service) -> ASGIApp:
    """The ASGI application; it loads the engines when it starts and ends them when it stops."""
    # around the API, not in it: a request that is refused must cost next to nothing, or a crowd stops the server
    api, modelled = _api(service)
    app: ASGIApp = Guarded(Bounded(api, service), service, modelled)
    if service.settings.cors_origins:
        app = CORSMiddleware(
            app,
            allow_origins=service.settings.cors_origins,
            allow_methods=["GET", "POST"],
            allow_headers=["Content-Type", "Authorization", "X-Request-Id"],
            expose_headers=["Retry-After", "X-Request-Id", "X-Total-Time"],
        )
    return Framed(app, service, modelled)


def _api(service: Service) -> tuple[FastAPI, Collection[str]]:
    """Every route, and the paths of those that need a model."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        service.start()
        try:
            yield
        finally:
            await service.stop()

    settings, prefix = service.settings, service.settings.url_prefix
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
    routers = [
        part.router(service)
        for part in (translate, offered, files, suggest, v1, limits, predict, explain, alternatives)
    ]
    routers += [measured.router(service)] if settings.metrics else []
    for router in [*routers, pages.router(prefix, web_ui=settings.web_ui)]:
        app.include_router(router, prefix=prefix)
    app.add_api_route(f"{prefix}/spec", _spec(app), include_in_schema=False)  # where LibreTranslate has it
    if prefix and settings.web_ui:
        pages.add_entrance(app, prefix)
    pages.mount_files(app, prefix, web_ui=settings.web_ui)
    return app, paths_that_need_models(routers, prefix)


def _spec(app: FastAPI) -> Callable[[], dict[str, object]]:
    def spec() -> dict[str, object]:
        return app.openapi()

    return spec
