"""Behaviour tests of translators: answers to generated texts, and the share that pass, side by side."""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from html import escape
from itertools import islice
from pathlib import Path
from random import Random
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from regard.config import read_yaml
from regard.errors import ConfigError
from regard.explain.pictures import svg
from regard.registry import Choice
from regard.reports.behaviour.contestants import Contestant
from regard.reports.behaviour.evidence import same_words
from regard.reports.behaviour.suite import Case, CodePair, Suite, base_code
from regard.reports.behaviour.suites import PLAIN_SUITE, SUITES
from regard.reports.report import Report
from regard.reports.table import DASH, Cell, Table
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


BADGE = "badge"  # kind of figure beside .svg
_ABOUT = "An answer passes unless it has the error of its suite: quality is measured by regard evaluate."
_LEARNT = 0.25  # of the plain sentences: below it a translator has learnt too little for a mean
_ROUNDING = 1e-6  # per cent: 1 - 43/100 is less than 57 %
_HEIGHT, _LETTER, _EDGE = 20, 6.6, 12  # pixels
_COLOURS = ((0.95, "#2e7d32"), (0.8, "#7a8b00"), (0.6, "#b45309"), (0.0, "#b3261e"))  # from this share on


class SuiteFault(NamedTuple):
    """An answer with a certain error."""

    text: str
    answer: str
    fault: str


class SuiteResult(NamedTuple):
    """Answers of a contestant to one suite."""

    cases: int  # with an answer
    faults: tuple[SuiteFault, ...] = ()
    left_out: str = ""  # why the suite does not test this pair
    unanswered: int = 0  # cases with a text that the contestant refuses

    @property
    def passed(self) -> float | None:
        """Fraction of the answers without a certain error; None where there are no cases."""
        return 1 - len(self.faults) / self.cases if self.cases else None


class BehaviourResults(NamedTuple):
    """Results of all contestants."""

    names: tuple[str, ...]
    pairs: tuple[CodePair, ...]
    suites: Mapping[str, str]  # name → meaning
    results: tuple[Mapping[str, SuiteResult], ...]  # of each contestant, by suite

    def passed(self, place: int) -> float | None:
        """Return the mean of the suites of a contestant; None where it has none, or has learnt too little for one."""
        if self.untaught(place):
            return None
        known = [one.passed for one in self.results[place].values() if one.passed is not None]
        return sum(known) / len(known) if known else None

    def untaught(self, place: int) -> bool:
        """Return whether a contestant hardly translates plain sentences: that others pass shows nothing then."""
        plain = self.results[place].get(PLAIN_SUITE)
        return plain is not None and plain.passed is not None and plain.passed < _LEARNT

    def is_below(self, percent: float) -> bool:
        """Return whether the mean of a contestant is below a percentage; without a mean it is."""
        return any((self.passed(place) or 0.0) * 100 < percent - _ROUNDING for place in range(len(self.names)))


def check_contestants(
    contestants: Sequence[Contestant],
    *,
    only: Sequence[str] = (),
    own: Mapping[str, OwnCases] | None = None,
    cases: int = 20,
    seed: int = 1,
    say: Callable[[str], None] = lambda line: None,
) -> BehaviourResults:
    """Test contestants with the suites `only` names (all without), and with cases of one's own, by name.

    The texts depend on language pair, suite and seed alone. Raises ConfigError for an unknown suite.
    """
    own = own or {}
    names = [name for name in only if name not in own] if only else [*SUITES]
    found = list[Mapping[str, SuiteResult]]()
    for one in contestants:
        say(f"{one.name}: {one.pair}")
        rows: dict[str, Suite] = {name: SUITES.build(Choice(name), one.pair) for name in names}
        rows |= {name: OwnSuite(one.pair, content) for name, content in own.items()}
        found.append(_tested(one, rows, cases, seed))
    about = {name: SUITES[name].about for name in names}  # type: ignore[attr-defined]  # rows are classes
    about |= {name: content.about or "cases of its file" for name, content in own.items()}
    return BehaviourResults(tuple(one.name for one in contestants), tuple(one.pair for one in contestants), about,
                            tuple(found))  # fmt: skip


def _tested(one: Contestant, suites: Mapping[str, Suite], count: int, seed: int) -> dict[str, SuiteResult]:
    """Translate the texts of all suites at once, each text once, and test the answers."""
    sampled = {name: sampled_cases(suite, name, count, seed) for name, suite in suites.items()}
    texts = [*dict.fromkeys(text for some in sampled.values() for case in some for text in case.texts)]
    answers = dict(zip(texts, one.translate(texts), strict=True))
    found = dict[str, SuiteResult]()
    for name, some in sampled.items():
        read = [(case, [answers[text] for text in case.texts]) for case in some]
        known = [(case, [one for one in each if one is not None]) for case, each in read if None not in each]
        faults = [SuiteFault(case.texts[0], each[0], case.fault(each)) for case, each in known]
        wrong = tuple(one for one in faults if one.fault)
        found[name] = SuiteResult(len(known), wrong, suites[name].missing(), len(some) - len(known))
    return found


