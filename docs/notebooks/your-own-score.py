# %% [markdown]
# # Write your own score
#
# A score says how well a query fits a key. This one is minus the Manhattan distance: a class with a name, and every
# encoder, decoder and command can use it.

# %%
from typing import Annotated

import torch
from torch import Tensor

from regard.attention.parts import Score
from regard.config import Doc
from regard.config.bounds import Positive


class ManhattanScore(Score):
    """-sharpness · sum_f |query_f - key_f|."""

    def __init__(
        self, query_dim: int, key_dim: int, *, sharpness: Annotated[Positive, Doc("Factor of the distance.")] = 1.0
    ) -> None:
        super().__init__()
        self.sharpness = sharpness

    def forward(self, queries: Tensor, prepared: Tensor, past: object) -> Tensor:
        """(..., query, dim) and keys (..., key, dim) → scores (..., query, key)."""
        return -self.sharpness * (queries.unsqueeze(-2) - prepared.unsqueeze(-3)).abs().sum(dim=-1)


# %% [markdown]
# Check it by hand: the distance of (2, 0) and (3, 4) is 1 + 4.

# %%
score = ManhattanScore(2, 2, sharpness=0.5)
assert score(torch.tensor([[2.0, 0.0]]), torch.tensor([[3.0, 4.0]]), None).item() == -0.5 * (1 + 4)

# %% [markdown]
# With a span and a weighting it is an attention.

# %%
from regard.attention import Attention
from regard.attention.spans.window import WindowSpan
from regard.attention.weightings.softmax import SoftmaxWeighting

attention = Attention(ManhattanScore(8, 8), WindowSpan(8, 8, radius=2), SoftmaxWeighting(8))
states = torch.randn(1, 6, 8, generator=torch.Generator().manual_seed(1))
weights = attention(states, attention.remember(states), need_weights=True).weights
print(weights.squeeze().round(decimals=2))

# %% [markdown]
# ## Train with it
#
# A name makes it a setting. For the command line the class stands in a file with a table `PARTS`, which
# `parts=my_parts.py` names (docs/how-to/own-parts.md).

# %%
from pathlib import Path
from tempfile import mkdtemp

import regard
from regard.data.toy import pairs

regard.add_parts({"score": {"manhattan": ManhattanScore}})

folder = Path(mkdtemp())
sides = zip(*pairs("de", 1500, seed=1), strict=True)
for name, lines in zip(("train.en", "train.de"), sides, strict=True):
    (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
run = regard.train(
    source=folder / "train.en",
    target=folder / "train.de",
    changes=[
        "model.dim=64",
        "model.encoder={name: recurrent, cell: gru, bidirectional: false}",
        "model.decoder={name: recurrent, cell: gru}",
        "model.attention.score={name: manhattan, sharpness: 0.5}",
        "text.tokenizer=words",
        "training.learning_rate=0.01",
        "training.batch_tokens=512",
        "training.max_updates=100",
        "training.validate_every=100",
        "training.average=1",
    ],
    run=folder / "run",
    quiet=True,
)
regard.load(run).predict(["The old man reads a book."], explain=True)
