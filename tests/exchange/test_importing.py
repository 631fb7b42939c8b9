"""Folders of other programs as runs."""

import json

import pytest
from foreign_translators import marian_folder, toy_lines

from regard.errors import CheckpointError
from regard.exchange import format_of, import_folder
from regard.predictor import load


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return marian_folder(tmp_path_factory.mktemp("marian") / "opus")


def test_probabilities_are_those_of_transformers(folder, tmp_path):
    texts = toy_lines(0, 20, "test")
    made = import_folder(format_of(folder), folder, tmp_path / "run", texts=texts, count=20, say=lambda _: None)
    assert made.certificate.program is not None
    assert made.certificate.gap is not None
    assert made.certificate.gap <= 1e-4


def test_run_opens_and_keeps_its_origin(folder, tmp_path):
    import_folder(format_of(folder), folder, tmp_path / "run", count=0, say=lambda _: None)
    assert load(tmp_path / "run").predict(["The man sees a dog."])[0].text
    origin = json.loads((tmp_path / "run" / "imported.json").read_text())
    assert (origin["format"], origin["architecture"]) == ("huggingface", "MarianMTModel")


def test_folder_of_no_format_is_refused(tmp_path):
    with pytest.raises(CheckpointError, match="is not a folder of firefox or huggingface or marian"):
        format_of(tmp_path)
