"""Folders of CTranslate2 (https://github.com/OpenNMT/CTranslate2), written through its own specs.

Pieces are numbered as here. Positions are a table, so that every formula of them fits. Padding and the beginning, which
no translation has, get a bias that leaves them no probability.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import sentencepiece
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.config import Doc
from regard.decoding import BeamSearch, Search
from regard.errors import RegardError
from regard.exchange.format import Format, Program
from regard.exchange.huggingface_weights import DECODER, ENCODER, OUTPUT_BIAS, OUTPUT_TABLE, SOURCE_TABLE, TARGET_TABLE
from regard.exchange.standard_network import CTRANSLATE2, StandardNetwork, standard_network
from regard.exchange.vocabularies import SOURCE_MODEL, TARGET_MODEL
from regard.models import ROUTE
from regard.pieces import BOS, EOS, PAD, UNK
from regard.predictor import Predictor
from regard.predictor.engines import load_export

_SPACE = "\u2581"  # it stays in pieces that are of the other side's model, in a joint vocabulary
_FORBIDDEN = -1e9  # bias of pieces that are never written
_LAYER = {  # ours within a block → theirs within a layer; several are one product
    "own_norm": "self_attention/layer_norm",
    "own.heads.from_query own.heads.from_key own.heads.from_value": "self_attention/linear_0",
    "own.heads.to_out": "self_attention/linear_1",
    "cross_norm": "attention/layer_norm",
    "cross.heads.from_query": "attention/linear_0",
    "cross.heads.from_key cross.heads.from_value": "attention/linear_1",
    "cross.heads.to_out": "attention/linear_2",
    "feedforward_norm": "ffn/layer_norm",
    "feedforward.to_hidden": "ffn/linear_0",
    "feedforward.to_out": "ffn/linear_1",
}

_Array = NDArray[np.float32]
WeightNumbers = Annotated[
    Literal["float32", "int8"], Doc("Numbers of the weights: int8 is a quarter as large, and rounds.")
]


class CTranslate2Format(Format):
    """A folder that `ctranslate2.Translator` opens."""

    name = "ctranslate2"
    aliases = "ct2, opennmt"
    reads = False
    program_hint = "pip install -e '.[ctranslate2]' installs it"
    library = "ctranslate2"
    usage = (
        '```python\nimport ctranslate2\n\ntranslator = ctranslate2.Translator("FOLDER")\n```\n\n'
        "Texts are cut by `source.spm`, pieces are joined by `target.spm`."
    )

    def __init__(self, *, quantization: WeightNumbers = "float32") -> None:
        self.quantization = quantization
        self.min_similarity = 1.0 if quantization == "float32" else 0.9

    def recognises(self, folder: Path) -> bool:
        return any((folder / f"{side}_vocabulary.json").is_file() for side in ("shared", "source"))

    def write(self, predictor: Predictor, folder: Path) -> None:
        if find_spec("ctranslate2") is None:
            raise RegardError(f"this run cannot be exported: ctranslate2 is not installed ({self.program_hint})")
        network = standard_network(predictor, CTRANSLATE2)
        spec, positions = _spec_of(network), most_places(predictor)
        fill_spec(spec, variables(network, *_tables(predictor, positions)))
        source, target = (_names(predictor, side) for side in ("source", "target"))
        spec.register_source_vocabulary(source)
        spec.register_target_vocabulary(target)
        spec.config.unk_token, spec.config.eos_token, spec.config.bos_token = target[UNK], target[EOS], target[BOS]
        spec.config.decoder_start_token, spec.config.add_source_eos = target[BOS], True
        spec.config.layer_norm_epsilon = network.settings["encoder"].settings.get("norm_eps", 1e-5)
        spec.validate()
        spec.optimize(None if self.quantization == "float32" else self.quantization)
        spec.save(str(folder))
        for name, side in ((SOURCE_MODEL, network.source), (TARGET_MODEL, network.target)):
            (folder / name).write_bytes(side.model)

    def notes(self, predictor: Predictor) -> dict[str, Any]:
        pieces = {f"{side}_pieces": _names(predictor, side) for side in ("source", "target")}
        return {"quantization": self.quantization, "places": most_places(predictor), **pieces}

    def compared_search(self, search: Search) -> Search:
        if isinstance(search, BeamSearch):
            search = copy(search)
            search.stop = "full"
        return search

    def program(self, folder: Path, predictor: Predictor) -> Program | None:
        return CTranslate2Program(folder, self.compared_search(predictor.setup.search))


class CTranslate2Program(Program):
    """An export with CTranslate2's search; texts are cut and joined by the SentencePiece models of the folder."""

    def __init__(self, folder: Path, search: Search) -> None:
        import ctranslate2

        self.name = f"ctranslate2 {ctranslate2.__version__}"
        self._predictor = load_export(folder, "ctranslate2")
        self._engine: Any = self._predictor.setup.for_search(search, ())
        self._reads, self._writes = (
            sentencepiece.SentencePieceProcessor(model_file=str(folder / name)) for name in (SOURCE_MODEL, TARGET_MODEL)
        )
        noted = self._predictor.run.exported or {}
        self._ids = {piece: number for number, piece in enumerate(noted["source_pieces"])}
        self._pieces = noted["target_pieces"]

    def translate(self, texts: Sequence[str]) -> list[str]:
        task, encoder = self._predictor.task, self._predictor.encoder
        before = task.vocabularies["source"].first
        cut = self._reads.encode(list(texts), out_type=str)
        rows = [{"source": [*before, *(self._ids.get(piece, UNK) for piece in row)]} for row in cut]
        found = encoder.in_batches(rows, self._engine.answer)
        first = len(task.vocabularies["target"].first)
        written = [[self._pieces[one] for one in ranked[0].ids[first:]] for ranked in found]
        return [self._writes.decode(pieces).replace(_SPACE, " ").strip() for pieces in written]


