"""The variance that the decoder of ConvS2S passes from layer to layer before it is trained, with its contexts projected
and as they are (https://arxiv.org/abs/1705.03122, section 3.4).
"""

from collections.abc import Sequence

import torch
from torch import nn

from regard.attention import Sockets
from regard.decoders.convolutional import ConvolutionalDecoder
from regard.encoders.convolutional import ConvolutionalEncoder
from regard.layers.embedders.words import WordEmbedder
from regard.models import AttentionSettings, build_attention
from regard.records import Sequences
from regard.registry import Choice

ROWS, SOURCE, TARGET, VOCAB = 16, 20, 20, 200
SPREAD = 0.1  # standard deviation of the embeddings
WAYS = {"contexts added as they are": False, "contexts projected": True}


def table(dim: int = 128, depths: Sequence[int] = (4, 10, 15)) -> str:
    """Markdown: what the deepest layer writes, as a multiple of the variance of the embeddings."""
    lines = ["| layers | " + " | ".join(map(str, depths)) + " |", "|---" * (len(depths) + 1) + "|"]
    for name, projected in WAYS.items():
        lines.append(f"| {name} | " + " | ".join(f"{deepest(dim, depth, projected):.2f}" for depth in depths) + " |")
    return "\n".join(lines)


@torch.no_grad()
def deepest(dim: int, depth: int, projected: bool) -> float:
    """Of a decoder of so many layers, all of one width, attending to an encoder as deep."""
    torch.manual_seed(1)
    dot = AttentionSettings(score=Choice("dot"))
    sockets = Sockets(lambda query_dim, key_dim: build_attention(dot, query_dim, key_dim), None, None)
    words = WordEmbedder(VOCAB, dim, scale=False, std=SPREAD, dropout=0.0)
    settings = {"hidden_dim": dim, "num_layers": depth, "dropout": 0.0}
    source = Sequences(torch.randn(ROWS, SOURCE, dim) * SPREAD, torch.ones(ROWS, SOURCE) > 0)
    read = ConvolutionalEncoder(dim, sockets, **settings)(source)
    model, variances = ConvolutionalDecoder(words, dim, sockets, **settings), list[float]()
    for step in model.steps:
        if not projected:
            step.from_context = nn.Identity()
        step.register_forward_hook(lambda module, given, looked: variances.append(float(looked.context.var())))
    model.eval()(torch.randint(4, VOCAB, (ROWS, TARGET)), model.start(read))
    return variances[-1] / SPREAD**2
