"""How far back a language model with key-value attention looks: its mean weight on each of the states before.

    python benchmarks/looking_back.py RUN [--lines 500]

The texts are the first lines of the run's test part, read window by window as `regard evaluate` reads them. Places
with fewer states before them than the window holds are left out, so that every distance has the same chance.
"""

from pathlib import Path

import torch
from program import options, part_of
from torch import Tensor

from regard.attention import recording
from regard.layers.key_value import KeyValueLayer
from regard.runs import Run

BAR = 50  # characters for a weight of 1


def by_distance(weights: Tensor, window: int) -> Tensor:
    """weights (batch, n, window + n), the last n keys are the queries' places → (batch, places, window), 1 back first.

    Places are those with a whole window before them.
    """
    places = torch.arange(window, weights.shape[1])
    keys = window + places.unsqueeze(-1) - torch.arange(1, window + 1)
    return weights[:, places].gather(-1, keys.expand(len(weights), -1, -1))


def main() -> None:
    """Prints a line for each distance."""
    parser = options(__doc__, lines=500)
    parser.add_argument("run", type=Path)
    given = parser.parse_args()
    model, task, run = Run.open(given.run).assembled()
    texts = part_of(run, task)
    layers = [part for part in model.modules() if isinstance(part, KeyValueLayer)]
    if len(layers) != 1:
        parser.error(f"{given.run} has {len(layers)} layers of key-value attention, and one is looked at")
    (layer,) = layers
    some = {column: lines[: given.lines] for column, lines in texts.items()}
    found = []
    with torch.inference_mode():
        for batch in task.held(some, run.experiment.decoding.batch_tokens):
            with recording(layer) as records:
                model.nll(batch)
            ((_, (answer,)),) = records.values()
            assert answer.weights is not None  # `recording` asks for them
            found.append(by_distance(answer.weights, layer.window)[batch.sequences(task.first).mask[:, layer.window :]])
    means = torch.cat(found).mean(dim=0).tolist()
    for distance, mean in enumerate(means, start=1):
        print(f"{distance:3d} back  {mean:.3f}  {'#' * round(mean * BAR)}")


if __name__ == "__main__":
    main()
