"""The application: the API, and around each request its id, its time, admission, and the limit of its body."""

import asyncio
import logging
import re
import secrets
import time
from collections.abc import Collection
from typing import Any
from urllib.parse import quote

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from regard.serve.api import ModelRoutes, create_api, requests_for_models
from regard.serve.api.deepl_documents import UPLOAD_PATH
from regard.serve.api.programs import program_of
from regard.serve.engine.faults import Busy
from regard.serve.errors import GONE, ApiError, ending, of_engine, refusal
from regard.serve.security import BROWSER_HEADERS, NO_PAGE
from regard.serve.service import Service
from regard.serve.settings import KIB
from regard.serve.telemetry import Asked

REQUEST_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
OPEN_WHILE_DRAINING = ("/health", "/healthz", "/readyz", "/metrics")
FOREIGN = ("cross-site", "same-site")  # Sec-Fetch-Site of pages of another origin
UPLOADS = ("/translate_file", UPLOAD_PATH)  # paths that take files
FORM_ROOM = 64 * KIB  # of a form around its file
DISCARD_SECONDS = 5.0  # a refused client may go on sending this long, so that it sees the answer
POLICY = "Content-Security-Policy"
MIN_RATE = 16 * KIB  # bytes a second: minimum rate of an upload

RawHeaders = list[tuple[bytes, bytes]]

_USUAL = [(name.lower().encode(), value.encode()) for name, value in {**BROWSER_HEADERS, POLICY: NO_PAGE}.items()]
_LOG = logging.getLogger("regard.serve")


def create_app(service: Service) -> ASGIApp:
    """Return the ASGI application; it loads the engines at startup and ends them at shutdown."""
    # around the API: refusing a request must cost next to nothing, or a crowd stops the server
    modelled = requests_for_models(service.settings)
    app: ASGIApp = Guarded(Bounded(ModelRoutes(create_api(service), service), service), service, modelled)
    if service.settings.cors_origins:
        app = CORSMiddleware(
            app,
            allow_origins=service.settings.cors_origins,
            allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
            allow_headers=["Content-Type", "Authorization", "X-Request-Id"],
            expose_headers=["Retry-After", "X-Model", "X-Request-Id", "X-Total-Time"],
        )
    return Framed(app, service, modelled)


class Framed:
    """The outermost layer: sets the headers of every answer, counts every request, and hides internal errors.

    `modelled` are (method, path) of endpoints that need a model, known by name even if a request was refused.
    """

    def __init__(self, app: ASGIApp, service: Service, modelled: Collection[tuple[str, str]]) -> None:
        self.app, self.service, self.modelled = app, service, modelled

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        if scope["method"] == "HEAD":  # as GET; uvicorn omits the body
            scope = {**scope, "method": "GET"}
        began, status, size = time.perf_counter(), GONE, {"bytes_in": 0, "bytes_out": 0}
        (request_id, own), asked = self._headers(scope), Asked(source=[] if self.service.settings.log_texts else None)
        scope = {**scope, "state": {**scope.get("state", {}), "asked": asked}}
        if program := program_of(scope, self.service.settings):
            scope["path"], scope["state"]["error_form"] = program.path, program.error_form

        async def receiving() -> Message:
            message = await receive()
            size["bytes_in"] += len(message.get("body", b""))
            return message

        async def sending(message: Message) -> None:
            nonlocal status
            size["bytes_out"] += len(message.get("body", b""))
            if message["type"] == "http.response.start":
                status = message["status"]
                raw = message["headers"] = [*message.get("headers", ())]
                known = {name.lower() for name, _ in raw}
                raw += [one for one in (*own, *_answering(asked)) if one[0] not in known]
                raw.append((b"x-total-time", b"%.0f" % (1000 * (time.perf_counter() - began))))  # milliseconds
            await send(message)

        with self.service.metrics.in_flight.track_inprogress():
            try:
                await self.app(scope, receiving, sending)
            except Exception:
                _LOG.exception("a request failed: %s", request_id)
                if status == GONE:
                    await refusal(ApiError(500, "Internal server error"), scope)(scope, receive, sending)
            finally:
                request = {"request_id": request_id, "status": status, **size}
                self._record(scope, request, time.perf_counter() - began)

    def _record(self, scope: Scope, request: dict[str, Any], seconds: float) -> None:
        """Count a request, and log it."""
        asked, route = scope["state"]["asked"], self._route(scope)
        self.service.metrics.answered(route, request["status"], asked, seconds)
        if (log := self.service.access_log) is not None:
            name, client = request.pop("request_id"), (scope.get("client") or ("",))[0]
            head = {"request_id": name, "client": client, "key": asked.key or None, "method": scope["method"]}
            log.write({**head, "route": route, **request, "seconds": round(seconds, 4), **_question(asked)})

    def _route(self, scope: Scope) -> str:
        """Return the path of the app's route, never the client's; "other" for a request without a route."""
        known: str = scope["path"] if (scope["method"], scope["path"]) in self.modelled else "other"
        path: str = getattr(scope.get("route"), "path", known)
        return path

    def _headers(self, scope: Scope) -> tuple[str, RawHeaders]:
        """Return the id of a request, and the headers of its answer."""
        given = Headers(scope=scope).get("x-request-id", "")
        name = given if REQUEST_ID.fullmatch(given) else secrets.token_hex(8)
        static = scope["path"].startswith(f"{self.service.settings.url_prefix}/static/")
        return name, [
            *_USUAL,
            (b"cache-control", b"no-cache" if static else b"no-store"),
            (b"x-request-id", name.encode()),
        ]


