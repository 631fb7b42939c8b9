"""How fast a run was trained and what its curve is, by the events of its log."""

import statistics
from collections.abc import Iterator, Sequence
from typing import Any

Point = tuple[int, float, float, float | None]  # update, seconds of training, score on the dev part, core seconds
Event = dict[str, Any]


def by_the_clock(events: Sequence[Event]) -> float | None:
    """Target tokens per second of updates, the median over the log; None where it has no line of updates."""
    return _median(event["tokens_per_second"] for event in events if event["event"] == "update")


def by_the_core(events: Sequence[Event]) -> float | None:
    """The same per second of processor time, all threads together: what else the machine does is not in it.

    None where that was not counted.
    """
    return _median(_each_by_the_core(events))


def curve_of(events: Sequence[Event], steering: str) -> list[Point]:
    """The score of every validation."""
    return [
        (event["update"], event["seconds"], event[steering], event.get("core_seconds"))
        for event in events
        if event["event"] == "validation" and event.get(steering) is not None
    ]


def _each_by_the_core(events: Sequence[Event]) -> Iterator[float]:
    """Line by line. One that does not tell it tells tokens a second, and the clocks since the line before the rest.

    That line is of a validation where there was one in between, which is then in neither clock.
    """
    before: Event = {"seconds": 0.0, "core_seconds": 0.0}
    for event in events:
        known = "core_seconds" in event and "core_seconds" in before
        if event["event"] == "update" and "tokens_per_core_second" in event:
            yield event["tokens_per_core_second"]
        elif event["event"] == "update" and known and event["core_seconds"] > before["core_seconds"]:
            seconds, core_seconds = (event[clock] - before[clock] for clock in ("seconds", "core_seconds"))
            yield event["tokens_per_second"] * seconds / core_seconds
        before = event


def _median(values: Iterator[float]) -> float | None:
    listed = list(values)
    return statistics.median(listed) if listed else None
