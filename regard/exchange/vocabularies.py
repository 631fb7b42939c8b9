"""Vocabularies of Hugging Face's translators: SentencePiece models, and the files that number their pieces."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from regard.errors import CheckpointError
from regard.exchange.format import ReadOptions, json_object, read_bytes
from regard.text import Tokenizer
from regard.text.sentencepiece import PieceList, SentencePieceTokenizer

VOCABULARY, TARGET_VOCABULARY, TOKENIZER_CONFIG = "vocab.json", "target_vocab.json", "tokenizer_config.json"
SOURCE_MODEL, TARGET_MODEL = "source.spm", "target.spm"
MULTILINGUAL_MODEL, FAST_TOKENIZER = "sentencepiece.bpe.model", "tokenizer.json"
_PAIR = "--languages SOURCE TARGET"
_M2M100 = (  # languages of https://arxiv.org/abs/2010.11125, in the order of their pieces
    "af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy ga gd gl gu ha he hi hr ht hu hy "
    "id ig ilo is it ja jv ka kk km kn ko lb lg ln lo lt lv mg mk ml mn mr ms my ne nl no ns oc or pa pl ps pt ro ru "
    "sd si sk sl so sq sr ss su sv sw ta th tl tn tr uk ur uz vi wo xh yi yo zh zu"
)


class Vocabularies(NamedTuple):
    """Tokenizers of both sides."""

    source: SentencePieceTokenizer
    target: SentencePieceTokenizer
    languages: tuple[str, str] | None  # codes of source and target
    files: Sequence[str]  # that they were read from


class Side(NamedTuple):
    """The pieces of one side as another program has them."""

    model: bytes  # of SentencePiece
    names: list[str]  # by id there
    order: list[int]  # by id here, the id there; -1: it has none there
    specials: tuple[int, int, int, int]  # ids there of padding, start, end and unknown
    before: tuple[str, ...] = ()  # the piece of the language

    def rows(self, tensor: Tensor) -> Tensor:
        """Rows by id here → rows by id there."""
        kept = [(there, here) for here, there in enumerate(self.order) if there >= 0]
        found = torch.zeros(len(self.names), *tensor.shape[1:])
        there, here = zip(*kept, strict=True)
        found[torch.tensor(there)] = tensor[torch.tensor(here)]
        return found


def read_both_sides(folder: Path, config: Mapping[str, Any], options: ReadOptions) -> Vocabularies:
    """Return the tokenizers of a folder. Raises CheckpointError where they do not fit the table of weights."""
    if (folder / MULTILINGUAL_MODEL).is_file():
        return _multilingual(folder, config, options)
    return _of_one_pair(folder, config, options)


def order_of(tokenizer: Tokenizer | None) -> Sequence[int]:
    """Return ids of the other program by ids here; one that was learnt here keeps its ids."""
    match tokenizer:
        case SentencePieceTokenizer():
            return tokenizer.listed.order
        case None:
            return ()
    return range(len(tokenizer))


def optional_json(file: Path) -> dict[str, Any]:
    """Return the object of a JSON file; nothing where there is no file. Raises CheckpointError for any other."""
    return json_object(file) if file.is_file() else {}


def write_vocabularies(
    folder: Path, source: Side, target: Side, languages: tuple[str | None, str | None], *, joint: bool
) -> None:
    """Write SentencePiece models and the files that number their pieces."""
    codes = [code for code in languages if code]
    token_config: dict[str, Any] = {"unk_token": "<unk>", "eos_token": "</s>", "pad_token": "<pad>"}
    numbers = {piece: number for number, piece in enumerate(source.names)}
    if target.before:
        listed = dict(zip(("src_lang", "tgt_lang"), codes, strict=True))
        own = [f"__{code}__" for code in _M2M100.split()]
        token_config |= {**listed, "tokenizer_class": "M2M100Tokenizer", "additional_special_tokens": own}
        numbers = {piece: number for piece, number in numbers.items() if piece not in own and piece[:8] != "<unused "}
        (folder / MULTILINGUAL_MODEL).write_bytes(source.model)
    else:
        listed = dict(zip(("source_lang", "target_lang"), codes, strict=False))
        token_config |= {**listed, "tokenizer_class": "MarianTokenizer", "separate_vocabs": not joint}
        (folder / SOURCE_MODEL).write_bytes(source.model)
        (folder / TARGET_MODEL).write_bytes(target.model)
    if not joint:
        other = {piece: number for number, piece in enumerate(target.names)}
        (folder / TARGET_VOCABULARY).write_text(json.dumps(other, ensure_ascii=False), encoding="utf-8")
    (folder / VOCABULARY).write_text(json.dumps(numbers, ensure_ascii=False), encoding="utf-8")
    (folder / TOKENIZER_CONFIG).write_text(json.dumps(token_config, ensure_ascii=False), encoding="utf-8")


def _of_one_pair(folder: Path, config: Mapping[str, Any], options: ReadOptions) -> Vocabularies:
    """OPUS-MT: a model for each side; one list of pieces, or two."""
    if not (folder / SOURCE_MODEL).is_file() and (folder / FAST_TOKENIZER).is_file():
        problem = f"has its tokenizer in {FAST_TOKENIZER} alone, and a SentencePiece model is needed"
        raise CheckpointError(folder, problem, f"fetch {MULTILINGUAL_MODEL} of this model into it")
    reader, writer = (read_bytes(folder / name) for name in (SOURCE_MODEL, TARGET_MODEL))
    files = [VOCABULARY, SOURCE_MODEL, TARGET_MODEL, TOKENIZER_CONFIG]
    read = _listed(folder / VOCABULARY, json_object(folder / VOCABULARY), config, config["vocab_size"], codes=True)
    if config.get("share_encoder_decoder_embeddings", True):
        other = None if reader == writer else reader  # transformers joins pieces by the source's model
        target = _tokenizer(folder, writer, read, other)
    else:
        size = config.get("decoder_vocab_size") or config["vocab_size"]
        listed = _listed(folder / TARGET_VOCABULARY, json_object(folder / TARGET_VOCABULARY), config, size)
        target = _tokenizer(folder, writer, listed)
        files.append(TARGET_VOCABULARY)
    said = _said(optional_json(folder / TOKENIZER_CONFIG), "source_lang", "target_lang")
    return Vocabularies(_tokenizer(folder, reader, read), target, options.pair(folder, said), files)


def _multilingual(folder: Path, config: Mapping[str, Any], options: ReadOptions) -> Vocabularies:
    """M2M100 and NLLB: one model, and a piece for each language in front of every text."""
    model, token_config = read_bytes(folder / MULTILINGUAL_MODEL), optional_json(folder / TOKENIZER_CONFIG)
    numbers, codes = _numbers(folder)
    pair = options.pair(folder, None) or _said(token_config, "src_lang", "tgt_lang")
    if pair is None:
        raise CheckpointError(folder, "is a model of several languages, and none are named", _PAIR)
    for code in pair:
        if code not in codes:
            raise CheckpointError(folder, f"has no language {code!r}", f"{_PAIR}; {', '.join([*codes][:8])} …")
    file = folder / (VOCABULARY if (folder / VOCABULARY).is_file() else FAST_TOKENIZER)
    listed = _listed(file, numbers, config, config["vocab_size"])
    listed = replace(listed, unwritten=frozenset(codes.values()))
    source, target = (_tokenizer(folder, model, replace(listed, before=(codes[code],))) for code in pair)
    return Vocabularies(source, target, pair, [file.name, MULTILINGUAL_MODEL, TOKENIZER_CONFIG])


def _numbers(folder: Path) -> tuple[dict[str, int], dict[str, str]]:
    """The id of each piece, and the piece of each language."""
    if (folder / VOCABULARY).is_file():
        found = dict(json_object(folder / VOCABULARY))
        codes = {code: f"__{code}__" for code in _M2M100.split()}
        found |= {piece: len(found) + place for place, piece in enumerate(codes.values())}
        return found, codes
    token_config = json_object(folder / FAST_TOKENIZER)
    try:
        pieces = token_config["model"]["vocab"]
        found = dict(pieces) if isinstance(pieces, dict) else {piece: place for place, (piece, _) in enumerate(pieces)}
        found |= {one["content"]: one["id"] for one in token_config["added_tokens"]}
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError(folder / FAST_TOKENIZER, f"is not a tokenizer of NLLB: {error}") from error
    codes = {piece: piece for piece in found if piece[3:4] == "_" and piece[:3].isalpha() and piece[4:].isalpha()}
    return found, codes


def _said(token_config: Mapping[str, Any], *names: str) -> tuple[str, str] | None:
    """The languages that a tokenizer's config names."""
    source, target = (token_config.get(name) for name in names)
    return (source, target) if isinstance(source, str) and isinstance(target, str) and source and target else None


