"""Honest clients beside requests that ask for as much as one may, or more: how long each of them waits.

    python benchmarks/hostile_requests.py RUN --seconds 15 [SHAPE …]

Every request is sent again as soon as it is answered or refused. Honest clients translate one short sentence at a time.
"""

import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

from load import Answer, Server, at_once, figures, serving
from program import lines_of, options

CLIENTS, PAUSE = 16, 0.1  # seconds between an answer and the next hostile request
NOUNS = [f"w{number}" for number in range(75_000)]
BOUNDARY = "-----------------------regard"


class Hostile(NamedTuple):
    """A request: where to, of what kind, and what is said."""

    path: str
    kind: str
    body: bytes


def posted(path: str, **fields: Any) -> Hostile:
    """JSON between English and German."""
    asked = {"source": "en", "target": "de", **fields}
    return Hostile(path, "application/json", json.dumps(asked).encode())


def uploaded(name: str, data: bytes, glossary: str = "") -> Hostile:
    """A file to translate."""
    fields = {"source": "en", "target": "de", "glossary": glossary}
    parts = [
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{said}' for key, said in fields.items()
    ]
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
    body = "\r\n".join([*parts, head]).encode() + data + f"\r\n--{BOUNDARY}--\r\n".encode()
    return Hostile("/translate_file", f"multipart/form-data; boundary={BOUNDARY}", body)


def forced(path: str, source: str, target: str, **more: Any) -> Hostile:
    """A question about a given translation."""
    return posted(path, source_text=source, target_text=target, **more)


METHODS = {"method": "lrp", "reasons": ["gradient_times_input", "saliency", "lrp", "attention_rollout"], "steps": True}
TERMS = "\n".join(f"old {word}\talt {word}" for word in NOUNS[:5000])
OVERLAPPING = "\n".join("old " * count + f"man{count % 7}\talt {count}" for count in range(1, 200)) + "\n" + TERMS
LINE = "the old man reads a book and a young woman sees the dog in the park . "

SHAPES: dict[str, Callable[[], Hostile]] = {
    "glossary of 75,000 lines": lambda: posted(
        "/v1/translate", q=["old " * 1250] * 16, glossary="\n".join(f"old {word}" for word in NOUNS)
    ),
    "glossary of 45,000 lines": lambda: posted(
        "/v1/translate", q=["old " * 1250] * 16, glossary="\n".join(f"old {word}" for word in NOUNS[:45_000])
    ),
    "a term with 60,000 alternatives": lambda: posted(
        "/v1/translate", q=["a book"] * 16, glossary="book\t" + "|".join(NOUNS[:60_000])
    ),
    "terms with 50 alternatives": lambda: posted(
        "/v1/translate",
        q=[" ".join(NOUNS[:100])] * 32,
        glossary="\n".join(f"{word}\t" + "|".join(f"{word} {other}" for other in NOUNS[:50]) for word in NOUNS[:100]),
    ),
    "terms that overlap": lambda: posted("/v1/translate", q=["old " * 1000 + "man3"] * 16, glossary=OVERLAPPING),
    "a term in each place": lambda: posted("/v1/translate", q=["old " * 1250] * 128, glossary="old\talt"),
    "long prefixes": lambda: posted("/v1/translate", q=["a hat"] * 128, target_prefix=["Der " * 990] * 128, n_best=10),
    "different prefixes": lambda: posted(
        "/v1/translate", q=["a hat"] * 128, target_prefix=["Der " * count for count in range(400, 528)], n_best=10
    ),
    "explanation of 1,196 pieces": lambda: forced("/v1/explain", "x" * 598, "y" * 598, **METHODS),
    "explanation of 500 pieces": lambda: forced("/v1/explain", "x" * 248, "y" * 248, **METHODS),
    "explanation as a page": lambda: forced("/v1/explain", LINE * 5, LINE * 5, html=True, **METHODS),
    "alternatives with a document": lambda: forced(
        "/v1/alternatives", "x" * 240, "y " * 120, word=60, count=10, document="a\t" * 2000
    ),
    "n best of many texts": lambda: posted("/v1/translate", q=[LINE] * 128, n_best=10, explain=True),
    "long lines": lambda: posted("/v1/translate", q=[(LINE * 80)[:5000].replace(" . ", " ")] * 128, n_best=10),
    "long words": lambda: posted("/v1/translate", q=["aбcд" * 1200] * 64, n_best=10),
    "maps of a long sentence": lambda: posted("/v1/translate", q=["x" * 590] * 2, maps=True, n_best=10),
    "large page": lambda: uploaded("a.html", b"<p><b>a <i>hat</b> </i>" * 400_000),
    "large text": lambda: uploaded("a.txt", (LINE + "\n").encode() * 19_000),
    "text of one line": lambda: uploaded("a.txt", LINE.replace(" . ", " ").encode() * 100_000),
    "text with a glossary": lambda: uploaded("a.txt", (LINE + "\n").encode() * 5_000, TERMS),
    "detection": lambda: posted("/detect", q=[LINE * 70] * 128),
    "n best of any model": lambda: Hostile(
        "/v1/predict",
        "application/json",
        json.dumps({"texts": [LINE * 10] * 128, "n_best": 10, "explain": True}).encode(),
    ),
}