def most_places(predictor: Predictor) -> int:
    """Return the most pieces of a text: as many as a source may have, and a translation of one of that size."""
    experiment = predictor.run.experiment
    search = predictor.setup.search
    longest = experiment.decoding.max_source
    most = max(longest, int(longest * search.max_ratio) + search.max_extra)
    learned = predictor.model.max_source
    return most if learned is None else min(most, learned)


def variables(network: StandardNetwork, source_positions: Tensor, target_positions: Tensor) -> dict[str, _Array]:
    """Return the arrays of a network by their names in CTranslate2; positions are (place, dim)."""
    weights = network.weights
    words = len(weights[OUTPUT_TABLE])
    bias = weights[OUTPUT_BIAS].clone() if OUTPUT_BIAS in weights else torch.zeros(words)
    bias[[PAD, BOS]] = _FORBIDDEN
    found = {
        "encoder/embeddings_0/weight": weights[SOURCE_TABLE],
        "encoder/position_encodings/encodings": source_positions,
        "decoder/embeddings/weight": weights[TARGET_TABLE],
        "decoder/position_encodings/encodings": target_positions,
        "decoder/projection/weight": weights[OUTPUT_TABLE],
        "decoder/projection/bias": bias,
    }
    for side, here in (("encoder", ENCODER), ("decoder", DECODER)):
        if f"{here}.norm.weight" in weights:
            found |= _joined(weights, [f"{here}.norm"], f"{side}/layer_norm")
        for number in range(network.settings[side].settings["num_layers"]):
            for mine, theirs in _LAYER.items():
                names = [f"{here}.blocks.{number}.{one}" for one in mine.split()]
                if f"{names[0]}.weight" in weights:
                    found |= _joined(weights, names, f"{side}/layer_{number}/{theirs}")
    return {name: tensor.detach().float().cpu().numpy().copy() for name, tensor in found.items()}  # it rounds in place


def fill_spec(spec: Any, arrays: Mapping[str, _Array]) -> None:
    """Set each array at its place: a/b_2/c is spec.a.b[2].c."""
    for name, array in arrays.items():
        part = spec
        *path, last = name.split("/")
        for step in path:
            stem, _, number = step.rpartition("_")
            part = getattr(part, step) if hasattr(part, step) else getattr(part, stem)[int(number)]
        setattr(part, last, array)


def _joined(weights: Mapping[str, Tensor], names: Sequence[str], place: str) -> dict[str, Tensor]:
    """Linear layers as one product, or a normalisation."""
    matrix, bias = (torch.cat([weights[f"{name}.{one}"] for name in names]) for one in ("weight", "bias"))
    kinds = ("gamma", "beta") if place.endswith("layer_norm") else ("weight", "bias")
    return dict(zip((f"{place}/{kind}" for kind in kinds), (matrix, bias), strict=True))


def _spec_of(network: StandardNetwork) -> Any:
    """The network without its arrays."""
    from ctranslate2.specs import TransformerSpec
    from ctranslate2.specs.common_spec import Activation

    kinds = {"relu": Activation.RELU, "gelu": Activation.GELU, "swish": Activation.SWISH}
    settings = network.settings
    layers = tuple(settings[side].settings["num_layers"] for side in ("encoder", "decoder"))
    pre_norm = settings["encoder"].settings["norm"] == "pre"
    spec = TransformerSpec.from_config(layers, network.heads, pre_norm=pre_norm, activation=kinds[network.activation])
    words = settings["embedder"].settings
    spec.encoder.scale_embeddings = spec.decoder.scale_embeddings = words.get("scale", True)
    spec.decoder.start_from_zero_embedding = words.get("zero_start", False)
    return spec


def _tables(predictor: Predictor, places: int) -> tuple[Tensor, Tensor]:
    """Position vectors (place, dim) of both sides."""
    model: Any = predictor.model
    embedders = model.encoders[ROUTE].embedder, model.decoders[ROUTE].embedder
    source, target = (one.position(0, places) for one in embedders)
    return source, target


def _names(predictor: Predictor, side: str) -> list[str]:
    """The pieces of one side by our ids, each once: a second one of a name, as padding that also starts, is renamed."""
    column: Any = predictor.task.vocabularies[side]
    found, seen = list[str](), set[str]()
    for number, piece in enumerate(column.tokenizer.pieces(range(len(column)))):
        name = piece if piece not in seen else f"<{number}>"
        seen.add(name)
        found.append(name)
    return found