def _listed(
    file: Path, found: Mapping[str, Any], config: Mapping[str, Any], size: int, *, codes: bool = False
) -> PieceList:
    """The pieces of a file in our order. Raises CheckpointError for ids that are not 0, 1, 2 … to `size`."""
    names = {number: piece for piece, number in found.items() if type(number) is int}
    if len(names) != len(found) or sorted(names) != list(range(len(names))):
        raise CheckpointError(file, "does not number its pieces 0, 1, 2 …")
    if len(names) > size:
        problem = f"has {len(names):,} pieces, and config.json has {size:,} rows for them"
        raise CheckpointError(file, problem, "take the vocabulary of this model")
    if "<unk>" not in found:
        raise CheckpointError(file, "has no piece <unk>", "take the vocabulary of this model")
    listed = [names.get(number, f"<unused {number}>") for number in range(size)]
    specials = [config["pad_token_id"], config["decoder_start_token_id"], config["eos_token_id"], found["<unk>"]]
    if max(specials) >= size:
        raise CheckpointError(file, f"has {size:,} pieces, and config.json has a special piece {max(specials):,}")
    return PieceList.of(listed, specials, codes=codes)


def _tokenizer(folder: Path, model: bytes, listed: PieceList, writer: bytes | None = None) -> SentencePieceTokenizer:
    try:
        return SentencePieceTokenizer(model, listed, writer)
    except RuntimeError as error:
        raise CheckpointError(folder, f"has a damaged SentencePiece model: {error}") from error
