"""Masked-LM training against Hugging Face's BertForMaskedLM: one size, the same batches, update by update in turn.

    python benchmarks/masked.py [--layers 4] [--dim 256] [--rounds 40]

needs `transformers` beside Regard. Both train in one process on one thread by the same fused AdamW; a round is one
update of each, and the figure is the median over rounds of the ratio of their processor times. Pieces that are padding
do not count.
"""

import itertools
import statistics
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import torch
from program import options
from timing import interleaved
from torch import Tensor

from regard.data.columns.masked_text import MaskedTextColumn
from regard.data.transforms import LineSeeds
from regard.data.transforms.masking import MASKED_PIECES, Masking
from regard.models import MODELS, AttentionSettings
from regard.ops import machine
from regard.ops.memory import keep_memory
from regard.pieces import BOS, EOS, PAD
from regard.records import Batch, Sequences
from regard.registry import Choice

NOT_COUNTED = -100  # what Hugging Face takes for "no loss here"


class Size(NamedTuple):
    """A network."""

    vocab: int
    dim: int
    layers: int
    heads: int
    longest: int = 128


def batches(size: Size, count: int, rows: int) -> list[Batch]:
    """Masked texts of about one length each, as training has them: lengths like those of sentences of Brown."""
    draws, found = np.random.default_rng(0), []
    masking = Masking("text", size.vocab - 1, probability=0.15, masked=0.8, random=0.1)
    for number in range(count):
        longest = int(np.clip(draws.lognormal(3.3, 0.5), 8, size.longest))
        lengths = draws.integers(max(4, longest - 3), longest + 1, rows * 32 // longest + 1)
        mask = np.arange(longest) < lengths[:, None]
        ids = np.where(mask, draws.integers(260, size.vocab - 1, mask.shape), PAD)
        ids[:, 0], ids[np.arange(len(ids)), lengths - 1] = BOS, EOS
        text = Sequences(torch.from_numpy(ids), torch.from_numpy(mask))
        lines = torch.arange(len(ids)) + number * 10_000
        found.append(masking(Batch({"text": text}, "", lines, 0), LineSeeds(1, 0, 0)))
    return found


def regard_update(size: Size) -> Callable[[Batch], None]:
    """An update of a masked language model of Regard."""
    block = {"num_layers": size.layers, "feedforward_dim": 4 * size.dim, "feedforward": Choice("gelu"), "norm": "post"}
    settings = {
        "dim": size.dim,
        "position": Choice("learned", {"max_length": size.longest}),
        "encoder": Choice("transformer", block),
        "self_attention": AttentionSettings(num_heads=size.heads, project=True, dropout=0.1),
    }

    class Pieces(MaskedTextColumn):
        """As many as the size says."""

        def __init__(self) -> None:
            pass

        def __len__(self) -> int:
            return size.vocab

    model = MODELS.build(Choice("masked_language_model", settings), {"text": Pieces()}).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def update(batch: Batch) -> None:
        (model.nll(batch).sum() / batch.count).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return update


def hugging_face_update(size: Size) -> Callable[[Batch], None]:
    """An update of BertForMaskedLM as it is made by its own configuration."""
    from transformers import BertConfig, BertForMaskedLM

    config = BertConfig(
        vocab_size=size.vocab,
        hidden_size=size.dim,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        intermediate_size=4 * size.dim,
        max_position_embeddings=size.longest,
    )
    model = BertForMaskedLM(config).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def update(batch: Batch) -> None:
        text, answers = batch.sequences("text"), torch.as_tensor(batch.columns[MASKED_PIECES])
        labels: Tensor = answers.masked_fill(answers == PAD, NOT_COUNTED)
        model(input_ids=text.items, attention_mask=text.mask.long(), labels=labels).loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return update


def main() -> None:
    """Prints tokens a second of both, and the ratio."""
    given = options(__doc__, vocab=8001, dim=256, layers=4, heads=4, rounds=40, rows=64).parse_args()
    size = Size(given.vocab, given.dim, given.layers, given.heads)
    torch.set_num_threads(1)
    keep_memory()
    machine.fix("auto")
    torch.manual_seed(0)
    made = batches(size, given.rounds + 1, given.rows)  # the first one warms up
    runs = {
        "Regard": over(made, regard_update(size)),
        "Hugging Face": over(made, hugging_face_update(size)),
    }
    seconds = interleaved(runs, given.rounds)
    pieces = sum(int(batch.sequences("text").mask.sum()) for batch in made[1:])
    for name, spent in seconds.items():
        print(f"{name:<14} {pieces / sum(spent):>8,.0f} tokens/s")
    ratios = [theirs / ours for ours, theirs in zip(*seconds.values(), strict=True)]
    low, middle, high = statistics.quantiles(ratios, n=4)
    print(f"ratio          {middle:.2f} (quartiles {low:.2f} to {high:.2f})")


def over(made: list[Batch], update: Callable[[Batch], None]) -> Callable[[], None]:
    """An update with one batch after another."""
    stream: Iterator[Batch] = itertools.cycle(made)
    return lambda: update(next(stream))


if __name__ == "__main__":
    main()
