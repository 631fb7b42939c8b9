"""Vectors from a file: rows equal the file's, others are drawn, padding is zero, a run needs the file no more."""

import numpy as np
import pytest
import torch
from torch import tensor
from torch.testing import assert_close

import regard
from regard.errors import ConfigError, DataError, PartError
from regard.experiment import read_experiment
from regard.layers.embedders.external_vectors import PretrainedEmbedder
from regard.runs import train_run
from regard.text.vector_files import write_word2vec
from regard.text.vector_table import VectorTable

WORDS = ["", "", "", "", "good", "Bad", "odd"]
KNOWN = VectorTable(["bad", "good", "other"], np.arange(9, dtype=np.float32).reshape(3, 3))


def filled(dim: int = 3, **settings) -> tuple[PretrainedEmbedder, str]:
    torch.manual_seed(1)
    embedder = PretrainedEmbedder(len(WORDS), dim, None, vectors="some", dropout=0.0, **settings)
    return embedder, embedder.take_words(WORDS, lambda path, words: KNOWN)


def test_rows_are_those_of_the_file_also_in_lower_case(assert_agrees):
    embedder, told = filled()
    assert_agrees("E03", embedder.table[4:6].detach(), tensor([[3.0, 4, 5], [0, 1, 2]]))
    assert told == "some: vectors of 2 words; 1 of the vocabulary (33.3%) are missing and start at random"


def test_other_rows_are_drawn_within_a_quarter_and_padding_is_zero():
    embedder, _ = filled()
    assert not embedder.table[0].any()
    drawn = embedder.table[[1, 2, 3, 6]]
    assert drawn.abs().max() <= 0.25 and drawn.unique().numel() == 12
    embedder(tensor([[0, 4]]))[0].sum().backward()
    assert not embedder.table.grad[0].any() and embedder.table.grad[4].all()


def test_a_projection_makes_vectors_as_wide_as_the_model():
    embedder, _ = filled(dim=5, width=3)
    assert_close(embedder(tensor([[5]]))[0][0, 0], embedder.projection(tensor([0.0, 1, 2])))
    assert embedder.output_weight() is None
    assert_close(embedder.word_vectors(tensor([5])), tensor([[0.0, 1, 2]]))


def test_frozen_vectors_do_not_learn():
    embedder, _ = filled(frozen=True)
    assert not embedder.table.requires_grad
    assert filled()[0].table.requires_grad


def test_vectors_of_another_width_and_none_at_all_are_refused():
    with pytest.raises(PartError, match="is 4, and the vectors of some have 3 numbers"):
        filled(dim=4)
    with pytest.raises(PartError, match="names no vectors"):
        PretrainedEmbedder(3, 3, None).take_words(["", "", "a"], lambda path, words: KNOWN)


def settings(folder, **more):
    (folder / "table.tsv").write_text("good\tfine film\nbad\tdull film\n" * 8, encoding="utf-8")
    write_word2vec(folder / "vectors.txt", VectorTable(["fine", "film"], np.eye(2, 6)))
    reader = f"{{name: tsv, file: '{folder / 'table.tsv'}', fields: {{label: 1, text: 2}}}}"
    embedder = {"name": "pretrained", "vectors": str(folder / "vectors.txt"), "width": 6, **more}
    words = ", ".join(f"{name}: {value}" for name, value in embedder.items())
    data = [f"data.{part}={reader}" for part in ("train", "dev")]
    steps = ["training.max_updates=2", "training.validate_every=1", "training.average=1"]
    small = ["task=classification", "model.dim=8", f"model.embedder={{{words}}}", "text.tokenizer=uncased_words"]
    return read_experiment(None, [*data, *steps, *small, f"run={folder / 'run'}"])


def test_a_run_is_used_without_the_file(tmp_path, capsys):
    assert train_run(settings(tmp_path, frozen=True))
    assert "vectors of 2 words; 1 of the vocabulary (33.3%) are missing" in capsys.readouterr().err
    (tmp_path / "vectors.txt").unlink()
    predictor = regard.load(tmp_path / "run")
    (embedder,) = predictor.model.parts()["embedder"]
    ids = predictor.task.vocabularies["text"].encode("fine film")
    assert torch.equal(embedder.table[ids], torch.eye(2, 6))
    assert predictor.predict(["fine film"])[0].text in {"good", "bad"}


def test_a_wrong_width_leaves_no_folder_behind(tmp_path):
    with pytest.raises(ConfigError, match=r"model\.embedder\.width: is 7, and the vectors of .* have 6 numbers"):
        train_run(settings(tmp_path, width=7), quiet=True)
    assert not (tmp_path / "run").exists()


def test_vectors_are_checked_before_anything_is_learnt(tmp_path, capsys):
    experiment = settings(tmp_path)
    (tmp_path / "vectors.txt").write_text("fine 1 2 3 4 5 6\nfilm 1 2 3 4 5 x\n")
    with pytest.raises(DataError, match=r"vectors\.txt:2: 'x' is not a number"):
        train_run(experiment)
    assert "learning" not in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
