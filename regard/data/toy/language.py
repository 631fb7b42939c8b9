"""Text of trees in a language, whose rules are in a file of its name: the first line of a rule that fits is used.

    rule if condition condition: template
    rule if condition by part: value template, value template

A condition is `part` (not empty), `!part` (empty), `part=pattern` or `!part=pattern`: a pattern matches a whole value,
or one of several. `{part}` in a template is a feature, else a part of the tree, else a rule for the same tree;
`{part feature=value}` passes these features to the rule. Where no line fits the text is empty.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, NamedTuple

from regard.data.toy.trees import Lexeme, RuleTree

_LINE = re.compile(r"(\w+)(?: if ([^:]+?))?(?: by ([\w.]+))?: ?(.*)")
CONDITION = re.compile(r"(!?)([\w.]+)(?:=(\S+))?")
_PIECE = re.compile(r"\{([\w.]+)((?: \w+=(?:\{[\w.]+\}|\w+))*)\}|([^{}]+)")  # a part with features, or a text
FEATURE = re.compile(r"(\w+)=(\S+)")

Features = Mapping[str, str]
_NONE: Features = MappingProxyType({})


class _Piece(NamedTuple):
    """A text of a template, or a part of the tree."""

    text: str
    path: tuple[str, ...] = ()  # to the part
    given: Sequence[tuple[str, "Template"]] = ()  # the features that it sees


Template = Sequence[_Piece]


class Condition(NamedTuple):
    """A test: a part is present, or its values match; or the negation."""

    holds: bool
    path: tuple[str, ...]
    pattern: re.Pattern[str] | None


class _Line(NamedTuple):
    """A line of a rule."""

    conditions: Sequence[Condition]
    by: tuple[str, ...]  # the path to the value that selects a template
    templates: Mapping[str, Template]  # by its values


class Language:
    """The rules of a language, which turn trees into text."""

    def __init__(self, name: str) -> None:
        self.name, self._rules = name, dict[str, list[_Line]]()
        for line in files(__package__).joinpath(f"{name}.txt").read_text("utf-8").splitlines():
            if found := _LINE.fullmatch(line):
                rule, conditions, by, text = found.groups(default="")
                ways = [way.partition(" ")[::2] for way in text.split(", ")] if by else [("", text)]
                templates = {value: _template(way) for value, way in ways}
                tests = [_condition(*one.groups(default="")) for one in CONDITION.finditer(conditions)]
                self._rules.setdefault(rule, []).append(_Line(tests, _path(by), templates))

    def __call__(self, sentence: RuleTree) -> str:
        """Return a sentence with an initial capital and single spaces between words."""
        said = self._apply(sentence.rule, sentence, {}).replace("_", " ")
        text = re.sub(r" +(?=[ ,.?]|$)", "", said).lstrip()
        return text[0].upper() + text[1:]

    def _apply(self, rule: str, tree: RuleTree, features: Features) -> str:
        """Return the text of a tree by a rule."""
        for conditions, by, templates in self._rules.get(rule, ()):
            if all(self._holds(condition, tree, features) for condition in conditions):
                return self._fill(templates[self._value(by, tree, features) if by else ""], tree, features).strip()
        return ""

    def _fill(self, template: Template, tree: RuleTree, features: Features) -> str:
        said = []
        for text, path, given in template:
            more = {name: self._fill(value, tree, features) for name, value in given} if given else {}
            said.append(self._value(path, tree, features, more) if path else text)
        return "".join(said)

    def _holds(self, condition: Condition, tree: RuleTree, features: Features) -> bool:
        value, pattern = self._value(condition.path, tree, features), condition.pattern
        if pattern is not None:
            value = any(map(pattern.fullmatch, [value] if isinstance(value, str) else value))
        return bool(value) == condition.holds

    def _value(self, path: Sequence[str], tree: RuleTree, features: Features, given: Features = _NONE) -> Any:
        """Return a feature, the text of a part of the tree, or the text of a rule; "" where it is missing."""
        first, *rest = path
        if first in features:
            return features[first]
        parts = vars(tree)
        if first not in parts:
            return self._apply(first, tree, {**features, **given})
        found = parts[first]
        for name in rest:
            found = getattr(found, name, None)
        if isinstance(found, Lexeme):
            return getattr(found, self.name)
        return self._apply(found.rule, found, given) if isinstance(found, RuleTree) else found or ""


def _path(text: str) -> tuple[str, ...]:
    return tuple(text.split(".")) if text else ()


def _template(text: str) -> Template:
    """Cut a template into its texts and parts."""
    return [
        _Piece(
            found[3] or "",
            _path(found[1] or ""),
            [(one[1], _template(one[2])) for one in FEATURE.finditer(found[2] or "")],
        )
        for found in _PIECE.finditer(text)
    ]


def _condition(denied: str, part: str, pattern: str) -> Condition:
    return Condition(not denied, _path(part), re.compile(pattern) if pattern else None)


@cache
def language(name: str) -> Callable[[RuleTree], str]:
    """Return the function that writes trees in english, german or chinese."""
    return Language(name)