class Guarded:
    """Refuses invalid requests before their body is read, and those that need a model while every queue is full."""

    def __init__(self, app: ASGIApp, service: Service, modelled: Collection[tuple[str, str]]) -> None:
        self.app, self.service, self.modelled = app, service, modelled

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        fault = self._fault(scope) if scope["type"] == "http" else None
        if fault is None:
            await self.app(scope, receive, send)
        else:
            await refusal(fault, scope)(scope, receive, send)

    def _fault(self, scope: Scope) -> ApiError | None:
        headers, service = Headers(scope=scope), self.service
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not service.hosts.allows(hosts[0]):
            return ApiError(421, "this server does not answer to that name (--allowed-host adds one)")
        if not self._same_origin(scope, headers, hosts[0]):
            return ApiError(403, "pages of that origin may not ask here (--cors-origin adds one)")
        if headers.get("content-encoding", "identity").strip().lower() not in {"", "identity"}:
            return ApiError(415, "compressed requests are not read")
        path = scope["path"].removeprefix(service.settings.url_prefix)
        if service.draining and path not in OPEN_WHILE_DRAINING:
            return ending()
        if (scope["method"], scope["path"]) in self.modelled and (seconds := service.busy):
            return of_engine(Busy(seconds))  # far cheaper here than after the request is read
        return None

    def _same_origin(self, scope: Scope, headers: Headers, host: str) -> bool:
        """Return False for a request of a foreign page that changes something, or makes a model work."""
        if scope["method"] == "GET" and (scope["method"], scope["path"]) not in self.modelled:
            return True
        origin = headers.get("origin")
        if origin is None:  # a browser leaves it out of an image and a link
            return headers.get("sec-fetch-site") not in FOREIGN
        return self.service.origins.allows(origin, host)


