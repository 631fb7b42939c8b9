"""The settings of a BERT or a RoBERTa that Hugging Face's `save_pretrained` wrote: config.json as a run's settings."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from regard.config import SETTINGS_FILE, parse_json
from regard.errors import CheckpointError
from regard.text.huggingface import TOKENIZER_FILE as TOKENIZER

CONFIG, WEIGHTS = "config.json", "model.safetensors"
_KINDS = ("bert", "roberta")
_LARGEST = 1_000_000  # of all sizes; the largest vocabulary of such a model has a quarter of it
_FEEDFORWARDS = {"gelu": "gelu", "relu": "position_wise"}
ONLY = {"position_embedding_type": "absolute", "is_decoder": False, "add_cross_attention": False}  # what we build
_SIZES = ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size",
         "max_position_embeddings", "type_vocab_size")  # fmt: skip
_SHARES = ("hidden_dropout_prob", "attention_probs_dropout_prob", "layer_norm_eps", "initializer_range")
_DEFAULTS = {"hidden_act": "gelu", "type_vocab_size": 2, "hidden_dropout_prob": 0.1,
            "attention_probs_dropout_prob": 0.1, "layer_norm_eps": 1e-12, "initializer_range": 0.02,
            "tie_word_embeddings": True, "pad_token_id": 1, **ONLY}  # fmt: skip
FINE_TUNING = {"learning_rate": 5e-5}  # of https://arxiv.org/abs/1810.04805, appendix A.3


def is_huggingface(folder: Path) -> bool:
    """Whether a folder holds such a model and no run."""
    return (folder / CONFIG).is_file() and not (folder / SETTINGS_FILE).is_file()


def huggingface_settings(folder: Path) -> dict[str, Any]:
    """Return the settings of a masked language model with the network and the tokenizer of a folder.

    Raises CheckpointError for files that are missing, and for values of config.json that no part here has.
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
    """Return config.json, complete and checked."""
    file = folder / CONFIG
    try:
        config = parse_json(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CheckpointError(file, f"cannot be read: {error}") from error
    if not isinstance(config, dict):
        raise CheckpointError(file, "holds no group of settings")
    config = {**_DEFAULTS, **config}
    for problem in _foreign(config):
        raise CheckpointError(file, problem)
    return config


def absolute(folder: Path) -> Path:
    """Return a folder from the root, as it stands in the settings of a run."""
    return Path(os.path.abspath(os.path.expanduser(folder)))


def first_place(config: Mapping[str, Any]) -> int:
    """Return the row of the first position: RoBERTa's follow the number of its padding symbol."""
    return config["pad_token_id"] + 1 if config["model_type"] == "roberta" else 0


def _foreign(config: Mapping[str, Any]) -> Iterator[str]:
    """What no part here has."""
    if str(config.get("model_type")) not in _KINDS:
        yield f"model_type is {config.get('model_type')!r}, and only {' and '.join(_KINDS)} can be read"
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
    if not (folder / WEIGHTS).is_file():
        problem, hint = f"has no {WEIGHTS}", "model.save_pretrained(FOLDER, safe_serialization=True)"
        if any(folder.glob("*.bin")):
            problem = "its weights are a pickle, which may run any code when it is read"
        if (folder / f"{WEIGHTS}.index.json").is_file():
            problem, hint = "its weights are in several files", "model.save_pretrained(FOLDER, max_shard_size='100GB')"
        raise CheckpointError(folder, problem, hint)
    if not (folder / TOKENIZER).is_file():
        raise CheckpointError(
            folder, f"has no {TOKENIZER}", "AutoTokenizer.from_pretrained(NAME).save_pretrained(FOLDER)"
        )
