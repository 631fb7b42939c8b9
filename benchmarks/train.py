"""Training speed: Regard's updates against Hugging Face MarianMTModel and a prototype of the same size.

    REGARD_DATA=PATH python benchmarks/train.py [--rounds 5] [--json FILE]        (needs: pip install transformers)

One update is forward, backward, clipping at norm 1 and a step of fused Adam, label smoothing 0.1, float32;
batches are made meanwhile as each side makes them. The unit is real target tokens a second, end symbols included.
  Hugging Face                the same batches in the same order: buckets by length, 4,096 padded tokens
  Hugging Face, kept memory   as before with the allocator setting that Regard makes for itself
  Hugging Face, 64 sentences  random batches of 64 sentences, as without buckets
  regard, checkpointing       training.gradient_checkpointing=true, which takes less memory
  regard, bfloat16            training.precision=bf16, on processors that multiply bfloat16
  prototype                   a plain model that has to do nothing else, on the same batches with kept memory

Sizes are those of the shipped Multi30k config (S), and 3+3 layers of 512 with a feed-forward of 2,048 and 8 heads (B).
"""

import itertools
import queue
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from hugging_face import marian, padded
from program import count, multiplies_bfloat16, need
from prototype import Prototype, Sizes
from timing import Contender, Make, Races, turns
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader
from training_runs import batches_of, training_stream, updater_of
from workload import SIZES, parser_of, prepare

from regard.data.batches import Batches
from regard.data.streams import PlannedStream
from regard.ops.memory import keep_memory
from regard.records import BOS, EOS, PAD
from regard.runs import Run, RunFolder

RATE, SENTENCES, IGNORED = 1e-4, 64, -100
UNIT, REFERENCE = "target tokens/s", "Hugging Face"
AHEAD = 16  # batches that a thread makes ahead for a GPU
NOTHING: Mapping[str, Any] = {}
TOKENS = {"S": 30000, "B": 12000}  # of a turn

T = TypeVar("T")
Example = tuple[Sequence[int], Sequence[int]]


def regard(
    run: RunFolder,
    tokens: int,
    vocabulary: int | None = None,
    device: str = "cpu",
    changes: Mapping[str, Any] = NOTHING,
) -> Contender:
    """The trainer's own updater and stream, with its allocator setting and number of workers.

    `vocabulary`: words of the model, more than the run has; of every contender. `changes`: settings of training.
    """
    updater, model = updater_of(run, RATE, vocabulary, device, **changes)
    turn = turns(
        batches_of(run),
        lambda batch: updater.update([batch], 1),
        lambda batch: batch.count,
        tokens,
        lambda: finish(device),
    )
    return Contender(turn, model, [])


def peer(
    run: RunFolder, tokens: int, bucketed: bool, kept: bool, vocabulary: int | None = None, device: str = "cpu"
) -> Contender:
    """The usual loop over Hugging Face's model: a loader with a padding collator, torch's loss and fused Adam."""
    if kept:
        keep_memory()
    opened = Run.open(run)
    model = marian(opened.experiment, vocabulary or len(opened.columns["source"])).train().to(device)
    smoothing = opened.experiment.objective.settings["label_smoothing"]

    def loss(batch: dict[str, Any]) -> torch.Tensor:
        labels = batch.pop("labels")
        logits = model(**batch, use_cache=False).logits
        return functional.cross_entropy(
            logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORED, label_smoothing=smoothing
        )

    return _looped(model, loss, run, tokens, bucketed, device)


def prototype(run: RunFolder, tokens: int, vocabulary: int | None = None) -> Contender:
    """A plain model that has to do nothing else, with kept memory, in the same loop."""
    keep_memory()
    opened = Run.open(run)
    settings = opened.experiment.model.settings
    encoder, decoder = settings["encoder"].settings, settings["decoder"].settings
    words, heads = vocabulary or len(opened.columns["source"]), settings["attention"].num_heads
    layers = encoder["num_layers"], decoder["num_layers"]
    sizes = Sizes(words, settings["dim"], heads, encoder["feedforward_dim"], *layers, settings["dropout"])
    model, smoothing = Prototype(sizes, PAD).train(), opened.experiment.objective.settings["label_smoothing"]

    def loss(batch: dict[str, Any]) -> torch.Tensor:
        labels = batch["labels"]
        found: torch.Tensor = model(batch["input_ids"], batch["decoder_input_ids"], labels, smoothing)
        return found / (labels != IGNORED).sum()

    return _looped(model, loss, run, tokens, True, "cpu")


