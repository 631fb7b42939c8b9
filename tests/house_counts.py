"""Counts of the house, by room: lines, modules with one importer, names in several modules, repeated runs of lines.

    python tests/house_counts.py [FOLDER]

`tests/test_house.py` keeps bounds on these counts, so they can only fall.
"""

import ast
import io
import re
import sys
import tokenize
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from inspect import get_annotations
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

RUN = 6  # lines that two places share before they count as a repetition
THIN = 40  # words and signs below which a run says too little to be a repetition
COMMON = 8  # places above which a run of lines is a pattern of the language rather than a repetition
SHARED = {"compiled", "processor", "user_cache"}  # modules of runtime/ that other folders use
SKIPPED = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING}


class Counts(NamedTuple):
    """What a package is measured by."""

    lines: Mapping[str, int]  # of each room
    single: Mapping[str, str]  # module with one importer, neither a table nor a command that loads it → its importer
    names: Mapping[str, list[str]]  # public name → the modules that define it, where they are several
    repeated: list[tuple[str, str]]  # pairs of files that share a run of lines


def counts(package: Path) -> Counts:
    """Return the counts of a package; of the engine, which is packaged alone, too, only what all of Regard uses."""
    engine = {path for path in (package / "runtime").rglob("*.py") if path.stem not in SHARED}
    files = sorted({*package.rglob("*.py")} - engine)
    return Counts(_lines(package, files), _single(package, files), _names(package, files), repetitions(package, files))


def public_members(owner: type) -> list[str]:
    """Return the public methods, properties and class attributes that a class and its bases of the project have."""
    bases = [base for base in owner.__mro__ if base.__module__.startswith("regard.")]
    names = {name for base in bases for name in [*vars(base), *get_annotations(base)]}
    return sorted(name for name in names if not name.startswith("_"))


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def _module(package: Path, path: Path) -> str:
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _room(package: Path, path: Path) -> str:
    inside = path.relative_to(package).parts
    return inside[0] if len(inside) > 1 else "."


def _lines(package: Path, files: Iterable[Path]) -> dict[str, int]:
    found: dict[str, int] = defaultdict(int)
    for path in files:
        found[_room(package, path)] += path.read_text("utf-8").count("\n")
    return dict(sorted(found.items(), key=lambda room: -room[1]))


def _imports(package: Path, path: Path, known: Mapping[str, Path]) -> Iterator[tuple[str, str]]:
    """Yield each module of the package that a file imports, and the name taken from it ("": the module itself)."""
    parts = path.relative_to(package.parent).with_suffix("").parts
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.ImportFrom):
            above = parts[: -node.level] if node.level else ()
            module = ".".join([*above, *filter(None, [node.module])])
            for alias in node.names:
                inner = f"{module}.{alias.name}"
                yield (inner, "") if inner in known else (module, alias.asname or alias.name)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)


def _table_values(path: Path) -> set[str]:
    """The names that stand as values in tables, which are dictionaries and calls with dictionaries."""
    values = [value for node in ast.walk(_tree(path)) if isinstance(node, ast.Dict) for value in node.values]
    return {one.id for value in values for one in ast.walk(value) if isinstance(one, ast.Name)}


def _single(package: Path, files: Iterable[Path]) -> dict[str, str]:
    known = {_module(package, path): path for path in files}
    users: dict[str, dict[Path, set[str]]] = defaultdict(lambda: defaultdict(set))
    for path in files:
        for module, name in _imports(package, path, known):
            if module in known:
                users[module][path].add(name)
    found = {}
    for module, path in known.items():
        if path.stem in ("__init__", "__main__") or module.startswith("regard.cli.") or len(users[module]) != 1:
            continue
        ((importer, names),) = users[module].items()
        if importer.stem != "__init__" and "cli" not in importer.parts and not names & _table_values(importer):
            found[module] = _module(package, importer)
    return found


def _names(package: Path, files: Iterable[Path]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for path in files:
        for name in sorted(_defined(_tree(path))):
            found[name].append(_module(package, path))
    return {name: modules for name, modules in sorted(found.items()) if len(modules) > 1}


def _defined(tree: ast.Module) -> set[str]:
    names = set[str]()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        names |= {one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)}
    return {name for name in names if not name.startswith("_") and name != "main"}


def repetitions(package: Path, files: Iterable[Path]) -> list[tuple[str, str]]:
    """Return the pairs of files that share a run of lines of one shape: alike but for names, strings and numbers."""
    places: dict[tuple[str, ...], set[Path]] = defaultdict(set)
    for path in files:
        shapes = _shapes(path)
        for start in range(len(shapes) - RUN + 1):
            run = tuple(shapes[start : start + RUN])
            if sum(len(line.split()) for line in run) >= THIN:
                places[run].add(path)
    pairs = {pair for where in places.values() if len(where) <= COMMON for pair in combinations(sorted(where), 2)}
    return sorted((_module(package, first), _module(package, second)) for first, second in pairs)


def _shapes(path: Path) -> list[str]:
    """The lines of a file without blank, comment, docstring and import lines, a letter for each name and literal."""
    text = path.read_text("utf-8")
    prose = {
        line
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.Import | ast.ImportFrom)
        or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str))
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    lines: dict[int, list[str]] = defaultdict(list)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in SKIPPED and token.start[0] not in prose:
            lines[token.start[0]].append(_shape(token))
    found = [" ".join(lines[line]) for line in sorted(lines)]
    return [line for line in found if re.search(r"[a-zA-Z]", line)]


def _shape(token: tokenize.TokenInfo) -> str:
    if token.type in (tokenize.STRING, tokenize.NUMBER):
        return "L"
    keyword = token.string in {
        "def",
        "class",
        "return",
        "for",
        "if",
        "in",
        "else",
        "with",
        "raise",
        "yield",
        "not",
        "is",
    }
    return "N" if token.type == tokenize.NAME and not keyword else token.string


def main() -> None:
    """Print the counts of a checkout."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1]
    found = counts(root / "regard")
    others = sum(
        path.read_text("utf-8").count("\n") for room in ("tests", "benchmarks") for path in (root / room).rglob("*.py")
    )
    print(f"lines of regard/: {sum(found.lines.values()):,}; of tests/ and benchmarks/: {others:,}")
    print("  " + ", ".join(f"{room} {lines:,}" for room, lines in found.lines.items()))
    rooms: dict[str, int] = defaultdict(int)
    for module in found.single:
        rooms[module.split(".")[1]] += 1
    print(f"modules with one importer that are not a row of a table: {len(found.single)}")
    print("  " + ", ".join(f"{room} {count}" for room, count in sorted(rooms.items(), key=lambda one: -one[1])))
    print(f"public names defined in several modules: {len(found.names)}")
    print(
        "  "
        + ", ".join(
            f"{name} {len(where)}" for name, where in sorted(found.names.items(), key=lambda one: -len(one[1]))[:20]
        )
    )
    print(f"pairs of files that share {RUN} lines of one shape: {len(found.repeated)}")
    sys.path.insert(0, str(root))
    from regard.tasks import Task

    print(f"public members of Task: {len(public_members(Task))}")
    if "--list" in sys.argv:
        print(*(f"{module} ← {user}" for module, user in found.single.items()), sep="\n")


if __name__ == "__main__":
    main()
