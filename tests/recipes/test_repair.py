"""Repairs: right answers in the new run, and none where others suffer."""

import json
import random

import pytest
import torch
from small_runs import SMALL, regard, unsaid, write_texts
from typer.testing import CliRunner

import regard as package
from regard.cli.app import app
from regard.recipes import repair as recipe

REPAIRS = [("a dog reads 3 books.", "ein Hund liest 3 Bücher."), ("two cats", "zwei Hunde")]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("repair")
    changes = [*SMALL, "training.max_updates=60", "training.validate_every=60", "data.dev_fraction=0.2"]
    assert regard("train", *write_texts(folder), "--run", folder / "run", *changes, "--quiet").code == 0
    (folder / "repairs.tsv").write_text("".join(f"{one}\t{other}\n" for one, other in REPAIRS), encoding="utf-8")
    (folder / "others.txt").write_text("he runs\na cat reads\ntwo dogs\nhe\n", encoding="utf-8")
    return folder


def repaired(place, name, *words):
    command = ["repair", place / "run", place / "repairs.tsv", "-o", place / name, "--json", "-q", *words]
    return CliRunner().invoke(app, [str(word) for word in command])


def test_a_repaired_run_has_the_right_answers(place, monkeypatch):
    monkeypatch.setattr(recipe, "_RATE", 5e-3)  # a network of 16 dimensions
    done = repaired(place, "new", "--text", place / "others.txt", "--max-changed", 100)
    values = json.loads(done.stdout)
    assert (values["repaired"], values["repairs"], values["others"]) == (2, 2, 4)
    old, new = (package.load(place / name) for name in ("run", "new"))
    given = [source for source, _ in REPAIRS]
    assert [one.text for one in new.predict(given)] == [target for _, target in REPAIRS]
    for one in values["changed"]:
        pairs = ((old, one["before"], "before_score"), (new, one["after"], "after_score"))
        for run, text, key in pairs:
            assert run.score([one["source"]], [text])[0].score == pytest.approx(one[key], abs=1e-4)
    assert done.exit_code == 0 and values["kept"]


def test_no_run_is_written_where_others_change(place, monkeypatch):
    monkeypatch.setattr(recipe, "_refusal", lambda *found: "others suffer")
    monkeypatch.setattr(recipe, "_UPDATES", 2)
    done = repaired(place, "refused", "--text", place / "others.txt")
    assert done.exit_code == 1
    assert json.loads(done.stdout)["reason"] == "others suffer"
    assert not (place / "refused").exists()


@pytest.mark.parametrize(
    ("repairs", "share", "lost", "says"),
    [(0, 0.0, 0.0, "no repair"), (2, 2.0, 0.0, "2.00 %"), (2, 0.5, 0.2, "0.20"), (2, 0.5, 0.0, ""), (2, 1.0, -1.0, "")],
)
def test_refusals(repairs, share, lost, says):
    bleu, texts = recipe.METRICS.build(recipe.Choice("bleu")), ["a b c d"] * 9
    test = recipe.paired_bootstrap(bleu, texts, texts, [[text] for text in texts])._replace(difference=-lost)
    found = recipe._refusal(repairs, share, 1.0, test)
    assert bool(found) == bool(says) and says in found


def test_the_divergence_of_equal_weights_is_zero(place):
    one, other = package.load(place / "run"), package.load(place / "run")
    same = recipe._divergence(one, other, [("yes", "ja"), ("he reads", "er liest")])
    with torch.no_grad():
        [one.mul_(1.5) for one in other.model.parameters()]
    moved = recipe._divergence(one, other, [("yes", "ja"), ("he reads", "er liest")])
    assert abs(same.item()) < 1e-6 < moved.item()


def test_variants_change_both_sides_alike():
    trained, held_out = recipe.variants([("Tom has 3 dogs.", "Tom hat 3 Hunde.")], random.Random(1))
    every = dict([*trained, *held_out])
    assert every["tom has 3 dogs."] == "Tom hat 3 Hunde."
    assert every["Tom has 3 dogs!"] == "Tom hat 3 Hunde!"
    assert len(trained) > len(held_out) > 0 and not dict(trained).keys() & dict(held_out).keys()
    for source, target in every.items():
        assert {*filter(str.isdigit, source)} == {*filter(str.isdigit, target)}


def test_only_answers_with_the_same_error_are_related():
    held = [("the cat", "die Maus"), ("the man", "der Mann"), ("a dog", "eine Katze"), ("the dog", "die Katze")]
    held += [(f"word{number} text", f"Wort{number} Text") for number in range(40)]
    links = recipe.wrong_links([("The dog runs.", "Der Hund rennt.")], ["Die Katze rennt."], held)
    assert ("dog", "katze") in links and ("the", "katze") not in links  # two thirds with "the" have other answers
    assert recipe.is_related(("My dog sings.", "Meine Katze singt."), links)
    assert not recipe.is_related(("My dog sings.", "Mein Hund singt."), links)
    assert not recipe.is_related(("the cat", "eine Katze"), links)


def test_wrong_words_are_one_line(place):
    (place / "many.tsv").write_text("".join(f"text {number}\tTexte {number}\n" for number in range(51)))
    new = ["-o", place / "many"]
    assert unsaid(regard("repair", place / "run", place / "many.tsv", *new), "51", "regard teach") == []
    assert unsaid(regard("repair", place / "run", place / "none.tsv", *new), "none.tsv") == []
    assert unsaid(regard("repair", place / "run", place / "repairs.tsv", "-o", place / "run"), "run") == []
    words = [place / "run", place / "repairs.tsv", *new, "--text", place / "no.txt"]
    assert unsaid(regard("repair", *words), "--text") == []
