"""The networks of Hugging Face that a translator here can be: their settings, and the names of their tensors."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from regard.errors import RegardError
from regard.exchange.format import START_BIAS
from regard.exchange.vocabularies import Side
from regard.exchange.weights import ExpectedTensor, take
from regard.models import ROUTE
from regard.pieces import BOS
from regard.text.sentencepiece import PieceList
from regard.training.shards import Tensors


class Architecture(NamedTuple):
    """Network of one class of transformers, as settings of parts here."""

    title: str
    norm: str
    position: Mapping[str, Any]
    has_bias: bool  # final_logits_bias
    defaults: Mapping[str, Any]  # of config.json


_COMMON = {"dropout": 0.1, "attention_dropout": 0.0, "activation_dropout": 0.0, "tie_word_embeddings": True,
           "activation_function": "gelu", "scale_embedding": False, "max_position_embeddings": 1024}  # fmt: skip
ARCHITECTURES = {
    "marian": Architecture("MarianMTModel", "post", {"layout": "halves"}, True, {
        **_COMMON, "share_encoder_decoder_embeddings": True, "eos_token_id": 0}),
    "pegasus": Architecture("PegasusForConditionalGeneration", "pre", {"layout": "halves"}, True, {
        **_COMMON, "pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0}),
    "m2m_100": Architecture("M2M100ForConditionalGeneration", "pre", {
        "layout": "halves", "frequencies": "inclusive", "offset": 2}, False, {
        **_COMMON, "activation_function": "relu", "scale_embedding": True, "attention_dropout": 0.1,
        "pad_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 2}),
}  # fmt: skip

LAYER_NAMES = {  # ours within a block → theirs within a layer
    "own.heads.from_query": "self_attn.q_proj",
    "own.heads.from_key": "self_attn.k_proj",
    "own.heads.from_value": "self_attn.v_proj",
    "own.heads.to_out": "self_attn.out_proj",
    "own_norm": "self_attn_layer_norm",
    "cross.heads.from_query": "encoder_attn.q_proj",
    "cross.heads.from_key": "encoder_attn.k_proj",
    "cross.heads.from_value": "encoder_attn.v_proj",
    "cross.heads.to_out": "encoder_attn.out_proj",
    "cross_norm": "encoder_attn_layer_norm",
    "feedforward.to_hidden": "fc1",
    "feedforward.to_out": "fc2",
    "feedforward_norm": "final_layer_norm",
}
ENCODER, DECODER = f"encoders.{ROUTE}.encoder", f"decoders.{ROUTE}"
SOURCE_TABLE, TARGET_TABLE = f"encoders.{ROUTE}.embedder.table", f"{DECODER}.embedder.table"
OUTPUT_TABLE, OUTPUT_BIAS = f"heads.{ROUTE}.weight", f"heads.{ROUTE}.bias"


def weights_of_state(
    state: Tensors, config: Mapping[str, Any], lists: tuple[PieceList, PieceList], file: Path
) -> Tensors:
    """Return tensors by our names, rows of pieces in our order. Raises CheckpointError for one that does not fit."""
    dim = config["d_model"]
    found = dict(_stacks(state, config, file))
    names, tables = _table_names(state), dict[tuple[str, tuple[int, ...]], Tensor]()
    for mine, theirs, listed in zip(
        (SOURCE_TABLE, TARGET_TABLE, OUTPUT_TABLE), names, (lists[0], lists[1], lists[1]), strict=True
    ):
        size = vocabulary_size(config, target=listed is lists[1])
        key = theirs, listed.order
        if key not in tables:  # it is as large as all layers together
            tables[key] = take(state, ExpectedTensor(theirs, (size, dim)), file)[torch.tensor(listed.order)]
        found[mine] = tables[key]
    listed = lists[1]
    size = vocabulary_size(config, target=True)
    bias = torch.zeros(size)
    if "final_logits_bias" in state:
        bias = take(state, ExpectedTensor("final_logits_bias", (1, size)), file)[0]
    found[OUTPUT_BIAS] = bias[torch.tensor(listed.order)]
    if listed.copies_start:
        found[OUTPUT_BIAS][BOS] += START_BIAS
    return found


def _table_names(state: Mapping[str, Tensor]) -> tuple[str, str, str]:
    """The names of the tables of source, target and output, which may be one."""
    shared = "model.shared.weight"
    source, target = (
        next((name for name in (f"model.{side}.embed_tokens.weight", shared) if name in state), shared)
        for side in ("encoder", "decoder")
    )
    return source, target, "lm_head.weight" if "lm_head.weight" in state else target


def _stacks(state: Mapping[str, Tensor], config: Mapping[str, Any], file: Path) -> Iterator[tuple[str, Tensor]]:
    """Layers and last normalisations of encoder and decoder."""
    dim = config["d_model"]
    for side, here in (("encoder", ENCODER), ("decoder", DECODER)):
        hidden = config[f"{side}_ffn_dim"]
        shapes = {"fc1": (hidden, dim), "fc2": (dim, hidden)}
        for number in range(config[f"{side}_layers"]):
            for mine, theirs in LAYER_NAMES.items():
                if mine.startswith("cross") and side == "encoder":
                    continue
                place, there = f"{here}.blocks.{number}.{mine}", f"model.{side}.layers.{number}.{theirs}"
                norm = theirs.endswith("layer_norm")
                shape = (dim,) if norm else shapes.get(theirs, (dim, dim))
                yield f"{place}.weight", take(state, ExpectedTensor(f"{there}.weight", shape), file)
                yield f"{place}.bias", take(state, ExpectedTensor(f"{there}.bias", shape[:1]), file)
        if ARCHITECTURES[config["model_type"]].norm == "pre":
            for one in ("weight", "bias"):
                yield f"{here}.norm.{one}", take(state, ExpectedTensor(f"model.{side}.layer_norm.{one}", (dim,)), file)


def vocabulary_size(config: Mapping[str, Any], *, target: bool) -> int:
    """Return the number of pieces of source or target."""
    apart = not config.get("share_encoder_decoder_embeddings", True)
    size: int = (config.get("decoder_vocab_size") if target and apart else None) or config["vocab_size"]
    return size


def state_of_weights(
    weights: Mapping[str, Tensor], settings: Mapping[str, Any], source: Side, target: Side, *, joint: bool
) -> Iterator[tuple[str, Tensor]]:
    """Yield tensors by their names there, rows of pieces in their order there; each table that is tied once.

    Raises RegardError for tables of one vocabulary that are not one.
    """
    yield from _stack_state(weights, settings)
    written, output = weights[TARGET_TABLE], weights[OUTPUT_TABLE]
    if joint and not weights[SOURCE_TABLE].equal(written):
        raise RegardError("this run cannot be exported: one vocabulary has one table there (model.tied=all)")
    if joint:
        yield "model.shared.weight", source.rows(written)
    else:
        yield "model.encoder.embed_tokens.weight", source.rows(weights[SOURCE_TABLE])
        yield "model.decoder.embed_tokens.weight", target.rows(written)
    if not output.equal(written):
        yield "lm_head.weight", target.rows(output)
    bias = weights.get(OUTPUT_BIAS)
    found = torch.zeros(len(target.names)) if bias is None else target.rows(bias.unsqueeze(1))[:, 0]
    yield "final_logits_bias", found.unsqueeze(0)


def _stack_state(weights: Mapping[str, Tensor], settings: Mapping[str, Any]) -> Iterator[tuple[str, Tensor]]:
    """Layers and last normalisations of encoder and decoder by their names there."""
    for side, here in (("encoder", ENCODER), ("decoder", DECODER)):
        for number in range(settings[side].settings["num_layers"]):
            for mine, theirs in LAYER_NAMES.items():
                for one in ("weight", "bias"):
                    tensor = weights.get(f"{here}.blocks.{number}.{mine}.{one}")
                    if tensor is not None:
                        yield f"model.{side}.layers.{number}.{theirs}.{one}", tensor
        for one in ("weight", "bias"):
            if f"{here}.norm.{one}" in weights:
                yield f"model.{side}.layer_norm.{one}", weights[f"{here}.norm.{one}"]
