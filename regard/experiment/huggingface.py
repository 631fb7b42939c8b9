"""Import of BERT and RoBERTa checkpoints of Hugging Face's `save_pretrained`: config.json as settings of a run,
weights under our names, rows of pieces in our order.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from regard.config import SETTINGS_FILE, parse_json
from regard.errors import CheckpointError
from regard.text.huggingface import TOKENIZER_FILE as TOKENIZER
from regard.text.huggingface import read_tokenizer

CONFIG, _WEIGHTS_FILE = "config.json", "model.safetensors"
_KINDS = ("bert", "roberta")
_LARGEST = 1_000_000  # limit of all sizes; four times the largest vocabulary of such a model
_FEEDFORWARDS = {"gelu": "gelu", "relu": "position_wise"}
ONLY = {
    "position_embedding_type": "absolute",
    "is_decoder": False,
    "add_cross_attention": False,
}  # the supported values
_SIZES = ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size",
         "max_position_embeddings", "type_vocab_size")  # fmt: skip
_SHARES = ("hidden_dropout_prob", "attention_probs_dropout_prob", "layer_norm_eps", "initializer_range")
_DEFAULTS = {"hidden_act": "gelu", "type_vocab_size": 2, "hidden_dropout_prob": 0.1,
            "attention_probs_dropout_prob": 0.1, "layer_norm_eps": 1e-12, "initializer_range": 0.02,
            "tie_word_embeddings": True, "pad_token_id": 1, **ONLY}  # fmt: skip
FINE_TUNING = {"learning_rate": 5e-5}  # of https://arxiv.org/abs/1810.04805, appendix A.3

_Parts = dict[str, dict[str, Tensor]]  # part of a model → name within it → value
_PREFIXES = ("bert.", "roberta.")
_OLD = {".gamma": ".weight", ".beta": ".bias"}  # of normalisations, in files made from TensorFlow's
_WORDS, _PLACES, _SEGMENTS = (f"embeddings.{one}_embeddings.weight" for one in ("word", "position", "token_type"))
_BLOCK = {
    "own.heads.from_query": "attention.self.query",
    "own.heads.from_key": "attention.self.key",
    "own.heads.from_value": "attention.self.value",
    "own.heads.to_out": "attention.output.dense",
    "own_norm": "attention.output.LayerNorm",
    "feedforward.to_hidden": "intermediate.dense",
    "feedforward.to_out": "output.dense",
    "feedforward_norm": "output.LayerNorm",
}
_HEADS = {  # kind of a model → layers of its head, bias of its words, embeddings of its words where not tied
    "bert": ({"dense": "cls.predictions.transform.dense", "norm": "cls.predictions.transform.LayerNorm"},
             "cls.predictions.bias", "cls.predictions.decoder.weight"),
    "roberta": ({"dense": "lm_head.dense", "norm": "lm_head.layer_norm"}, "lm_head.bias", "lm_head.decoder.weight"),
}  # fmt: skip
_Take = Callable[..., Tensor]  # name, sizes → the tensor of that name, which must have these sizes


def is_huggingface(folder: Path) -> bool:
    """Return whether a folder holds such a model, and is not a run."""
    return (folder / CONFIG).is_file() and not (folder / SETTINGS_FILE).is_file()


def huggingface_settings(folder: Path) -> dict[str, Any]:
    """Return the settings of a masked language model with a folder's network and tokenizer.

    Raises CheckpointError for missing files, and for unsupported values of config.json.
    """
    config = huggingface_config(folder)
    _check_files(folder)
    heads, eps, std = config["num_attention_heads"], config["layer_norm_eps"], config["initializer_range"]
    return {
        "task": "masked_language_model",
        "text": {
            "tokenizer": {"name": "huggingface", "file": str(absolute(folder) / TOKENIZER)},
            "shared": True,
        },
        "model": {
            "name": "masked_language_model",
            "dim": config["hidden_size"],
            "embedder": {"name": "segments", "num_segments": config["type_vocab_size"], "eps": eps},
            "position": {
                "name": "learned",
                "max_length": config["max_position_embeddings"] - first_place(config),
                "std": std,
            },
            "encoder": {
                "name": "transformer",
                "num_layers": config["num_hidden_layers"],
                "feedforward_dim": config["intermediate_size"],
                "feedforward": {"name": _FEEDFORWARDS[config["hidden_act"]], "dropout": 0.0},
                "norm": "post",
                "norm_eps": eps,
            },
            "self_attention": {
                "score": "scaled_dot",
                "num_heads": heads,
                "dropout": config["attention_probs_dropout_prob"],
            },
            "head": {"name": "transformed", "eps": eps},
            "tied": config["tie_word_embeddings"],
            "dropout": config["hidden_dropout_prob"],
        },
        "training": FINE_TUNING,
    }


def huggingface_config(folder: Path) -> dict[str, Any]:
    """Return config.json with defaults, checked."""
    file = folder / CONFIG
    try:
        config = parse_json(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CheckpointError(file, f"cannot be read: {error}") from error
    if not isinstance(config, dict):
        raise CheckpointError(file, "is not a JSON object")
    config = {**_DEFAULTS, **config}
    for problem in _foreign(config):
        raise CheckpointError(file, problem)
    return config


def absolute(folder: Path) -> Path:
    """Return the absolute path of a folder, as stored in the settings of a run."""
    return Path(os.path.abspath(os.path.expanduser(folder)))


def first_place(config: Mapping[str, Any]) -> int:
    """Return the row of the first position: RoBERTa's follow the number of its padding symbol."""
    return config["pad_token_id"] + 1 if config["model_type"] == "roberta" else 0


