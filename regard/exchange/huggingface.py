"""Translators of Hugging Face: MarianMTModel (OPUS-MT), M2M100 (NLLB) and the pre-norm network that Pegasus has.

Marian: https://aclanthology.org/P18-4020; M2M100: https://arxiv.org/abs/2010.11125. Ids come from vocab.json. Positions
are sinusoids that no file holds; a decoder starts from the padding (Marian) or the end (M2M100).
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard.errors import CheckpointError
from regard.exchange.format import Foreign, Format, Program, ReadOptions, json_object, origin_of_folder, read_bytes
from regard.exchange.huggingface_weights import ARCHITECTURES, weights_of_state
from regard.exchange.weights import read_weights
from regard.pieces import BOS
from regard.predictor import Predictor
from regard.text import Tokenizer
from regard.text.sentencepiece import PieceList, SentencePieceTokenizer

CONFIG_FILE, GENERATION, VOCABULARY = "config.json", "generation_config.json", "vocab.json"
TARGET_VOCABULARY, TOKENIZER_CONFIG = "target_vocab.json", "tokenizer_config.json"
SOURCE_MODEL, TARGET_MODEL = "source.spm", "target.spm"
_FILES = (CONFIG_FILE, GENERATION, VOCABULARY, TARGET_VOCABULARY, TOKENIZER_CONFIG, SOURCE_MODEL, TARGET_MODEL)
_LARGEST = 1_000_000  # of all sizes
_SIZES = ("vocab_size", "d_model", *(f"{side}_{one}" for side in ("encoder", "decoder")
          for one in ("layers", "ffn_dim", "attention_heads")), "max_position_embeddings")  # fmt: skip
_SHARES = ("dropout", "attention_dropout", "activation_dropout")
_ACTIVATIONS = {"relu": "position_wise", "gelu": "gelu", "swish": "swish", "silu": "swish"}
_ONLY = {"normalize_embedding": False, "static_position_embeddings": True}  # of old config files


class HuggingFaceFormat(Format):
    """A folder that `save_pretrained` of model and tokenizer wrote."""

    name = "huggingface"
    aliases = "hf, transformers, opus_mt, hugging_face"
    program_hint = "pip install 'regard[transformers]' installs it"

    def recognises(self, folder: Path) -> bool:
        return (folder / CONFIG_FILE).is_file()

    def read(self, folder: Path, options: ReadOptions) -> Foreign:
        config = read_config(folder)
        generation = {**config, **_optional(folder / GENERATION)}
        source, target = read_tokenizers(folder, config)
        state, file = read_weights(folder, allow_pickle=options.allow_pickle)
        weights = weights_of_state(state, config, (source.listed, target.listed), folder / file)
        one = source.key() == target.key()
        tokenizers = {"shared": source} if one else {"source": source, "target": target}
        noted = [name for name in (*_FILES, file) if (folder / name).is_file()]
        origin = origin_of_folder(self.name, folder, ARCHITECTURES[config["model_type"]].title, noted)
        return Foreign(_settings(folder, config, generation, shared=one), weights, tokenizers, origin)

    def program(self, folder: Path, predictor: Predictor) -> Program | None:
        if find_spec("transformers") is None:
            return None
        columns = predictor.task.vocabularies
        orders = [order_of(columns[name].tokenizer) for name in ("source", "target")]
        return TransformersProgram(folder, (orders[0], orders[1]))


class TransformersProgram:
    """A folder opened by transformers; texts are translated as its generation config says."""

    batch = 16

    def __init__(self, folder: Path, orders: tuple[Sequence[int], Sequence[int]]) -> None:
        """`orders` are ids there of each id here, of source and target."""
        import transformers

        self.name, self._order = f"transformers {transformers.__version__}", torch.tensor(orders[1])
        with _quiet():
            self._tokenizer: Any = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
            kind: Any = transformers.AutoModelForSeq2SeqLM
            self._model: Any = kind.from_pretrained(folder, local_files_only=True, dtype=torch.float32).eval()

    @torch.no_grad()
    def translate(self, texts: Sequence[str]) -> list[str]:
        found = list[str]()
        for start in range(0, len(texts), self.batch):
            read = self._tokenizer(list(texts[start : start + self.batch]), return_tensors="pt", padding=True)
            with _quiet():
                written = self._model.generate(**read)
            found += self._tokenizer.batch_decode(written, skip_special_tokens=True)
        return found

    @torch.no_grad()
    def log_probs(self, texts: Sequence[str], targets: Sequence[Sequence[int]]) -> list[Tensor] | None:
        return [self._log_probs(text, target) for text, target in zip(texts, targets, strict=True)]

    def _log_probs(self, text: str, target: Sequence[int]) -> Tensor:
        read = self._tokenizer([text], return_tensors="pt")
        ids = torch.tensor([[BOS, *target]])
        logits: Tensor = self._model(**read, decoder_input_ids=self._order[ids]).logits[0]
        return logits.log_softmax(dim=-1)[:, self._order]


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the bars and warnings of transformers away: the certificate says what matters."""
    from transformers.utils import logging as told

    logging: Any = told  # untyped
    before = logging.get_verbosity()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        finally:
            logging.set_verbosity(before)


