"""All engines of a server."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from regard.serve.engine.capacity import Limits, cores, threads_each
from regard.serve.engine.engine import Engine, run_name


class Engines(Mapping[str, Engine]):
    """Engines by name, in the given order."""

    def __init__(self, engines: Sequence[Engine]) -> None:
        self._engines = {engine.name: engine for engine in engines}

    def __getitem__(self, name: str) -> Engine:
        return self._engines[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._engines)

    def __len__(self) -> int:
        return len(self._engines)

    def with_renewed(self, fresh: Engine) -> "Engines":
        """Return the same engines with this one in the place of its name."""
        return Engines([fresh if engine.name == fresh.name else engine for engine in self.values()])

    async def start(self) -> None:
        """Load all at once. Raises the first RegardError; then none runs."""
        starting = [asyncio.ensure_future(engine.start()) for engine in self.values()]
        try:
            await asyncio.gather(*starting)
        except BaseException:
            for task in starting:
                task.cancel()
            await asyncio.gather(*starting, return_exceptions=True)
            await self.stop()
            raise

    async def stop(self) -> None:
        """End all processes."""
        await asyncio.gather(*(engine.stop() for engine in self.values()))


def open_engines(
    runs: Sequence[Path], limits: Limits | None = None, exports: Mapping[Path, str] = MappingProxyType({})
) -> Engines:
    """Return an engine for each run, not yet started. They share the cores; equal names are numbered.

    `exports` names the engines of those runs that are exports.
    """
    limits = limits or Limits()
    each = replace(limits, threads=limits.threads or threads_each(cores(), len(runs)))
    engines: dict[str, Engine] = {}
    for run in runs:
        name, number = run_name(run), 2
        while name in engines:
            name, number = f"{run_name(run)}-{number}", number + 1
        engines[name] = Engine(run, name=name, limits=replace(each, engine=exports.get(run, each.engine)))
    return Engines(list(engines.values()))
