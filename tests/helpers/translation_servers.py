"""Small servers on this machine that translate as LibreTranslate or DeepL do, by a function of one's own."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

LIBRE = [{"code": "en", "name": "English", "targets": ["de"]}, {"code": "de", "name": "German", "targets": ["en"]}]
DEEPL = [{"language": "DE", "name": "German"}, {"language": "EN-US", "name": "English"}]


class Refusal(Exception):
    """Ends a request with a status and headers."""

    def __init__(self, status: int, **headers: str) -> None:
        self.status, self.headers = status, headers
        super().__init__(status)


class Libre:
    """The form of LibreTranslate, which refuses an empty text."""

    languages: Any = LIBRE

    def answer(self, question: dict[str, Any], translate: Callable[[str], str]) -> Any:
        texts = question["q"] if isinstance(question["q"], list) else [question["q"]]
        if not all(texts):
            raise Refusal(400)
        return {"translatedText": [translate(text) for text in texts]}


class DeepL:
    """The form of DeepL, whose codes are capitals."""

    languages: Any = DEEPL

    def answer(self, question: dict[str, Any], translate: Callable[[str], str]) -> Any:
        if not question["target_lang"].isupper():
            raise Refusal(400)
        return {"translations": [{"text": translate(text)} for text in question["text"]]}


@contextmanager
def served(program: Libre | DeepL, translate: Callable[[str], str], seen: list[Any] | None = None) -> Iterator[str]:
    """The address of a server; `seen` gets path, headers and question of each request."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if "Content-Type" in self.headers:  # there is no body
                raise AssertionError("a GET has no content")
            self.reply(lambda: program.languages)

        def do_POST(self) -> None:
            question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if seen is not None:
                seen.append((self.path, dict(self.headers), question))
            self.reply(lambda: program.answer(question, translate))

        def reply(self, make: Callable[[], Any]) -> None:
            try:
                status, headers, content = 200, {}, json.dumps(make()).encode()
            except Refusal as refusal:
                status, headers, content = refusal.status, refusal.headers, b"{}"
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(content))}.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *words: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
