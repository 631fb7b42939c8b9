"""The field's words: old words may only become fewer, room by room (docs/glossary.md has the terms).

`python tests/test_words.py [ROOM]` lists every old word with its file, line and rewrite.
"""

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
OLD_WORDS = {  # pattern → the field's word
    r"(re)?t(old|ells?|elling)": "reports, prints, says, distinguishes",
    r"look(s|ed|ing)? at": "attends to, reads",
    r"drawn|draws?": "sampled, samples; a figure: plotted",
    r"(dev|test|training) parts?": "dev set, test set, training set",
    r"judge[ds]?|judging": "evaluated, scored",
    r"by heart": "overfitted",
    r"pictures?": "plots, diagrams, heat maps",
    r"shares? of (the )?(numbers|draws|steps)": "probability, fraction",
    r"(?<!there )(is|are|was|were) no(?! (longer|more|less|better|worse))": "is not a …; expected …",
    r"anew": "again",
    r"so many(-th)?": "N, number of",
    r"who(ever|m)?": "name the thing",
}
RIDDLE = re.compile(r"(What|Who|Whether|How|Those|As)\b(?! to\b)")
SAID = re.compile("|".join(rf"(?P<_{i}>\b(?:{old})\b)" for i, old in enumerate(OLD_WORDS)), re.IGNORECASE)
REWRITES = list(OLD_WORDS.values())
STRING = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`")  # of JavaScript


class Place(NamedTuple):
    """A text of a file: the line that it begins in, and whether it describes something by itself."""

    line: int
    text: str
    describes: bool = False


def python_texts(code: str) -> Iterator[Place]:
    """Return docstrings, `Doc` texts and all other strings with a space."""
    tree = ast.parse(code)
    described = {id(found.args[0]) for found in ast.walk(tree) if _is_doc(found)}
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            described.add(id(body[0].value))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield Place(node.lineno, node.value, id(node) in described)


def _is_doc(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Doc" and bool(node.args)


def page_texts(code: str) -> Iterator[Place]:
    """Return the strings with a space of a script."""
    for found in STRING.finditer(code):
        if " " in found.group():
            yield Place(code.count("\n", 0, found.start()) + 1, found.group())


def prose(markdown: str) -> Iterator[Place]:
    """Return the lines outside code blocks, without code spans and addresses of links."""
    fenced = False
    for number, line in enumerate(markdown.splitlines(), 1):
        fenced ^= line.lstrip().startswith("```")
        if not fenced:
            yield Place(number, re.sub(r"`[^`]*`|\]\([^)]*\)", " ", line))


OLD_NAMES = re.compile(  # words of public identifiers
    r"(re)?(told|tells?|telling|judges?|judged|judging|drawn|draws|looks?|looked|looking|weighed|pictures?|pictured|anew|asked|said|wanted|least|share)"
)
SERVED_NAMES = re.compile("asked|said|wanted|least|share")  # still names of regard/serve
KEPT_NAMES = {  # names with an old word that stays: the field's own term, a file of saved runs
    "look_up": "a look-up",
    "look_up_place": "a look-up",
    "drawn": "a buffer of saved runs (document_vectors)",
    "look": "a setting of saved runs (decoding.features.lexicon)",
    "WANTED": "a column of saved runs (numbers)",
}


def public_names(code: str) -> Iterator[tuple[int, str]]:
    """Return line and name of public functions, classes, their parameters, fields and constants."""
    places: list[ast.AST] = [ast.parse(code)]
    while places:
        node = places.pop()
        for one in ast.iter_child_nodes(node):
            if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                if one.name.startswith("_") and one.name != "__init__":
                    continue
                yield one.lineno, one.name
                if isinstance(one, ast.ClassDef):
                    places.append(one)
                else:
                    arguments = one.args.posonlyargs, one.args.args, one.args.kwonlyargs
                    yield from ((each.lineno, each.arg) for some in arguments for each in some)
            elif isinstance(one, ast.Assign | ast.AnnAssign):
                targets = one.targets if isinstance(one, ast.Assign) else [one.target]
                names = [each for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)]
                yield from ((one.lineno, each.id) for each in names if not each.id.startswith("_"))


def words_of(name: str) -> list[str]:
    """Split snake_case and CamelCase."""
    return [part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]


READERS = {".py": python_texts, ".js": page_texts, ".md": prose}


def old_words(place: Place) -> Iterator[tuple[int, str, str]]:
    """Return line, old word and rewrite."""
    if place.describes and (found := RIDDLE.match(place.text)):
        yield place.line, found.group(), "begin with a verb or the field's noun"
    for found in SAID.finditer(place.text):
        line = place.line + place.text.count("\n", 0, found.start())
        yield line, found.group(), REWRITES[int((found.lastgroup or "_0")[1:])]


