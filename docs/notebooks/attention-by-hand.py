# %% [markdown]
# # Attention by hand
#
# Attention takes a query and a sequence of keys, scores each key, turns scores into weights that sum to 1, and
# returns the weighted mean of the values. First with numbers that can be checked on paper, then inside a translator.

# %%
import torch

queries = torch.tensor([[[1.0, 0.0]]])  # (batch, query, dim)
keys = torch.tensor([[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]])  # (batch, key, dim)

scores = queries @ keys.transpose(-2, -1)  # dot products: 1, 0, 1
weights = scores.softmax(dim=-1)
context = weights @ keys  # the keys are the values, too
print(weights.round(decimals=3), context.round(decimals=3))

# %% [markdown]
# The same with the parts of Regard: a score, a span and a weighting. `remember` prepares the keys once.

# %%
from regard.models import AttentionSettings, build_attention
from regard.registry import Choice

attention = build_attention(AttentionSettings(score=Choice("dot")), 2, 2)
attended = attention(queries, attention.remember(keys), need_weights=True)
assert torch.allclose(attended.weights.squeeze(), weights.squeeze(), atol=1e-6)
assert torch.allclose(attended.context, context, atol=1e-6)

# %% [markdown]
# Another weighting gives exact zeros; a window hides keys that are far away.

# %%
for weighting in ("softmax", "sparsemax"):
    settings = AttentionSettings(score=Choice("dot"), weighting=Choice(weighting))
    sharp = build_attention(settings, 2, 2)
    print(weighting, sharp(3 * queries, sharp.remember(keys), need_weights=True).weights.squeeze().tolist())

# %% [markdown]
# ## Inside a translator
#
# Pairs of the toy grammar train a small translator in a few seconds.

# %%
from pathlib import Path
from tempfile import mkdtemp

import regard
from regard.data.toy import pairs

folder = Path(mkdtemp())
sides = zip(*pairs("de", 1500, seed=1), strict=True)
for name, lines in zip(("train.en", "train.de"), sides, strict=True):
    (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
BLOCK = "{name: transformer, num_layers: 1, feedforward_dim: 128}"
SMALL = [
    "model.dim=64",
    f"model.encoder={BLOCK}",
    f"model.decoder={BLOCK}",
    "text.tokenizer=words",
    "training.learning_rate=0.01",
    "training.batch_tokens=512",
    "training.max_updates=100",
    "training.validate_every=100",
    "training.average=1",
]
run = regard.train(
    source=folder / "train.en", target=folder / "train.de", changes=SMALL, run=folder / "run", quiet=True
)
predictor = regard.load(run)
predictor.predict(["The old man reads a book."], explain=True)

# %% [markdown]
# Each map is an array, too, by head, query and key. Weights of a query sum to 1.

# %%
(found,) = predictor.predict(["The old man reads a book."], explain=True)
values, axes, labels = found.explanation.array(found.explanation.maps[0])
print(axes, values.shape, values.sum(axis=-1).round(3))
