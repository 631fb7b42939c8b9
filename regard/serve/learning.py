"""`regard serve --learn`: teaches the served translators their corrections at an hour of each day.

Each is taught by `regard teach` in a process of its own, at the lowest priority and on one core; the server changes to
a new version as soon as it is in use.
"""

import asyncio
import logging
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, time, timedelta
from pathlib import Path
from typing import Any

from regard.config import parse_json
from regard.serve.service import Service

NICE = 19  # the lowest priority
_REFUSED = 2  # exit code of a run, or of corrections, that cannot be taught
_SAID = 400  # characters of an error that are logged
LESSON_SECONDS = 20 * 3600.0  # seconds of a lesson; the next one begins after 24 hours

_LOG = logging.getLogger("regard.serve")


class Learner:
    """Teaches every translator of a server, one after the other."""

    def __init__(self, service: Service, corrections: Path, hour: time) -> None:
        self.service, self.corrections, self.hour = service, corrections, hour

    async def work(self) -> None:
        """Teach at the hour of each day, until cancelled; a process that teaches then is ended."""
        while True:
            await asyncio.sleep(seconds_until(self.hour, datetime.now().astimezone()))
            await self.learn()

    async def learn(self) -> None:
        """Teach all translators with new corrections; a lesson that fails ends neither the others nor the next ones."""
        for name, engine in [*self.service.engines.items()]:
            if [card["languages"] for card in engine.cards.values() if card["languages"]]:
                try:
                    result, line = await asyncio.wait_for(self._teach(engine.run), LESSON_SECONDS)
                except TimeoutError:
                    result, line = "failed", f"ended after {LESSON_SECONDS / 3600:g} hours"
                except Exception as error:
                    result, line = "failed", f"{type(error).__name__}: {error}"[:_SAID]
                _LOG.info("learn: %s: %s", name, line)
                self.service.metrics.learned(name, result)

    async def _teach(self, run: Path) -> tuple[str, str]:
        """Return the result, "taught", "kept", "refused" or "failed", and a line on it."""
        code, out, said = await _finished([*COMMAND, str(run), str(self.corrections), *OPTIONS])
        if code:
            problem = said.strip().rpartition("\n")[2].removeprefix("error: ")[:_SAID]
            return ("refused" if code == _REFUSED else "failed"), problem or f"the process ended with code {code}"
        try:
            return outcome_line(parse_json(out))
        except (ValueError, LookupError, TypeError):
            return "failed", "the process gave no result"


COMMAND = (sys.executable, "-m", "regard", "teach")
OPTIONS = ("training.threads=1", "--new", "--json", "--quiet")


def outcome_line(values: dict[str, Any]) -> tuple[str, str]:
    """Return "taught" or "kept", and a line with the figures, from the JSON of `regard teach`."""
    figures = [
        f"{what}: {one['metric']} {one['start']:.2f} → {one['selected']:.2f} "
        f"(95 %: {one['interval'][0]:+.2f} to {one['interval'][1]:+.2f})"
        for what, one in (("corrections tested", values["new"]), ("standing set", values.get("old")))
        if one
    ]
    taught = values["kept"] == "adapted"
    first = f"version {values['version']} is in use" if taught else "the weights stay as they were"
    return ("taught" if taught else "kept"), "; ".join([first, *figures])


def seconds_until(hour: time, now: datetime) -> float:
    """Return the seconds until an hour of the day, in local time; more than 0."""
    wanted = now.replace(hour=hour.hour, minute=hour.minute, second=0, microsecond=0)
    return ((wanted if wanted > now else wanted + timedelta(days=1)) - now).total_seconds()


async def _finished(command: Sequence[str]) -> tuple[int, str, str]:
    """Run a command at the lowest priority; return its exit code and output. A cancelled call ends it."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe)
    try:
        with suppress(OSError):  # it has ended already
            os.setpriority(os.PRIO_PROCESS, process.pid, NICE)
        out, said = await process.communicate()
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    return process.returncode or 0, out.decode(errors="replace"), said.decode(errors="replace")
