"""A CTranslate2 model behind HTTP, as LibreTranslate has it: a request is a call, the engine's queue does the rest.

    python benchmarks/ctranslate2_server.py FOLDER --source FILE --target FILE [--threads 2] [--beam 5]

It speaks what `regard serve` speaks as far as the clients of load.py ask: POST /translate and GET /v1/models. HTTP is
read by uvicorn with httptools, which is quicker than what LibreTranslate has; sentences are not cut. As many requests
are translated at once as there are threads, the others wait in the queue of the engine.
"""

import argparse
import asyncio
import json
import socket
import sys
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from ctranslate2_peer import EOS, LONGEST, processor
from program import options

WAITING = 256  # requests at most that wait for the engine, each in a thread

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
Answer = Callable[[str], str]


def translator(chosen: argparse.Namespace) -> Answer:
    """Text → its translation; may be called by many threads."""
    from ctranslate2 import Translator

    how = {"compute_type": chosen.precision, "inter_threads": chosen.threads, "intra_threads": 1}
    model = Translator(str(chosen.folder), device="cpu", **how)
    source, target = processor(chosen.source), processor(chosen.target)

    def answer(text: str) -> str:
        (found,) = model.translate_batch(
            [source.encode(text, out_type=str)], beam_size=chosen.beam, max_decoding_length=LONGEST
        )
        pieces = found.hypotheses[0]
        return target.decode(pieces[:-1] if pieces[-1:] == [EOS] else pieces)

    return answer


def application(answer: Answer, threads: ThreadPoolExecutor) -> Callable[[Scope, Receive, Send], Awaitable[None]]:
    """The ASGI application."""

    async def respond(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if scope["path"] == "/translate":
            body, more = b"", True
            while more:
                message = await receive()
                body, more = body + message["body"], message.get("more_body", False)
            loop = asyncio.get_running_loop()
            said: Any = {"translatedText": await loop.run_in_executor(threads, answer, json.loads(body)["q"])}
        else:
            said = {"models": [{"source": "en", "target": "de"}]}
        data = json.dumps(said).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(data)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": data})

    return respond


def main() -> None:
    """Serves until it is ended."""
    import uvicorn

    parser = options(__doc__, threads=2, beam=5)
    parser.add_argument("folder", type=Path, help="of a model in CTranslate2's format")
    for side in ("source", "target"):
        parser.add_argument(f"--{side}", type=Path, required=True, help="tokenizer of sentencepiece")
    parser.add_argument("--precision", choices=("float32", "int8"), default="float32", help="of the products")
    chosen = parser.parse_args()
    began, threads = time.monotonic(), ThreadPoolExecutor(WAITING)
    config = uvicorn.Config(
        application(translator(chosen), threads), http="httptools", log_level="error", lifespan="off"
    )
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # so named, it sends at once
    listener.bind(("127.0.0.1", 0))
    listener.listen(1024)  # before it is told, so that who asks at once waits
    print(f"serving at http://127.0.0.1:{listener.getsockname()[1]}/", file=sys.stderr)
    print(f"ready after {time.monotonic() - began:.1f} s", file=sys.stderr, flush=True)
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
