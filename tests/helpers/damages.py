"""Flipped bits and cuts, drawn over every byte of every file of a folder."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

CUTS = 4  # one damage of so many cuts a file, the others flip a bit


class Damage(NamedTuple):
    """One change of one file."""

    name: str  # in its folder
    place: int  # the byte that is changed, or at which the file ends
    bit: int | None  # None: the file is cut


def drawn_damages(folder: Path, count: int, seed: int, *, leave: tuple[str, ...] = ()) -> list[Damage]:
    """Each file in turn, so that the small ones are damaged as often as the large ones; anywhere within it."""
    draws = random.Random(seed)
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.stat().st_size]
    names = [path.relative_to(folder).as_posix() for path in files if path.name not in leave]
    found = []
    for number in range(count):
        name = names[number % len(names)]
        place = draws.randrange((folder / name).stat().st_size)
        found.append(Damage(name, place, None if draws.randrange(CUTS) == 0 else draws.randrange(8)))
    return found


def spoil(folder: Path, damage: Damage) -> None:
    """Damage a file."""
    path = folder / damage.name
    whole = path.read_bytes()
    changed = bytearray(whole[: damage.place] if damage.bit is None else whole)
    if damage.bit is not None:
        changed[damage.place] ^= 1 << damage.bit
    path.write_bytes(changed)


@contextmanager
def damaged(folder: Path, damage: Damage) -> Iterator[None]:
    """The damage is undone afterwards."""
    path = folder / damage.name
    whole = path.read_bytes()
    spoil(folder, damage)
    try:
        yield
    finally:
        path.write_bytes(whole)
