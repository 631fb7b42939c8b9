"""Tiny language models and their tasks."""

from collections.abc import Sequence
from typing import Any

import torch
from networks import build_language_model
from tasks import language_model_of
from torch import Tensor

from regard.decoders import DECODERS
from regard.decoders.decoder import Decoder, DecoderState
from regard.layers.embedders import Embedder
from regard.models import AttentionSettings
from regard.models.language_model import LanguageModel
from regard.records import Decoded, Encoded
from regard.registry import Choice
from regard.tasks.language_model import LanguageModelTask
from regard.text import train_tokenizer

SMALL = {"num_layers": 2, "feedforward_dim": 12, "hidden_dim": 8}


def small(name: str, **settings: object) -> Choice:
    """A decoder with those of the small sizes that it has."""
    return Choice(name, {**{key: SMALL[key] for key in DECODERS.settings(name) if key in SMALL}, **settings})


def model_of(decoder: str | Choice, vocab: int, **settings: Any) -> LanguageModel:
    """Untrained, in float64, without dropout."""
    torch.manual_seed(5)
    choice = small(decoder) if isinstance(decoder, str) else decoder
    heads = {"self_attention": AttentionSettings(num_heads=2)}
    return build_language_model(dict(dim=8, decoder=choice, **{**heads, **settings}), vocab).double().eval()


def near_sighted(vocab: int, *, radius: int = 2) -> tuple[LanguageModel, int]:
    """A model that counts no places and reads no further than a few pieces back, and how many those are."""
    spans = (Choice("window", {"radius": radius}),)
    model = model_of("transformer", vocab, position=None, self_attention=AttentionSettings(span=spans))
    return model, 1 + SMALL["num_layers"] * radius


def task_of(texts: Sequence[str], **settings: Any) -> LanguageModelTask:
    """By characters."""
    return language_model_of(train_tokenizer(Choice("characters"), texts), **settings)


def short(search: str) -> Choice:
    """A search that goes on with a few pieces."""
    return Choice(search, {"max_extra": 8})


class Blind(Decoder):
    """Its states are one number, whatever was written: with the logarithms of shares as weights, a unigram model."""

    dim = 1

    def __init__(self) -> None:
        super().__init__()
        self.embedder = NoVectors()

    def begin(self, seen: Encoded | None, rows: int) -> DecoderState:
        return DecoderState(None)

    def advance(
        self, vectors: Tensor, mask: Tensor | None, state: DecoderState, need_weights: bool
    ) -> tuple[Decoded, DecoderState]:
        return Decoded(vectors), state


class NoVectors(Embedder):
    """Every word is the number one."""

    dim = 1

    def forward(self, ids: Tensor, past: Any = None) -> tuple[Tensor, Any]:
        return torch.ones(*ids.shape, 1, dtype=torch.float64), past
