"""Why a run has no result: a line for the report, and where that does not tell all, a log beside the runs."""

import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from regard.errors import RegardError
from regard.reports.compare.plan import Planned

LOGS = "logs"  # in the folder of a comparison: one file a run
TRACEBACK = "Traceback (most recent call last):"
Failed = dict[str, str]  # run → why it has no result


def reason(error: Exception) -> str:
    """What a person can do something about, as it stands; of all else its kind, too."""
    if isinstance(error, RegardError):
        return str(error)
    if isinstance(error, OSError):
        return f"{error.filename or 'failed'}: {error.strerror or error}"
    return ": ".join(filter(None, [type(error).__name__, *str(error).splitlines()[:1]]))


def failed_here(planned: Planned, error: Exception) -> str:
    """An error of this process."""
    told = reason(error)
    if isinstance(error, RegardError | OSError):
        return told
    return told + _logged(planned, traceback.format_exception(error))


def failed_there(planned: Planned, lines: Sequence[str], how: str) -> str:
    """A process that was to train it ended as none should; `lines` are its last words."""
    if not lines:
        return f"{planned.path}: {how}"
    logged = _logged(planned, [f"{line}\n" for line in lines])
    crashes = [place for place, line in enumerate(lines) if line == TRACEBACK]
    after = lines[crashes[-1] + 1 :] if crashes else lines[-1:]
    told = next((line for line in after if not line.startswith(" ")), lines[-1])
    return f"{told if crashes else f'{how}: {told}'}{logged}"


def forget(planned: Planned) -> None:
    """What it failed of before is over."""
    _log(planned).unlink(missing_ok=True)


def _log(planned: Planned) -> Path:
    return planned.path.parent / LOGS / f"{planned.name}.log"


def _logged(planned: Planned, lines: Sequence[str]) -> str:
    """(see FILE), where it could be written."""
    log = _log(planned)
    with suppress(OSError):  # a full disk may be the very reason
        log.parent.mkdir(exist_ok=True)
        log.write_text("".join(lines), encoding="utf-8", errors="replace")
        return f" (see {log})"
    return ""
