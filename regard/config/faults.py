"""Errors of pydantic → lines for a person, with the place as it is written on the command line."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from regard.errors import ConfigError, Fault, nearest

_WANTED = {
    "int": "a whole number",
    "float": "a number",
    "finite": "a finite number",
    "bool": "true or false",
    "string": "text",
    "tuple": "a list",
    "path": "a path",
    "dict": "a group of settings",
    "none": "left empty",
}
_SAID = {"extra_forbidden": "there is no such setting", "missing": "must be given"}


def faults_of(error: ValidationError, given: Mapping[str, Any]) -> list[Fault]:
    """The faults of settings, with places as seen from `given`; members of a union speak as one."""
    details: dict[str, list[ErrorDetails]] = {}
    for detail in error.errors(include_url=False):
        if detail["type"] == "too_short" and len(detail["input"]) >= detail["ctx"]["min_length"]:
            continue  # said of items that are there, and wrong
        details.setdefault(_place(detail["loc"], given), []).append(detail)
    return [fault for place, group in details.items() for fault in _faults(place, group)]


def _faults(place: str, details: list[ErrorDetails]) -> Sequence[Fault]:
    """Faults of one setting: the faults of what stands inside of it, or one."""
    error = details[0].get("ctx", {}).get("error")
    if isinstance(error, ConfigError):
        return [fault.inside(place) for fault in error.faults]
    problems = [_problem(detail, alone=len(details) == 1) for detail in details]
    problem, hint = problems[0]
    start, end = "must be ", problem.rfind(", not ")
    if end > 0 and all(other.startswith(start) for other, _ in problems):
        wanted = dict.fromkeys(other[len(start) : other.rfind(", not ")] for other, _ in problems)
        problem = f"{start}{' or '.join(wanted)}{problem[end:]}"
    return [Fault(place, problem, hint)]


def _problem(detail: ErrorDetails, *, alone: bool) -> tuple[str, str]:
    """(problem, hint) of one pydantic error; `alone`: not of one member of a union."""
    kind, given = detail["type"], shown(detail["input"])
    context: dict[str, Any] = detail.get("ctx", {})
    if kind in _SAID:
        return _SAID[kind], ""
    if kind == "literal_error" and alone:
        allowed = [word.strip().strip("'") for word in context["expected"].replace(" or ", ",").split(",")]
        return f"there is no {given}", nearest(str(detail["input"]), allowed)
    if kind == "too_short":
        return f"needs {context['min_length']} or more in it, but has {context['actual_length']}", ""
    wanted = _WANTED.get(kind.split("_")[0])
    if wanted is not None:
        return f"must be {wanted}, not {given}", _quotes(detail["input"], kind)
    message = detail["msg"].removeprefix("Input should be ")
    if message != detail["msg"]:
        bound = message.replace("greater than or equal to", "at least").replace("less than or equal to", "at most")
        return f"must be {bound}, not {given}", ""
    return f"{message[:1].lower()}{message[1:]}, but this is {given}", ""


def _place(location: Sequence[str | int], value: Any) -> str:
    """The part of a pydantic location that a person wrote: no names of union members, no number of an only item."""
    names = [str(location[0])]
    value = value.get(location[0]) if isinstance(value, Mapping) else None
    for step in location[1:]:
        if isinstance(value, list | tuple) and isinstance(step, int) and step < len(value):
            value = value[step]
        elif isinstance(value, Mapping) and str(step) in value:
            value = value[str(step)]
        else:
            continue
        names.append(str(step))
    return ".".join(names)


def shown(value: Any) -> str:
    """A value as a fault names it."""
    if isinstance(value, bool | None):
        return {True: "true", False: "false", None: "nothing"}[value]
    if isinstance(value, Mapping):
        return "a group of settings"
    return "a list" if isinstance(value, list | tuple) else f"{value!r:.60}"


def _quotes(value: Any, kind: str) -> str:
    if kind.startswith(("int", "float")) and isinstance(value, str) and value.replace(".", "", 1).isdecimal():
        return "without the quotes"
    return "in quotes" if kind.startswith("string") and isinstance(value, int | float | bool) else ""
