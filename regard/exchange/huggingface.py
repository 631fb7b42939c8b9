"""Translators of Hugging Face: MarianMTModel (OPUS-MT), M2M100 (NLLB) and the pre-norm network that Pegasus has.

Marian: https://aclanthology.org/P18-4020; M2M100: https://arxiv.org/abs/2010.11125. Ids come from vocab.json. Positions
are sinusoids that no file holds; a decoder starts from the padding (Marian) or the end (M2M100).
"""

import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

from regard.decoding import Search
from regard.errors import CheckpointError, ConfigError, RegardError
from regard.exchange.format import (
    Foreign,
    Format,
    Program,
    ReadOptions,
    json_object,
    origin_of_folder,
    short_repr,
    size_problem,
)
from regard.exchange.huggingface_weights import ARCHITECTURES, state_of_weights, weights_of_state
from regard.exchange.standard_network import StandardNetwork, standard_network
from regard.exchange.vocabularies import optional_json, order_of, read_both_sides, write_vocabularies
from regard.exchange.weights import WEIGHTS_FILE, read_weights
from regard.pieces import BOS
from regard.predictor import Predictor
from regard.registry import Choice
from regard.text import Tokenizer

CONFIG_FILE, GENERATION = "config.json", "generation_config.json"
LONGEST = 512  # pieces of a translation, where its limit here depends on its source
_LONGEST, _MOST_BEAMS, _MOST_PENALTY = 100_000, 1000, 100.0  # of a search
_SIZES = ("vocab_size", "d_model", *(f"{side}_{one}" for side in ("encoder", "decoder")
          for one in ("layers", "ffn_dim", "attention_heads")), "max_position_embeddings")  # fmt: skip
_SHARES = ("dropout", "attention_dropout", "activation_dropout")
_ACTIVATIONS = {"relu": "position_wise", "gelu": "gelu", "swish": "swish", "silu": "swish"}
_SAFELY: Mapping[str, bool] = {"local_files_only": True, "trust_remote_code": False}
_ONLY = {"normalize_embedding": False, "static_position_embeddings": True}  # of old config files
_NEUTRAL: Mapping[str, tuple[Any, ...]] = {  # settings of `generate` that no search here has, and values without effect
    "do_sample": (False,), "num_beam_groups": (1,), "num_return_sequences": (1,), "diversity_penalty": (0, 0.0),
    "repetition_penalty": (1, 1.0), "encoder_repetition_penalty": (1, 1.0), "encoder_no_repeat_ngram_size": (0,),
    "guidance_scale": (1, 1.0), "renormalize_logits": (False,),
    **dict.fromkeys(("penalty_alpha", "force_words_ids", "constraints", "suppress_tokens", "begin_suppress_tokens",
                     "sequence_bias", "exponential_decay_length_penalty", "stop_strings", "forced_decoder_ids",
                     "watermarking_config", "max_time"), ()),
}  # fmt: skip


