"""A toy with two turns, a critic's and the model's, and two corpora; as a script it trains in a run folder.

python two_turns.py FOLDER RUN     FOLDER keeps the corpora; a run that has saved something goes on
"""

import sys
from itertools import islice
from pathlib import Path

import torch
from networks import build_translator
from torch import nn

from regard.data.batches import Batches
from regard.data.corpus import Corpus
from regard.data.readers import READERS
from regard.data.streams import MixedStream
from regard.data.transforms import transformed
from regard.models import AttentionSettings
from regard.objectives import Context, LikelihoodObjective
from regard.records import Batch, Loss
from regard.registry import Choice
from regard.text import train_tokenizer
from regard.training import checkpoint as files
from regard.training.progress import Progress
from regard.training.settings import TrainingSettings, TurnSettings
from regard.training.trainer import Trainer

DIM = 8
COLUMNS = ("source", "target")
TURNS = {
    "critic": TurnSettings(Choice("sgd", {"momentum": 0.9}), 0.01, Choice("constant"), 0.5),
    "model": TurnSettings(every=2),
}


class CriticObjective(LikelihoodObjective):
    """A critic learns to tell even lines from odd ones by the encoder's states, and the model to prevent it."""

    turns = ("critic", "model")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.critic = nn.Sequential(nn.Linear(DIM, DIM), nn.Tanh(), nn.Dropout(0.2), nn.Linear(DIM, 1))

    def parameters_of(self, turn: str):
        return self.critic.parameters() if turn == "critic" else super().parameters_of(turn)

    def loss(self, batch: Batch, turn: str) -> Loss:
        states = self.context.model.encode(batch).states.mean(dim=1)
        distance = (self.critic(states).squeeze(-1) * (1 - 2 * (batch.lines % 2))).sum()
        if turn == "critic":
            return Loss(-distance, len(batch.lines), {})
        found = super().loss(batch, turn)
        return found._replace(sum=found.sum + distance / 10, parts={**found.parts, "distance": distance.detach()})


def corpus(folder: Path, name: str, count: int) -> Corpus:
    """Sentences of letters and what they are backwards."""
    texts = [
        " ".join("abcdefg"[(number * (place + 3)) % 7] for place in range(2 + number % 5)) for number in range(count)
    ]
    files = {column: folder / f"{name}.{column}" for column in COLUMNS}
    for column, step in zip(COLUMNS, (1, -1), strict=True):
        files[column].write_text("".join(f"{text[::step]}\n" for text in texts))
    reader = READERS.build(
        Choice("parallel", {"files": {column: str(path) for column, path in files.items()}}), COLUMNS
    )
    return Corpus.open(reader, dict.fromkeys(COLUMNS, train_tokenizer(Choice("characters"), ["abcdefg "])), folder)


def trainer(folder: Path, run: Path, updates: int) -> Trainer:
    """The toy, ready to be prepared."""
    folder.mkdir(exist_ok=True)
    run.mkdir(exist_ok=True)
    parts = {"first": Batches(corpus(folder, "first", 40), COLUMNS, sentences=8, seed=3)}
    parts["other"] = Batches(corpus(folder, "other", 15), COLUMNS, sentences=4, seed=8)
    stream = transformed(MixedStream(parts, {"first": 1.0, "other": 2.0}, seed=2), [Choice("noise")], 6)
    torch.manual_seed(5)
    layers = {"num_layers": 1, "feedforward_dim": 12}
    heads = AttentionSettings(num_heads=2)
    settings = {
        "dim": DIM, "encoder": Choice("transformer", layers), "decoder": Choice("transformer", layers),
        "attention": heads, "self_attention": heads, "dropout": 0.2,
    }  # fmt: skip
    model = build_translator(settings, 280, 280)
    dev = [batch for _, batch in islice(parts["first"].stream(), 2)]

    def validate(_) -> dict[str, float]:
        with torch.inference_mode():
            return {"loss": float(sum(model.nll(batch).sum() for batch in dev))}

    training = TrainingSettings(
        max_updates=updates, schedule=Choice("plateau", {"patience": 1, "warmup": 3}), turns=TURNS, validate_every=20,
        metric="loss", keep_best=2, average=2, log_every=7, save_every_minutes=0.001, precision="float32", workers=1,
    )  # fmt: skip
    objective = CriticObjective(Context(model))
    progress = Progress(run, quiet=True)
    return Trainer(model, objective, stream, settings=training, run=run, validate=validate, progress=progress)


if __name__ == "__main__":
    run = Path(sys.argv[2])
    trainer(Path(sys.argv[1]), run, updates=150).prepare(resume=bool(files.steps(run))).train()
