"""The limits of a training: whether one is reached, how long it may still take, and how long a warm-up they allow."""

from collections.abc import Callable

from regard.training.clock import Spent
from regard.training.settings import TrainingSettings

WARMUP = 0.25  # of the updates that the limits allow: the longest warm-up
MEASURED = 0.02  # of a time limit, after which the pace so far tells how many updates it allows


def limit_reached(settings: TrainingSettings, update: int, epoch: int, spent: Spent) -> str:
    """Return which limit ends training; "" while none is reached."""
    if settings.max_updates is not None and update >= settings.max_updates:
        return f"max_updates={settings.max_updates:,} is {_reached(update, settings.max_updates, 'updates')}"
    if settings.max_epochs is not None and epoch >= settings.max_epochs:
        return f"max_epochs={settings.max_epochs} is {_reached(epoch, settings.max_epochs, 'epochs')}"
    if settings.max_minutes is not None and spent.wall >= settings.max_minutes * 60:
        return f"max_minutes={settings.max_minutes:g} is reached"
    if settings.max_core_minutes is not None and spent.core >= settings.max_core_minutes * 60:
        return f"max_core_minutes={settings.max_core_minutes:g} is reached"
    return ""


def _reached(done: int, limit: int, unit: str) -> str:
    """What a limit is; a run that goes on may be beyond the one it is given now."""
    return "reached" if done == limit else f"less than the {done:,} {unit} that are done"


def seconds_left(settings: TrainingSettings, update: int, spent: Spent, recent: Spent) -> float | None:
    """Return the seconds until the first limit, at the pace of the `recent` updates; None without such a limit.

    A machine that halts adds to `spent` on the wall and not to its processor time, so the latter is counted.
    """
    pace = recent.wall / max(1e-9, recent.core)
    guesses = []
    if settings.max_updates is not None:
        guesses.append((settings.max_updates - update) * spent.core / max(1, update) * pace)
    if settings.max_minutes is not None:
        guesses.append(settings.max_minutes * 60 - spent.wall)
    if settings.max_core_minutes is not None:
        guesses.append((settings.max_core_minutes * 60 - spent.core) * pace)
    return max(0.0, min(guesses)) if guesses else None


def allowed_updates(settings: TrainingSettings, of_epochs: Callable[[int], int]) -> int | None:
    """Return the updates that the limits of updates and epochs allow, the latter by `of_epochs`; None without one."""
    found = [] if settings.max_updates is None else [settings.max_updates]
    if settings.max_epochs is not None:
        found.append(of_epochs(settings.max_epochs))
    return min(found, default=None)


def updates_in_time(settings: TrainingSettings, update: int, spent: Spent) -> int | None:
    """Return the updates that the time limits allow, at the pace so far; None without one, or while it is too early."""
    limits = ((settings.max_minutes, spent.wall), (settings.max_core_minutes, spent.core))
    shares = [seconds / (60 * limit) for limit, seconds in limits if limit]
    share = max(shares, default=0.0)
    return round(update / share) if update and share >= MEASURED else None


def longest_warmup(allowed: int) -> int:
    """Return the most updates in which the learning rate may rise, where so many are allowed in all."""
    return max(1, int(WARMUP * allowed))