async def ask(server: Server, hostile: Hostile) -> str:
    """Send a request on a connection of its own; return the status, with the reason of a refusal."""
    reader, writer = await asyncio.open_connection(server.host, server.port)
    try:
        head = f"POST {hostile.path} HTTP/1.1\r\nHost: {server.host}\r\nContent-Type: {hostile.kind}\r\n"
        writer.write(f"{head}Connection: close\r\nContent-Length: {len(hostile.body)}\r\n\r\n".encode() + hostile.body)
        status = (await reader.readline()).split()[1].decode()
        return status if status == "200" else f"{status} {(await reader.read()).splitlines()[-1].decode()[:200]}"
    except (OSError, IndexError):
        return "no answer"
    finally:
        writer.close()


async def beside(
    server: Server, hostile: Hostile, texts: Sequence[str], seconds: float
) -> tuple[list[Answer], Counter[str]]:
    """Honest answers, and how often each status answered the hostile requests."""
    statuses = Counter[str]()

    async def attack() -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            try:
                statuses[await asyncio.wait_for(ask(server, hostile), until - time.monotonic() + 0.01)] += 1
            except TimeoutError:
                return
            await asyncio.sleep(PAUSE)

    attacking = asyncio.create_task(attack())
    await asyncio.sleep(PAUSE)
    honest = await at_once(server, texts, CLIENTS, seconds)
    await attacking
    return honest, statuses


def main() -> None:
    """Print a line for each shape."""
    parser = options(__doc__, seconds=15.0)
    parser.add_argument("run", type=Path)
    parser.add_argument("shapes", nargs="*", choices=[[], *SHAPES])
    parser.add_argument("--texts", type=Path, help="sentences of honest clients, one a line")
    given = parser.parse_args()
    texts = lines_of(given.texts)[:1000] if given.texts else [LINE]
    with serving(given.run) as server:
        for name in ["nothing", *(given.shapes or SHAPES)]:
            print_shape(server, name, texts, given.seconds)


def print_shape(server: Server, name: str, texts: Sequence[str], seconds: float) -> None:
    """One line: the honest answers, their times and what the hostile requests were answered with."""
    if name == "nothing":
        honest, hostile = asyncio.run(at_once(server, texts, CLIENTS, seconds)), Counter[str]()
    else:
        honest, hostile = asyncio.run(beside(server, SHAPES[name](), texts, seconds))
    told = figures(honest, seconds)
    times = " ".join(f"{kind} {told[kind]:.0f}" for kind in ("p50", "p99", "most"))
    print(f"{name}: honest {told['statuses']} {times} ms; hostile {dict(hostile)}", flush=True)


if __name__ == "__main__":
    main()
