"""A run with more pieces than its start, or with a vocabulary of its own: rows of embeddings, piece by piece."""

import pytest
import torch
from small_runs import regard, unsaid

from regard.data import toy
from regard.predictor import load
from regard.runs import Run, RunFolder

SMALL = [
    "text.tokenizer.size=330", "model.dim=16", "model.encoder={name: transformer, num_layers: 1, feedforward_dim: 16}",
    "model.decoder={name: transformer, num_layers: 1, feedforward_dim: 16}",
    "decoding.search={name: greedy, max_ratio: 0.5}",
]  # fmt: skip


def write_pairs(folder, language, count, seed, ending=""):
    sides = list(zip(*toy.pairs(language, count, seed), strict=True))
    files = [folder / f"{language}{seed}.en", folder / f"{language}{seed}.{language}"]
    for file, lines in zip(files, sides, strict=True):
        file.write_text("".join(f"{line}{ending}\n" for line in lines), encoding="utf-8")
    return ["--source", files[0], "--target", files[1]]


@pytest.fixture(scope="module", params=["true", "false"], ids=["shared", "two vocabularies"])
def base(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("base")
    options = [*write_pairs(folder, "de", 150, 1), f"text.shared={request.param}", "training.average=1"]
    tied = "all" if request.param == "true" else "target"
    limits = ["training.max_updates=3", "training.validate_every=3", f"model.tied={tied}"]
    done = regard("train", *SMALL, *options, *limits, "--run", folder / "run", "--quiet")
    assert done.code == 0, done.said
    return folder / "run"


def begun(*words):
    return regard("train", *words, "training.max_minutes=1e-9", "training.average=1")


def weights(run):
    return RunFolder(run).checkpoint().model


def tables(run):
    """Each table with a row for each piece → its rows by piece."""
    opened = Run.open(run)
    found = {}
    model = opened.assembled().model
    for part, column in (("source_embedder", "source"), ("target_embedder", "target"), ("head", "target")):
        tokenizer = opened.vocabularies[column].tokenizer
        pieces = tokenizer.pieces(range(len(tokenizer)))
        for module in model.parts()[part]:
            for name, tensor in module.state_dict().items():
                if tensor.shape[:1] == (len(pieces),):
                    found[part, name] = dict(zip(reversed(pieces), reversed(tensor), strict=True))
    return found


def test_new_pieces_are_means_of_their_parts(base, tmp_path):
    run, new = tmp_path / "run", write_pairs(tmp_path, "de", 120, 5, " “next”…")
    done = begun("--from", base, *new, "init.new_pieces=20", "--run", run)
    assert done.code == 0, done.said
    assert "20 new pieces: " in done.said and "new: nothing" in done.said
    before, after = tables(base), tables(run)
    assert before.keys() == after.keys() and before
    for place, rows in before.items():
        column = "source" if place[0] == "source_embedder" else "target"
        tokenizer = Run.open(base).vocabularies[column].tokenizer
        assert len(after[place]) == len(rows) + 20
        listed = tokenizer.pieces(range(len(tokenizer)))
        for piece, row in after[place].items():
            wanted = (
                torch.stack([rows[listed[one]] for one in tokenizer.parts(piece)]).mean(0)
                if piece not in rows
                else None
            )
            torch.testing.assert_close(row, rows[piece] if wanted is None else wanted, rtol=0, atol=1e-6)
    others = {name for name, tensor in weights(base).items() if tensor.shape == weights(run)[name].shape}
    assert others and all(torch.equal(weights(base)[name], weights(run)[name]) for name in others)
    assert load(run).predict(["a dog “next”…"])


def test_own_vocabulary_takes_equal_pieces(base, tmp_path):
    """A child of another pair of languages."""
    run, fresh, new = tmp_path / "run", tmp_path / "fresh", write_pairs(tmp_path, "zh", 150, 2)
    words = ["text.tokenizer.size=600", "data.dev_fraction=0.2"]
    done = begun("--from", base, *new, "init.own_vocabulary=true", *words, "--run", run)
    assert done.code == 0, done.said
    assert "pieces come from" in done.said
    settings = [f"text.shared={str(Run.open(base).experiment.text.shared).lower()}", *words]
    tied = Run.open(base).experiment.model.settings["tied"]
    assert begun(*SMALL, *new, *settings, f"model.tied={tied}", "--run", fresh).code == 0
    before, after, random = tables(base), tables(run), tables(fresh)
    for place, rows in after.items():
        assert rows.keys() == random[place].keys()
        equal = before[place].keys() & rows.keys()
        assert 256 < len(equal) < len(rows)
        for piece, row in rows.items():
            assert torch.equal(row, before[place][piece] if piece in equal else random[place][piece]), (place, piece)
    same = {name for name, tensor in weights(base).items() if "embedder" not in name and "head" not in name}
    assert same and all(torch.equal(weights(base)[name], weights(run)[name]) for name in same)
    assert Run.open(run).experiment.data.old is None


def test_bad_settings_are_one_line(base, tmp_path):
    new, run = write_pairs(tmp_path, "de", 120, 5), tmp_path / "run"
    both = ["init.new_pieces=5", "init.own_vocabulary=true"]
    assert unsaid(begun("--from", base, *new, *both, "--run", run), "init.new_pieces: cannot be set together") == []
    unigram = tmp_path / "unigram"
    start = begun(*SMALL, *new, "text.tokenizer={name: subwords, kind: unigram, size: 330}", "--run", unigram)
    assert start.code == 0, start.said
    more = write_pairs(tmp_path, "de", 120, 6)
    done = begun("--from", unigram, *more, "init.new_pieces=5", "--run", run)
    assert unsaid(done, "init.new_pieces: needs BPE subwords") == []
    assert not run.exists()
