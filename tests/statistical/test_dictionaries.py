"""Bilingual dictionaries: CSLS and Procrustes by hand, known rotations recovered, precision, and faults."""

import json

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from regard.cli.app import app
from regard.errors import DataError, PartError
from regard.reports.dictionary import dictionary_method, learn_dictionary, precision_report, read_word_pairs
from regard.statistical.dictionaries.adversarial import Adversarial, Game
from regard.statistical.dictionaries.method import Space, refined
from regard.statistical.dictionaries.spaces import (
    centred_units,
    csls,
    matches,
    mutual_pairs,
    principal_axes,
    procrustes,
)
from regard.text.vector_table import VectorTable

COUNT, DIM = 400, 12


def drawn(count=COUNT, dim=DIM, seed=3):
    """Vectors that are neither symmetric nor equally long along their axes, as those of words are."""
    generator = torch.Generator().manual_seed(seed)
    skewed = torch.randn(count, dim, generator=generator).exp() * torch.linspace(2, 0.5, dim)
    return centred_units(skewed)


def rotated(vectors, seed=4):
    """The vectors under a random rotation, in another order, and the place of each in it."""
    generator = torch.Generator().manual_seed(seed)
    rotation = torch.linalg.qr(torch.randn(vectors.shape[1], vectors.shape[1], generator=generator))[0]
    order = torch.randperm(len(vectors), generator=generator)
    return (vectors @ rotation)[order], order.argsort()


def tables(shared=0):
    """A language and its rotation; `shared` words are spelt alike in both."""
    vectors = drawn()
    other, places = rotated(vectors)
    words = [f"s{number}" for number in range(COUNT)]
    target = [""] * COUNT
    for number, place in enumerate(places.tolist()):
        target[place] = words[number] if number < shared else f"t{number}"
    return VectorTable(words, vectors.numpy()), VectorTable(target, other.numpy())


def known(shared=0):
    return [(f"s{number}", f"s{number}" if number < shared else f"t{number}") for number in range(COUNT)]


def test_procrustes_finds_a_rotation():
    vectors = drawn()
    rotation = torch.linalg.qr(torch.randn(DIM, DIM, generator=torch.Generator().manual_seed(1)))[0]
    found = procrustes(vectors, vectors @ rotation)
    torch.testing.assert_close(found, rotation, atol=1e-4, rtol=0)
    torch.testing.assert_close(found @ found.T, torch.eye(DIM), atol=1e-5, rtol=0)


def test_csls_by_hand():
    source = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    target = torch.tensor([[0.6, 0.8], [1.0, 0.0]])
    cosines = source @ target.T  # [[.6, 1], [.8, 0]]
    of_source, of_target = torch.tensor([[1.0], [0.8]]), torch.tensor([0.8, 1.0])
    (table,) = csls(source, target, neighbours=1)
    torch.testing.assert_close(table, 2 * cosines - of_source - of_target)


def test_a_hub_is_no_match_of_all():
    """The hub is the nearest of both sources by the cosine; by CSLS each has its own word."""
    source = normalised_rows([[1.0, 0.2, 0.0], [1.0, 0.0, 0.2]])
    target = normalised_rows([[1.0, 0.0, 0.0], [0.7, 0.4, 0.0], [0.7, 0.0, 0.4]])
    assert (source @ target.T).argmax(dim=1).tolist() == [0, 0]
    hubs = torch.cat([*csls(source, target, neighbours=2)])
    assert hubs.argmax(dim=1).tolist() == [1, 2]


def normalised_rows(rows):
    return torch.nn.functional.normalize(torch.tensor(rows), dim=1)


def test_mutual_pairs_are_best_both_ways():
    vectors = drawn()
    other, places = rotated(vectors)
    back = procrustes(vectors, other[places])
    pairs = mutual_pairs(vectors @ back, other)
    assert len(pairs.source) == COUNT and torch.equal(places[pairs.source], pairs.target)


def test_matches_do_not_depend_on_blocks():
    one, other = drawn(1500), drawn(1200, seed=9)
    places = matches(one, other, count=3).places
    whole = 2 * one @ other.T
    whole -= (one @ other.T).topk(10, dim=1).values.mean(dim=1, keepdim=True)
    whole -= (other @ one.T).topk(10, dim=1).values.mean(dim=1)
    assert torch.equal(places, whole.topk(3, dim=1).indices)


def test_refinement_mends_a_poor_start():
    vectors = drawn()
    other, places = rotated(vectors)
    poor = procrustes(vectors[:8], other[places[:8]])
    found = refined(vectors, other, poor, rounds=10)
    right = matches(vectors @ found, other).places[:, 0] == places
    assert right.float().mean() >= 0.95


@pytest.mark.parametrize("method", ["{name: adversarial, updates: 5}", "identical", "similarity"])
def test_a_known_rotation_is_recovered(method):
    shared = 40 if method == "identical" else 0
    found = learn_dictionary(*tables(shared), dictionary_method(method))
    values = precision_report(found, known(shared)).values
    assert values["precision_at_1"] >= 0.95 and values["coverage"] == 1


