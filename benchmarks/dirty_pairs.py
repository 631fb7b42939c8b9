"""Faults planted in parallel text: how many `regard data check` drops, and how many sound pairs with them.

Twelve kinds of faults are planted in Tatoeba's pairs of English and German, equally often, in lines drawn at random.
All other lines count as sound, though some of them are not.

    python benchmarks/dirty_pairs.py --faults 2000

`--write FOLDER` keeps the pairs as they were, with faults and cleaned, to train on: sound.en, dirty.en, clean.en …
"""

import random
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from program import DATA, lines_of, markdown, options, save

from regard.reports.data_check.check_data import check_data
from regard.statistical.pair_checks import CLEAR_FAULT, TextPair

FOLDER, OTHER = DATA / "tatoeba_en-de", DATA / "tatoeba_en-fr"
Make = Callable[[str, str], TextPair | None]  # source and target → the pair with a fault; None where it cannot be made
ENTITIES, STRANGE = ("&quot;", "&amp;", "&#39;"), ("привет", "мир", "книга", "東京", "你好")


def main() -> None:
    """Print the table."""
    parser = options(__doc__, faults=2_000, pairs=200_000, seed=1)
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="keep the pairs, to train on")
    asked = parser.parse_args()
    pairs = [
        TextPair(*both) for both in zip(*(lines_of(FOLDER / f"train.{code}.gz") for code in ("en", "de")), strict=True)
    ]
    drawn = random.Random(asked.seed)
    drawn.shuffle(pairs)
    pairs = pairs[: asked.pairs]
    sound_pairs = [*pairs]
    planted = plant(pairs, asked.faults // 12, drawn)
    start = time.perf_counter()
    check = check_data(pairs)
    seconds = time.perf_counter() - start
    gone = {fault.row: fault.check for fault in check.dropped(CLEAR_FAULT)}
    if asked.write:
        clean = [pair for row, pair in enumerate(pairs) if row not in gone]
        _write(asked.write, {"sound": sound_pairs, "dirty": pairs, "clean": clean})
    totals = Counter(planted.values())
    found = Counter(kind for row, kind in planted.items() if row in gone)
    print(markdown(["planted fault", "dropped", "of"], [(kind, found[kind], totals[kind]) for kind in totals]))
    sound, lost = len(pairs) - len(planted), Counter(check for row, check in gone.items() if row not in planted)
    print(f"\nin all {found.total() / totals.total():.1%} of {totals.total():,} faults; of {sound:,} other pairs "
          f"{lost.total() / sound:.2%} ({', '.join(f'{name} {count}' for name, count in lost.most_common())}); "
          f"{len(pairs):,} pairs in {seconds:.0f} s")  # fmt: skip
    save(asked.json, {"dropped": found, "planted": totals, "sound": sound, "lost": lost, "seconds": seconds})


def _write(folder: Path, texts: Mapping[str, Sequence[TextPair]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, pairs in texts.items():
        for side, code in enumerate(("en", "de")):
            (folder / f"{name}.{code}").write_text("".join(f"{pair[side]}\n" for pair in pairs), encoding="utf-8")


def plant(pairs: list[TextPair], count: int, drawn: random.Random) -> dict[int, str]:
    """Change `count` pairs for each kind of fault, in place; returns the kind of each changed row."""
    third = lines_of(OTHER / "train.fr.gz")
    kinds: dict[str, Make] = {
        "a different number": lambda source, target: _number(source, target, drawn),
        "an empty side": lambda source, target: TextPair(source, ""),
        "a copy of the source": lambda source, target: TextPair(source, source),
        "a third language": lambda source, target: TextPair(source, drawn.choice(third)),
        "sides exchanged": lambda source, target: TextPair(target, source),
        "another target": lambda source, target: TextPair(source, drawn.choice(pairs).target),
        "a wrong encoding": _misread,
        "an escaped character": lambda source, target: TextPair(source, _inside(target, drawn.choice(ENTITIES))),
        "tags on one side": lambda source, target: TextPair(source, f"<b>{target}</b>"),
        "a target cut in half": _cut,
        "a word of another script": lambda source, target: TextPair(
            source, _inside(target, f" {drawn.choice(STRANGE)} ")
        ),
    }
    found, rows = dict[int, str](), iter(drawn.sample(range(len(pairs)), len(pairs)))
    for kind, make in kinds.items():
        found |= _planted(
            pairs, kind, make, count, found, rows if kind != "a different number" else _with_digits(pairs)
        )
    for row in (next(rows) for _ in range(count)):
        found[len(pairs)] = "a repeated pair"
        pairs.append(pairs[row])
    return found


def _planted(
    pairs: list[TextPair], kind: str, make: "Make", count: int, taken: dict[int, str], rows: Iterator[int]
) -> dict[int, str]:
    found = dict[int, str]()
    for row in rows:
        if len(found) == count:
            return found
        if row not in taken and (changed := make(*pairs[row])) is not None:
            pairs[row], found[row] = changed, kind
    return found


def _with_digits(pairs: list[TextPair]) -> Iterator[int]:
    return (row for row, pair in enumerate(pairs) if all(re.search(r"\d", side) for side in pair))


def _number(source: str, target: str, drawn: random.Random) -> TextPair:
    return TextPair(
        source, re.sub(r"\d", lambda digit: str((int(digit[0]) + drawn.randint(1, 9)) % 10), target, count=1)
    )


def _misread(source: str, target: str) -> TextPair | None:
    return None if target.isascii() else TextPair(source, target.encode().decode("cp1252", "replace"))


def _cut(source: str, target: str) -> TextPair | None:
    words = target.split()
    return TextPair(source, " ".join(words[: len(words) // 2])) if len(words) > 5 else None


def _inside(text: str, part: str) -> str:
    return text[: len(text) // 2] + part + text[len(text) // 2 :]


if __name__ == "__main__":
    main()
