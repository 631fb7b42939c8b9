# %% [markdown]
# # Why this word?
#
# Attention shows which states the decoder read. Other methods measure what a word of the output rests on: relevance
# propagation (LRP), gradients, or leaving words out. This notebook asks several of them about one sentence.

# %%
from pathlib import Path
from tempfile import mkdtemp

import regard
from regard.data.toy import pairs

folder = Path(mkdtemp())
sides = zip(*pairs("de", 1500, seed=1), strict=True)
for name, lines in zip(("train.en", "train.de"), sides, strict=True):
    (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
blocks = "{name: transformer, num_layers: 1, feedforward_dim: 128}"
run = regard.train(
    source=folder / "train.en",
    target=folder / "train.de",
    changes=[
        "model.dim=64", f"model.encoder={blocks}", f"model.decoder={blocks}", "text.tokenizer=words",
        "training.learning_rate=0.01", "training.batch_tokens=512", "training.max_updates=100",
        "training.validate_every=100", "training.average=1",
    ],
    run=folder / "run",
    quiet=True,
)
predictor = regard.load(run)

# %% [markdown]
# A translation shows its attention: point at a word to see its sources.

# %%
SENTENCE = "The old man reads a book."
predictor.predict([SENTENCE], explain=True)

# %% [markdown]
# The same sentence by relevance propagation and by leaving words out: the strongest source word of each target word.

# %%
for method in ("lrp", "occlusion"):
    (found,) = predictor.explain([SENTENCE], by=method)
    values, axes, labels = found.array("source")
    print(method)
    for word, row in zip(labels[0], values, strict=True):
        print(f"  {word:12} ← {labels[1][row.argmax()]}")

# %% [markdown]
# Which method to trust is a question with an answer: `regard explain RUN --grade` covers the words that a method names
# first and measures how far the probability of the output falls (deletion), and puts them back (insertion).