def test_principal_axes_turn_with_the_vectors():
    vectors = drawn()
    rotation = torch.linalg.qr(torch.randn(DIM, DIM, generator=torch.Generator().manual_seed(1)))[0]
    torch.testing.assert_close(
        principal_axes(vectors @ rotation), rotation.T @ principal_axes(vectors), atol=1e-3, rtol=0
    )
    along = vectors @ principal_axes(vectors)
    assert bool((along.var(dim=0).diff() < 0).all()) and bool((along.pow(3).sum(dim=0) > 0).all())


def test_an_adversary_maps_fewer_words_than_dimensions():
    source, target = (Space([*map(str, range(count))], drawn(count, 12)) for count in (8, 30))
    found = Adversarial(epochs=1, updates=1, restarts=1).fit(source, target, torch.Generator().manual_seed(1))
    torch.testing.assert_close(found.source @ found.source.T, torch.eye(12), atol=1e-4, rtol=0)


def test_an_adversary_keeps_a_rotation_and_its_seed():
    method = dictionary_method(
        "{name: adversarial, start: identity, restarts: 1, epochs: 1, updates: 40, hidden_dim: 16, rounds: 0}"
    )
    one, other = (learn_dictionary(*tables(), method) for _ in range(2))
    assert torch.equal(one.source.vectors, other.source.vectors)
    cosines, before = one.source.vectors @ one.source.vectors.T, centred_units(torch.from_numpy(tables()[0].vectors))
    torch.testing.assert_close(cosines, before @ before.T, atol=0.05, rtol=0)  # a rotation changes no angle


def test_a_discriminator_learns_to_name_languages():
    settings, spaces = Adversarial(hidden_dim=32, smoothing=0.0), (drawn(), drawn(seed=8).flip(1))
    game = Game(settings, torch.eye(DIM), *spaces, torch.Generator().manual_seed(1))
    first = float(game.loss(game.sampled(), game.labels).detach())
    for _ in range(300):
        game.update_discriminator(0.1)
    assert float(game.loss(game.sampled(), game.labels).detach()) < 0.8 * first


def test_a_seed_dictionary_starts_the_map():
    found = learn_dictionary(*tables(), known()[:30])
    assert precision_report(found, known()).values["precision_at_1"] >= 0.95


def test_the_same_seed_gives_the_same_dictionary():
    one, other = (learn_dictionary(*tables(), dictionary_method("similarity"), words=200, seed=5) for _ in range(2))
    assert torch.equal(one.source.vectors, other.source.vectors)


def test_precision_counts_any_of_several_translations():
    found = learn_dictionary(*tables(), known())
    several = [("s0", "t9"), ("s0", "t0"), ("s1", "t2"), ("unknown", "t3")]
    values = precision_report(found, several).values
    assert (values["precision_at_1"], values["words"]) == (0.5, 2) and values["coverage"] == pytest.approx(2 / 3)


def test_words_that_are_not_shared_start_nothing():
    with pytest.raises(PartError, match="no pair"):
        learn_dictionary(*tables(), dictionary_method("identical"))


def test_vectors_of_two_sizes_are_refused():
    source, _ = tables()
    with pytest.raises(DataError, match="12 and 5"):
        learn_dictionary(source, VectorTable(["a", "b"], np.ones((2, 5))), dictionary_method("identical"))


def test_a_line_without_a_translation_is_named(tmp_path):
    (tmp_path / "seed.tsv").write_text("dog\tHund\ncat\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"seed.tsv:2"):
        read_word_pairs(tmp_path / "seed.tsv")


def test_spaces_keep_the_most_frequent_words_first():
    space = Space(["a", "b", "c"], drawn(3))
    assert torch.equal(space.head(2), space.vectors[:2])


def test_the_command_prints_pairs_and_writes_vectors(tmp_path):
    for name, table in zip(("s.vec", "t.vec"), tables(40), strict=True):
        rows = (" ".join([word, *map(str, vector.tolist())]) for word, vector in table)
        (tmp_path / name).write_text(f"{len(table)} {DIM}\n" + "\n".join(rows) + "\n", encoding="utf-8")
    words = ["dictionary", str(tmp_path / "s.vec"), str(tmp_path / "t.vec"), "--quiet"]
    done = CliRunner().invoke(app, [*words, "--mapped", str(tmp_path / "a.vec"), str(tmp_path / "b.vec")])
    assert done.exit_code == 0
    first = done.stdout.splitlines()[0].split("\t")
    assert first[:2] == ["s0", "s0"] and (tmp_path / "a.vec").exists() and (tmp_path / "b.vec").exists()
    (tmp_path / "gold").write_text("s50 t50\ns60 t60\n", encoding="utf-8")
    done = CliRunner().invoke(app, [*words, "--gold", str(tmp_path / "gold"), "--json"])
    assert json.loads(done.stdout)["precision_at_1"] == 1