class HuggingFaceFormat(Format):
    """A folder that `save_pretrained` of model and tokenizer wrote."""

    name = "huggingface"
    aliases = "hf, transformers, opus_mt, hugging_face"
    program_hint = "pip install -e '.[transformers]' installs it"
    library = "transformers"
    usage = '```python\nfrom transformers import pipeline\n\ntranslate = pipeline("translation", model="FOLDER")\n```'

    def recognises(self, folder: Path) -> bool:
        return (folder / CONFIG_FILE).is_file()

    def translates(self, folder: Path) -> bool:
        return json_object(folder / CONFIG_FILE).get("model_type") in ARCHITECTURES

    def read(self, folder: Path, options: ReadOptions) -> Foreign:
        config = read_config(folder)
        generation = {**config, **optional_json(folder / GENERATION)}
        vocabularies = read_both_sides(folder, config, options)
        source, target = vocabularies.source, vocabularies.target
        state, file = read_weights(folder, allow_pickle=options.allow_pickle)
        weights = weights_of_state(state, config, (source.listed, target.listed), folder / file)
        one = source.key() == target.key()
        tokenizers = {"shared": source} if one else {"source": source, "target": target}
        noted = [name for name in (CONFIG_FILE, GENERATION, *vocabularies.files, file) if (folder / name).is_file()]
        origin = origin_of_folder(self.name, folder, ARCHITECTURES[config["model_type"]].title, noted)
        settings = _settings(config, generation, vocabularies.languages, shared=one)
        return Foreign(settings, weights, tokenizers, origin, not_carried=[*not_carried(config, generation)])

    def write(self, predictor: Predictor, folder: Path) -> None:
        """Write weights, configs and vocabularies into a folder, as `save_pretrained` does."""
        network = standard_network(predictor)
        kind, target = ARCHITECTURES[network.architecture], network.target
        if not network.joint and network.architecture != "marian":
            problem = f"of transformers' networks, {kind.title} has one vocabulary, and this run has one for each side"
            hint = "--to ctranslate2 carries it; to train another: text.shared=true, or norm: post"
            raise RegardError(f"this run cannot be exported: {problem} ({hint})")
        if target.before and network.architecture != "m2m_100":
            raise RegardError("this run cannot be exported: only M2M100 has pieces of languages")
        state = dict(state_of_weights(network.weights, network.settings, network.source, target, joint=network.joint))
        if not kind.has_bias and bool(state.pop("final_logits_bias").any()):
            problem = f"{kind.title} has no bias of its output (model.head.bias=false)"
            raise RegardError(f"this run cannot be exported: {problem}")
        save_file({name: one.contiguous() for name, one in state.items()}, folder / WEIGHTS_FILE, {"format": "pt"})
        ids = dict(zip(("pad_token_id", "decoder_start_token_id", "eos_token_id"), target.specials, strict=False))
        decoding = predictor.run.experiment.decoding
        _write_json(folder / CONFIG_FILE, {**_config_of(network, decoding.max_source), **ids})
        search = generation_of(decoding.search)
        unwritten = sorted({ids["pad_token_id"], ids["decoder_start_token_id"]} - {ids["eos_token_id"]})
        ends = {} if search.pop("cut") else {"forced_eos_token_id": ids["eos_token_id"]}
        _write_json(folder / GENERATION, {**ids, **search, **ends, "bad_words_ids": [[one] for one in unwritten]})
        write_vocabularies(folder, network.source, target, predictor.setup.languages, joint=network.joint)

    def compared_search(self, search: Search) -> Search:
        if search.max_ratio:  # loops would go on there for as long as they may
            search = copy(search)
            search.max_ratio, search.max_extra = 0.0, LONGEST - 1
        return search

    def program(self, folder: Path, predictor: Predictor) -> Program | None:
        if find_spec("transformers") is None:
            return None
        target = predictor.task.vocabularies["target"].tokenizer
        return TransformersProgram(folder, target, predictor.run.experiment.data.language_pair())


class TransformersProgram(Program):
    """A folder opened by transformers; texts are translated as its generation config says."""

    batch = 16

    def __init__(self, folder: Path, target: Tokenizer | None, languages: tuple[str | None, str | None]) -> None:
        """`target` is the tokenizer here; `languages` are codes, which a model of several languages has as pieces."""
        import transformers

        self.name, self._order = f"transformers {transformers.__version__}", torch.tensor(order_of(target))
        self._asked = dict[str, int]()
        with _quiet():
            self._tokenizer: Any = transformers.AutoTokenizer.from_pretrained(folder, **_SAFELY)
            kind: Any = transformers.AutoModelForSeq2SeqLM
            self._model: Any = kind.from_pretrained(folder, **_SAFELY, dtype=torch.float32).eval()
        if target is not None and target.first:
            self._tokenizer.src_lang = languages[0]
            self._asked = {"forced_bos_token_id": int(self._order[target.first[0]])}

    @torch.no_grad()
    def translate(self, texts: Sequence[str]) -> list[str]:
        found = list[str]()
        for start in range(0, len(texts), self.batch):
            read = self._tokenizer(list(texts[start : start + self.batch]), return_tensors="pt", padding=True)
            with _quiet():
                written = self._model.generate(**read, **self._asked)
            begun = 1 + len(self._asked)
            found += self._tokenizer.batch_decode(written[:, begun:], skip_special_tokens=True)
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
    from transformers.utils import logging as noisy

    logging: Any = noisy  # untyped
    before = logging.get_verbosity()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        finally:
            logging.set_verbosity(before)


