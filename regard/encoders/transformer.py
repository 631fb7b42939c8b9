"""The encoder of https://arxiv.org/abs/1706.03762."""

from typing import Annotated, Literal

from torch import nn

from regard.attention import Sockets
from regard.config import Doc
from regard.config.bounds import Size
from regard.config.common_settings import DropoutProbability, NumLayers
from regard.encoders.encoder import Encoder
from regard.layers.compiled_blocks import CompiledBlocks, StandardStack, encode
from regard.layers.feedforwards import FEEDFORWARDS, FeedForwardChoice
from regard.layers.normalisation.norm import Eps
from regard.layers.pooling.mean import MeanPooling
from regard.layers.transformer_block import DeepNetInit, TransformerBlock, init_deepnet
from regard.ops.modules import module_list
from regard.records import Encoded, Sequences
from regard.registry import Choice


class TransformerEncoder(Encoder):
    """num_layers blocks of self-attention and feed-forward; `final` is the mean of the states."""

    aliases = "attention_is_all_you_need, bert, ffn, feedforward, multihead, transformer_encoder, vaswani"

    def __init__(
        self,
        input_dim: int,
        sockets: Sockets,
        *,
        num_layers: NumLayers = 6,
        feedforward_dim: Annotated[Size, Doc("Width of the hidden layer of each feed-forward network.")] = 2048,
        feedforward: FeedForwardChoice = Choice("position_wise"),
        norm: Annotated[
            Literal["pre", "post"],
            Doc("Layer normalisation before each sublayer, or after it (the paper)."),
        ] = "pre",
        norm_eps: Annotated[Eps, Doc("Epsilon of layer normalisation, for numerical stability.")] = 1e-5,
        deepnet_init: DeepNetInit = False,
        dropout: DropoutProbability = 0.1,
    ) -> None:
        super().__init__()
        self.dim = input_dim
        self.blocks = module_list(
            TransformerBlock(
                input_dim,
                sockets.itself(input_dim),
                None,
                FEEDFORWARDS.build(
                    feedforward, input_dim, feedforward_dim, given={"dropout": dropout}, place="feedforward"
                ),
                norm=norm,
                norm_eps=norm_eps,
                dropout=dropout,
            )
            for _ in range(num_layers)
        )
        if deepnet_init:
            init_deepnet(self.blocks, (2 * num_layers) ** 0.25, (8 * num_layers) ** -0.25)
        self.norm = nn.LayerNorm(input_dim, eps=norm_eps) if norm == "pre" else nn.Identity()
        self.mean = MeanPooling(input_dim)
        self.compiled, self.compilable = CompiledBlocks(), StandardStack()

    def forward(self, source: Sequences) -> Encoded:
        """vectors (batch, source, dim) → states of the same shape; padded ones are zero."""
        if (stack := self.compiled.packed(self.blocks, self.norm, self.compilable)) is not None:
            states = encode(stack, source)
            return Encoded(states, source.mask, self.mean(states, source.mask))
        hidden = ~source.mask.unsqueeze(-1)
        states = source.items.masked_fill(hidden, 0.0)
        for block in self.blocks:
            states, _ = block(states, source.mask)
        states = self.norm(states).masked_fill(hidden, 0.0)
        return Encoded(states, source.mask, self.mean(states, source.mask))
