"""Decoding speed: Regard's searches against Hugging Face generate on the same weights' size and the same sources.

    python benchmarks/translate.py --data PATH/multi30k [--rounds 5]     (needs: pip install transformers)

Weights are random, so every sentence is written to a fixed length of 14 pieces on both sides; float32, two threads,
1,000 sentences of test2016 sorted by length. The unit is sentences a second, tokenizing not included.
"""

import argparse
import time
from pathlib import Path
from typing import Any

import torch
from sizes import SMALL, VOCAB, regard_model, sources_of

from rounds import Turn, race, table

LENGTH = 14
BATCH = {1: 256, 5: 64}  # sentences, the best of a small sweep for both


def regard_turn(data: str, beam: int) -> Turn:
    """Our greedy or beam search with the end symbol forbidden, so that lengths are equal."""
    from regard.decoding import SEARCHES
    from regard.memory import keep_memory
    from regard.registry import Choice
    from regard.tasks.translation import batch_of

    keep_memory()
    torch.set_num_threads(2)
    model = regard_model().eval()
    limits = {"min_length": LENGTH, "max_ratio": 0.0, "max_extra": LENGTH}
    choice = Choice("greedy", limits) if beam == 1 else Choice("beam", {"size": beam, **limits})
    search = SEARCHES.build(choice)

    def translate(sources: list[list[int]]) -> int:
        with torch.inference_mode():
            return len(search.run(model, batch_of(sources)))

    return _turn(translate, data, beam)


def marian_turn(data: str, beam: int) -> Turn:
    """Hugging Face generate with its cache."""
    from transformers import GenerationConfig, MarianConfig, MarianMTModel

    torch.set_num_threads(2)
    config = MarianConfig(
        vocab_size=VOCAB, d_model=SMALL.dim, encoder_layers=SMALL.layers, decoder_layers=SMALL.layers,
        encoder_ffn_dim=SMALL.feedforward, decoder_ffn_dim=SMALL.feedforward, encoder_attention_heads=SMALL.heads,
        decoder_attention_heads=SMALL.heads, activation_function="relu", scale_embedding=True,
        pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1,
    )  # fmt: skip
    model = MarianMTModel(config).eval()
    settings = GenerationConfig(
        num_beams=beam, do_sample=False, min_new_tokens=LENGTH, max_new_tokens=LENGTH, use_cache=True,
        pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1,
    )  # fmt: skip

    def translate(sources: list[list[int]]) -> int:
        longest = max(len(ids) for ids in sources)
        items = torch.tensor([[*ids, *[0] * (longest - len(ids))] for ids in sources])
        with torch.inference_mode():
            return len(model.generate(input_ids=items, attention_mask=(items != 0).long(), generation_config=settings))

    return _turn(translate, data, beam)


def _turn(translate: Any, data: str, beam: int) -> Turn:
    sources = sorted(sources_of(Path(data)), key=len)
    size = BATCH[beam]

    def turn() -> tuple[float, float]:
        start = time.perf_counter()
        done = sum(translate(sources[place : place + size]) for place in range(0, len(sources), size))
        return done, time.perf_counter() - start

    return turn


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="folder with train.{en,de}.gz and test2016.en.gz")
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args()
    for beam in BATCH:
        contenders = {"marian": (marian_turn, (chosen.data, beam)), "regard": (regard_turn, (chosen.data, beam))}
        print(f"beam {beam}\n\n{table(race(contenders, chosen.rounds), 'sentences/s', 'marian')}\n")
