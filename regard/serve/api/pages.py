"""The page with its files, and the API documentation; both work offline."""

from importlib.resources import files
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel, Field

from regard.explain.frame import filled
from regard.explain.page import page, to_json
from regard.serve.api.access import admitted
from regard.serve.security import ADMIN, OWN_PAGE, new_nonce, page_policy
from regard.serve.service import Service

DOCS = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Regard: the API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="{{prefix}}/static/docs/swagger-ui.css" nonce="{{nonce}}">
</head>
<body>
<main id="api"></main>
<script src="{{prefix}}/static/docs/swagger-ui-bundle.js" nonce="{{nonce}}"></script>
<script nonce="{{nonce}}">
SwaggerUIBundle({url: "{{prefix}}/openapi.json", dom_id: "#api", deepLinking: false});
</script>
</body>
</html>
"""


def add_pages(app: FastAPI, prefix: str, *, web_ui: bool) -> None:
    """Add the two pages with their files, and the self-contained attention page."""

    async def docs() -> Response:
        return _page(DOCS, prefix)

    async def index() -> Response:
        return _page((_static("regard.serve") / "index.html").read_text(encoding="utf-8"), prefix)

    async def standalone() -> Response:
        return HTMLResponse(page(to_json([])), headers={"Content-Security-Policy": OWN_PAGE})

    async def entrance() -> Response:
        """Redirect `/translate` to the page at `/translate/`."""
        return RedirectResponse(f"{prefix}/", status_code=308)

    own = {"/": index, "/static/explain/standalone.html": standalone, **({"": entrance} if prefix else {})}
    for path, answer in {"/docs": docs, **(own if web_ui else {})}.items():
        app.add_api_route(f"{prefix}{path}", answer, methods=["GET"], include_in_schema=False)
    app.mount(f"{prefix}/static/docs", StaticFiles(packages=[("fastapi_offline", "static")]))
    if web_ui:
        app.mount(f"{prefix}/static/explain", StaticFiles(directory=_static("regard.explain")))
        app.mount(f"{prefix}/static", StaticFiles(directory=_static("regard.serve")))


def _page(template: str, prefix: str) -> HTMLResponse:
    nonce = new_nonce()
    body = filled(template, {"nonce": nonce, "prefix": prefix})
    return HTMLResponse(body, headers={"Content-Security-Policy": page_policy(nonce)})


def _static(package: str) -> Path:
    return Path(str(files(package))) / "static"


class ReloadAnswer(BaseModel):
    """The changed runs by name. Where one failed, its old model stays, as do old keys and an old log."""

    loaded: list[str] = Field(description="models that answer from now on")
    failed: dict[str, str] = Field(description="reasons by model, or by option: --api-keys, --access-log")


async def reload_runs(service: Service, request: Request) -> ReloadAnswer:
    """Load changed runs beside the old ones and swap each when it is ready; no request is lost."""
    await admitted(service, request, right=ADMIN)
    faults = await service.reload()
    failed = {name: fault for name, fault in faults.items() if fault}
    return ReloadAnswer(loaded=[name for name in faults if name not in failed], failed=failed)