def read_config(folder: Path) -> dict[str, Any]:
    """Return config.json, complete and checked. Raises CheckpointError for what no part here computes."""
    found = json_object(folder / CONFIG_FILE)
    kind = str(found.get("model_type"))
    if kind not in ARCHITECTURES:
        names = ", ".join(f"{name} ({one.title})" for name, one in ARCHITECTURES.items())
        title = ", ".join(map(str, found.get("architectures") or ())) or "without a name"
        raise CheckpointError(folder, f"is a model of another architecture, {kind} ({title})", f"it can be {names}")
    config = {**ARCHITECTURES[kind].defaults, **found, "model_type": kind}
    for problem in _problems(config):
        raise CheckpointError(folder / CONFIG_FILE, problem)
    return config


def read_tokenizers(folder: Path, config: Mapping[str, Any]) -> tuple[SentencePieceTokenizer, SentencePieceTokenizer]:
    """Return the tokenizers of source and target. Raises CheckpointError where they do not fit the table of weights."""
    reader, writer = (read_bytes(folder / name) for name in (SOURCE_MODEL, TARGET_MODEL))
    apart = not config.get("share_encoder_decoder_embeddings", True)
    read = _piece_list(folder / VOCABULARY, config, config["vocab_size"], codes=True)
    if not apart:
        other = None if reader == writer else reader  # transformers joins pieces by the source's model
        return _tokenizer(folder, reader, read), _tokenizer(folder, writer, read, other)
    size = config.get("decoder_vocab_size") or config["vocab_size"]
    written = _piece_list(folder / TARGET_VOCABULARY, config, size, codes=False)
    return _tokenizer(folder, reader, read), _tokenizer(folder, writer, written)


def _settings(
    folder: Path, config: Mapping[str, Any], generation: Mapping[str, Any], *, shared: bool
) -> dict[str, Any]:
    """The settings of a run."""
    kind, feedforward = ARCHITECTURES[config["model_type"]], {
        "name": _ACTIVATIONS[config["activation_function"]],
        "dropout": config["activation_dropout"],
    }  # fmt: skip
    stacks = {
        side: {
            "name": "transformer",
            "num_layers": config[f"{side}_layers"],
            "feedforward_dim": config[f"{side}_ffn_dim"],
            "feedforward": feedforward,
            "norm": kind.norm,
        }
        for side in ("encoder", "decoder")
    }
    heads = [config[f"{side}_attention_heads"] for side in ("encoder", "decoder")]
    socket = {"score": "scaled_dot", "project": True, "dropout": config["attention_dropout"]}
    apart = not config.get("share_encoder_decoder_embeddings", True)
    languages = _languages(folder)
    return {
        "task": "translation",
        "text": {"tokenizer": "sentencepiece", "shared": shared, "joint": not (shared or apart)},
        "model": {
            "name": "translator",
            "dim": config["d_model"],
            "embedder": {"name": "words", "scale": bool(config["scale_embedding"])},
            "position": {"name": "sinusoidal", **kind.position},
            **stacks,
            "self_attention": {**socket, "num_heads": heads[0]},
            "attention": {**socket, "num_heads": heads[1]},
            "head": {"name": "linear", "bias": True},
            "dropout": config["dropout"],
            "tied": ("target" if apart else "all") if config["tie_word_embeddings"] else "none",
        },
        "decoding": {"search": search_of(generation), "max_source": config["max_position_embeddings"]},
        **({"data": {"languages": languages}} if languages else {}),
    }


