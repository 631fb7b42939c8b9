"""How well pieces drawn one by one foretell what a masked language model is asked: nats for each masked piece.

    python benchmarks/masked_unigram.py RUN

The unigram model gives every piece the share that it has of the training part, each counted once more. The holes are
those that `regard evaluate RUN` fills, so both losses are of the same pieces.
"""

import argparse
from pathlib import Path

import numpy as np
import torch

from regard.data.transforms.masking import MASKED_PIECES
from regard.pieces import PAD, SPECIALS
from regard.runs import Run, RunFolder
from regard.runs.run import task_of
from regard.runs.texts import test_examples, training_readers

TOKENS = 8192  # of a batch


def main() -> None:
    """Prints the unigram's loss and the number of masked pieces."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    folder = RunFolder(parser.parse_args().run)
    opened = Run.open(folder)
    experiment = opened.experiment
    task = task_of(experiment, opened.columns)
    text = task.vocabularies[task.last]
    counts = np.ones(len(text))
    for example in training_readers(experiment)["train"]:
        np.add.at(counts, text.encode(example.texts[task.last]), 1)
    counts[: len(SPECIALS)] = 0
    shares = counts / counts.sum()
    examples = test_examples(experiment, task)
    if examples is None:
        parser.error(f"{folder} names no test part")
    masked = [torch.as_tensor(batch.columns[MASKED_PIECES]) for batch in task.held(examples, TOKENS)]
    pieces = torch.cat([one[one != PAD] for one in masked]).numpy()
    print(f"loss = {-np.log(shares[pieces]).mean():.2f} nats for each of {len(pieces):,} masked pieces")


if __name__ == "__main__":
    main()
