"""Training speed: Regard's updates against Hugging Face MarianMTModel of the same size on the same batches.

    REGARD_DATA=PATH python benchmarks/train.py [--rounds 5] [--json FILE]        (needs: pip install transformers)

One update is forward, backward, clipping at norm 1 and a step of fused Adam, label smoothing 0.1, dropout 0.3, float32;
batches are made meanwhile as each side makes them. The unit is real target tokens a second, end symbols included.
  marian                  the same batches in the same order: buckets by length, 4,096 padded tokens
  marian, kept memory     as before with the allocator setting that Regard makes for itself
  marian, 64 sentences    random batches of 64 sentences, as without buckets
"""

import itertools
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from hugging_face import marian, padded
from rounds import Contender, machine, race, save, table
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader
from training_runs import batches_of, training_stream, updater_of
from workload import need_transformers, parser_of, prepare

from regard.data.batches import Batches
from regard.ops.memory import keep_memory
from regard.records import BOS, EOS, PAD
from regard.runs import RunFolder

RATE, SENTENCES, IGNORED = 1e-4, 64, -100
REFERENCE = "marian"

Example = tuple[Sequence[int], Sequence[int]]


def regard(run: RunFolder, tokens: int) -> Contender:
    """The trainer's own updater and stream, with its allocator setting and number of workers."""
    updater, model = updater_of(run, RATE)
    batches = batches_of(run)

    def turn() -> float:
        done = 0
        while done < tokens:
            done += updater.update([next(batches)], 1).tokens
        return done

    return Contender(turn, model, [])


def peer(run: RunFolder, tokens: int, bucketed: bool, kept: bool) -> Contender:
    """The usual loop over Hugging Face's model: a loader with a padding collator, torch's loss and fused Adam."""
    if kept:
        keep_memory()
    experiment = run.experiment()
    model = marian(experiment, len(run.columns(experiment)["source"])).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE, betas=(0.9, 0.98), eps=1e-9, fused=True)
    smoothing = experiment.objective.settings["label_smoothing"]
    stream = _loaded(training_stream(run), bucketed)

    def update(batch: dict[str, Any]) -> int:
        labels = batch.pop("labels")
        logits = model(**batch, use_cache=False).logits
        loss = functional.cross_entropy(
            logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORED, label_smoothing=smoothing
        )
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), experiment.training.clip_norm)
        optimizer.step()
        optimizer.zero_grad()
        return int((labels != IGNORED).sum())

    def turn() -> float:
        done = 0
        while done < tokens:
            done += update(next(stream))
        return done

    return Contender(turn, model, [])


def _loaded(batches: Batches, bucketed: bool) -> Iterator[dict[str, Any]]:
    """Epoch after epoch of a torch loader over the same corpus."""
    corpus = batches.corpus
    examples = [(corpus.ids("source", i).tolist(), corpus.ids("target", i).tolist()) for i in range(len(corpus))]
    for epoch in itertools.count():
        if bucketed:
            plan = _lines(batches, epoch)
            yield from DataLoader(examples, batch_sampler=plan, collate_fn=_collate)
        else:
            order = np.random.default_rng(epoch).permutation(len(examples)).tolist()
            yield from DataLoader(examples, batch_size=SENTENCES, sampler=order, collate_fn=_collate)


def _lines(batches: Batches, epoch: int) -> list[list[int]]:
    """The lines of every batch of an epoch."""
    plans = itertools.takewhile(lambda plan: plan.epoch == epoch, batches.plans({"epoch": epoch, "index": 0}))
    return [plan.make().lines.tolist() for plan in plans]


def _collate(examples: Sequence[Example]) -> dict[str, Any]:
    source = padded([[*ids, EOS] for ids, _ in examples])
    read = padded([[BOS, *ids] for _, ids in examples])
    labels = padded([[*ids, EOS] for _, ids in examples], IGNORED)
    return {"input_ids": source, "attention_mask": (source != PAD).long(), "decoder_input_ids": read, "labels": labels}


def main() -> None:
    """Prints a table of speeds."""
    parser = parser_of(__doc__ or "")
    parser.add_argument("--tokens", type=int, default=30000, help="target tokens of a turn (default 30000)")
    chosen = parser.parse_args()
    need_transformers()
    with tempfile.TemporaryDirectory() as folder:
        run = prepare(Path(folder), chosen.changes)
        training_stream(run)  # makes the corpus once for all
        contenders: dict[str, Any] = {
            "regard": (regard, (run, chosen.tokens)),
            REFERENCE: (peer, (run, chosen.tokens, True, False)),
            f"{REFERENCE}, kept memory": (peer, (run, chosen.tokens, True, True)),
            f"{REFERENCE}, {SENTENCES} sentences": (peer, (run, chosen.tokens, False, False)),
        }
        records = race(contenders, chosen.rounds, chosen.threads)
    about = machine(chosen.threads)
    print(", ".join(f"{name} {value}" for name, value in about.items()))
    print(f"\n{table(records, 'target tokens/s', REFERENCE)}")
    if chosen.json:
        save(chosen.json, {**about, "unit": "target tokens/s", "tokens": chosen.tokens}, {"train": records})


if __name__ == "__main__":
    main()