@cache
def rooms() -> dict[str, list[str]]:
    """Return the old words of each room, as lines `file:line: old → rewrite`."""
    found: dict[str, list[str]] = {}
    paths = [path for top in ("regard", "docs") for kind in READERS for path in (ROOT / top).rglob(f"*{kind}")]
    for path in sorted([*paths, *ROOT.glob("*.md")]):
        name = path.relative_to(ROOT)
        generated = name.parts[:2] in (("docs", "catalogue"), ("docs", "settings"))  # of docstrings and `Doc` texts
        if "zh-CN" in path.name or path.name == "catalogue.md" or generated:
            continue
        room = "/".join(name.parts[:2]) if len(name.parts) > 2 else "/".join(name.parts[:-1]) or name.name
        lines = found.setdefault(room, [])
        for place in READERS[path.suffix](path.read_text("utf-8")):
            lines += [f"{name.as_posix()}:{line}: {old} → {new}" for line, old, new in old_words(place)]
    return found


BOUNDS = {  # as counted; they may only fall, and end at 0
    "CHANGELOG.md": 0,
    "CONTRIBUTING.md": 0,
    "README.md": 0,
    "SECURITY.md": 0,
    "docs": 0,
    "docs/concepts": 0,
    "docs/how-to": 0,
    "docs/reference": 0,
    "docs/results": 0,
    "regard": 0,
    "regard/answers": 0,
    "regard/attention": 0,
    "regard/cli": 0,
    "regard/config": 0,
    "regard/data": 0,
    "regard/decoders": 0,
    "regard/decoding": 0,
    "regard/documents": 0,
    "regard/encoders": 0,
    "regard/evaluation": 0,
    "regard/exchange": 0,
    "regard/experiment": 0,
    "regard/explain": 0,
    "regard/heads": 0,
    "regard/layers": 0,
    "regard/memory": 0,
    "regard/models": 0,
    "regard/objectives": 0,
    "regard/ops": 0,
    "regard/predictor": 0,
    "regard/recipes": 0,
    "regard/reports": 0,
    "regard/results": 0,
    "regard/runs": 0,
    "regard/runtime": 0,
    "regard/serve": 0,
    "regard/statistical": 0,
    "regard/tasks": 0,
    "regard/text": 0,
    "regard/training": 0,
}


def test_every_room_has_a_bound():
    assert {room for room, lines in rooms().items() if lines} <= set(BOUNDS)


@pytest.mark.parametrize("room", BOUNDS)
def test_old_words_become_fewer(room):
    found = rooms().get(room, [])
    assert len(found) <= BOUNDS[room], "\n".join([f"{room}: {len(found)}, allowed {BOUNDS[room]}", *found])


def test_public_names_have_the_words_of_the_field():
    found = []
    for path in sorted((ROOT / "regard").rglob("*.py")):
        served = "serve" in path.parts
        for line, name in public_names(path.read_text("utf-8")):
            old = [word for word in words_of(name) if OLD_NAMES.fullmatch(word)]
            if name not in KEPT_NAMES and any(not (served and SERVED_NAMES.fullmatch(word)) for word in old):
                found.append(f"{path.relative_to(ROOT)}:{line}: {name}")
    assert found == []


def test_no_local_name_is_told():
    rooms = {path: path.relative_to(ROOT / "regard").parts[0] for path in (ROOT / "regard").rglob("*.py")}
    codes = {path: ast.walk(ast.parse(path.read_text("utf-8"))) for path, room in rooms.items() if room != "serve"}
    found = [f"{path}:{one.lineno}" for path, code in codes.items() for one in code if getattr(one, "id", "") == "told"]
    assert found == []


def test_old_words_of_names_are_found():
    code = "class TextJudge:\n    def of(self, told, _drawn): ...\n    LOOK_AT = 1\ndef _look(): ...\n"
    names = [name for _, name in public_names(code)]
    assert {*names} == {"TextJudge", "of", "self", "told", "_drawn", "LOOK_AT"}
    old = {name for name in names if any(OLD_NAMES.fullmatch(word) for word in words_of(name))}
    assert old == {"TextJudge", "told", "_drawn", "LOOK_AT"}


@pytest.mark.parametrize(
    ("text", "old"),
    [
        ("Words that are told.", "told"),
        ("The decoder looks at the cells.", "looks at"),
        ("x is no config", "is no"),
        ("one who reads", "who"),
    ],
)
def test_an_old_word_is_found(text, old):
    assert [word for _, word, _ in old_words(Place(1, text))] == [old]


@pytest.mark.parametrize("text", ["There is no file.", "It is no longer read.", "The total is stored."])
def test_plain_words_pass(text):
    assert list(old_words(Place(1, text))) == []


def test_a_docstring_begins_with_verb_or_noun():
    code = '"""What a run is."""\nname = f"What is {1} here"\n'
    assert [word for place in python_texts(code) for _, word, _ in old_words(place)] == ["What"]


def test_code_in_markdown_is_not_prose():
    found = " ".join(place.text for place in prose("```\ntold\n```\nsay `told` [so](told.md)"))
    assert "told" not in found and "say" in found


if __name__ == "__main__":
    wanted = sys.argv[1:] or list(rooms())
    print(*(line for room in wanted for line in rooms()[room]), sep="\n")
    print(dict(Counter({room: len(lines) for room, lines in rooms().items()}).most_common()))
