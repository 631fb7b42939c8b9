"""Folders of translators that transformers writes: random weights, SentencePiece models learnt on the spot."""

import io
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, wraps
from itertools import islice
from pathlib import Path
from typing import Any

import sentencepiece
import torch

from regard.data.toy import pairs

SIZES = {"encoder_ffn_dim": 48, "decoder_ffn_dim": 40, "encoder_attention_heads": 4, "decoder_attention_heads": 4}


@cache
def drawn(part: str) -> tuple[list[tuple[str, str]], Iterator[tuple[str, str]]]:
    """Pairs of the toy grammar that were asked for, and those that come next."""
    return [], pairs("de", sys.maxsize, 1, part=part)


@cache
def toy_lines(side: int, count: int = 600, part: str = "train") -> tuple[str, ...]:
    """Sentences of the toy grammar: 0 English, 1 German. Fewer are the first of more."""
    found, more = drawn(part)
    found.extend(islice(more, max(0, count - len(found))))
    return tuple(pair[side] for pair in found[:count])


@cache
def learnt_model(lines: tuple[str, ...], size: int = 160) -> bytes:
    """A unigram model with the normalisation that OPUS-MT has."""
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=written, vocab_size=size, minloglevel=2, hard_vocab_limit=False
    )
    return written.getvalue()


def pieces_of(model: bytes) -> list[str]:
    loaded = sentencepiece.SentencePieceProcessor(model_proto=model)
    return [loaded.id_to_piece(number) for number in range(loaded.get_piece_size())]


def joint_vocabulary(models: Sequence[bytes], codes: Sequence[str] = ()) -> dict[str, int]:
    """As OPUS-MT numbers pieces: the end first, then <unk>, pieces of both, padding last."""
    own = {"<s>", "</s>", "<unk>"}
    pieces = dict.fromkeys(piece for model in models for piece in pieces_of(model) if piece not in own)
    listed = ["</s>", "<unk>", *codes, *pieces, "<pad>"]
    return {piece: number for number, piece in enumerate(listed)}


def filled(vocabulary: Mapping[str, int], rows: int) -> dict[str, int]:
    """With pieces that no text has in front of the padding, up to so many rows."""
    *pieces, padding = vocabulary
    more = (f"\u2581filler{number}" for number in range(rows - len(vocabulary)))
    return {piece: number for number, piece in enumerate((*pieces, *more, padding))}


def once(write: Callable[..., Path]) -> Callable[..., Path]:
    """Draw and save a folder of the same settings once a process; later folders have the same files."""
    made = dict[str, dict[str, bytes]]()

    @wraps(write)
    def written(folder: Path, **settings: Any) -> Path:
        folder.mkdir(parents=True)
        key = repr(sorted(settings.items()))
        if key not in made:
            with torch.random.fork_rng():
                write(folder, **settings)
            made[key] = {file.name: file.read_bytes() for file in folder.iterdir()}
        for name, content in made[key].items():
            (folder / name).write_bytes(content)
        return folder

    return written


@once
def marian_folder(
    folder: Path,
    *,
    seed: int = 0,
    codes: Sequence[str] = (),
    lines: Sequence[tuple[str, ...]] | None = None,
    pieces: int = 160,
    rows: int = 0,
    **changes: Any,
) -> Path:
    """Write a MarianMTModel with its tokenizer, learnt from `lines` of both sides; with `rows` pieces at least."""
    from transformers import MarianConfig, MarianMTModel

    models = [learnt_model(some, pieces) for some in lines or (toy_lines(0), toy_lines(1))]
    vocabulary = filled(joint_vocabulary(models, codes), rows)
    for name, model in zip(("source.spm", "target.spm"), models, strict=True):
        (folder / name).write_bytes(model)
    (folder / "vocab.json").write_text(json.dumps(vocabulary, ensure_ascii=False), encoding="utf-8")
    told = {"source_lang": "en", "target_lang": "de", "tokenizer_class": "MarianTokenizer"}
    (folder / "tokenizer_config.json").write_text(json.dumps(told))
    pad, search = vocabulary["<pad>"], {"num_beams": 4, "max_length": 24}
    search |= {name: changes.pop(name) for name in [*changes] if name in ("num_beams", "max_length", "early_stopping",
               "length_penalty", "min_length", "min_new_tokens", "no_repeat_ngram_size")}  # fmt: skip
    settings = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "activation_function": "swish",
                "scale_embedding": True, "init_std": 0.3, "max_position_embeddings": 512}  # fmt: skip
    settings |= {**SIZES, **changes}
    ids = {"pad_token_id": pad, "decoder_start_token_id": pad, "eos_token_id": 0}
    ids["forced_eos_token_id"] = settings.pop("forced_eos_token_id", 0)
    torch.manual_seed(seed)
    model = MarianMTModel(MarianConfig(vocab_size=len(vocabulary), **ids, **settings)).eval()
    with torch.no_grad():
        model.final_logits_bias.normal_()
        model.final_logits_bias[0, pad] = 0
    model.generation_config.update(bad_words_ids=[[pad]], **search)
    model.save_pretrained(folder)
    return folder


@once
def m2m100_folder(folder: Path, *, seed: int = 0, **changes: Any) -> Path:
    """Write an M2M100ForConditionalGeneration with its tokenizer, English to German."""
    from transformers import M2M100Config, M2M100ForConditionalGeneration, M2M100Tokenizer

    model = learnt_model((*toy_lines(0), *toy_lines(1)), 240)
    vocabulary = {piece: number for number, piece in enumerate(("<s>", "<pad>", "</s>", "<unk>"))}
    for piece in pieces_of(model):
        vocabulary.setdefault(piece, len(vocabulary))
    files = folder / "vocab.json", folder / "sentencepiece.bpe.model"
    files[0].write_text(json.dumps(vocabulary, ensure_ascii=False), encoding="utf-8")
    files[1].write_bytes(model)
    from transformers.models.m2m_100.tokenization_m2m_100 import FAIRSEQ_LANGUAGE_CODES

    codes = [f"__{code}__" for code in FAIRSEQ_LANGUAGE_CODES["m2m100"]]  # special tokens, as in the hub's folder
    tokenizer = M2M100Tokenizer(*map(str, files), src_lang="en", tgt_lang="de", additional_special_tokens=codes)
    tokenizer.save_pretrained(folder)
    settings = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "init_std": 0.3, **SIZES, **changes}
    torch.manual_seed(seed)
    size = len(vocabulary) + len(tokenizer.lang_code_to_id) + tokenizer.num_madeup_words
    made = M2M100ForConditionalGeneration(M2M100Config(vocab_size=size, **settings)).eval()
    with torch.no_grad():
        made.model.shared.weight[size - tokenizer.num_madeup_words :] = 0  # rows without a piece, which no text has
    made.generation_config.update(num_beams=4, max_length=24)
    made.save_pretrained(folder)
    return folder
