"""A tiny run to serve, and an engine's model without a process, which answers when a test lets it."""

import asyncio
import math
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from small_runs import SMALL, regard, write_texts

from regard.results import Prediction
from regard.serve.engine.engine import Engine
from regard.serve.engine.messages import (
    HEAD,
    Batch,
    BatchReply,
    Carried,
    CountReply,
    CountTexts,
    Found,
    Message,
    Refused,
    TextCost,
    heard,
    packed,
)
from regard.serve.engine.pipe import Gone
from regard.serve.engine.questions import GivenText, Predict

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


def asking(engine: Engine, *texts: str, seconds: float = 30.0, **wanted: Any) -> Asked:
    """A request under way."""
    return asyncio.ensure_future(engine.ask(Predict.lines(texts, **wanted), seconds=seconds))


def pairs_of(sources: Iterable[str], targets: Iterable[str]) -> tuple[GivenText, ...]:
    """Given targets, as questions have them."""
    return tuple(map(GivenText, sources, targets))


async def texts_of(task: Asked) -> list[str]:
    """What a request is answered with."""
    return [one.text for one in await task]


def sent(prediction: Prediction) -> Prediction:
    """A prediction after its way from a model's process to the server."""
    told = heard(packed(BatchReply(outcomes=[Found(Carried(prediction))]))[HEAD:])
    return told.outcomes[0].prediction.prediction


class Model:
    """In place of a process: answers a text by its upper case, a batch at a time, as soon as `gate` is open.

    A text has as many pieces as characters.
    """

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.gate.set()
        self.counted: list[str] = []
        self.asked: list[list[str]] = []  # the sources of each batch
        self.messages: list[Batch] = []
        self.told: list[Message] = []  # what has no answer
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

    def notify(self, message: Message) -> None:
        self.told.append(message)

    async def ask(self, message: CountTexts | Batch) -> CountReply | BatchReply:
        texts = [line.source for line in message.question.texts]
        if isinstance(message, CountTexts):
            self.counted += texts
            return CountReply(outcomes=[size_of(text) for text in texts])
        self.asked.append(texts)
        self.messages.append(message)
        waits = [asyncio.ensure_future(event.wait()) for event in (self.gate, self.dead)]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()
        if self.dead.is_set():
            raise Gone("killed")
        return BatchReply(outcomes=[answer_of(text, message.most or math.inf) for text in texts], seconds=self.seconds)

    async def close(self, patience: float = 0.0) -> None:
        self.closed = True


def size_of(text: str) -> TextCost | Refused:
    """A text may say that it is too long."""
    return Refused("long", [12, 9]) if text == "long" else TextCost(len(text), {"source": [*text.encode()]})


def answer_of(text: str, most: float) -> Found | Refused:
    """Texts that tell their own fault have it."""
    size = size_of(text)
    if isinstance(size, Refused) or size.pieces > most:
        return size if isinstance(size, Refused) else Refused("pieces", size.pieces)
    faults = {"memory": None, "failed": "ValueError"}
    return Refused(text, faults[text]) if text in faults else Found(Carried(Prediction(text, text.upper(), -1.0)))


class Models(list[Model]):
    """Those that were opened; the next one is when the door is open."""

    def __init__(self) -> None:
        super().__init__()
        self.door = asyncio.Event()
        self.door.set()
