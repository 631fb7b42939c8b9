"""How much better a run foretells its test part than pieces do that are drawn one by one: perplexities of both.

    python benchmarks/unigram.py RUN

The unigram model gives every piece of the target vocabulary the share that it has of the training part, each counted
once more, the ends of the texts among them. It tells what knowing the words before, and the source, is worth.
"""

import argparse
import math
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from regard.records import EOS
from regard.runs import Run
from regard.runs.assembly import engine_of
from regard.runs.texts import test_examples, training_readers
from regard.runs.validation import Validation
from regard.tasks.task import measure_of
from regard.text import Tokenizer

LINES = 10_000  # of a training part, cut into pieces at once


def counted(tokenizer: Tokenizer, lines: Iterable[str]) -> Counter[int]:
    """How often each piece stands in the lines, and how many lines end."""
    found: Counter[int] = Counter()
    for ids in tokenizer.encode_batch(list(lines)):
        found.update((*ids, EOS))
    return found


def perplexity(train: Counter[int], test: Counter[int], size: int) -> float:
    """Of the pieces of `test` by their shares of `train`, each of the `size` pieces counted once more."""
    whole = train.total() + size
    nats = sum(count * math.log(whole / (train[piece] + 1)) for piece, count in test.items())
    return math.exp(nats / test.total())


def main() -> None:
    """Prints both perplexities, and how many times the one is the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    options = parser.parse_args()
    model, task, run = Run.open(options.run).assembled()
    experiment = run.experiment
    texts = test_examples(experiment, task)
    if texts is None:
        parser.error(f"{options.run} names no test part")
    column, tokenizer = task.last, task.text
    train: Counter[int] = Counter()
    lines: list[str] = []
    for example in training_readers(experiment)["train"]:
        lines.append(example.texts[column])
        if len(lines) == LINES:
            train += counted(tokenizer, lines)
            lines.clear()
    train += counted(tokenizer, lines)
    alone = perplexity(train, counted(tokenizer, texts[column]), len(tokenizer))
    learnt = measure_of(task, "perplexity")
    engine, tokens = engine_of(experiment.decoding, model, task), experiment.decoding.batch_tokens
    learnt = Validation(model, task, engine, texts, [learnt], batch_tokens=tokens)(lambda: False)
    print(f"{options.run}: perplexity {learnt['perplexity']:.1f} of {len(texts[column]):,} lines")
    print(f"unigram: {alone:.1f}, {alone / learnt['perplexity']:.1f} times as much")


if __name__ == "__main__":
    main()
