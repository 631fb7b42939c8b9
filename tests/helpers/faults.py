"""Small faults in a tree of Python files: drawn by a seed over all rooms, applied one at a time, or all marked at once.

A fault is known by its statement as Python itself writes it, so formatting does not matter, and it is found again in
another state of the tree where its statement still stands, in the same file or in the only other one that has it.
"""

import ast
import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

OPPOSITES: dict[type[ast.AST], tuple[str, type[ast.AST]]] = {
    ast.Add: ("sign", ast.Sub),
    ast.Sub: ("sign", ast.Add),
    ast.BitAnd: ("mask", ast.BitOr),
    ast.BitOr: ("mask", ast.BitAnd),
    ast.Lt: ("bound", ast.LtE),
    ast.LtE: ("bound", ast.Lt),
    ast.Gt: ("bound", ast.GtE),
    ast.GtE: ("bound", ast.Gt),
    ast.Eq: ("condition", ast.NotEq),
    ast.NotEq: ("condition", ast.Eq),
}
AXES = {-1: -2, -2: -1, 0: 1, 1: 0, 2: 1}
NOT_NUMBERS = (ast.JoinedStr, ast.List, ast.Tuple, ast.ListComp, ast.Dict, ast.Set)
SYMMETRIC = {"isinstance", "issubclass", "getattr", "hasattr", "setattr", "cast", "max", "min", "zip", "print"}
SILENT = (ast.Raise, ast.Assert, ast.Import, ast.ImportFrom)


@dataclass(frozen=True)
class Fault:
    """One change of one expression."""

    path: str  # below the tree
    kind: str
    statement: str  # its first line, as Python writes it
    before: str
    after: str
    number: int  # among the same changes of the same statement text in its file

    @property
    def room(self) -> str:
        return self.path.split("/")[1].removesuffix(".py")


@dataclass(frozen=True)
class Site:
    """Where a fault stands in a file."""

    fault: Fault
    begin: int  # in bytes
    end: int


def sites(tree: Path, path: Path) -> list[Site]:
    """Every fault that can be made in a file."""
    source = path.read_bytes()
    starts = [0, *(place + 1 for place, byte in enumerate(source) if byte == ord("\n"))]
    seen, found = Counter[tuple[str, ...]](), list[Site]()
    for statement, kind, node, changed in _changes(ast.parse(source)):
        what = (kind, ast.unparse(statement).split("\n")[0], ast.unparse(node), ast.unparse(changed))
        begin, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
        found.append(Site(Fault(path.relative_to(tree).as_posix(), *what, seen[what]), begin, end))
        seen[what] += 1
    return found


def all_sites(tree: Path) -> list[Site]:
    """Those of every file of the package, in the order of their names."""
    return [site for path in sorted((tree / "regard").rglob("*.py")) for site in sites(tree, path)]


def draw(tree: Path, count: int, seed: int) -> list[Fault]:
    """As many faults from every room, and of a room as many of every kind, none inside another; the same for a seed."""
    dice = random.Random(seed)
    rooms: dict[str, dict[str, list[Site]]] = defaultdict(lambda: defaultdict(list))
    for site in all_sites(tree):
        rooms[site.fault.room][site.fault.kind].append(site)
    queues = list[list[Site]]()
    for _, room in sorted(rooms.items()):
        kinds = [dice.sample(kind, len(kind)) for _, kind in sorted(room.items())]
        queues.append(_by_turns(dice.sample(kinds, len(kinds))))
    drawn = list[Site]()
    for site in _by_turns(queues):
        if len(drawn) < count and not any(_overlap(site, other) for other in drawn):
            drawn.append(site)
    return [site.fault for site in drawn]


def find(tree: Path, faults: list[Fault]) -> dict[Fault, Site]:
    """Where the faults stand in a tree; those whose statement is gone are left out."""
    everywhere, exact = defaultdict(list), {}
    for site in all_sites(tree):
        exact[site.fault] = site
        everywhere[_words(site.fault)].append(site)
    found = {fault: exact.get(fault) or _only(everywhere[_words(fault)]) for fault in faults}
    return {fault: site for fault, site in found.items() if site is not None}


def applied(source: bytes, site: Site) -> bytes:
    """The text of a file with a fault in it."""
    return source[: site.begin] + f"({site.fault.after})".encode() + source[site.end :]


def marked(source: bytes, marks: dict[int, Site]) -> bytes:
    """The text of a file that reports the number of a site whenever it computes it, and works as before."""
    for number, site in sorted(marks.items(), key=lambda mark: -mark[1].begin):
        inner = source[site.begin : site.end].decode()
        source = (
            source[: site.begin] + f'(__import__("marks").hit({number}) or ({inner}))'.encode() + source[site.end :]
        )
    return source


def _changes(tree: ast.AST) -> Iterator[tuple[ast.stmt, str, ast.expr, ast.expr]]:
    """The statement, the kind, an expression and what takes its place, in the order of the text."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for statement in function.body:
                yield from _inside(statement, statement)


def _inside(node: ast.AST, statement: ast.stmt) -> Iterator[tuple[ast.stmt, str, ast.expr, ast.expr]]:
    if isinstance(node, (*SILENT, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.JoinedStr)):
        return
    statement = node if isinstance(node, ast.stmt) else statement
    for kind, old, new in _of_node(node):
        yield statement, kind, old, new
    for name, inner in ast.iter_fields(node):
        if name != "annotation":
            for child in inner if isinstance(inner, list) else [inner]:
                if isinstance(child, ast.AST):
                    yield from _inside(child, statement)


def _of_node(node: ast.AST) -> Iterator[tuple[str, ast.expr, ast.expr]]:
    match node:
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPPOSITES and not _is_text(left, right):
            kind, other = OPPOSITES[type(op)]
            yield kind, node, ast.BinOp(left, other(), right)
        case ast.Compare(left=left, ops=[op], comparators=inner) if type(op) in OPPOSITES:
            kind, other = OPPOSITES[type(op)]
            yield kind, node, ast.Compare(left, [other()], inner)
        case ast.UnaryOp(op=ast.Invert() | ast.Not(), operand=operand):
            yield "mask", node, operand
        case ast.keyword(arg="dim", value=value) if (axis := _integer(value)) in AXES:
            yield "axis", value, ast.Constant(AXES[axis])
        case ast.Slice(lower=lower, upper=upper):
            for bound in (lower, upper):
                if (number := _integer(bound)) is not None:
                    yield "off by one", bound, ast.Constant(number + 1)
        case ast.Call(func=function, args=[ast.Name() as one, ast.Name() as two, *rest], keywords=keywords):
            if one.id != two.id and ast.unparse(function) not in SYMMETRIC:
                yield "swapped names", node, ast.Call(function, [two, one, *rest], keywords)


def _is_text(*sides: ast.expr) -> bool:
    return any(
        isinstance(side, NOT_NUMBERS) or (isinstance(side, ast.Constant) and isinstance(side.value, str))
        for side in sides
    )


def _integer(node: ast.expr | None) -> int | None:
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))):
            return -value
    return None


def _by_turns(queues: list[list[Site]]) -> list[Site]:
    """One of each as long as it has one."""
    longest = max(map(len, queues), default=0)
    return [queue[place] for place in range(longest) for queue in queues if place < len(queue)]


def _overlap(one: Site, other: Site) -> bool:
    return one.fault.path == other.fault.path and one.begin < other.end and other.begin < one.end


def _words(fault: Fault) -> tuple[str, ...]:
    return fault.kind, fault.statement, fault.before, fault.after


def _only(found: list[Site]) -> Site | None:
    return found[0] if len(found) == 1 else None
