"""A tiny run to serve, and an engine's model without a process, which answers when a test lets it."""

import asyncio
import math
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from small_runs import SMALL, regard, write_texts

from regard.results import Prediction
from regard.serve.engine import Engine, Options
from regard.serve.engine.pipe import Gone

PLAIN = Options()
PATIENCE = 60.0  # seconds: only what never becomes true takes them

Asked = asyncio.Future[list[Prediction]]


def tiny_run_in(folder: Path) -> Path:
    """Two updates of training: what it says is nonsense, but it is the same nonsense each time, and short."""
    search = "decoding.search={name: beam, size: 2, max_ratio: 1.0, max_extra: 3}"
    done = regard("train", *write_texts(folder), "--run", folder / "run", "--quiet", *SMALL, search)
    assert done.code == 0, done.said
    return folder / "run"


def sleeping(_: object) -> None:
    """In place of a model's process: hears nothing for a minute."""
    time.sleep(60)


async def until(true: Callable[[], bool]) -> None:
    """Lets other tasks go on until something is true."""
    async with asyncio.timeout(PATIENCE):
        while not true():
            await asyncio.sleep(0.001)


def asking(engine: Engine, *texts: str, seconds: float = 30.0, options: Options = PLAIN) -> Asked:
    """A request under way."""
    return asyncio.ensure_future(engine.predict(list(texts), options, seconds=seconds))


async def texts_of(task: Asked) -> list[str]:
    """What a request is answered with."""
    return [one.text for one in await task]


class Model:
    """In place of a process: answers a text by its upper case, a batch at a time, as soon as `gate` is open.

    A text has as many pieces as characters.
    """

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.gate.set()
        self.counted: list[str] = []
        self.asked: list[list[str]] = []  # the sources of each batch
        self.messages: list[Mapping[str, Any]] = []
        self.told: list[Mapping[str, Any]] = []  # what has no answer
        self.dead = asyncio.Event()
        self.closed = False
        self.seconds = 0.01  # that it says a batch took

    @property
    def alive(self) -> bool:
        return not self.dead.is_set()

    async def warm(self) -> float:
        return 1e6

    async def ended(self) -> None:
        await self.dead.wait()
        raise Gone("killed")

    def tell(self, message: Mapping[str, Any]) -> None:
        self.told.append(message)

    async def ask(self, message: Mapping[str, Any]) -> dict[str, Any]:
        if "count" in message:
            self.counted += message["count"]
            return {"counted": [size_of(text) for text in message["count"]]}
        self.asked.append(list(message["sources"]))
        self.messages.append(message)
        waits = [asyncio.ensure_future(event.wait()) for event in (self.gate, self.dead)]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()
        if self.dead.is_set():
            raise Gone("killed")
        sources, most = message["sources"], message["most"] or math.inf
        answers = [
            answer_of(text) if size_of(text).get("pieces", math.inf) <= most else size_of(text) for text in sources
        ]
        return {"answers": answers, "out_of_memory": 0, "seconds": self.seconds}

    async def close(self, patience: float = 0.0) -> None:
        self.closed = True


def size_of(text: str) -> dict[str, Any]:
    """A text may say that it is too long."""
    return {"long": [12, 9]} if text == "long" else {"pieces": len(text)}


def answer_of(text: str) -> dict[str, Any]:
    """Texts that tell their own fault have it."""
    faults = {"memory": None, "failed": "ValueError"}
    if text in faults:
        return {text: faults[text]}
    return {"prediction": Prediction(text, text.upper(), -1.0)}


class Models(list[Model]):
    """Those that were opened; the next one is when the door is open."""

    def __init__(self) -> None:
        super().__init__()
        self.door = asyncio.Event()
        self.door.set()
