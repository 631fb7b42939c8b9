"""Marian's model.yml as the settings of a translator here, and a translator's settings as a model.yml.

Transformer: https://aclanthology.org/P18-4020; its fast decoders: https://aclanthology.org/D19-5632 and
https://arxiv.org/abs/1805.00631.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from regard.errors import CheckpointError, RegardError
from regard.exchange.format import short_repr, size_problem

_EPS, _GELU_SLOPE = 1e-6, 1.702  # of layer normalisation; what Marian calls gelu is x · sigmoid(1.702 · x)
SELF_ATTENTION, SSRU, AVERAGE_ATTENTION = "self-attention", "rnn", "average-attention"
_POST, _DROPPED = "dan", ("", "d")  # operations: dropout, addition, normalisation
_AAN = "transformer-dim-aan"
_NOTHING: tuple[Any, ...] = (None, False, 0, 0.0, "", [], "0", "none")
_FEEDFORWARDS: Mapping[str, Any] = {
    "relu": "position_wise",
    "swish": "swish",
    "gelu": {"name": "swish", "beta": _GELU_SLOPE},
}
_ONLY: Mapping[str, tuple[Any, ...]] = {  # values that a key may have; the first stands where it is missing
    "type": ("transformer",),
    "transformer-preprocess": _DROPPED,
    "transformer-postprocess": (_POST,),
    "transformer-postprocess-emb": ("d", ""),
    "transformer-postprocess-top": _DROPPED,
    "transformer-ffn-depth": (2,),
    "transformer-decoder-ffn-depth": (0, 2),
    "transformer-aan-depth": (2,),
    "transformer-train-positions": (False,),
    "transformer-train-position-embeddings": (False,),
    "transformer-decoder-autoreg": (SELF_ATTENTION, SSRU, AVERAGE_ATTENTION),
    "lemma-dim-emb": (0,),
    "layer-normalization": (False,),
    "tied-embeddings-src": (False,),
}
_HARMLESS = {  # they change training, or its log, alone
    "transformer-dropout", "transformer-dropout-attention", "transformer-dropout-ffn", "transformer-depth-scaling",
    "transformer-guided-alignment-layer", "transformer-flat-attention", "transformer-heads", "transformer-dim-ffn",
    "transformer-decoder-dim-ffn", "transformer-ffn-activation", "transformer-no-projection", "transformer-dim-aan",
    "transformer-aan-activation", "transformer-aan-nogate", "transformer-rnn-projection",
}  # fmt: skip
_WHY = {
    "transformer-preprocess": "its pre-norm normalises queries and not keys and values",
    "lemma-dim-emb": "it writes factors",
}


class NetworkShape(NamedTuple):
    """Sizes and kinds of a model.yml."""

    dim: int
    heads: int
    vocabularies: tuple[int, int]  # source, target
    layers: tuple[int, int]  # encoder, decoder
    feedforward: tuple[int, int]
    activation: str = "relu"
    decoder: str = SELF_ATTENTION
    out_proj: bool = True  # of attention
    rnn_projection: bool = False
    aan_dim: int = 2048
    aan_activation: str = "swish"
    aan_gate: bool = True
    tied: str = "all"

    def model_settings(self) -> dict[str, Any]:
        """Return the settings of the translator, without those that change training alone."""
        stacks = [
            {
                "name": "transformer",
                "num_layers": layers,
                "feedforward_dim": width,
                "feedforward": _FEEDFORWARDS[self.activation],
                "norm": "post",
                "norm_eps": _EPS,
            }
            for layers, width in zip(self.layers, self.feedforward, strict=True)
        ]
        socket = {
            "score": "scaled_dot",
            "num_heads": self.heads,
            "project": True,
            "head_dim": None,
            "out_proj": self.out_proj,
        }
        return {
            "name": "translator",
            "dim": self.dim,
            "embedder": {"name": "words", "zero_start": True},
            "position": {"name": "sinusoidal", "layout": "halves", "frequencies": "inclusive"},
            "encoder": stacks[0],
            "decoder": {**stacks[1], **self._history()},
            "self_attention": socket,
            "attention": socket,
            "head": {"name": "linear", "bias": True},
            "tied": self.tied,
        }

    def _history(self) -> dict[str, Any]:
        if self.decoder == SSRU:
            return {"history": {"name": "recurrent", "cell": "ssru", "out_proj": self.rnn_projection}}
        if self.decoder == SELF_ATTENTION:
            return {}
        average = {"gate": self.aan_gate, "gates": "own", "activation": self.aan_activation}
        return {"history": {"name": "average", "feedforward_dim": self.aan_dim, **average}}

    def config(self) -> str:
        """Return the model.yml."""
        return yaml.safe_dump(
            {
                "type": "transformer",
                "dim-emb": self.dim,
                "dim-vocabs": [*self.vocabularies],
                "enc-depth": self.layers[0],
                "dec-depth": self.layers[1],
                "dec-cell": "ssru" if self.decoder == SSRU else "gru",
                "dec-cell-base-depth": 2,
                "dec-cell-high-depth": 1,
                "enc-type": "bidirectional",
                "enc-cell": "gru",
                "enc-cell-depth": 1,
                "input-types": [],
                "layer-normalization": False,
                "lemma-dim-emb": 0,
                "skip": False,
                "right-left": False,
                "tied-embeddings": self.tied == "target",
                "tied-embeddings-src": False,
                "tied-embeddings-all": self.tied == "all",
                "transformer-heads": self.heads,
                "transformer-no-projection": not self.out_proj,
                "transformer-rnn-projection": self.rnn_projection,
                "transformer-dim-ffn": self.feedforward[0],
                "transformer-decoder-dim-ffn": self.feedforward[1],
                "transformer-ffn-depth": 2,
                "transformer-decoder-ffn-depth": 0,
                "transformer-ffn-activation": self.activation,
                "transformer-dim-aan": self.aan_dim,
                "transformer-aan-depth": 2,
                "transformer-aan-activation": self.aan_activation,
                "transformer-aan-nogate": not self.aan_gate,
                "transformer-decoder-autoreg": self.decoder,
                "transformer-tied-layers": [],
                "transformer-guided-alignment-layer": "last",
                "transformer-preprocess": "",
                "transformer-postprocess-emb": "d",
                "transformer-postprocess": _POST,
                "transformer-postprocess-top": "",
                "transformer-train-position-embeddings": False,
                "transformer-depth-scaling": False,
                "ulr": False,
                "version": "v1.9.0",
            }
        )


def read_shape(text: str, file: Path) -> NetworkShape:
    """Read a model.yml. Raises CheckpointError for a value that no part here has, with its key."""
    try:
        config = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        problem = " ".join(str(error).split())
        raise CheckpointError(file, f"has a model.yml that cannot be read: {problem:.200}") from error
    if not isinstance(config, dict):
        raise CheckpointError(file, "has a model.yml that is not a group of settings")
    for problem in _problems(config):
        raise CheckpointError(file, problem)
    sizes = {name: _size(config, name, file) for name in ("dim-emb", "enc-depth", "dec-depth", "transformer-heads")}
    feedforward = _size(config, "transformer-dim-ffn", file)
    decoder_forward = config.get("transformer-decoder-dim-ffn") or feedforward
    for name, value in (("transformer-decoder-dim-ffn", decoder_forward), (_AAN, config.get(_AAN, 2048))):
        _size({name: value}, name, file)
    if sizes["dim-emb"] % sizes["transformer-heads"] or sizes["dim-emb"] % 2:
        problem = f"dim-emb {sizes['dim-emb']} cannot be divided among {sizes['transformer-heads']} heads"
        raise CheckpointError(file, problem)
    return NetworkShape(
        sizes["dim-emb"],
        sizes["transformer-heads"],
        _vocabularies(config, file),
        (sizes["enc-depth"], sizes["dec-depth"]),
        (feedforward, decoder_forward),
        config.get("transformer-ffn-activation", "swish"),
        config.get("transformer-decoder-autoreg", SELF_ATTENTION),
        not config.get("transformer-no-projection", False),
        bool(config.get("transformer-rnn-projection", False)),
        config.get(_AAN, 2048),
        config.get("transformer-aan-activation", "swish"),
        not config.get("transformer-aan-nogate", False),
        "all" if config.get("tied-embeddings-all") else "target" if config.get("tied-embeddings") else "none",
    )


def shape_of(settings: Mapping[str, Any], vocabularies: tuple[int, int]) -> NetworkShape:
    """Return the shape that is nearest to the settings of a translator. Raises RegardError for another kind of model.

    Whether its settings equal those of the model must still be asked: see `first_difference`.
    """
    encoder, decoder = (_named(settings.get(side)) for side in ("encoder", "decoder"))
    kinds = (settings.get("name"), encoder["name"], decoder["name"])
    if kinds != ("translator", "transformer", "transformer"):
        raise RegardError(
            f"model: Marian's files hold Transformers that translate, and this is {' of '.join(map(str, kinds))}"
        )
    history = _named(decoder.get("history"))
    activations = {_named(one)["name"] if name != "gelu" else "": name for name, one in _FEEDFORWARDS.items()}
    forward = _named(encoder["feedforward"])
    activation = "gelu" if forward.get("beta") == _GELU_SLOPE else activations.get(forward["name"], "relu")
    return NetworkShape(
        settings["dim"],
        _named(settings["self_attention"])["num_heads"],
        vocabularies,
        (encoder["num_layers"], decoder["num_layers"]),
        (encoder["feedforward_dim"], decoder["feedforward_dim"]),
        activation,
        {"recurrent": SSRU, "average": AVERAGE_ATTENTION}.get(history["name"], SELF_ATTENTION),
        bool(settings["attention"]["out_proj"]),
        bool(history.get("out_proj")),
        history.get("feedforward_dim") or decoder["feedforward_dim"],
        history.get("activation", "swish"),
        bool(history.get("gate", True)),
        settings["tied"],
    )


def first_difference(mine: Any, theirs: Any, place: str = "model") -> str | None:
    """Return the first setting that a model has otherwise than Marian does, as a line; None: there is none.

    `mine` are complete settings. A choice may be its name alone; a setting that `theirs` does not name may be any.
    """
    if isinstance(theirs, Mapping):
        mine = mine if isinstance(mine, Mapping) else {"name": mine}
        found = (first_difference(mine.get(name), one, f"{place}.{name}") for name, one in theirs.items())
        return next((line for line in found if line is not None), None)
    mine = mine["name"] if isinstance(mine, Mapping) and isinstance(theirs, str) else mine
    if mine == theirs or (place.endswith(".project") and mine is None):
        return None
    place = place.removesuffix(".name")
    return f"{place} is {_shown(mine)}, and Marian has {_shown(theirs)}"


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) or value is None else str(value)


def _named(choice: Any) -> Mapping[str, Any]:
    return choice if isinstance(choice, Mapping) else {"name": choice}


def _problems(config: Mapping[str, Any]) -> Iterator[str]:
    """Faults of a model.yml: values that no part here has."""
    for name, allowed in _ONLY.items():
        value = config.get(name, allowed[0])
        if not any(value == one and isinstance(value, bool) == isinstance(one, bool) for one in allowed):
            why = f": {_WHY[name]}" if name in _WHY else ""
            yield f"{name} is {short_repr(value)}, and {' or '.join(map(repr, allowed))} can be read{why}"
    tied = config.get("transformer-tied-layers") or []
    if not isinstance(tied, list) or tied != [*range(1, len(tied) + 1)]:
        yield f"transformer-tied-layers is {short_repr(tied)}, and layers with weights of their own can be read"
    for name in ("transformer-ffn-activation", "transformer-aan-activation"):
        if config.get(name, "swish") not in [*_FEEDFORWARDS]:
            yield f"{name} is {short_repr(config[name])}, and {', '.join(_FEEDFORWARDS)} can be read"
    if config.get("transformer-decoder-autoreg") == SSRU and config.get("dec-cell") != "ssru":
        yield f"dec-cell is {short_repr(config.get('dec-cell'))}, and ssru can be read"
    yield from _average_problems(config)
    known = {*_ONLY, *_HARMLESS, "transformer-tied-layers"}
    for name, value in config.items():
        if str(name).startswith("transformer-") and name not in known and value not in _NOTHING:
            yield f"{name} is {short_repr(value)}, a setting that no part here has"


def _average_problems(config: Mapping[str, Any]) -> Iterator[str]:
    average = config.get("transformer-decoder-autoreg") == AVERAGE_ATTENTION
    if average and config.get("transformer-aan-activation", "swish") == "gelu":
        yield "transformer-aan-activation is 'gelu', and relu, swish can be read"
    if average and config.get("transformer-dim-aan", 2048) == config.get("dim-emb"):
        yield "transformer-dim-aan is dim-emb, and Marian then leaves its second layer out"


def _size(config: Mapping[str, Any], name: str, file: Path) -> int:
    value: Any = config.get(name)
    if problem := size_problem(name, value):
        raise CheckpointError(file, problem)
    return int(value)


def _vocabularies(config: Mapping[str, Any], file: Path) -> tuple[int, int]:
    found = config.get("dim-vocabs")
    if not isinstance(found, list) or len(found) != 2:
        raise CheckpointError(file, f"dim-vocabs is {short_repr(found)}, and the sizes of two vocabularies are needed")
    first, second = (_size({"dim-vocabs": one}, "dim-vocabs", file) for one in found)
    return first, second
