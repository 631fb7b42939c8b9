"""A small HTTP server: POST /translate {"q": "a text" or [texts]} → {"translatedText": …}."""

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from .translator import RuntimeTranslator

MOST_BYTES, MOST_TEXTS, MOST_CLIENTS = 1_000_000, 128, 64
_SECONDS = 30  # that a client may take for a request
_DRAINED = 8 * MOST_BYTES  # of a request that is too large


class RequestError(ValueError):
    """Raised for a request that cannot be answered, with its HTTP status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Server(ThreadingHTTPServer):
    """Answers on one address, a request a connection; texts of one request are searched together."""

    daemon_threads = True

    def __init__(self, translator: RuntimeTranslator, host: str, port: int) -> None:
        super().__init__((host, port), _Handler)
        self.translator, self.port = translator, self.server_address[1]
        self.searching, self._clients = threading.Lock(), threading.BoundedSemaphore(MOST_CLIENTS)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Give a client a thread, or close its connection where there are too many."""
        if self._clients.acquire(blocking=False):
            return super().process_request(request, client_address)
        return self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer a client."""
        late = threading.Timer(_SECONDS, self.shutdown_request, (request,))  # however slowly it sends
        late.daemon = True
        late.start()
        try:
            super().process_request_thread(request, client_address)
        finally:
            late.cancel()
            self._clients.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing: a client may hang up."""

    def answer(self, body: bytes) -> dict[str, Any]:
        """Return the answer to a request. Raises RequestError."""
        texts = _texts_of(body)
        try:
            with self.searching:
                found = self.translator.translate(texts if isinstance(texts, list) else [texts])
        except ValueError as error:
            raise RequestError(400, str(error)) from error
        return {"translatedText": found if isinstance(texts, list) else found[0]}


class _Handler(BaseHTTPRequestHandler):
    server: Server
    timeout = _SECONDS

    def do_GET(self) -> None:
        found = (200, {"status": "ok"}) if self.path == "/health" else (404, {"error": "POST /translate, GET /health"})
        self._send(*found)

    def do_POST(self) -> None:
        sizes = self.headers.get_all("Content-Length") or []
        if self.path != "/translate":
            return self._send(404, {"error": "POST /translate, GET /health"})
        if "Transfer-Encoding" in self.headers or len(sizes) != 1 or not re.fullmatch("[0-9]{1,9}", sizes[0]):
            return self._send(411, {"error": "one Content-Length is needed"})
        if int(sizes[0]) > MOST_BYTES:
            self.rfile.read(min(int(sizes[0]), _DRAINED))  # else the client is cut off before it reads the answer
            return self._send(413, {"error": f"the request has more than {MOST_BYTES:,} bytes"})
        try:
            return self._send(200, self.server.answer(self.rfile.read(int(sizes[0]))))
        except RequestError as error:
            return self._send(error.status, {"error": str(error)})

    def _send(self, status: int, content: dict[str, Any]) -> None:
        body = json.dumps(content, ensure_ascii=False).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing: texts are nobody's business."""


def _texts_of(body: bytes) -> str | list[str]:
    """Return the texts of a request. Raises RequestError."""
    try:
        content = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise RequestError(400, f"the request is not JSON: {error}") from error
    texts = content.get("q") if isinstance(content, dict) else None
    if not isinstance(texts, str) and not (isinstance(texts, list) and all(isinstance(one, str) for one in texts)):
        raise RequestError(400, 'q is missing: {"q": "a text"} or {"q": ["a text", "another one"]}')
    if isinstance(texts, list) and len(texts) > MOST_TEXTS:
        raise RequestError(413, f"q has {len(texts)} texts, at most {MOST_TEXTS}")
    return texts
