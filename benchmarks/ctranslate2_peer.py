"""CTranslate2 with the weights of a Transformer of Regard: its model, and the contender that translates with it.

It needs no torch to translate, so nothing here imports it: its process is as small as a user's is.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from timing import Contender

FILE = "subwords.model"  # of a tokenizer in its folder
PLACES = 512  # positions kept ready
BOS, EOS = "<s>", "</s>"
LONGEST = 256  # pieces of a translation at most, in a server

Array = NDArray[np.float32]


class Model(NamedTuple):
    """What CTranslate2 translates with."""

    folder: Path  # that `convert` wrote
    source: Path  # models of sentencepiece
    target: Path
    compute_type: str  # float32, int8 …


def variables(reader: Any, decoder: Any, head: Any) -> dict[str, Array]:
    """The weights of an embedded encoder, a decoder and a linear head, by their names in CTranslate2.

    Queries, keys and values of self-attention are one product there, keys and values of the source another.
    """
    places = _array(reader.embedder.position(0, PLACES))
    found = {"encoder/embeddings_0/weight": _array(reader.embedder.table)}
    found |= {"decoder/embeddings/weight": _array(decoder.embedder.table)}
    found |= {"decoder/projection/weight": _array(head.weight)}
    for side, part in (("encoder", reader.encoder), ("decoder", decoder)):
        found[f"{side}/position_encodings/encodings"] = places
        found |= _norm(f"{side}/layer_norm", part.norm)
        for number, block in enumerate(part.blocks):
            found |= _block(f"{side}/layer_{number}", block)
    return found


def convert(model: Any, text: Path, folder: Path, compute_type: str = "float32") -> Model:
    """Write a pre-norm translator in CTranslate2's format into a new folder; `text` holds the run's tokenizers."""
    from ctranslate2.specs import TransformerSpec

    from regard.models import ROUTE

    reader, decoder = model.encoders[ROUTE], model.decoders[ROUTE]
    heads = reader.encoder.blocks[0].own.heads.num_heads
    layers = len(reader.encoder.blocks), len(decoder.blocks)
    spec = TransformerSpec.from_config(layers, heads, pre_norm=True)
    fill(spec, variables(reader, decoder, model.heads[ROUTE]))
    shared = text / "shared" / FILE
    source, target = (shared if shared.exists() else text / side / FILE for side in ("source", "target"))
    spec.register_source_vocabulary(_vocabulary(source))
    spec.register_target_vocabulary(_vocabulary(target))
    spec.config.add_source_eos = True
    spec.config.decoder_start_token = BOS
    spec.validate()
    spec.optimize()
    folder.mkdir(parents=True)
    spec.save(str(folder))
    return Model(folder, source, target, compute_type)


def fill(spec: Any, weights: Mapping[str, Array]) -> None:
    """Set each of the weights at its place: a/b_2/c is spec.a.b[2].c."""
    for name, array in weights.items():
        part = spec
        *path, last = name.split("/")
        for step in path:
            stem, _, number = step.rpartition("_")
            part = getattr(part, stem)[int(number)] if not hasattr(part, step) else getattr(part, step)
        setattr(part, last, array)


def ctranslate2(
    model: Model, texts: Sequence[str], beam: int, length: int | None, threads: int, tokens: int
) -> Contender:
    """As many workers of one thread as there are threads, on batches of so many tokens; texts in, texts out.

    `length`: pieces of every translation; None: the model ends it.
    """
    from ctranslate2 import Translator

    translator = Translator(
        str(model.folder), device="cpu", compute_type=model.compute_type, inter_threads=threads, intra_threads=1
    )
    source, target, outputs = processor(model.source), processor(model.target), list[str]()
    settings = {"beam_size": beam, "max_batch_size": tokens, "batch_type": "tokens", "return_end_token": True}

    def turn() -> float:
        rows = source.encode(list(texts), out_type=str)
        longest = length or 2 * max(map(len, rows)) + 10  # it has one limit for all, the others one for each batch
        found = translator.translate_batch(
            rows, **settings, max_decoding_length=longest, min_decoding_length=length or 1
        )
        outputs[:] = [target.decode(_ended(one.hypotheses[0])) for one in found]
        return len(outputs)

    return Contender(turn, None, outputs)


def _ended(written: list[str]) -> list[str]:
    return written[:-1] if written and written[-1] == EOS else written


def _vocabulary(tokenizer: Path) -> list[str]:
    pieces = processor(tokenizer)
    return [pieces.id_to_piece(number) for number in range(pieces.get_piece_size())]


def processor(tokenizer: Path) -> Any:
    """The tokenizer of sentencepiece."""
    import sentencepiece

    return sentencepiece.SentencePieceProcessor(model_file=str(tokenizer))


def _block(name: str, block: Any) -> dict[str, Array]:
    own = block.own.heads
    found = _norm(f"{name}/self_attention/layer_norm", block.own_norm)
    found |= _linear(f"{name}/self_attention/linear_0", own.from_query, own.from_key, own.from_value)
    found |= _linear(f"{name}/self_attention/linear_1", own.to_out)
    if block.cross is not None:
        cross = block.cross.heads
        found |= _norm(f"{name}/attention/layer_norm", block.cross_norm)
        found |= _linear(f"{name}/attention/linear_0", cross.from_query)
        found |= _linear(f"{name}/attention/linear_1", cross.from_key, cross.from_value)
        found |= _linear(f"{name}/attention/linear_2", cross.to_out)
    found |= _norm(f"{name}/ffn/layer_norm", block.feedforward_norm)
    found |= _linear(f"{name}/ffn/linear_0", block.feedforward.to_hidden)
    return found | _linear(f"{name}/ffn/linear_1", block.feedforward.to_out)


def _linear(name: str, *layers: Any) -> dict[str, Array]:
    return {
        f"{name}/weight": np.concatenate([_array(layer.weight) for layer in layers]),
        f"{name}/bias": np.concatenate([_array(layer.bias) for layer in layers]),
    }


def _norm(name: str, norm: Any) -> dict[str, Array]:
    return {f"{name}/gamma": _array(norm.weight), f"{name}/beta": _array(norm.bias)}


def _array(tensor: Any) -> Array:
    found: Array = tensor.detach().numpy()
    return found