def search_of(generation: Mapping[str, Any]) -> dict[str, Any]:
    """Return the search that `generate` makes of a generation config.

    Lengths there count the start of the decoder. A beam there goes on after `num_beams` ends while the best open
    hypothesis beats the worst of them at its length so far; with early_stopping it does not.
    """
    longest = {"max_ratio": 0.0, "max_extra": int(generation.get("max_length") or 20) - 1}
    beams = int(generation.get("num_beams") or 1)
    if beams == 1:
        return {"name": "greedy", **longest}
    penalty = generation.get("length_penalty")
    return {
        "name": "beam",
        "size": beams,
        "length_penalty": 1.0 if penalty is None else float(penalty),
        "stop": "full" if generation.get("early_stopping") is True else "exact",
        **longest,
    }


def order_of(tokenizer: Tokenizer | None) -> Sequence[int]:
    """Return ids of the other program by ids here; one that was learnt here keeps its ids."""
    match tokenizer:
        case SentencePieceTokenizer():
            return tokenizer.listed.order
        case None:
            return ()
    return range(len(tokenizer))


def _languages(folder: Path) -> list[str] | None:
    told = _optional(folder / TOKENIZER_CONFIG)
    found = [told.get("source_lang"), told.get("target_lang")]
    return [str(one) for one in found] if all(isinstance(one, str) and one for one in found) else None


def _piece_list(file: Path, config: Mapping[str, Any], size: int, *, codes: bool) -> PieceList:
    """The pieces of a vocabulary file in our order. Raises CheckpointError for ids that are not 0, 1, 2 … to `size`."""
    found = json_object(file)
    names = {number: piece for piece, number in found.items() if type(number) is int}
    if len(names) != len(found) or sorted(names) != list(range(len(names))):
        raise CheckpointError(file, "does not number its pieces 0, 1, 2 …")
    if len(names) > size:
        problem = f"has {len(names):,} pieces, and {CONFIG_FILE} has {size:,} rows for them"
        raise CheckpointError(file, problem, "take the vocabulary of this model")
    if "<unk>" not in found:
        raise CheckpointError(file, "has no piece <unk>", "take the vocabulary of this model")
    listed = [names.get(number, f"<unused {number}>") for number in range(size)]
    specials = [config["pad_token_id"], config["decoder_start_token_id"], config["eos_token_id"], found["<unk>"]]
    return PieceList.of(listed, specials, codes=codes)


def _tokenizer(folder: Path, model: bytes, listed: PieceList, writer: bytes | None = None) -> SentencePieceTokenizer:
    try:
        return SentencePieceTokenizer(model, listed, writer)
    except RuntimeError as error:
        raise CheckpointError(folder, f"has a damaged SentencePiece model: {error}") from error


def _optional(file: Path) -> dict[str, Any]:
    return json_object(file) if file.is_file() else {}


def _problems(config: Mapping[str, Any]) -> Iterator[str]:
    """Values that parts here do not have."""
    for name in _SIZES:
        if type(config.get(name)) is not int or not 1 <= config[name] <= _LARGEST:
            yield f"{name} is {config.get(name)!r:.40}, and a whole number from 1 to {_LARGEST:,} is needed"
    for name in _SHARES:
        if type(config[name]) not in (int, float) or not 0 <= config[name] < 1:
            yield f"{name} is {config[name]!r:.40}, and a number from 0 to below 1 is needed"
    for name in ("pad_token_id", "eos_token_id", "decoder_start_token_id"):
        if type(config.get(name)) is not int or not 0 <= config[name] < config["vocab_size"]:
            yield f"{name} is {config.get(name)!r:.40}, and an id below vocab_size is needed"
    yield from _other_parts(config)


def _other_parts(config: Mapping[str, Any]) -> Iterator[str]:
    if config["activation_function"] not in _ACTIVATIONS:
        names = ", ".join(_ACTIVATIONS)
        yield f"activation_function is {config['activation_function']!r:.40}, and only {names} can be read"
    for side in ("encoder", "decoder"):
        if config["d_model"] % config[f"{side}_attention_heads"]:
            yield f"d_model {config['d_model']} cannot be divided among {config[f'{side}_attention_heads']} heads"
    if config["encoder_attention_heads"] != config["decoder_attention_heads"]:
        yield "encoder_attention_heads and decoder_attention_heads differ, and one number of heads can be read"
    for name, value in _ONLY.items():
        if config.get(name, value) != value:
            yield f"{name} is {config[name]!r:.40}, and only {value!r} can be read"
