"""What pydantic found wrong → lines for a person, with the place as it is written on the command line."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

from pydantic import ValidationError
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from regard.errors import Fault, nearest

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


def refuse(faults: Iterable[Fault], value: Any) -> NoReturn:
    """Raises faults out of a validator so that pydantic goes on looking for more. Places are as seen from `value`."""
    details = [
        InitErrorDetails(type=PydanticCustomError("fault", "{problem}", fault._asdict()), loc=(), input=value)
        for fault in faults
    ]
    raise ValidationError.from_exception_data("settings", details)


def found(error: ValidationError, place: str, value: Any) -> list[Fault]:
    """The faults of the setting at `place`, whose value was `value`; members of a union speak as one."""
    details: dict[str, list[ErrorDetails]] = {}
    for detail in error.errors(include_url=False):
        if detail["type"] == "too_short" and len(detail["input"]) >= detail["ctx"]["min_length"]:
            continue  # said of items that are there, and wrong
        details.setdefault(_fault(detail, place, value).place, []).append(detail)
    return [_joined([_fault(one, place, value, union=len(group) > 1) for one in group]) for group in details.values()]


def _fault(detail: ErrorDetails, place: str, value: Any, *, union: bool = False) -> Fault:
    names = [place, *_path(detail["loc"], value)]
    if detail["type"] == "fault":
        context = detail["ctx"]
        if context["place"]:
            names.append(context["place"])
        return Fault(".".join(names), context["problem"], context["hint"])
    if union and detail["type"] == "literal_error":
        return Fault(".".join(names), f"must be {detail['ctx']['expected']}, not {shown(detail['input'])}")
    return Fault(".".join(names), *_problem(detail))


def _path(location: Sequence[str | int], value: Any) -> list[str]:
    """What of a pydantic location a person wrote: without the names of union members and validators."""
    names = []
    for step in location:
        listed = isinstance(value, list | tuple) and isinstance(step, int) and step < len(value)
        if listed or (isinstance(value, Mapping) and step in value):
            value = value[step]
            names.append(str(step))
    return names


def _problem(detail: ErrorDetails) -> tuple[str, str]:
    """(problem, hint) of one pydantic error."""
    kind, given = detail["type"], shown(detail["input"])
    context: dict[str, Any] = detail.get("ctx", {})
    if kind == "literal_error":
        allowed = [word.strip().strip("'") for word in context["expected"].replace(" or ", ",").split(",")]
        return f"there is no {given}", nearest(str(detail["input"]), allowed)
    if kind == "too_short":
        return f"needs {context['min_length']} or more in it, but has {context['actual_length']}", ""
    wanted = _WANTED.get(kind.split("_")[0])
    if wanted is not None:
        return f"must be {wanted}, not {given}", _unquoted(detail["input"], kind)
    message = detail["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
    if detail["msg"].startswith("Input should be "):
        said = message.replace("greater than or equal to", "at least").replace("less than or equal to", "at most")
        return f"must be {said}, not {given}", ""
    return f"{message[:1].lower()}{message[1:]}, but this is {given}", ""


def _joined(faults: list[Fault]) -> Fault:
    """must be a whole number, not 'x' + must be true or false, not 'x' → one line."""
    first, *rest = faults
    start, end = "must be ", first.problem.rfind(", not ")
    if not rest or end < 0 or not all(fault.problem.startswith(start) for fault in faults):
        return first
    wanted = dict.fromkeys(fault.problem[len(start) : fault.problem.rfind(", not ")] for fault in faults)
    return first._replace(problem=f"{start}{' or '.join(wanted)}{first.problem[end:]}")


def shown(value: Any) -> str:
    """A value as a fault names it."""
    text = "a list" if isinstance(value, list | tuple) else "a group of settings" if isinstance(value, Mapping) else ""
    words = {True: "true", False: "false", None: "nothing"}
    if isinstance(value, bool | None):
        return words[value]
    return text or (f"{value!r:.60}")


def _unquoted(value: Any, kind: str) -> str:
    if kind.startswith(("int", "float")) and isinstance(value, str) and value.replace(".", "", 1).isdecimal():
        return "without the quotes"
    return "in quotes" if kind.startswith("string") and isinstance(value, int | float | bool) else ""
