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

REPAIRS = [("a dog reads 3 books.", "ein Hund liest 3 Bücher."), ("three cats", "zwei Hunde")]


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
    ("mended", "variants", "changed", "lost", "says"),
    [
        (0, 3, 0.0, 0.0, "0 of 20"), (17, 3, 0.0, 0.0, "17 of 20"), (18, 3, 0.5, 0.0, ""), (20, 3, 1.0, -1.0, ""),
        (20, 1, 0.0, 0.0, "1 variants"), (20, 3, 2.0, 0.0, "2.00 %"), (20, 3, 0.5, 0.2, "0.20"),
    ],
)  # fmt: skip
def test_refusals(mended, variants, changed, lost, says):
    """30 repairs, of which 10 were right before, and 4 variants, of which 2 were."""
    repairs = recipe._Right([True] * 10 + [False] * 20, [True] * (10 + mended) + [False] * (20 - mended))
    held_out = recipe._Right([True] * 2 + [False] * 2, [True] * variants + [False] * (4 - variants))
    bleu, texts = recipe.METRICS.build(recipe.Choice("bleu")), ["a b c d"] * 9
    test = recipe.paired_bootstrap(bleu, texts, texts, [[text] for text in texts])._replace(difference=-lost)
    found = recipe._refusal(repairs, held_out, changed, 1.0, test)
    assert bool(found) == bool(says) and says in found


def test_the_divergence_of_equal_weights_is_zero(place):
    one, other = package.load(place / "run"), package.load(place / "run")
    same = recipe._divergence(one, other, [("yes", "ja"), ("he reads", "er liest")])
    with torch.no_grad():
        [one.mul_(1.5) for one in other.model.parameters()]
    moved = recipe._divergence(one, other, [("yes", "ja"), ("he reads", "er liest")])
    assert abs(same.item()) < 1e-6 < moved.item()


@pytest.mark.parametrize("count", [1, 24, 50])
def test_repairs_and_variants_are_all_trained(count):
    repairs, trained = ([(f"{name} {number}", "") for number in range(size)]
                        for name, size in (("repair", count), ("variant", 3 * count)))  # fmt: skip
    texts, draw = recipe._Texts(repairs, trained, [], [], [], []), random.Random(1)
    updates = [recipe._update_rows(texts, draw) for _ in range(60)]
    assert {pair for rows in updates for pair in rows} == {*repairs, *trained}
    assert {len(rows) for rows in updates} == {min(48, 4 * count)}


def test_variants_are_certain():
    """Words that are equal in both languages are no names, and parts of numbers, dates and ordinals no numbers."""
    pairs = [
        ("The Hotel has 3.5 stars.", "Das Hotel hat 3,5 Sterne."), ("On 3 May.", "Am 3. Mai."),
        ("1 room", "1 Zimmer"), ("Born 31.12.2024", "Geboren 31.12.2024"), ("a 12-year-old", "ein 12-jähriger"),
    ]  # fmt: skip
    for source, target in pairs:
        every = recipe.variants([(source, target)], random.Random(1))
        for one, other in (*every[0], *every[1]):
            assert (one.lower().rstrip(".!"), other.rstrip(".!")) == (source.lower().rstrip(".!"), target.rstrip(".!"))
    trained, held_out = recipe.variants([("Anna has 23 dogs", "Anna hat 23 Hunde")], random.Random(1))
    every = dict([*trained, *held_out])
    names = {source.split()[0] for source in every if source[0].isupper()}
    numbers = {int(source.split()[2]) for source in every}
    assert len(names) == 4 and not names & {"Tom", "Peter", "Paul"}  # "Anna ist Lehrerin" stays right
    assert {number % 10 for number in numbers} == {3} and len(numbers) == 4  # one plural in Slavic languages
    assert all(source.split()[::2] == target.split()[::2] or source[0].islower() for source, target in every.items())


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


def test_a_run_without_its_texts_needs_old_ones(place):
    texts = [*place.glob("a.*")]
    assert texts
    copies = [one.rename(place / f"moved-{one.name}") for one in texts]
    words = [place / "run", place / "repairs.tsv", "-o", place / "lost", "--text", place / "others.txt"]
    try:
        assert unsaid(regard("repair", *words), "forgetting cannot be measured", "--old SOURCE TARGET") == []
        old = [place / "old.en", place / "old.de"]
        lines = [[pair[0] for pair in REPAIRS], [pair[1] for pair in REPAIRS]]
        for path, own in zip(old, lines, strict=True):
            path.write_text("".join(f"{line}\n" for line in [*own, *(f"word {n}" for n in range(9))]))
        request = recipe.RepairRequest(place / "run", place / "repairs.tsv", place / "lost", old=(*map(str, old),))
        found = recipe._texts(request, package.load(place / "run"), lambda line: None)
    finally:
        for copy, path in zip(copies, texts, strict=True):
            copy.rename(path)
    sources = [source for source, _ in found.dev]
    assert sources and found.others and found.anchors
    assert not {*sources} & {source for source, _ in REPAIRS}
    assert {*sources, *found.others, *found.anchors} == {f"word {n}" for n in range(9)}


def test_wrong_words_are_one_line(place):
    (place / "many.tsv").write_text("".join(f"text {number}\tTexte {number}\n" for number in range(51)))
    new = ["-o", place / "many"]
    assert unsaid(regard("repair", place / "run", place / "many.tsv", *new), "51", "regard teach") == []
    assert unsaid(regard("repair", place / "run", place / "none.tsv", *new), "none.tsv") == []
    assert unsaid(regard("repair", place / "run", place / "repairs.tsv", "-o", place / "run"), "run") == []
    words = [place / "run", place / "repairs.tsv", *new, "--text", place / "no.txt"]
    assert unsaid(regard("repair", *words), "--text") == []
