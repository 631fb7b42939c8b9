"""Few rows in which the parts of several tables meet each other in pairs, in place of every product."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import combinations

Part = tuple[str, str]  # the table and the name of a row in it
Row = dict[str, str]  # a name for each table


def covering(
    tables: Mapping[str, Iterable[str]], pairs: Iterable[tuple[str, str]], *, apart: Collection[frozenset[Part]] = ()
) -> list[Row]:
    """Rows in which each name of a table meets each of the other table of a pair; parts that are `apart` never meet.

    Greedy: a row begins with the first pair of parts that has not met yet, and every other table gives the name that
    meets most for the first time, of equals the one that was used least.
    """
    names = {table: list(inner) for table, inner in tables.items()}
    wanted = dict.fromkeys(
        frozenset(meeting)
        for one, other in pairs
        for meeting in _product(one, names[one], other, names[other])
        if frozenset(meeting) not in apart
    )
    used, rows = Counter[Part](), list[Row]()
    while wanted:
        row = dict(next(iter(wanted)))
        for table in sorted(set(names) - set(row), key=lambda table: -len(names[table])):
            fitting = [name for name in names[table] if not _met(row, (table, name)) & set(apart)]
            row[table] = max(
                fitting, key=lambda name: (len(_met(row, (table, name)) & wanted.keys()), -used[table, name])
            )
        used.update(row.items())
        for meeting in meetings(row):
            wanted.pop(meeting, None)
        rows.append({table: row[table] for table in names})
    return rows


def meetings(row: Row) -> Iterator[frozenset[Part]]:
    """Every pair of parts of a row."""
    return map(frozenset, combinations(row.items(), 2))


def _met(row: Row, part: Part) -> set[frozenset[Part]]:
    return {frozenset((other, part)) for other in row.items()}


def _product(one: str, names: list[str], other: str, others: list[str]) -> Iterator[tuple[Part, Part]]:
    return (((one, name), (other, beside)) for name in names for beside in others)
