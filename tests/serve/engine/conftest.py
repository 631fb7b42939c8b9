"""A tiny run, an event loop for a whole module, and a model that answers when a test lets it."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
from engines import Model, Models, tiny_run_in, until

from regard.serve.engine.answering import Answering
from regard.serve.engine.capacity import Limits
from regard.serve.engine.engine import Engine
from regard.serve.engine.messages import Job, Loaded
from regard.serve.engine.pipe import Pipe

Run = Callable[[Coroutine[Any, Any, Any]], Any]
CARD = {"languages": ["en", "de"], "pieces": 9, "answers": "text", "given": ["source"], "task": "translation"}
CARD |= {"explains": True}


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    """Runs a coroutine in the loop of the module; tasks in the background go on while one runs."""
    with asyncio.Runner() as runner:
        yield runner.run


@pytest.fixture(scope="session")
def tiny_run(tmp_path_factory) -> Path:
    """A run that is loaded in no time."""
    return tiny_run_in(tmp_path_factory.mktemp("engine"))


@pytest.fixture
def models(monkeypatch) -> Models:
    """Every model that an engine opens, in turn."""
    opened = Models()

    async def opening(job: Job, limits: Limits) -> tuple[Model, Loaded]:
        await opened.door.wait()
        opened.append(Model())
        return opened[-1], Loaded(cards={"": dict(CARD)})

    monkeypatch.setattr(Pipe, "open", opening)
    monkeypatch.setattr("regard.serve.engine.engine.FIRST_PAUSE", 0.0)
    return opened


@pytest.fixture
def engine(run: Run, models: Models) -> Iterator[Engine]:
    """With a queue of eight texts, and batches of forty pieces."""
    found = Engine(Path("runs/en-de"), limits=Limits(max_queue=8, max_batch_tokens=40, batch_wait=0.0, threads=1))
    run(found.start())
    run(until(lambda: found.ready))
    yield found
    run(found.stop())


@pytest.fixture
def answering(tiny_run: Path) -> Answering:
    """The run, loaded."""
    found, _ = Answering.load(tiny_run, batch_tokens=8192)
    return found