def _looped(
    model: Any, loss: Callable[[dict[str, Any]], torch.Tensor], run: RunFolder, tokens: int, bucketed: bool, device: str
) -> Contender:
    """One update after another on what a loader gives; on a GPU in bfloat16, with batches made ahead."""
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE, betas=(0.9, 0.98), eps=1e-9, fused=True)
    gpu = device != "cpu"
    stream, longest = loaded(training_stream(run), bucketed), Run.open(run).experiment.training.clip_norm
    stream = ahead(stream) if gpu else stream

    def update(batch: dict[str, Any]) -> None:
        with torch.autocast(device, torch.bfloat16, enabled=gpu):
            found = loss({name: items.to(device, non_blocking=True) for name, items in batch.items()})
        found.backward()
        nn.utils.clip_grad_norm_(model.parameters(), longest)
        optimizer.step()
        optimizer.zero_grad()

    def counted(batch: dict[str, Any]) -> int:
        return int((batch["labels"] != IGNORED).sum())

    return Contender(turns(stream, update, counted, tokens, lambda: finish(device)), model, [])


def ahead(stream: Iterator[T]) -> Iterator[T]:
    """The same, made by a thread while others compute."""
    made: queue.Queue[T] = queue.Queue(AHEAD)

    def make() -> None:
        for one in stream:
            made.put(one)

    threading.Thread(target=make, daemon=True).start()
    while True:
        yield made.get()


def finish(device: str) -> None:
    """Wait for what a GPU still computes."""
    if device != "cpu":
        torch.cuda.synchronize()


def loaded(batches: PlannedStream, bucketed: bool, skip: int = 0) -> Iterator[dict[str, Any]]:
    """Epoch after epoch of a torch loader over the same corpus; of buckets, the first `skip` batches are left out."""
    assert isinstance(batches, Batches), "a run with one corpus, as its examples are"
    corpus = batches.corpus
    examples: Any = [(corpus.ids("source", i).tolist(), corpus.ids("target", i).tolist()) for i in range(len(corpus))]
    for epoch in itertools.count():
        if bucketed:
            plan = _lines(batches, epoch)
            skip, plan = max(0, skip - len(plan)), plan[skip:]
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


def contenders(run: RunFolder, tokens: int) -> dict[str, Make]:
    """Name → who makes it, and of what."""
    found: dict[str, Make] = {
        "regard": (regard, (run, tokens)),
        "regard, checkpointing": (regard, (run, tokens, None, "cpu", {"gradient_checkpointing": True})),
    }
    if multiplies_bfloat16():
        found["regard, bfloat16"] = (regard, (run, tokens, None, "cpu", {"precision": "bf16"}))
    return found | {
        REFERENCE: (peer, (run, tokens, True, False)),
        f"{REFERENCE}, kept memory": (peer, (run, tokens, True, True)),
        f"{REFERENCE}, {SENTENCES} sentences": (peer, (run, tokens, False, False)),
        "prototype": (prototype, (run, tokens)),
    }


def main() -> None:
    """Prints a table of speeds for each size."""
    parser = parser_of(__doc__)
    parser.add_argument("--tokens", type=count, help="target tokens of a turn (default 30000, of B 12000)")
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=list(SIZES), help="of the model (default all)")
    parser.add_argument("--only", nargs="+", metavar="NAME", help=f"these contenders, and {REFERENCE}")
    chosen = parser.parse_args()
    need("transformers")
    races = Races(chosen, UNIT, REFERENCE)
    for size in chosen.sizes:
        with tempfile.TemporaryDirectory() as folder:
            run = prepare(Path(folder), [*SIZES[size], *chosen.changes])
            training_stream(run)  # makes the corpus once for all
            races.run(size, contenders(run, chosen.tokens or TOKENS[size]))
    races.save()


if __name__ == "__main__":
    main()
