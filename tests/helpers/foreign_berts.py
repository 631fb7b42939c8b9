"""Small BERTs and RoBERTas with random weights, in the files of Hugging Face, and what they answer, in plain torch."""

import json
import math
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers
from torch import Tensor
from torch.nn import functional

BERT = ["[PAD]", "[unused]", "a", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = [
    *["the", "dog", "cat", "man", "sees", "has", "two", "red", "apples", "##s", "un", "##known"],
    *",.0123456789bc",
]
ROBERTA = ["<s>", "<pad>", "</s>", "<unk>"]
SIZES = {
    "hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 20,
    "max_position_embeddings": 40,
}  # fmt: skip


def bert_tokenizer() -> Tokenizer:
    """Words in lower case, cut as BERT does."""
    made = Tokenizer(models.WordPiece({piece: at for at, piece in enumerate(BERT + WORDS)}, unk_token="[UNK]"))
    made.normalizer, made.pre_tokenizer = normalizers.BertNormalizer(lowercase=True), pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece()
    made.add_special_tokens([BERT[0], *BERT[3:]])
    made.enable_truncation(2)  # which is not to count
    return made


def roberta_tokenizer() -> Tokenizer:
    """Pieces of bytes."""
    pieces = [*ROBERTA, *sorted(pre_tokenizers.ByteLevel.alphabet()), "he", "Ġt", "Ġthe", "<mask>"]
    merges = [("h", "e"), ("Ġ", "t"), ("Ġt", "he")]
    made = Tokenizer(models.BPE({piece: at for at, piece in enumerate(pieces)}, merges))
    made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    made.add_special_tokens([*ROBERTA, AddedToken("<mask>", lstrip=True, special=True)])
    return made


def write_bert(folder: Path, *, spare: int = 3, prefix: str = "bert.", head: bool = True, **config: object) -> Path:
    """A BERT; its table has some rows more than the tokenizer has pieces."""
    settings = {"model_type": "bert", "type_vocab_size": 2, "layer_norm_eps": 1e-6, **config}
    return _write(folder, bert_tokenizer(), settings, spare, prefix, "cls.predictions." if head else None)


def write_roberta(folder: Path, *, prefix: str = "roberta.", head: bool = True, **config: object) -> Path:
    """A RoBERTa, whose first position is the third row of the table."""
    settings = {"model_type": "roberta", "type_vocab_size": 1, "layer_norm_eps": 1e-5, "pad_token_id": 1, **config}
    return _write(folder, roberta_tokenizer(), settings, 0, prefix, "lm_head." if head else None)


def _write(
    folder: Path, tokenizer: Tokenizer, settings: dict[str, object], spare: int, prefix: str, head: str | None
) -> Path:
    folder.mkdir(parents=True)
    config = {**SIZES, "hidden_act": "gelu", "vocab_size": tokenizer.get_vocab_size() + spare, **settings}
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    draws = torch.Generator().manual_seed(5)
    state = {}
    for name, shape in _shapes(config, prefix, head).items():
        state[name] = torch.randn(shape, generator=draws) * 0.3
        state[name] += name.endswith(("norm.weight", "Norm.weight", "gamma"))
    save_file(state, folder / "model.safetensors")
    return folder


def _shapes(config: dict[str, object], prefix: str, head: str | None) -> dict[str, tuple[int, ...]]:
    vocab, dim, hidden = config["vocab_size"], config["hidden_size"], config["intermediate_size"]
    rows = {"word": vocab, "position": config["max_position_embeddings"], "token_type": config["type_vocab_size"]}
    shapes = {f"{prefix}embeddings.{name}_embeddings.weight": (count, dim) for name, count in rows.items()}
    layers, norms = {f"{prefix}pooler.dense": (dim, dim)}, [f"{prefix}embeddings.LayerNorm"]
    for number in range(config["num_hidden_layers"]):
        block = f"{prefix}encoder.layer.{number}."
        layers |= {f"{block}attention.self.{one}": (dim, dim) for one in ("query", "key", "value")}
        layers |= {f"{block}attention.output.dense": (dim, dim), f"{block}intermediate.dense": (hidden, dim)}
        layers |= {f"{block}output.dense": (dim, hidden)}
        norms += [f"{block}attention.output.LayerNorm", f"{block}output.LayerNorm"]
    if head is not None:
        inner = "transform.dense" if head.startswith("cls") else "dense"
        layers[head + inner] = (dim, dim)
        norms.append(head + ("transform.LayerNorm" if head.startswith("cls") else "layer_norm"))
        shapes[f"{head}bias"] = (vocab,)
    for name, shape in layers.items():
        shapes |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
    return {**shapes, **{f"{name}.{one}": (dim,) for name in norms for one in ("weight", "bias")}}


def hidden_states(state: dict[str, Tensor], config: dict[str, object], ids: Tensor, segments: Tensor) -> Tensor:
    """ids and segments (n,) → the last states (n, dim): equations 1 and 2 of arXiv:1706.03762, figure 2 of 1810.04805.

    Names without a prefix.
    """
    eps, heads = config["layer_norm_eps"], config["num_attention_heads"]

    def linear(vectors: Tensor, name: str) -> Tensor:
        return vectors @ state[f"{name}.weight"].T + state[f"{name}.bias"]

    def norm(vectors: Tensor, name: str) -> Tensor:
        centred = vectors - vectors.mean(-1, keepdim=True)
        scaled = centred / (centred.square().mean(-1, keepdim=True) + eps).sqrt()
        return scaled * state[f"{name}.weight"] + state[f"{name}.bias"]

    first = 2 if config["model_type"] == "roberta" else 0
    words, places, texts = (state[f"embeddings.{one}_embeddings.weight"] for one in ("word", "position", "token_type"))
    states = norm(words[ids] + places[first : first + len(ids)] + texts[segments], "embeddings.LayerNorm")
    for number in range(config["num_hidden_layers"]):
        block = f"encoder.layer.{number}."
        query, key, value = (
            linear(states, f"{block}attention.self.{one}").chunk(heads, dim=-1) for one in ("query", "key", "value")
        )
        seen = [(q @ k.T / math.sqrt(q.shape[-1])).softmax(-1) @ v for q, k, v in zip(query, key, value, strict=True)]
        mixed = linear(torch.cat(seen, dim=-1), f"{block}attention.output.dense")
        states = norm(states + mixed, f"{block}attention.output.LayerNorm")
        inner = linear(states, f"{block}intermediate.dense")
        inner = functional.relu(inner) if config["hidden_act"] == "relu" else inner * (1 + (inner / 2**0.5).erf()) / 2
        states = norm(states + linear(inner, f"{block}output.dense"), f"{block}output.LayerNorm")
    return states
