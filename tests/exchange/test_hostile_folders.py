"""Folders of strangers: any value has one clear line, and none takes memory that the files do not have."""

import json
import struct

import numpy as np
import pytest
import torch
from damages import damaged, drawn_damages
from foreign_translators import m2m100_folder, marian_folder

from regard.config import read_settings
from regard.errors import CheckpointError, RegardError
from regard.exchange import format_of
from regard.exchange.format import ReadOptions
from regard.exchange.huggingface import read_config, search_of
from regard.exchange.marian.files import read_model
from regard.exchange.marian.format import checksum, read_lexicon
from regard.exchange.marian.shape import read_shape
from regard.exchange.vocabularies import _listed
from regard.exchange.weights import check_safetensors, read_weights
from regard.experiment import Experiment

SIZES = ("vocab_size", "d_model", "max_position_embeddings", *(f"{side}_{one}" for side in ("encoder", "decoder")
         for one in ("layers", "ffn_dim", "attention_heads")))  # fmt: skip
CONFIG = {"model_type": "marian", "pad_token_id": 1, "decoder_start_token_id": 1, **dict.fromkeys(SIZES, 2)}
MAGIC = 0xF11A48D5013417F5  # of lex.bin
SHAPE = "dim-emb: 4\nenc-depth: 1\ndec-depth: 1\ntransformer-heads: 1\ntransformer-dim-ffn: 4\ndim-vocabs: [8, 8]\n"


@pytest.mark.parametrize(
    "changed",
    [
        {"activation_function": ["relu"]},
        {"model_type": "x", "architectures": 5},
        {"decoder_vocab_size": 10**12},
        {"decoder_vocab_size": "x"},
        {"d_model": -4},
        {"dropout": float("nan")},
    ],
)
def test_config_of_another_type_is_refused(changed, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({**CONFIG, **changed}))
    with pytest.raises(CheckpointError):
        read_config(tmp_path)


def test_a_special_piece_beyond_the_target_vocabulary(tmp_path):
    config = {**CONFIG, "eos_token_id": 0, "pad_token_id": 9}
    with pytest.raises(CheckpointError, match="special piece 9"):
        _listed(tmp_path / "vocab.json", {"<unk>": 0, "a": 1}, config, 2)


@pytest.mark.parametrize("name", ["num_beams", "max_length", "max_new_tokens", "length_penalty"])
@pytest.mark.parametrize("value", ["x", [1], -1e9, 10**12, float("inf"), float("nan")])
def test_a_search_has_bounds(name, value):
    with pytest.raises(RegardError, match=name):
        search_of({"num_beams": 4, name: value})


def test_a_deep_header_is_damage(tmp_path):
    header = b"[" * 200_000
    (tmp_path / "m.safetensors").write_bytes(struct.pack("<Q", len(header)) + header)
    with pytest.raises(CheckpointError, match="nested too deep"):
        check_safetensors(tmp_path / "m.safetensors")


def test_a_pickle_holds_all_numbers_of_its_shapes(tmp_path):
    torch.save({"w": torch.zeros(1).expand(1000, 1000)}, tmp_path / "pytorch_model.bin")
    with pytest.raises(CheckpointError, match="fewer numbers"):
        read_weights(tmp_path, allow_pickle=True)


def test_an_array_file_is_not_unpacked_a_thousandfold(tmp_path):
    np.savez_compressed(tmp_path / "model.npz", w=np.zeros(20_000_000, np.float32))
    with pytest.raises(CheckpointError, match="80,000,128 bytes unpacked"):
        read_model(tmp_path / "model.npz")


@pytest.mark.parametrize(
    "line",
    [
        "transformer-ffn-activation: [a]",
        "transformer-tied-layers: 5",
        "transformer-decoder-dim-ffn: {a: 1}",
        "transformer-dim-aan: -1",
        "".join(f"a{level}: &a{level} [{', '.join([f'*a{level - 1}' if level else 'x'] * 10)}]\n" for level in range(9))
        + "type: *a8",
    ],
)
def test_shapes_of_another_type_are_refused(line, tmp_path):
    with pytest.raises(CheckpointError):
        read_shape(f"{SHAPE}{line}\n", tmp_path / "model.bin")


@pytest.mark.parametrize("places", [[0, 2**63 - 1, 2**63, 2**64 - 1, 2], [2**64 - 1, 0, 2], [0, 3], [2, 1]])
def test_places_of_a_shortlist_are_within_it(places, tmp_path):
    body = np.array(places, "<u8").tobytes() + np.array([1, 2], "<u4").tobytes()
    sizes = struct.pack("<4Q", 1, 1, len(places), 2)
    noted = checksum(struct.pack("<2Q", MAGIC, 0) + sizes + body)
    (tmp_path / "lex.bin").write_bytes(struct.pack("<2Q", MAGIC, noted) + sizes + body)
    with pytest.raises(CheckpointError, match="does not fit vocabularies"):
        read_lexicon(tmp_path / "lex.bin", 8, 8)


@pytest.mark.parametrize("make", [marian_folder, m2m100_folder])
def test_no_damage_of_a_folder_of_transformers_ends_in_a_traceback(make, tmp_path):
    """Its files have no checksum; 250 cuts and flips, of every file."""
    folder, refused = make(tmp_path / "folder"), 0
    for damage in drawn_damages(folder, 250, 7):
        with damaged(folder, damage):
            try:
                found = format_of(folder).read(folder, ReadOptions())
            except RegardError as error:
                assert "\n" not in str(error)
                refused += 1
                continue
            read_settings(Experiment, {**found.settings, "run": str(tmp_path / "run")})
            for tokenizer in found.tokenizers.values():
                tokenizer.decode(tokenizer.encode("A man sees a dog."))
    assert refused > 100
