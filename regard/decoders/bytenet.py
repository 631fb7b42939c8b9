"""The decoder of ByteNet: https://arxiv.org/abs/1610.10099."""

from typing import Annotated, Any

from regard.attention import Sockets
from regard.config import Doc
from regard.config.bounds import Count
from regard.config.common_settings import DropoutProbability, HiddenDim, NumLayers
from regard.decoders.coupled import CoupledDecoder, Coupling, Merge
from regard.layers.convolutional.convolution import Dilations, Kernel
from regard.layers.convolutional.residual_block import BlockKind, note_dilations, residual_chain
from regard.layers.embedders.embedder import Embedder
from regard.layers.normalisation import NORMALISATIONS, Normalisation
from regard.registry import Choice


class ByteNetDecoder(CoupledDecoder):
    """num_layers residual blocks of masked, dilated convolutions over [word before + source at the same place].

    Blocks are 2 · hidden_dim wide. It is ByteNet where `model.attention` has the span `same_position`; another span or
    score lets each word look for its source. Without a source it is the paper's language model.
    """

    aliases = "dilated, dilated_cnn, tcn, wavenet"
    of_source = ("merge", "couplings")

    def __init__(
        self,
        embedder: Embedder,
        source_dim: int | None,
        sockets: Sockets,
        *,
        hidden_dim: HiddenDim = 128,
        num_layers: NumLayers = 10,
        kernel: Kernel = 3,
        dilations: Dilations = (1, 2, 4, 8, 16),
        block: BlockKind = "relu",
        norm: Annotated[Normalisation, Doc("Normalisation in each block.")] = Choice("layer"),
        merge: Annotated[Merge, Doc("Merge of the previous word with the source state at its position.")] = "add",
        couplings: Annotated[Count | None, Doc("Number of target positions that read the source; null: all.")] = None,
        dropout: DropoutProbability = 0.1,
    ) -> None:
        note_dilations(dilations[:num_layers], kernel)
        kind: Any = NORMALISATIONS[norm.name]
        dim = 2 * hidden_dim
        coupling = Coupling(embedder.dim, dim, source_dim, sockets, merge=merge, couplings=couplings)
        stack = residual_chain(dim, num_layers, kernel=kernel, dilations=dilations, kind=block, norm=norm, causal=True)
        super().__init__(embedder, coupling, stack, dropout=dropout, masked=kind.by_others)
