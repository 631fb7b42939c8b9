"""Lexical shortlists: in compiled code, step by step, and against the whole vocabulary."""

import pytest
import torch
from networks import build_translator
from torch.testing import assert_close
from writers import batch_of, sources_of

from regard.decoding import GreedySearch
from regard.decoding.beam import BeamSearch
from regard.decoding.shortlist import Shortlist, ShortlistedWriter
from regard.errors import CheckpointError
from regard.models.translator import Translator
from regard.ops.kernels.packing import set_precision
from regard.ops.kernels.transformer import compiled_transformer
from regard.ops.kernels.vocabulary import compiled_vocabulary
from regard.pieces import SPECIALS
from regard.records import EOS
from regard.registry import Choice

VOCAB, BEST = 60, 5
SEARCHES = [
    GreedySearch(min_length=2),
    BeamSearch(size=4, n_best=3),
    BeamSearch(size=5, stop="full"),
    BeamSearch(size=3, n_best=2, min_length=4, max_ratio=0.5),
]
compiled = pytest.mark.skipif(compiled_transformer() is None, reason="no compiler here: nothing to prove")


@pytest.fixture(params=["transformer", "recurrent"])
def model(request):
    sizes = {"num_layers": 2, "feedforward_dim": 32} if request.param == "transformer" else {"num_layers": 1}
    choices = {side: Choice(request.param, sizes) for side in ("encoder", "decoder")}
    built = build_translator({"dim": 24, **choices}, VOCAB, VOCAB)
    for parameter in built.parameters():
        parameter.data.normal_(std=0.3 if request.param == "transformer" else 0.1)  # more of it is chaos
    return built.eval()


@pytest.fixture
def batch():
    return batch_of(sources_of(9, VOCAB, 9, seed=3))


@pytest.fixture
def shortlist():
    return Shortlist(torch.randint(len(SPECIALS), VOCAB, (VOCAB, BEST)), torch.tensor([10, 20, 30]), VOCAB)


def run(search, writer, batch):
    with torch.no_grad():
        return search.run(writer, batch)


@pytest.mark.parametrize("search", SEARCHES)
def test_a_list_of_all_words_changes_nothing(model, batch, search):
    everything = Shortlist(torch.arange(VOCAB).repeat(VOCAB, 1), torch.arange(0), VOCAB)
    for found, wanted in zip(
        run(search, ShortlistedWriter(model, everything), batch), run(search, model, batch), strict=True
    ):
        assert [one.ids for one in found] == [one.ids for one in wanted]
        for one, other in zip(found, wanted, strict=True):
            assert_close(torch.tensor(one.log_probs), torch.tensor(other.log_probs), rtol=0.0, atol=1e-5)


@pytest.mark.parametrize("search", SEARCHES)
def test_only_words_of_the_list_are_written(model, batch, shortlist, search):
    allowed = shortlist.allowed(batch.sequences("source"))
    for some, row in zip(run(search, ShortlistedWriter(model, shortlist), batch), allowed, strict=True):
        assert all(row[word] for one in some for word in one.ids)


@pytest.mark.parametrize("search", SEARCHES)
def test_a_source_is_answered_alike_in_any_company(model, shortlist, search):
    sources = sources_of(6, VOCAB, 9, seed=5)
    together = run(search, ShortlistedWriter(model, shortlist), batch_of(sources))
    for source, some in zip(sources, together, strict=True):
        [alone] = run(search, ShortlistedWriter(model, shortlist), batch_of([source]))
        assert [one.ids for one in alone] == [one.ids for one in some]


@compiled
@pytest.mark.parametrize("precision", ["float32", "int8"])
@pytest.mark.parametrize("search", SEARCHES)
def test_compiled_code_writes_what_steps_write(model, batch, shortlist, search, precision, monkeypatch):
    """In 8 bits each word has a scale of its own, so a table of some words is rounded as the whole one."""
    if precision == "int8" and not compiled_vocabulary().multiplies_eight():  # this processor has no such products
        with pytest.warns(UserWarning, match="weights stay float32"):
            set_precision(model, precision)
        precision = "float32"
    set_precision(model, precision)
    found = run(search, ShortlistedWriter(model, shortlist), batch)
    monkeypatch.setattr(Translator, "compiled_writer", lambda *_: None)
    wanted = run(search, ShortlistedWriter(model, shortlist), batch)
    tolerance = 1e-5 if precision == "float32" else 0.2  # steps take the head's float32 product
    for some, others in zip(found, wanted, strict=True):
        for one, other in zip(some, others, strict=True):
            if precision == "float32":
                assert one.ids == other.ids
            if one.ids == other.ids:
                assert_close(torch.tensor(one.log_probs), torch.tensor(other.log_probs), rtol=0.0, atol=tolerance)


def test_the_probabilities_of_listed_words_sum_to_one(model, batch, shortlist):
    writer = ShortlistedWriter(model, shortlist)
    state = writer.start(batch)
    step, after = writer.step(torch.full((len(batch.lines), 1), EOS), state)
    plain, _ = model.step(torch.full((len(batch.lines), 1), EOS), model.start(batch))
    for row, (found, allowed) in enumerate(zip(step.log_probs, after.allowed, strict=True)):
        some = plain.log_probs[row][allowed].exp()
        assert_close(found[allowed].exp(), some / some.sum())
        assert not found[~allowed].exp().any()


def test_it_comes_back_from_a_file(shortlist, batch, tmp_path):
    path = tmp_path / "shortlist.safetensors"
    shortlist.save(path, "ours")
    again = Shortlist.load(path, VOCAB, VOCAB, "ours")
    source = batch.sequences("source")
    assert torch.equal(again.allowed(source), shortlist.allowed(source))


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda path: path.unlink(), r"is missing \(learn it from the training texts: regard shortlist"),
        (lambda path: path.write_bytes(path.read_bytes()[:20]), "cannot be read"),
        (lambda path: Shortlist(torch.zeros(3, 1), torch.zeros(1), VOCAB).save(path), "is not a shortlist of this run"),
        (
            lambda path: Shortlist(torch.full((VOCAB, 1), VOCAB), torch.zeros(1), VOCAB).save(path, "ours"),
            "ids outside",
        ),
        (
            lambda path: Shortlist(torch.zeros(VOCAB, 1), torch.zeros(1), VOCAB).save(path, "theirs"),
            "other vocabularies",
        ),
    ],
)
def test_a_damaged_file_is_told(shortlist, tmp_path, damage, said):
    path = tmp_path / "shortlist.safetensors"
    shortlist.save(path)
    damage(path)
    with pytest.raises(CheckpointError, match=said):
        Shortlist.load(path, VOCAB, VOCAB, "ours")