def sampled_cases(suite: Suite, name: str, count: int, seed: int) -> list[Case]:
    """Return at most `count` cases of a suite, of one's own all; none where it does not know the languages."""
    if suite.missing():
        return []
    draw = Random(f"{seed} {name} {suite.pair}")
    return list(suite.cases(draw) if isinstance(suite, OwnSuite) else islice(suite.cases(draw), count))


def behaviour_report(found: BehaviourResults, *, examples: int = 2) -> Report:
    """Report the percentage of answers that pass, suite by suite, with some answers that do not."""
    heads = [f"{name} {pair}" for name, pair in zip(found.names, found.pairs, strict=True)]
    rows = []
    for suite, about in found.suites.items():
        results = [each[suite] for each in found.results]
        rows.append([Cell(suite), Cell(str(max(one.cases for one in results))), *map(_cell, results), Cell(about)])
    means = [_percent(found.passed(place)) for place in range(len(found.names))]
    rows.append([Cell("mean"), Cell(""), *means, Cell("")])
    table = Table(["suite", "cases", *heads, "passes if"], rows, texts=1)
    return Report([table], _values(found), _summary(found, examples), lambda kind: _figure(found, kind))


def _cell(one: SuiteResult) -> Cell:
    return Cell(DASH, None, "", one.left_out) if one.left_out else _percent(one.passed)


def _percent(share: float | None) -> Cell:
    return Cell(DASH) if share is None else Cell(_rounded(share), share)


def _rounded(share: float) -> str:
    """Return a share in whole per cent, rounded down: 100% has no fault."""
    return f"{math.floor(share * 100 + _ROUNDING)}%"


def _summary(found: BehaviourResults, examples: int) -> str:
    """Return suites that are left out, cases without an answer, and the first faults of each suite."""
    lines = [_ABOUT]
    for place, (name, pair, results) in enumerate(zip(found.names, found.pairs, found.results, strict=True)):
        if found.untaught(place):
            plain = results[PLAIN_SUITE]
            right = plain.cases - len(plain.faults)
            few = f"{right} of {plain.cases} plain sentences are translated"
            lines.append(f"{name} {pair}: no mean: {few}, so the other suites show little: train longer")
        lines += [f"{name}: {suite} left out: {one.left_out}" for suite, one in results.items() if one.left_out]
        lines += [
            f"{name}: {suite}: {one.unanswered} of {one.cases + one.unanswered} cases unanswered"
            for suite, one in results.items()
            if one.unanswered
        ]
        for suite, one in results.items():
            for text, answer, fault in one.faults[:examples]:
                lines.append(f"{name} {pair} {suite}: {fault}")
                lines.append(f"  {text!r} → {answer!r}")
    return "\n".join(lines)


def _values(found: BehaviourResults) -> dict[str, Any]:
    systems = [
        {
            "name": name, "source": pair.source, "target": pair.target, "passed": found.passed(place),
            "suites": {
                suite: {"cases": one.cases, "passed": one.passed, "left_out": one.left_out or None,
                        "unanswered": one.unanswered,
                        "faults": [fault._asdict() for fault in one.faults]}
                for suite, one in found.results[place].items()
            },
        }
        for place, (name, pair) in enumerate(zip(found.names, found.pairs, strict=True))
    ]  # fmt: skip
    return {"suites": dict(found.suites), "systems": systems}


def _figure(found: BehaviourResults, kind: str) -> bytes:
    """Return the table as a heat map, or the badge of the first contestant."""
    if kind == BADGE:
        return _badge("behaviour", found.passed(0)).encode()
    weights = [[_weight(one[suite].passed) for suite in found.suites] for one in found.results]
    return svg([*found.suites], [*found.names], weights, title="Answers that pass").encode()


def _weight(share: float | None) -> float:
    return math.nan if share is None else share


def _badge(label: str, share: float | None) -> str:
    """Return a badge with a label and a percentage as an SVG document."""
    value = "no mean" if share is None else _rounded(share)
    colour = next(colour for least, colour in _COLOURS if (share or 0.0) >= least)
    left, right = (round(len(text) * _LETTER + _EDGE) for text in (label, value))
    about = escape(f"{label}: {value}")
    texts = "".join(
        f'<text x="{middle}" y="14" text-anchor="middle">{escape(text)}</text>'
        for middle, text in ((left / 2, label), (left + right / 2, value))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="{_HEIGHT}" role="img" '
        f'aria-label="{about}"><title>{about}</title>'
        f'<rect width="{left + right}" height="{_HEIGHT}" rx="3" fill="#555"/>'
        f'<rect x="{left}" width="{right}" height="{_HEIGHT}" rx="3" fill="{colour}"/>'
        f'<rect x="{left}" width="4" height="{_HEIGHT}" fill="{colour}"/>'
        f'<g fill="#fff" font-family="Verdana, DejaVu Sans, sans-serif" font-size="11">{texts}</g></svg>\n'
    )
