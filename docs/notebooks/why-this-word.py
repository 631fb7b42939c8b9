# %% [markdown]
# # Why this word?
#
# Attention shows which states the decoder read. Other methods measure what a word of the output rests on: relevance
# propagation (LRP), gradients, or leaving words out. This notebook compares three of them on one sentence.
#
# First a small translator: short sentences of a generated grammar, and a minute of one core.

# %%
from pathlib import Path
from tempfile import mkdtemp

import regard
from regard.data.toy import pairs

folder = Path(mkdtemp())
short = [pair for pair in pairs("de", 20_000, seed=1) if len(pair[0].split()) <= 6]
for name, lines in zip(("train.en", "train.de"), zip(*short, strict=True), strict=True):
    (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
blocks = "{name: transformer, num_layers: 1, feedforward_dim: 192}"
run = regard.train(
    source=folder / "train.en",
    target=folder / "train.de",
    changes=[
        "model.dim=96",
        "model.dropout=0.1",
        f"model.encoder={blocks}",
        f"model.decoder={blocks}",
        "text.tokenizer=words",
        "training.schedule={name: cosine, updates: 800, warmup: 50}",
        "training.learning_rate=0.004",
        "training.batch_tokens=512",
        "training.max_updates=800",
        "training.validate_every=800",
        "training.average=1",
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
    (found,) = predictor.explain([SENTENCE], method=method)
    values, axes, labels = found.array("source")
    print(method)
    for word, row in zip(labels[0], values, strict=True):
        print(f"  {word:12} ← {labels[1][row.argmax()]}")

# %% [markdown]
# Methods may disagree where a word rests on two: the article `ein` translates *a*, and has the gender of `Buch`.
#
# Which method to trust is a question with an answer: `regard explain RUN --grade` covers the words that a method names
# first and measures how far the probability of the output falls (deletion), and puts them back (insertion).
