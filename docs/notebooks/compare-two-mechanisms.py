# %% [markdown]
# # Compare two mechanisms
#
# Two attention scores, the same data: `regard.compare` trains both and tests whether the difference is more than
# chance. Here each is trained once, for a few seconds; `seeds=3` trains each with three seeds.

# %%
from pathlib import Path
from tempfile import mkdtemp

import regard
from regard.data.toy import pairs

folder = Path(mkdtemp())
for part, count in (("train", 400), ("test", 40)):
    sides = zip(*pairs("de", count, seed=1, part=part), strict=True)
    for language, lines in zip(("en", "de"), sides, strict=True):
        (folder / f"{part}.{language}").write_text("\n".join(lines) + "\n", encoding="utf-8")
config = folder / "small.yaml"
config.write_text(f"""
data:
  train: {{source: {folder}/train.en, target: {folder}/train.de}}
  test: {{source: {folder}/test.en, target: {folder}/test.de}}
text: {{tokenizer: words}}
model:
  dim: 32
  encoder: {{name: transformer, num_layers: 1, feedforward_dim: 64}}
  decoder: {{name: transformer, num_layers: 1, feedforward_dim: 64}}
training: {{learning_rate: 0.02, batch_tokens: 256, validate_every: 60, average: 1}}
""")
grid = "model.attention.score=scaled_dot,uniform"

# %%
report = regard.compare([config], grids=[grid], seeds=1, updates=60, run=folder / "runs", quiet=True)
report

# %% [markdown]
# The uniform score gives every source word the same weight. The figures are values, too.

# %%
sorted(report.values())