def _foreign(config: Mapping[str, Any]) -> Iterator[str]:
    """Yield unsupported values."""
    if str(config.get("model_type")) not in _KINDS:
        known = f"{' and '.join(_KINDS)} can be read, and translators of regard import"
        yield f"model_type is {config.get('model_type')!r}, and only {known}"
    for name in _SIZES:
        if type(config.get(name)) is not int or not 1 <= config[name] <= _LARGEST:
            yield f"{name} is {config.get(name)!r:.40}, and a whole number from 1 to {_LARGEST:,} is needed"
    pad = config["pad_token_id"]
    if config["model_type"] == "roberta" and not (
        type(pad) is int and 0 <= pad < config["max_position_embeddings"] - 1
    ):
        yield f"pad_token_id is {pad!r}, and positions follow it"
    for name in _SHARES:
        if type(config[name]) not in (int, float) or not 0 <= config[name] < 1:
            yield f"{name} is {config[name]!r}, and a number from 0 to below 1 is needed"
    if str(config["hidden_act"]) not in _FEEDFORWARDS:
        yield f"hidden_act is {config['hidden_act']!r}, and only {' and '.join(_FEEDFORWARDS)} can be read"
    for name, value in ONLY.items():
        if config[name] != value:
            yield f"{name} is {config[name]!r}, and only {value!r} can be read"


def _check_files(folder: Path) -> None:
    if not (folder / _WEIGHTS_FILE).is_file():
        problem, hint = f"has no {_WEIGHTS_FILE}", "model.save_pretrained(FOLDER, safe_serialization=True)"
        if any(folder.glob("*.bin")):
            problem = "its weights are a pickle, which may run any code when it is read"
        if (folder / f"{_WEIGHTS_FILE}.index.json").is_file():
            problem, hint = "its weights are in several files", "model.save_pretrained(FOLDER, max_shard_size='100GB')"
        raise CheckpointError(folder, problem, hint)
    if not (folder / TOKENIZER).is_file():
        raise CheckpointError(
            folder, f"has no {TOKENIZER}", "AutoTokenizer.from_pretrained(NAME).save_pretrained(FOLDER)"
        )