def generation_of(search: Choice) -> dict[str, Any]:
    """Return the generation config of a search; "cut" is true where no end is forced. Raises RegardError."""
    said = search.settings
    if search.name not in ("beam", "greedy") or said.get("normalisation", "length") != "length":
        raise RegardError(f"decoding.search: transformers has no '{search.name}' like it (beam or greedy)")
    ratio, extra = said.get("max_ratio", 2.0), said.get("max_extra", 10)
    found = {"max_length": LONGEST if ratio else extra + 1, "cut": said.get("at_limit", "end") == "cut"}
    found |= {"min_new_tokens": said["min_length"]} if said.get("min_length") else {}
    if search.name == "greedy":
        return {**found, "num_beams": 1}
    stops = {"exact": "never", "full": True, "best_full": False}
    early, penalty = stops[said.get("stop", "exact")], said.get("length_penalty", 1.0)
    return {**found, "num_beams": said.get("size", 5), "length_penalty": penalty, "early_stopping": early}


def _config_of(network: StandardNetwork, longest: int) -> dict[str, Any]:
    settings, kind = network.settings, ARCHITECTURES[network.architecture]
    found: dict[str, Any] = {"architectures": [kind.title], "model_type": network.architecture}
    for side in ("encoder", "decoder"):
        own = settings[side].settings
        found |= {f"{side}_layers": own["num_layers"], f"{side}_ffn_dim": own["feedforward_dim"]}
        found |= {f"{side}_attention_heads": network.heads, f"{side}_layerdrop": 0.0}
    sizes = {"vocab_size": len(network.source.names), "decoder_vocab_size": len(network.target.names)}
    tied = settings["tied"] == "all" or (settings["tied"] == "target" and not network.joint)
    return {
        **found, **sizes, "d_model": settings["dim"], "max_position_embeddings": longest,
        "dropout": settings["dropout"], "attention_dropout": settings["attention"].dropout,
        "activation_function": network.activation,
        "scale_embedding": settings["embedder"].settings.get("scale", True), "tie_word_embeddings": tied,
        "share_encoder_decoder_embeddings": network.joint, "is_encoder_decoder": True, "dtype": "float32",
    }  # fmt: skip


def _write_json(file: Path, values: Mapping[str, Any]) -> None:
    file.write_text(json.dumps(values, indent=1, ensure_ascii=False), encoding="utf-8")


def read_config(folder: Path) -> dict[str, Any]:
    """Return config.json, complete and checked. Raises CheckpointError for what no part here computes."""
    found = json_object(folder / CONFIG_FILE)
    kind = str(found.get("model_type"))
    if kind not in ARCHITECTURES:
        names = ", ".join(f"{name} ({one.title})" for name, one in ARCHITECTURES.items())
        names_there = found.get("architectures")
        title = ", ".join(map(str, names_there)) if isinstance(names_there, list) else "without a name"
        raise CheckpointError(folder, f"is a model of another architecture, {kind} ({title})", f"it can be {names}")
    config = {**ARCHITECTURES[kind].defaults, **found, "model_type": kind}
    for problem in _problems(config):
        raise CheckpointError(folder / CONFIG_FILE, problem)
    return config


