"""Repairs of planted errors: share that is fixed, with other sentences of the same words, and what else changes.

    regard demo --run runs/demo
    python benchmarks/repair.py runs/demo/model [--groups 4] [--seed 1]

A translator of the demo's grammar is trained on with pairs of nouns exchanged in the source ("dog" is translated as
"cat"). Each group has five such pairs; a repair has 25 sentences that have become wrong, with the right translations.
Counted are these sentences, 50 other sentences with the same nouns, and 5,000 without nouns of the group. All groups
are planted in one model, and each is repaired by itself.
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
from regard.recipes.repair import RepairRequest, answers, repair

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
    origin = {"format": "runs", "folder": str(run), "architecture": "planted errors", "license": None, "files": {}}
    run_of_weights(predictor.run, weights, origin, folder)


def main() -> None:
    """Prints a table and JSON."""
    parser = options(__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--groups", type=int, default=4)
    parser.add_argument("--updates", type=int, default=250, help="of the training that plants the errors")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    folder = Path(mkdtemp(prefix="repair-"))
    examples = [*pairs("de", 16_000, 100 + given.seed)]
    known = {word for source, _ in examples for word in re.findall(r"\w+", source)}
    names = [one for one in NOUNS if {*one.split()} <= known][: 5 * given.groups]
    groups = [Group(swaps_of(names[first : first + 5])) for first in range(0, len(names), 5)]
    every = swaps_of(names)
    plant(given.run, every, examples[:8_000], given.updates, folder / "planted")
    planted, rows = load(folder / "planted"), []
    for number, group in enumerate(groups):
        others_swaps = Group({word: word for word in every if word not in group.swaps})
        rest = [pair for pair in examples[8_000:] if group.has(pair[0]) and not others_swaps.has(pair[0])]
        found = answers(planted, [source for source, _ in rest[:300]])
        wrong = [pair for pair, answer in zip(rest, found, strict=False) if answer != pair[1]]
        repairs, again = wrong[:WRONG], wrong[WRONG:][:PARAPHRASES]
        file, text = folder / f"repairs{number}.tsv", folder / f"others{number}.txt"
        file.write_text("".join(f"{source}\t{target}\n" for source, target in repairs), encoding="utf-8")
        others = [source for source, _ in examples[8_000:] if not group.has(source)][:OTHERS]
        text.write_text("\n".join(others), encoding="utf-8")
        request = RepairRequest(folder / "planted", file, folder / f"repaired{number}", text, 100.0, given.seed)
        result = repair(request, print)
        values = result.report.values
        print(json.dumps({**values, "changed": values["changed"][:5]}, ensure_ascii=False))
        print(result.reason)
        if result.kept:
            fixed = load(folder / f"repaired{number}")
            right = sum(map(str.__eq__, answers(fixed, [one for one, _ in again]), [one for _, one in again]))
            rows.append([number + 1, f"{values['repaired']} of {len(repairs)}", f"{right} of {len(again)}",
                         f"{len(values['changed'])} of {values['others']}", values["dev"]["before"],
                         values["dev"]["after"]])  # fmt: skip
    print(markdown(["group", "repaired", "other sentences right", "other answers changed", "dev BLEU", "after"], rows))


if __name__ == "__main__":
    main()