def huggingface_parts(folder: Path) -> _Parts:
    """Return the weights of embedder, encoder, pooling and head; the last two only where the folder has them.

    Rows of the piece embeddings are those of tokenizer.json, in the order of our ids. The head of a BERT with ReLU is
    left out, since ours has GELU. Raises CheckpointError for a tensor that is missing or has another shape.
    """
    config, file = huggingface_config(folder), folder / _WEIGHTS_FILE
    state = _read(file)
    kind, dim = config["model_type"], config["hidden_size"]
    order = torch.tensor(read_tokenizer(folder / TOKENIZER).order)
    if len(order) > config["vocab_size"] or int(order.max()) >= config["vocab_size"]:
        problem = f"vocab_size is {config['vocab_size']}, and {TOKENIZER} has {int(order.max()) + 1} pieces"
        raise CheckpointError(folder / CONFIG, problem, "take the tokenizer of this model")

    def take(name: str, *sizes: int) -> Tensor:
        return _checked(state, name, sizes, file)

    embedder = {
        "table": take(_WORDS, config["vocab_size"], dim)[order],
        "segments": take(_SEGMENTS, config["type_vocab_size"], dim),
        "position.table": take(_PLACES, config["max_position_embeddings"], dim)[first_place(config) :],
        **_norm(take, "norm", "embeddings.LayerNorm", dim),
    }
    parts = {"embedder": embedder, "source_embedder": embedder, "encoder": _encoder(take, config)}
    if "pooler.dense.weight" in state:
        parts["pooling"] = _linear(take, "dense", "pooler.dense", dim, dim)
    names, bias, table = _HEADS[kind]
    if bias in state and (kind == "roberta" or config["hidden_act"] == "gelu"):
        words = take(table if table in state else _WORDS, config["vocab_size"], dim)
        parts["head"] = {
            **_linear(take, "dense", names["dense"], dim, dim),
            **_norm(take, "norm", names["norm"], dim),
            "words.weight": words[order],
            "words.bias": take(bias, config["vocab_size"])[order],
        }
    return parts


def _encoder(take: _Take, config: Mapping[str, Any]) -> dict[str, Tensor]:
    dim, hidden, found = config["hidden_size"], config["intermediate_size"], dict[str, Tensor]()
    sizes = {"to_hidden": (hidden, dim), "feedforward.to_out": (dim, hidden)}
    for number in range(config["num_hidden_layers"]):
        for mine, theirs in _BLOCK.items():
            here, there = f"blocks.{number}.{mine}", f"encoder.layer.{number}.{theirs}"
            if mine.endswith("norm"):
                found |= _norm(take, here, there, dim)
            else:
                shape = next((size for name, size in sizes.items() if mine.endswith(name)), (dim, dim))
                found |= _linear(take, here, there, *shape)
    return found


def _linear(take: _Take, mine: str, theirs: str, out_dim: int, in_dim: int) -> dict[str, Tensor]:
    weight, bias = take(f"{theirs}.weight", out_dim, in_dim), take(f"{theirs}.bias", out_dim)
    return {f"{mine}.weight": weight, f"{mine}.bias": bias}


def _norm(take: _Take, mine: str, theirs: str, dim: int) -> dict[str, Tensor]:
    return {f"{mine}.{one}": take(f"{theirs}.{one}", dim) for one in ("weight", "bias")}


def _read(file: Path) -> dict[str, Tensor]:
    """Return the tensors of a file by their names without a prefix, as float32."""
    try:
        state = load_file(file)
    except (OSError, SafetensorError) as error:
        raise CheckpointError(file, f"cannot be read: {error}") from error
    found = {}
    for name, tensor in state.items():
        plain = next((name.removeprefix(prefix) for prefix in _PREFIXES if name.startswith(prefix)), name)
        end = next((end for end in _OLD if plain.endswith(end)), "")
        found[plain.removesuffix(end) + _OLD.get(end, "")] = tensor.float()
    return found


def _checked(state: Mapping[str, Tensor], name: str, sizes: tuple[int, ...], file: Path) -> Tensor:
    if name not in state:
        raise CheckpointError(file, f"has no tensor {name}", f"{CONFIG} requires it")
    if state[name].shape != sizes:
        shapes = [" × ".join(map(str, one)) or "no axis" for one in (state[name].shape, sizes)]
        raise CheckpointError(file, f"{name} has the shape {shapes[0]}; {CONFIG} requires {shapes[1]}")
    if not bool(state[name].isfinite().all()):
        raise CheckpointError(file, f"{name} has numbers that are not finite")
    return state[name]
