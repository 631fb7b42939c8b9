"""The weights of a BERT or a RoBERTa of Hugging Face under our names, its rows of pieces in our order."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from regard.errors import CheckpointError
from regard.experiment.huggingface import CONFIG, WEIGHTS, first_place, huggingface_config
from regard.text.huggingface import TOKENIZER_FILE as TOKENIZER
from regard.text.huggingface import read_tokenizer

Parts = dict[str, dict[str, Tensor]]  # part of a model → name within it → value
PREFIXES = ("bert.", "roberta.")
OLD = {".gamma": ".weight", ".beta": ".bias"}  # of normalisations, in files made from TensorFlow's
WORDS, PLACES, SEGMENTS = (f"embeddings.{one}_embeddings.weight" for one in ("word", "position", "token_type"))
BLOCK = {
    "own.heads.from_query": "attention.self.query",
    "own.heads.from_key": "attention.self.key",
    "own.heads.from_value": "attention.self.value",
    "own.heads.to_out": "attention.output.dense",
    "own_norm": "attention.output.LayerNorm",
    "feedforward.to_hidden": "intermediate.dense",
    "feedforward.to_out": "output.dense",
    "feedforward_norm": "output.LayerNorm",
}
HEADS = {  # kind of a model → layers of its head, bias of its words, table of its words where that is not tied
    "bert": ({"dense": "cls.predictions.transform.dense", "norm": "cls.predictions.transform.LayerNorm"},
             "cls.predictions.bias", "cls.predictions.decoder.weight"),
    "roberta": ({"dense": "lm_head.dense", "norm": "lm_head.layer_norm"}, "lm_head.bias", "lm_head.decoder.weight"),
}  # fmt: skip
Take = Callable[..., Tensor]  # name, sizes → the tensor of that name, which must have these sizes


def huggingface_parts(folder: Path) -> Parts:
    """Return the weights of embedder, encoder, pooling and head; the last two only where the folder has them.

    Rows of the table of pieces are those of tokenizer.json, in the order of its ids here. Of a BERT with ReLU the head
    is left out, since ours has GELU. Raises CheckpointError for a tensor that is missing or has another shape.
    """
    config, file = huggingface_config(folder), folder / WEIGHTS
    state = _read(file)
    kind, dim = config["model_type"], config["hidden_size"]
    order = torch.tensor(read_tokenizer(folder / TOKENIZER).order)
    if len(order) > config["vocab_size"] or int(order.max()) >= config["vocab_size"]:
        problem = f"vocab_size is {config['vocab_size']}, and {TOKENIZER} has {int(order.max()) + 1} pieces"
        raise CheckpointError(folder / CONFIG, problem, "take the tokenizer of this model")

    def take(name: str, *sizes: int) -> Tensor:
        return _checked(state, name, sizes, file)

    embedder = {
        "table": take(WORDS, config["vocab_size"], dim)[order],
        "segments": take(SEGMENTS, config["type_vocab_size"], dim),
        "position.table": take(PLACES, config["max_position_embeddings"], dim)[first_place(config) :],
        **_norm(take, "norm", "embeddings.LayerNorm", dim),
    }
    parts = {"embedder": embedder, "source_embedder": embedder, "encoder": _encoder(take, config)}
    if "pooler.dense.weight" in state:
        parts["pooling"] = _linear(take, "dense", "pooler.dense", dim, dim)
    names, bias, table = HEADS[kind]
    if bias in state and (kind == "roberta" or config["hidden_act"] == "gelu"):
        words = take(table if table in state else WORDS, config["vocab_size"], dim)
        parts["head"] = {
            **_linear(take, "dense", names["dense"], dim, dim),
            **_norm(take, "norm", names["norm"], dim),
            "words.weight": words[order],
            "words.bias": take(bias, config["vocab_size"])[order],
        }
    return parts


def _encoder(take: Take, config: Mapping[str, Any]) -> dict[str, Tensor]:
    dim, hidden, found = config["hidden_size"], config["intermediate_size"], dict[str, Tensor]()
    sizes = {"to_hidden": (hidden, dim), "feedforward.to_out": (dim, hidden)}
    for number in range(config["num_hidden_layers"]):
        for mine, theirs in BLOCK.items():
            here, there = f"blocks.{number}.{mine}", f"encoder.layer.{number}.{theirs}"
            if mine.endswith("norm"):
                found |= _norm(take, here, there, dim)
            else:
                shape = next((size for name, size in sizes.items() if mine.endswith(name)), (dim, dim))
                found |= _linear(take, here, there, *shape)
    return found


def _linear(take: Take, mine: str, theirs: str, out_dim: int, in_dim: int) -> dict[str, Tensor]:
    weight, bias = take(f"{theirs}.weight", out_dim, in_dim), take(f"{theirs}.bias", out_dim)
    return {f"{mine}.weight": weight, f"{mine}.bias": bias}


def _norm(take: Take, mine: str, theirs: str, dim: int) -> dict[str, Tensor]:
    return {f"{mine}.{one}": take(f"{theirs}.{one}", dim) for one in ("weight", "bias")}


def _read(file: Path) -> dict[str, Tensor]:
    """The tensors of a file by their names without a prefix, as float32."""
    try:
        state = load_file(file)
    except (OSError, SafetensorError) as error:
        raise CheckpointError(file, f"cannot be read: {error}") from error
    found = {}
    for name, tensor in state.items():
        plain = next((name.removeprefix(prefix) for prefix in PREFIXES if name.startswith(prefix)), name)
        end = next((end for end in OLD if plain.endswith(end)), "")
        found[plain.removesuffix(end) + OLD.get(end, "")] = tensor.float()
    return found


def _checked(state: Mapping[str, Tensor], name: str, sizes: tuple[int, ...], file: Path) -> Tensor:
    if name not in state:
        raise CheckpointError(file, f"has no tensor {name}", f"{CONFIG} asks for it")
    if state[name].shape != sizes:
        shapes = [" × ".join(map(str, one)) or "no axis" for one in (state[name].shape, sizes)]
        raise CheckpointError(file, f"{name} has the shape {shapes[0]}, and {CONFIG} asks for {shapes[1]}")
    if not bool(state[name].isfinite().all()):
        raise CheckpointError(file, f"{name} has numbers that are not finite")
    return state[name]
