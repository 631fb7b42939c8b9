"""Layers of networks: embedders, positions, recurrent layers and blocks.

`LAYERS` lists the layers that no config names: use them in your own Python models.
"""

from typing import Any

from regard.attention.kernel_view import chebyshev_kernel, smoothed
from regard.attention.ranking import RankingAttention
from regard.layers.aligned_question import AlignedQuestion
from regard.layers.complex_numbers import (
    ComplexLinear,
    ComplexLstm,
    WordBatchNorm,
    complex_convolution,
    complex_modulus,
)
from regard.layers.convolutional.gated_block import GatedBlock
from regard.layers.convolutional.grid_convolution import GridConvolution
from regard.layers.convolutional.residual_block import ResidualBlock
from regard.layers.differentiable_stack import StackHead
from regard.layers.key_value import KeyValueLayer
from regard.layers.memory_hop import MemoryHop
from regard.layers.multi_step_attention import MultiStepAttention
from regard.layers.mutual_attention import MutualAttention
from regard.layers.ngram import NgramLayer
from regard.layers.ntm import ReadHead
from regard.layers.pooling import HierarchicalPooling
from regard.layers.sentence_table import SentenceTable
from regard.layers.transformer_block import TransformerBlock
from regard.registry import Registry

LAYERS: Registry[Any] = Registry(
    "layer",
    {
        "aligned_question": AlignedQuestion,
        "chebyshev_kernel": chebyshev_kernel,
        "complex_batch_norm": WordBatchNorm,
        "complex_convolution": complex_convolution,
        "complex_linear": ComplexLinear,
        "complex_lstm": ComplexLstm,
        "complex_modulus": complex_modulus,
        "differentiable_stack": StackHead,
        "gated_block": GatedBlock,
        "grid_convolution": GridConvolution,
        "hierarchical_pooling": HierarchicalPooling,
        "kernel_smoothing": smoothed,
        "key_value": KeyValueLayer,
        "memory_hop": MemoryHop,
        "multi_step_attention": MultiStepAttention,
        "mutual_attention": MutualAttention,
        "ngram": NgramLayer,
        "ntm_head": ReadHead,
        "ranking": RankingAttention,
        "residual_block": ResidualBlock,
        "sentence_table": SentenceTable,
        "transformer_block": TransformerBlock,
    },
)
