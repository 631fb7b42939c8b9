"""How well pieces drawn one by one foretell a run's test part: what knowing the words around them is worth.

    python benchmarks/unigram.py RUN

The unigram model gives every piece of the target vocabulary the share that it has of the training part, each counted
once more, the ends of the texts among them. Of a masked language model the loss of the pieces that `regard evaluate
RUN` masks is told, by shares without ends, of others the perplexity beside that of the run.
"""

import math
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import torch
from program import options, part_of

from regard.data.columns import Column
from regard.data.transforms.masking import MASKED_PIECES
from regard.pieces import PAD, SPECIALS
from regard.records import EOS
from regard.runs import Run
from regard.runs.assembly import engine_of
from regard.runs.texts import training_readers
from regard.runs.validation import Validation
from regard.tasks.task import measure_of

LINES = 10_000  # of a training part, cut into pieces at once
TOKENS = 8192  # of a batch


def counted(column: Column, lines: Iterable[str]) -> Counter[int]:
    """How often each piece stands in the lines, and how many lines end."""
    found: Counter[int] = Counter()
    for ids in column.encode_batch(list(lines)):
        found.update((*ids, EOS))
    return found


def loss(train: Counter[int], test: Counter[int], size: int) -> float:
    """Nats of a piece of `test` by their shares of `train`, each of the `size` pieces counted once more."""
    whole = train.total() + size
    return sum(count * math.log(whole / (train[piece] + 1)) for piece, count in test.items()) / test.total()


def main() -> None:
    """Print the figure of the unigram model, and of texts that of the run."""
    parser = options(__doc__)
    parser.add_argument("run", type=Path)
    opened = Run.open(parser.parse_args().run)
    model, task, run = opened.assembled()
    texts, name, column = part_of(run, task), task.last, task.vocabularies[task.last]
    train: Counter[int] = Counter()
    lines = [example.texts[name] for example in training_readers(run.experiment)["train"]]
    for start in range(0, len(lines), LINES):
        train += counted(column, lines[start : start + LINES])
    first = next(iter(task.held(texts, TOKENS)))
    if MASKED_PIECES in first.columns:
        answers = (torch.as_tensor(batch.columns[MASKED_PIECES]) for batch in task.held(texts, TOKENS))
        masked = Counter(piece for one in answers for piece in one[one != PAD].tolist())
        pieces = Counter({piece: count for piece, count in train.items() if piece >= len(SPECIALS)})
        found = loss(pieces, masked, len(column) - len(SPECIALS))
        print(f"loss = {found:.2f} nats for each of {masked.total():,} masked pieces")
        return
    alone = math.exp(loss(train, counted(column, texts[name]), len(column)))
    engine, tokens = engine_of(run.experiment.decoding, model, task), run.experiment.decoding.batch_tokens
    learnt = Validation(model, task, engine, texts, [measure_of(task, "perplexity")], batch_tokens=tokens)
    own = learnt(lambda: False)["perplexity"]
    print(f"{run.folder.path}: perplexity {own:.1f} of {len(texts[name]):,} lines")
    print(f"unigram: {alone:.1f}, {alone / own:.1f} times as much")


if __name__ == "__main__":
    main()
