"""Translators that other programs' networks can hold: plain Transformers, with features and pieces in their order."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from regard.config import as_values
from regard.errors import RegardError
from regard.exchange.format import check_plain_translator, not_exportable
from regard.exchange.huggingface_weights import ARCHITECTURES, OUTPUT_TABLE, SOURCE_TABLE, TARGET_TABLE
from regard.exchange.vocabularies import Side
from regard.pieces import BOS, EOS, PAD, UNK
from regard.predictor import Predictor
from regard.text.sentencepiece import SentencePieceTokenizer
from regard.text.subwords import SubwordTokenizer
from regard.training.shards import Tensors

_SOCKET = {"gate": False, "bias": True, "out_proj": True, "head_dim": None}
_ACTIVATIONS = {"position_wise": "relu", "gelu": "gelu", "swish": "swish"}
_READS = ("from_query.weight", "from_key.weight", "from_value.weight", "to_hidden.weight")  # columns are features
_WRITES = ("to_out.weight", "to_out.bias")  # rows are features


class NetworkLimits(NamedTuple):
    """Parts and settings that the networks of another program may have, beside those of all."""

    program: str
    positions: tuple[str, ...]  # rows of POSITIONS
    blocks: Mapping[str, Any]  # settings of encoder and decoder that have one value there
    embedder: Mapping[str, Any]  # the same of the embedder
    halves: bool  # of a sinusoidal position: it has all sines first


TRANSFORMERS = NetworkLimits(
    "transformers",
    ("sinusoidal",),
    {"norm_eps": 1e-5, "history": None, "alignment_layer": -1},
    {"merge": "add", "zero_start": False},
    halves=True,
)
CTRANSLATE2 = NetworkLimits(
    "CTranslate2", ("sinusoidal", "learned"), {"history": None}, {"merge": "add"}, halves=False
)  # it stores positions as a table


class StandardNetwork(NamedTuple):
    """A Transformer with its settings in plain words."""

    settings: Mapping[str, Any]  # of the model, as a config has them
    weights: Tensors  # by our names, features in halves where the program has them so
    source: Side
    target: Side
    joint: bool  # ids of both sides are the same pieces

    @property
    def architecture(self) -> str:
        """A row of ARCHITECTURES. Raises RegardError for a network of none of them."""
        position, norm = self.settings["position"].settings, self.settings["encoder"].settings["norm"]
        mine = norm, position.get("frequencies", "paper"), position.get("offset", 0)
        for name, one in ARCHITECTURES.items():
            if mine == (one.norm, one.position.get("frequencies", "paper"), one.position.get("offset", 0)):
                return name
        raise _refused(f"model.position is {dict(position)} beside norm {norm}", "frequencies: paper, offset: 0")

    @property
    def activation(self) -> str:
        """relu, gelu or swish."""
        return _ACTIVATIONS[self.settings["encoder"].settings["feedforward"].name]

    @property
    def heads(self) -> int:
        """Number of heads, the same everywhere."""
        heads: int = self.settings["attention"].num_heads
        return heads


def standard_network(predictor: Predictor, limits: NetworkLimits = TRANSFORMERS) -> StandardNetwork:
    """Return the network of a run. Raises RegardError, with what is in the way, for one that a program cannot carry."""
    experiment = predictor.run.experiment
    check_plain_translator(experiment, limits.program)
    settings = experiment.model.settings
    for place, found, wanted in _differences(settings, limits):
        raise _refused(f"model.{place} is {_shown(found)}", _shown(wanted), limits.program)
    columns = predictor.task.vocabularies
    source, target = (_side(columns[name].tokenizer, name) for name in ("source", "target"))
    weights = dict(predictor.model.state_dict())
    if limits.halves and settings["position"].settings.get("layout") == "interleaved":
        weights = _in_halves(weights, settings["dim"])
    joint = columns["source"] is columns["target"] or columns["source"].has_ids_of(columns["target"])
    return StandardNetwork(settings, weights, source, target, joint)


def _differences(settings: Mapping[str, Any], limits: NetworkLimits) -> list[tuple[str, Any, Any]]:
    """Settings that no other program has: the place, what stands there, and what may."""
    named = {"encoder": "transformer", "decoder": "transformer", "embedder": "words", "head": "linear"}
    found: list[tuple[str, Any, Any]]
    found = [(name, settings[name].name, one) for name, one in named.items() if settings[name].name != one]
    if found:
        return found
    position = settings["position"]
    if position is None or position.name not in limits.positions:
        return [("position", position and position.name, " or ".join(limits.positions))]
    for side in ("encoder", "decoder"):
        own = settings[side].settings
        found += [(f"{side}.{key}", own[key], one) for key, one in limits.blocks.items() if own.get(key, one) != one]
        if own["feedforward"].name not in _ACTIVATIONS or own["feedforward"].settings.get("beta", 1.0) != 1.0:
            found.append((f"{side}.feedforward", own["feedforward"].name, "relu, gelu or swish"))
    if settings["encoder"].settings["norm"] != settings["decoder"].settings["norm"]:
        found.append(("decoder.norm", settings["decoder"].settings["norm"], settings["encoder"].settings["norm"]))
    for name in ("attention", "self_attention"):
        socket = settings[name]
        heads, projects = settings["attention"].num_heads, socket.project or socket.num_heads > 1
        parts = socket.score.name, socket.weighting.name, [one.name for one in socket.span], socket.num_heads, projects
        wanted = "scaled_dot", "softmax", ["everywhere"], heads, True
        found += [(name, one, other) for one, other in zip(parts, wanted, strict=True) if one != other]
        found += [(f"{name}.{key}", getattr(socket, key), one) for key, one in _SOCKET.items()
                  if getattr(socket, key) != one]  # fmt: skip
    words = settings["embedder"].settings
    return found + [(f"embedder.{key}", words[key], one) for key, one in limits.embedder.items()
                    if words.get(key, one) != one]  # fmt: skip


def _shown(value: Any) -> str:
    """Return a value as a setting on the command line has it."""
    return json.dumps(as_values(value))


def _side(tokenizer: Any, name: str) -> Side:
    match tokenizer:
        case SentencePieceTokenizer():
            listed = tokenizer.listed
            names, order = [""] * (max(listed.order) + 1), [*listed.order]
            for piece, there in zip(listed.pieces, order, strict=True):
                names[there] = piece
            specials = (order[PAD], order[BOS], order[EOS], order[UNK])
            if listed.copies_start:
                order[BOS] = -1
            return Side(tokenizer.model, names, order, specials, listed.before)
        case SubwordTokenizer():
            names = tokenizer.pieces(range(len(tokenizer)))
            return Side(tokenizer.model, names, [*range(len(names))], (PAD, BOS, EOS, UNK))
    raise _refused(f"text.tokenizer of its {name} is not a SentencePiece model", "text.tokenizer=subwords")


def _in_halves(weights: Mapping[str, Tensor], dim: int) -> Tensors:
    """The same network with its features in another order: those of sines first."""
    order = torch.cat([torch.arange(0, dim, 2), torch.arange(1, dim, 2)])
    found = Tensors()
    for name, tensor in weights.items():
        norm = name.rpartition(".")[0].endswith("norm")
        if name.endswith(_READS) or name in (SOURCE_TABLE, TARGET_TABLE, OUTPUT_TABLE):
            found[name] = tensor[:, order]
        else:
            found[name] = tensor[order] if name.endswith(_WRITES) or norm else tensor
    return found


def _refused(problem: str, needed: str, program: str = "other programs") -> RegardError:
    return not_exportable(problem, needed, program)
