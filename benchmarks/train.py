"""Training speed: Regard's own trainer step against Hugging Face MarianMTModel of the same size on the same batches.

    python benchmarks/train.py --data PATH/multi30k [--rounds 5] [--updates 12]     (needs: pip install transformers)

Both see the same ids in the same batches (length buckets, 4,096 padded tokens), dropout 0.3, label smoothing 0.1,
Adam, gradients clipped at norm 1, float32, two threads. The unit is real target tokens a second, end symbols included.
"""

import argparse
import itertools
import time
from pathlib import Path
from typing import Any

import torch
from rounds import Turn, race, table
from sizes import SMALL, VOCAB, batches_of, regard_model
from torch import nn
from torch.nn import functional


def regard_turn(data: str, updates: int) -> Turn:
    """The steps the trainer takes, with its allocator setting, fused loss and byte dropout."""
    from regard.memory import keep_memory

    keep_memory()
    torch.set_num_threads(2)
    model = regard_model().train()

    def loss_of(batch: Any) -> torch.Tensor:
        loss: torch.Tensor = model.nll(batch, smoothing=0.1).sum() / batch.count
        return loss

    return _turn(model, loss_of, data, updates)


def marian_turn(data: str, updates: int) -> Turn:
    """The usual loop over Hugging Face's model: padded logits, torch's cross entropy."""
    from transformers import MarianConfig, MarianMTModel

    torch.set_num_threads(2)
    config = MarianConfig(
        vocab_size=VOCAB, d_model=SMALL.dim, encoder_layers=SMALL.layers, decoder_layers=SMALL.layers,
        encoder_ffn_dim=SMALL.feedforward, decoder_ffn_dim=SMALL.feedforward, encoder_attention_heads=SMALL.heads,
        decoder_attention_heads=SMALL.heads, dropout=0.3, attention_dropout=0.0, activation_function="relu",
        scale_embedding=True, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1, use_cache=False,
    )  # fmt: skip
    model = MarianMTModel(config).train()

    def loss_of(batch: Any) -> torch.Tensor:
        source, target = batch.columns["source"], batch.columns["target"]
        read = target.items.roll(1, dims=1)
        read[:, 0] = 1
        logits = model(input_ids=source.items, attention_mask=source.mask.long(), decoder_input_ids=read).logits
        return functional.cross_entropy(
            logits.flatten(0, 1), target.items.flatten(), ignore_index=0, label_smoothing=0.1
        )

    return _turn(model, loss_of, data, updates)


def _turn(model: nn.Module, loss_of: Any, data: str, updates: int) -> Turn:
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), fused=True)
    batches = itertools.cycle(batches_of(Path(data)))

    def turn() -> tuple[float, float]:
        tokens, start = 0, time.perf_counter()
        for batch in itertools.islice(batches, updates):
            optimizer.zero_grad()
            loss_of(batch).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
            optimizer.step()
            tokens += batch.count
        return tokens, time.perf_counter() - start

    return turn


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="folder with train.en.gz and train.de.gz")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--updates", type=int, default=12, help="per turn")
    chosen = parser.parse_args()
    arguments = (chosen.data, chosen.updates)
    speeds = race({"marian": (marian_turn, arguments), "regard": (regard_turn, arguments)}, chosen.rounds)
    print(table(speeds, "target tokens/s", "marian"))