def _settings(
    config: Mapping[str, Any], generation: Mapping[str, Any], languages: tuple[str, str] | None, *, shared: bool
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
    return {
        "task": "translation",
        "text": {"tokenizer": "sentencepiece_file", "shared": shared, "joint": not (shared or apart)},
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
        "decoding": {
            "search": search_of(generation),
            "features": search_features(generation),
            "max_source": config["max_position_embeddings"],
        },
        **({"data": {"languages": [*languages]}} if languages else {}),
    }


def search_of(generation: Mapping[str, Any]) -> dict[str, Any]:
    """Return the search that `generate` makes of a generation config.

    Lengths there count the start of the decoder. A beam there goes on after `num_beams` ends while the best open
    hypothesis beats the worst of them at its length so far; with early_stopping it does not. Raises ConfigError for a
    value that is not a size of a search.
    """
    given = _whole(generation, "max_new_tokens", _LONGEST)
    longest = (_whole(generation, "max_length", _LONGEST) or 20) - 1 if given is None else given
    ends = "cut" if generation.get("forced_eos_token_id") is None else "free"
    least = max(
        _whole(generation, "min_new_tokens", _LONGEST) or 0, (_whole(generation, "min_length", _LONGEST) or 1) - 1
    )
    limits = {"max_ratio": 0.0, "max_extra": longest, "min_length": least, "at_limit": ends}
    beams = _whole(generation, "num_beams", _MOST_BEAMS) or 1
    if beams == 1:
        return {"name": "greedy", **limits}
    penalty, early = generation.get("length_penalty"), generation.get("early_stopping")
    penalty = 1.0 if penalty is None else penalty
    if type(penalty) not in (int, float) or not -_MOST_PENALTY <= penalty <= _MOST_PENALTY:
        raise ConfigError("length_penalty", f"is {penalty!r:.40}, and a number is needed")
    return {
        "name": "beam",
        "size": beams,
        "length_penalty": float(penalty),
        "stop": "full" if early is True else "exact" if early == "never" else "best_full",
        **limits,
    }


def search_features(generation: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the features of a search that a generation config asks for. Raises ConfigError, as `search_of`."""
    size = _whole(generation, "no_repeat_ngram_size", _LONGEST)
    return [] if size is None else [{"name": "no_repeat", "size": size}]


def not_carried(config: Mapping[str, Any], generation: Mapping[str, Any]) -> Iterator[str]:
    """Yield the settings of `generate` that a search here does not have, as NAME=VALUE."""
    for name, values in _NEUTRAL.items():
        if generation.get(name) is not None and generation[name] not in values:
            yield f"{name}={short_repr(generation[name])}"
    never = [[config["pad_token_id"]], [config["decoder_start_token_id"]]]  # which no search here writes
    bad, end = generation.get("bad_words_ids"), generation.get("forced_eos_token_id")
    if bad is not None and (not isinstance(bad, list) or any(one not in never for one in bad)):
        yield f"bad_words_ids={short_repr(bad)}"
    if end is not None and end not in (config["eos_token_id"], [config["eos_token_id"]]):
        yield f"forced_eos_token_id={short_repr(end)}"
    if generation.get("forced_bos_token_id") is not None and config["model_type"] != "m2m_100":  # there a language
        yield f"forced_bos_token_id={short_repr(generation['forced_bos_token_id'])}"


def _whole(generation: Mapping[str, Any], name: str, most: int) -> int | None:
    """A number of a generation config; None where it has none."""
    value = generation.get(name) or None
    if value is not None and (problem := size_problem(name, value, most)):
        raise ConfigError(name, problem.removeprefix(f"{name} "))
    return value


def _problems(config: Mapping[str, Any]) -> Iterator[str]:
    """Values that parts here do not have."""
    own = ("decoder_vocab_size",) if config.get("decoder_vocab_size") is not None else ()
    yield from filter(None, (size_problem(name, config.get(name)) for name in (*_SIZES, *own)))
    for name in _SHARES:
        if type(config[name]) not in (int, float) or not 0 <= config[name] < 1:
            yield f"{name} is {config[name]!r:.40}, and a number from 0 to below 1 is needed"
    for name in ("pad_token_id", "eos_token_id", "decoder_start_token_id"):
        if type(config.get(name)) is not int or not 0 <= config[name] < config["vocab_size"]:
            yield f"{name} is {config.get(name)!r:.40}, and an id below vocab_size is needed"
    yield from _other_parts(config)


def _other_parts(config: Mapping[str, Any]) -> Iterator[str]:
    if not isinstance(config["activation_function"], str) or config["activation_function"] not in _ACTIVATIONS:
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
