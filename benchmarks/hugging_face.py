"""Hugging Face models of the size of an experiment, and one with the very weights of a trained run."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from regard.experiment import Experiment
from regard.models import ROUTE, Translator
from regard.records import BOS, EOS, PAD

PLACES = 512  # positions kept ready


def sizes(experiment: Experiment, vocabulary: int) -> dict[str, Any]:
    """An experiment's sizes in the words of a config of transformers."""
    model, found = experiment.model.settings, dict[str, Any]()
    for side, part, attention in (
        ("encoder", model["encoder"], model["self_attention"]),
        ("decoder", model["decoder"], model["attention"]),
    ):
        found[f"{side}_layers"] = part.settings["num_layers"]
        found[f"{side}_ffn_dim"] = part.settings["feedforward_dim"]
        found[f"{side}_attention_heads"] = attention.num_heads
    found |= {
        "vocab_size": vocabulary,
        "d_model": model["dim"],
        "dropout": model["dropout"],
        "max_position_embeddings": PLACES,
    }
    found |= {"activation_function": "relu", "attention_dropout": 0.0, "scale_embedding": True}
    return found | {"pad_token_id": PAD, "bos_token_id": BOS, "eos_token_id": EOS, "decoder_start_token_id": BOS}


def marian(experiment: Experiment, vocabulary: int) -> Any:
    """MarianMTModel, all tables tied, with random weights. It is post-norm: two layer norms fewer than ours."""
    from transformers import MarianConfig, MarianMTModel

    config = MarianConfig(**sizes(experiment, vocabulary), forced_eos_token_id=None, tie_word_embeddings=True)
    return MarianMTModel(config)


def pre_norm(experiment: Experiment, vocabulary: int) -> Any:
    """M2M100ForConditionalGeneration, the pre-norm sister of Marian, with random weights: our architecture."""
    from transformers import M2M100Config, M2M100ForConditionalGeneration

    told = sizes(experiment, vocabulary) | {"encoder_layerdrop": 0.0, "decoder_layerdrop": 0.0}
    config = M2M100Config(**told, tie_word_embeddings=True, init_std=experiment.model.settings["dim"] ** -0.5)
    return M2M100ForConditionalGeneration(config)


def copied(model: Translator, experiment: Experiment, vocabulary: int) -> Any:
    """The same with the weights of a trained translator."""
    other = pre_norm(experiment, vocabulary).eval()
    reader, decoder = model.encoders[ROUTE], model.decoders[ROUTE]
    embedder: Any = reader.embedder
    with torch.no_grad():
        other.model.shared.weight.copy_(embedder.table)
        pairs: list[tuple[Any, Any]] = [(reader.encoder, other.model.encoder), (decoder, other.model.decoder)]
        for ours, theirs in pairs:
            places: Tensor = embedder.position(0, PLACES)
            theirs.embed_positions.weights[PAD + 1 : PAD + 1 + PLACES] = places
            _copy(ours.norm, theirs.layer_norm)
            for block, layer in zip(ours.blocks, theirs.layers, strict=True):
                _copy_block(block, layer)
    other.tie_weights()
    return other


def padded(rows: Sequence[Sequence[int]], value: int = PAD) -> Tensor:
    """As a padding collator does: (rows, longest)."""
    return nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=value)


def _copy(ours: nn.Module, theirs: nn.Module) -> None:
    theirs.load_state_dict(ours.state_dict())


def _copy_block(block: Any, layer: Any) -> None:
    attentions = [(block.own, layer.self_attn, block.own_norm, layer.self_attn_layer_norm)]
    if block.cross is not None:
        attentions.append((block.cross, layer.encoder_attn, block.cross_norm, layer.encoder_attn_layer_norm))
    for ours, theirs, norm, their_norm in attentions:
        _copy(norm, their_norm)
        _copy(ours.heads.from_query, theirs.q_proj)
        _copy(ours.heads.from_key, theirs.k_proj)
        _copy(ours.heads.from_value, theirs.v_proj)
        _copy(ours.heads.to_out, theirs.out_proj)
    _copy(block.feedforward_norm, layer.final_layer_norm)
    _copy(block.feedforward.to_hidden, layer.fc1)
    _copy(block.feedforward.to_out, layer.fc2)
