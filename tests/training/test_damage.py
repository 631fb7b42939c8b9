"""A checkpoint that is damaged, foreign or missing is told in one line, and the one before it is found."""

import pytest
import torch
from torch import nn

from regard.data.sealed import SEAL, seal
from regard.errors import CheckpointError
from regard.training import checkpoint as files

NAMES = [files.MODEL_FILE, files.OBJECTIVE_FILE, files.OPTIMIZERS_FILE, files.GENERATORS_FILE, files.STATE_FILE, SEAL]


def refusal(folder):
    with pytest.raises(CheckpointError) as caught:
        files.load_checkpoint(folder)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(str(folder))
    return str(caught.value)


@pytest.mark.parametrize("name", NAMES)
def test_a_file_cut_short_or_missing_is_told(saved, name):
    path = saved / name
    whole = path.read_bytes()
    for size in {0, 1, len(whole) // 2, len(whole) - 1}:
        path.write_bytes(whole[:size])
        assert "is damaged" in refusal(saved)
    path.unlink()
    assert "is damaged" in refusal(saved)
    path.write_bytes(whole)
    files.load_checkpoint(saved)


@pytest.mark.parametrize("name", NAMES)
def test_a_flipped_bit_anywhere_is_told(saved, name):
    path = saved / name
    whole = path.read_bytes()
    for place in range(0, len(whole), max(1, len(whole) // 40)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << place % 8]) + whole[place + 1 :])
        assert "is damaged" in refusal(saved)


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "null", "7", '{"files": []}', '{"content": 1, "sha256": "0"}', "[" * 9]
)
def test_a_foreign_manifest_is_told(saved, text):
    (saved / SEAL).write_text(text)
    assert "is damaged, cut short or no checkpoint" in refusal(saved)


@pytest.mark.parametrize("content", [[], None, 7, {"format": 2}, {"format": None}, {}])
def test_another_format_is_told(saved, content):
    (saved / SEAL).unlink()
    seal(saved, content)
    assert ("has format" if isinstance(content, dict) else "no checkpoint") in refusal(saved)


@pytest.mark.parametrize("text", ["", "[]", "null", "{}", '{"aliases": []}', '{"aliases": {"a": "b"}}', "{"])
def test_a_foreign_state_is_told_though_it_is_sealed(saved, text):
    (saved / SEAL).unlink()
    (saved / files.STATE_FILE).write_text(text)
    seal(saved, {"format": files.CHECKPOINT_FORMAT})
    assert "cannot be read" in refusal(saved)


def test_there_is_none(tmp_path):
    assert "there is no such checkpoint" in refusal(tmp_path / "x")
    with pytest.raises(CheckpointError, match=r"holds no whole checkpoint \(training has not saved one yet"):
        files.latest_valid(tmp_path)


def test_another_one_is_advised_where_there_is_one(saved, tmp_path):
    model = saved / files.MODEL_FILE
    model.write_bytes(b"")
    assert "(it is the only one)" in refusal(saved)
    files.write(files.step_folder(tmp_path, 4), files.content_of(nn.Linear(1, 1)), {"update": 4})
    assert f"(regard train --run {tmp_path} --resume takes another one)" in refusal(saved)


@pytest.mark.parametrize("name", [files.OBJECTIVE_FILE, files.OPTIMIZERS_FILE, files.GENERATORS_FILE])
def test_weights_are_read_without_what_only_training_needs(saved, name):
    whole = files.load_checkpoint(saved)
    (saved / name).unlink()
    assert "is damaged" in refusal(saved)
    slim = files.load_checkpoint(saved, training=False)
    assert (slim.state, slim.optimizers) == (whole.state, {})
    assert all(torch.equal(slim.model[key], tensor) for key, tensor in whole.model.items())


@pytest.mark.parametrize("name", [files.MODEL_FILE, files.STATE_FILE, SEAL])
def test_what_is_read_of_the_weights_is_verified(saved, name):
    path = saved / name
    whole = path.read_bytes()
    for place in range(0, len(whole), max(1, len(whole) // 20)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(CheckpointError, match="is damaged"):
            files.load_checkpoint(saved, training=False)


def test_the_latest_whole_one_is_found_and_damaged_ones_are_named(saved, tmp_path):
    for update in (6, 10, 100):
        files.write(files.step_folder(tmp_path, update), files.content_of(nn.Linear(1, 1)), {"update": update})
    (files.step_folder(tmp_path, 100) / files.MODEL_FILE).write_bytes(b"")
    (files.step_folder(tmp_path, 10) / SEAL).unlink()
    checkpoint, told = files.latest_valid(tmp_path)
    assert checkpoint.state["update"] == 6
    assert ["step-00000100: is damaged" in told[0], "step-00000010: is damaged" in told[1]] == [True, True]
    files.remove(checkpoint.folder)
    assert files.latest_valid(tmp_path)[0].folder == saved
