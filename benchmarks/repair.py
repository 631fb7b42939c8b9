"""Repairs of planted errors: share that is fixed, with other sentences of the same words, and what else changes.

    regard demo --run runs/demo
    python benchmarks/repair.py runs/demo/model [--groups 4] [--seed 1]

A translator of the demo's grammar is trained on with pairs of nouns exchanged in the source ("dog" is translated as
"cat"). Each group has five such pairs; a repair has 25 sentences that were right and have become wrong, with the right
translations. Counted are these sentences, 50 other such sentences with the same nouns, also those with nouns that the
repairs have alone, and 5,000 without nouns of the group. All groups are planted in one model, and each is repaired by
itself.
"""

import json
import random
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import mkdtemp
from typing import NamedTuple

import torch
from program import markdown, options

from regard.data.toy import pairs
from regard.exchange.import_run import run_of_weights
from regard.predictor import load
from regard.recipes.repair import RepairRequest, repair
from regard.recipes.repair.training import answers
from regard.runs.texts import training_texts

NOUNS = [
    "dog cat",
    "teacher doctor",
    "house garden",
    "apple egg",
    "chair table",
    "book letter",
    "sister brother",
    "mother father",
    "door window",
    "bird horse",
    "flower tree",
    "shirt coat",
    "box bag",
    "lamp bed",
    "friend guest",
    "cake soup",
    "sofa piano",
    "newspaper bicycle",
    "kitchen office",
]
WRONG, PARAPHRASES, OTHERS = 25, 50, 5_000
Pair = tuple[str, str]


class Group(NamedTuple):
    """Nouns that are exchanged, and sentences with and without them."""

    swaps: Mapping[str, str]

    def has(self, text: str) -> bool:
        return any(word in self.swaps for word in re.findall(r"\w+", text))


def swaps_of(names: Sequence[str]) -> dict[str, str]:
    """Singular and plural of each pair, in both directions."""
    found = dict[str, str]()
    for pair in names:
        one, other = pair.split()
        for end in ("", "s"):
            found |= {one + end: other + end, other + end: one + end}
    return found


def swapped(text: str, swaps: Mapping[str, str]) -> str:
    return re.sub(r"\w+", lambda found: swaps.get(found[0], found[0]), text)


def plant(run: Path, swaps: Mapping[str, str], examples: Sequence[Pair], updates: int, folder: Path) -> None:
    """Train a copy of a run on exchanged sources."""
    predictor = load(run)
    model, draw = predictor.model, random.Random(1)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    rows = [{"source": swapped(source, swaps), "target": target} for source, target in examples]
    for _ in range(updates):
        batch = predictor.task.batch(predictor.task.encode(draw.sample(rows, 96)))
        loss = model.nll(batch).sum() / batch.count
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    weights = {name: value.detach().clone() for name, value in model.state_dict().items()}
    run_of_weights([predictor.run], weights, folder, folder=str(run), architecture="planted errors")


def covered(pairs: Sequence[Pair], swaps: Mapping[str, str], repairs: Sequence[Pair]) -> list[bool]:
    """Which texts have no exchanged noun that the repairs lack."""
    own = {word for source, _ in repairs for word in re.findall(r"\w+", source)}
    return [all(word in own for word in re.findall(r"\w+", source) if word in swaps) for source, _ in pairs]


def repair_group(number: int, folder: Path, wrong: Sequence[Pair], others: Sequence[str], group: Group) -> list[str]:
    """Repair the first wrong sentences, and return a row of the table."""
    repairs, again = wrong[:WRONG], wrong[WRONG:][:PARAPHRASES]
    file, text = folder / f"repairs{number}.tsv", folder / f"others{number}.txt"
    file.write_text("".join(f"{source}\t{target}\n" for source, target in repairs), encoding="utf-8")
    text.write_text("\n".join(others[:OTHERS]), encoding="utf-8")
    result = repair(RepairRequest(folder / "planted", file, folder / f"repaired{number}", text, 100.0), print)
    values = result.report.values
    print(json.dumps({**values, "changed": values["changed"][:5]}, ensure_ascii=False))
    if not result.kept:
        return [str(number), result.reason]
    fixed = load(folder / f"repaired{number}")
    right = [*map(str.__eq__, answers(fixed, [one for one, _ in again]), [one for _, one in again])]
    known = covered(again, group.swaps, repairs)
    dev = values["dev"]
    return [
        str(number),
        f"{values['repaired']} of {len(repairs)}",
        f"{values['variants_right']} of {values['variants_held_out']}",
        f"{sum(map(int.__mul__, right, known))} of {sum(known)}",
        f"{sum(right)} of {len(again)}",
        f"{values['changed_unrelated']} of {values['unrelated']} ({len(values['changed'])} of {values['others']})",
        f"{dev['before']:.2f} → {dev['after']:.2f} ({dev['interval'][0]:+.2f} to {dev['interval'][1]:+.2f})",
    ]


def main() -> None:
    """Prints a table and JSON."""
    parser = options(__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--groups", type=int, default=4)
    parser.add_argument("--updates", type=int, default=250, help="of the training that plants the errors")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    folder, start = Path(mkdtemp(prefix="repair-")), load(given.run)
    examples = [*pairs("de", 16_000, 100 + given.seed)]
    known = {word for source, _ in examples for word in re.findall(r"\w+", source)}
    names = [one for one in NOUNS if {*one.split()} <= known][: 5 * given.groups]
    groups = [Group(swaps_of(names[first : first + 5])) for first in range(0, len(names), 5)]
    every = swaps_of(names)
    plant(given.run, every, examples[:8_000], given.updates, folder / "planted")
    planted, rows = load(folder / "planted"), []
    seen = {one["source"] for one in training_texts(start.run.experiment)}
    tested = [pair for pair in examples[8_000:] if pair[0] not in seen]
    for number, group in enumerate(groups, start=1):
        foreign = Group({word: word for word in every if word not in group.swaps})
        rest = [pair for pair in tested if group.has(pair[0]) and not foreign.has(pair[0])][:300]
        sources = [source for source, _ in rest]
        both = zip(rest, answers(start, sources), answers(planted, sources), strict=True)
        wrong = [pair for pair, before, after in both if before == pair[1] != after]
        others = [source for source, _ in examples[8_000:] if not group.has(source)]
        rows.append(repair_group(number, folder, wrong, others, group))
    titles = ["group", "repaired", "variants held out", "other sentences with nouns of the repairs", "other sentences",
              "changed without the error (all)", "dev BLEU"]  # fmt: skip
    print(markdown(titles, [[*row, *[""] * (len(titles) - len(row))] for row in rows]))


if __name__ == "__main__":
    main()
