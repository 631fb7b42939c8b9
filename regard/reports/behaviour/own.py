"""A suite of one's own: texts with what their translations must have, from a YAML file."""

import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from regard.config import read_yaml
from regard.errors import ConfigError
from regard.reports.behaviour.evidence import same_words
from regard.reports.behaviour.suite import Case, CodePair, Suite, base_code
from regard.reports.behaviour.suites import SUITES
from regard.text.stems import without_accents


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Texts = Annotated[list[str], BeforeValidator(_listed)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class OwnCase(_Strict):
    """A text and the conditions of its translation; case and accents do not matter, but in `matches`."""

    text: str
    has: Texts = []  # one of these
    lacks: Texts = []  # none of these
    matches: str = ""  # regular expression, found anywhere
    is_one_of: Texts = []  # punctuation and spaces do not matter
    differs_from: Texts = []  # texts with other translations


class OwnCases(_Strict):
    """The content of a file."""

    about: str = ""
    source: str
    target: str
    cases: list[OwnCase]


class OwnSuite(Suite):
    """Cases of a file."""

    reads = writes = False

    def __init__(self, pair: CodePair, content: OwnCases) -> None:
        super().__init__(pair)
        self.content = content

    def missing(self) -> str:
        made_for = CodePair(base_code(self.content.source), base_code(self.content.target))
        return "" if made_for == self.pair else f"is for {made_for}"

    def cases(self, draw: Random) -> Iterator[Case]:
        for one in self.content.cases:
            yield Case((one.text, *one.differs_from), partial(_fault, one))


def read_suites(files: Sequence[Path]) -> dict[str, OwnCases]:
    """Read files of cases, named by their files. Raises ConfigError for a name that another suite has."""
    found = dict[str, OwnCases]()
    for file in files:
        if file.stem in found or file.stem in SUITES:
            raise ConfigError("--suite", f"{file}: there is another suite '{file.stem}'", "rename the file")
        found[file.stem] = read_cases(file)
    return found


def read_cases(path: Path) -> OwnCases:
    """Read a file of cases. Raises ConfigError for settings that are unknown or of another kind, and wrong patterns."""
    try:
        found = OwnCases.model_validate(read_yaml(path))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        known = ", ".join(OwnCase.model_fields)
        raise ConfigError(f"{path}: {place}", first["msg"], f"source, target, cases; a case has {known}") from error
    for number, one in enumerate(found.cases):
        try:
            re.compile(one.matches)
        except re.error as error:
            raise ConfigError(f"{path}: cases.{number}.matches", f"is not a regular expression: {error}") from error
    return found


def _fault(one: OwnCase, answers: Sequence[str]) -> str:
    answer, *others = answers
    text = without_accents(answer)
    if one.has and not any(without_accents(word) in text for word in one.has):
        return f"lacks {' | '.join(one.has)}"
    for word in one.lacks:
        if without_accents(word) in text:
            return f"has {word}"
    if one.matches and not re.search(one.matches, answer):
        return f"does not match {one.matches}"
    if one.is_one_of and not any(same_words(answer, right) for right in one.is_one_of):
        return f"is not {' | '.join(one.is_one_of)}"
    equal = [text for text, other in zip(one.differs_from, others, strict=True) if same_words(answer, other)]
    return f"is translated as '{equal[0]}'" if equal else ""
