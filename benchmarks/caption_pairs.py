"""Documents of two texts that say much the same, to learn from how texts are compared.

    python benchmarks/caption_pairs.py CAPTIONS [LABELLED] > pairs.txt

A line of CAPTIONS (.gz) is followed by a copy that has lost one word in six and, half of the time, has its end first.
Behind them stand the pairs of LABELLED, a table for `regard pretrain-finetune`, without their labels and without its
test part.
"""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

from program import lines_of, options

from regard.recipes.pretrain_finetune import ALL, cut, labelled_examples

LOST, TURNED = 1 / 6, 0.5  # shares of words, and of copies
LENGTHS = range(3, 31)  # words


def main() -> None:
    """Prints documents, an empty line behind each."""
    parser = options(__doc__)
    parser.add_argument("captions", type=Path)
    parser.add_argument("labelled", type=Path, nargs="?")
    wanted = parser.parse_args()
    for first, second in copies(wanted.captions):
        print(first, second, "", sep="\n")
    if wanted.labelled is None:
        return
    _, examples = labelled_examples(wanted.labelled, {"pairs"})
    for texts in cut(examples, [ALL])[ALL]:
        print(texts["first"], texts["second"], "", sep="\n")


def copies(file: Path) -> Iterator[tuple[str, str]]:
    """Each caption without its punctuation, and its copy."""
    draws = random.Random(1)
    for line in lines_of(file):
        words = line.strip().rstrip(".").replace(",", "").split()
        if len(words) in LENGTHS:
            yield " ".join(words), " ".join(changed(words, draws))


def changed(words: Sequence[str], draws: random.Random) -> Sequence[str]:
    """A copy of words with some lost, and with what stands behind a border before the rest."""
    kept = [word for word in words if draws.random() > LOST] or words
    border = draws.randrange(len(kept)) if draws.random() < TURNED else 0
    return [*kept[border:], *kept[:border]]


if __name__ == "__main__":
    main()
