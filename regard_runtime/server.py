"""A small HTTP server: POST /translate {"q": "a text" or [texts]} → {"translatedText": …}."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from regard_runtime.translator import RuntimeTranslator

MOST_BYTES, MOST_TEXTS, MOST_WAITING = 1_000_000, 128, 64
_SECONDS = 30  # that a client may be silent


class RequestError(ValueError):
    """Raised for a request that cannot be answered, with its HTTP status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Server(ThreadingHTTPServer):
    """Answers on one address; texts of one request are searched together, requests one after the other."""

    daemon_threads = True

    def __init__(self, translator: RuntimeTranslator, host: str, port: int) -> None:
        super().__init__((host, port), _Handler)
        self.translator, self.port = translator, self.server_address[1]
        self.searching, self.waiting = threading.Lock(), threading.BoundedSemaphore(MOST_WAITING)

    def answer(self, body: bytes) -> dict[str, Any]:
        """Return the answer to a request. Raises RequestError."""
        texts = _texts_of(body)
        if not self.waiting.acquire(blocking=False):
            raise RequestError(503, "too many requests are waiting; try again later")
        try:
            with self.searching:
                found = self.translator.translate(texts if isinstance(texts, list) else [texts])
        except ValueError as error:
            raise RequestError(400, str(error)) from error
        finally:
            self.waiting.release()
        return {"translatedText": found if isinstance(texts, list) else found[0]}


class _Handler(BaseHTTPRequestHandler):
    server: Server
    timeout = _SECONDS
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._send(200, {"status": "ok"}) if self.path == "/health" else self._refuse(
            404, "POST /translate, GET /health"
        )

    def do_POST(self) -> None:
        size = self.headers.get("Content-Length", "")
        if self.path != "/translate":
            return self._refuse(404, "POST /translate, GET /health")
        if not size.isdecimal() or int(size) > MOST_BYTES:
            return self._refuse(413, f"Content-Length is needed, at most {MOST_BYTES:,}")
        try:
            self._send(200, self.server.answer(self.rfile.read(int(size))))
        except RequestError as error:
            self._send(error.status, {"error": str(error)})

    def _refuse(self, status: int, message: str) -> None:
        self.close_connection = True  # what was sent is not read
        self._send(status, {"error": message})

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
    except ValueError as error:
        raise RequestError(400, f"the request is not JSON: {error}") from error
    texts = content.get("q") if isinstance(content, dict) else None
    if not isinstance(texts, str) and not (isinstance(texts, list) and all(isinstance(one, str) for one in texts)):
        raise RequestError(400, 'q is missing: {"q": "a text"} or {"q": ["a text", "another one"]}')
    if isinstance(texts, list) and len(texts) > MOST_TEXTS:
        raise RequestError(413, f"q has {len(texts)} texts, at most {MOST_TEXTS}")
    return texts
