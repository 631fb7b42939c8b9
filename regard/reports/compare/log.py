"""What a training has written into its log, whatever became of its last line."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from regard.training.progress import METRICS_FILE


def events(run: Path, last: int | None = None) -> list[dict[str, Any]]:
    """Line by line; of a log that is being written, or was cut off by a loss of power, those that are whole.

    `last`: of so many bytes at its end. A run without a log has no events.
    """
    found = list[dict[str, Any]]()
    with suppress(OSError), (run / METRICS_FILE).open("rb") as file:
        if last is not None:
            file.seek(max(0, file.seek(0, 2) - last))
        for line in file.read().splitlines():
            with suppress(ValueError):
                event = json.loads(line)
                if isinstance(event, dict) and {"event", "update", "seconds"} <= event.keys():
                    found.append(event)
    return found