class Bounded:
    """Reads a body whole, within limits of size and time; cancels the work for a client that left.

    It also cancels a request that exceeds the grace time of a shutdown.
    """

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self.app, self.service = app, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        unanswered = self.service.unanswered
        begun = False

        async def sending(message: Message) -> None:
            nonlocal begun
            begun = True  # from here on no other answer is possible
            unanswered.discard(patience)
            await send(message)

        try:
            async with asyncio.timeout(None) as patience:
                unanswered.add(patience)
                await self._answer(scope, receive, sending)
        except TimeoutError:
            if begun or not patience.expired():
                raise
            await refusal(ending(), scope)(scope, receive, send)
        finally:
            unanswered.discard(patience)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        settings = self.service.settings
        kind = Headers(scope=scope).get("content-type", "").lower()  # a file comes in a form, never in JSON
        files = scope["path"].removeprefix(settings.url_prefix) in UPLOADS and kind.startswith("multipart/form-data")
        limit = settings.max_file + FORM_ROOM if files else settings.max_body
        try:
            body = await _read(scope, receive, limit, settings.request_timeout)
        except TimeoutError:
            await _refuse(
                ApiError(408, "the request was sent too slowly", {"Connection": "close"}), scope, receive, send
            )
        except _TooLarge:
            problem = f"the request has more than the limit of {limit:,} bytes"
            await _refuse(ApiError(413, problem, {"Connection": "close"}), scope, receive, send)
        except _Left:
            return
        else:
            await _while_there(self.app, scope, body, receive, send)


class _TooLarge(Exception):
    """A body over its limit."""


class _Left(Exception):
    """The client has left."""


async def _read(scope: Scope, receive: Receive, limit: int, seconds: float) -> bytes:
    """Raise TimeoutError if nothing arrives in `seconds`, or less than the minimum rate after that."""
    length = Headers(scope=scope).get("content-length", "")
    if length.isdecimal() and int(length[:20]) > limit:
        raise _TooLarge
    parts, size, more = [], 0, True
    loop = asyncio.get_running_loop()
    began = loop.time()
    async with asyncio.timeout(seconds) as patience:
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise _Left
            part, more = message.get("body", b""), message.get("more_body", False)
            size += len(part)
            if size > limit:
                raise _TooLarge
            parts.append(part)
            if more and part:
                patience.reschedule(seconds + min(loop.time(), began + size / MIN_RATE))
    return b"".join(parts)


async def _refuse(error: ApiError, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer, then read on for a while: a client that is cut off while sending does not see the answer."""
    response = refusal(error, scope)
    await send({"type": "http.response.start", "status": error.status, "headers": response.raw_headers})
    await send({"type": "http.response.body", "body": response.body, "more_body": True})
    try:
        async with asyncio.timeout(DISCARD_SECONDS):
            while (await receive()).get("more_body", False):
                pass
    except TimeoutError:
        pass
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _while_there(app: ASGIApp, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
    """Run the app on a body that was read; cancel it if the client leaves early."""
    work, given, whole, left = asyncio.current_task(), False, False, False

    async def leave() -> None:
        nonlocal left
        await receive()  # after a whole body only a disconnect can arrive
        if not whole and work is not None:
            left = True
            work.cancel()

    async def replay() -> Message:
        nonlocal given
        if not given:
            given = True
            return {"type": "http.request", "body": body, "more_body": False}
        await asyncio.shield(leaving)
        return {"type": "http.disconnect"}

    async def sending(message: Message) -> None:
        nonlocal whole
        whole = message["type"] == "http.response.body" and not message.get("more_body", False)
        await send(message)

    leaving = asyncio.ensure_future(leave())
    try:
        await app(scope, replay, sending)
    except Exception:
        if not left or work is None:
            raise
        work.uncancel()  # the client has left, and nobody reads the error
    except asyncio.CancelledError:
        if not left or work is None or work.uncancel():  # the grace time of a shutdown has ended, too
            raise
    finally:
        leaving.cancel()


def _answering(asked: Asked) -> RawHeaders:
    """Return the header that names each model with the version that answers; none without a model."""
    named = ", ".join(f"{quote(name)}@{version}" for name, version in asked.versions)
    return [(b"x-model", named.encode())] if named else []


def _question(asked: Asked) -> dict[str, Any]:
    """Return the fields of an access log line for a question: counts, and the texts if they are kept."""
    model, pair = ",".join(asked.models) or None, asked.pair or None
    source = {} if asked.source is None else {"source": asked.source}
    return {"model": model, "pair": pair, "texts": asked.texts, "characters": asked.characters, **source}
