"""Repairs: right answers in the new run, and none where others suffer."""

import json
import random

import pytest
import torch
from small_runs import SMALL, regard, unsaid, write_texts
from typer.testing import CliRunner

import regard as package
from regard.cli.app import app
from regard.evaluation import METRICS
from regard.evaluation.significance import paired_bootstrap
from regard.recipes.repair import RepairRequest, faults, proof, training
from regard.recipes.repair import texts as texts_of
from regard.recipes.weight_change import weight_copies
from regard.registry import Choice

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
    monkeypatch.setattr(training, "_RATE", 5e-3)  # a network of 16 dimensions
    monkeypatch.setattr(training, "_WORD_UPDATES", 10)
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
    monkeypatch.setattr(proof, "_refusal", lambda *found: "others suffer")
    monkeypatch.setattr(training, "_UPDATES", 2)
    monkeypatch.setattr(training, "_WORD_UPDATES", 2)
    done = repaired(place, "refused", "--text", place / "others.txt", "--max-changed", 100)
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
    """30 repairs, of which 10 were right before, 4 variants, of which 2 were, and 200 other texts."""
    repairs = proof._Right([True] * 10 + [False] * 20, [True] * (10 + mended) + [False] * (20 - mended))
    held_out = proof._Right([True] * 2 + [False] * 2, [True] * variants + [False] * (4 - variants))
    bleu, texts = METRICS.build(Choice("bleu")), ["a b c d"] * 9
    test = paired_bootstrap(bleu, texts, texts, [[text] for text in texts])._replace(difference=-lost)
    found = proof._refusal(repairs, held_out, proof._Others(round(2 * changed), 200), 1.0, test)
    assert bool(found) == bool(says) and says in found


@pytest.mark.parametrize(("most", "fewest"), [(0.0, 200), (0.5, 200), (1.0, 100), (100.0, 1)])
def test_too_few_other_texts_prove_nothing(place, most, fewest):
    bleu, texts = METRICS.build(Choice("bleu")), ["a b c d"] * 9
    test = paired_bootstrap(bleu, texts, texts, [[text] for text in texts])
    found = [proof._refusal(proof._Right([False], [True]), proof._Right([], []), proof._Others(0, count), most, test)
             for count in (fewest - 1, fewest)]  # fmt: skip
    assert f"{fewest - 1:,} other texts" in found[0] and not found[1]
    if fewest > 4:
        words = [place / "run", place / "repairs.tsv", "-o", place / "few", "--text", place / "others.txt"]
        assert unsaid(regard("repair", *words, "--max-changed", most), "4 other texts", f"{fewest:,} lines") == []


def _trainer(place):
    """A trainer of vectors of two pieces, and its two predictors."""
    before, after = package.load(place / "run"), package.load(place / "run")
    lesson = training.Lesson(REPAIRS, [], [], [], [], frozenset({7, 9}))
    return training.RepairTrainer(before, after, lesson, 1, lambda line: None), before, after


def test_the_weights_with_most_right_answers_are_kept(place, monkeypatch):
    monkeypatch.setattr(training, "_CHECK_EVERY", 1)
    trainer, _, after = _trainer(place)
    counts, seen = iter([0, 1, 0, 1, 0]), []

    def learned():
        seen.append(weight_copies(after.model))
        return next(counts)

    monkeypatch.setattr(trainer, "_learned", learned)
    parameters = [*after.model.parameters()]
    assert trainer._train(parameters, 1e-2, 5, []) == 2
    assert all(torch.equal(one, other) for one, other in zip(parameters, seen[1], strict=True))
    assert not all(torch.equal(one, other) for one, other in zip(seen[1], seen[4], strict=True))


def test_vectors_that_mend_nothing_do_not_stay(place, monkeypatch):
    monkeypatch.setattr(training, "_WORD_UPDATES", 2)
    monkeypatch.setattr(training, "_UPDATES", 0)
    monkeypatch.setattr(training, "right_answers", lambda predictor, pairs: [False] * len(pairs))
    trainer, before, after = _trainer(place)
    assert trainer.train()[:2] == (0, 0)
    for one, other in zip(after.model.parameters(), before.model.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=0.0, atol=1e-7)


def test_the_divergence_of_equal_weights_is_zero(place):
    one, other = package.load(place / "run"), package.load(place / "run")
    pairs = [("yes", "ja"), ("he reads", "er liest")]
    same = training.divergence(one, other, pairs, pairs)
    with torch.no_grad():
        [one.mul_(1.5) for one in other.model.parameters()]
    moved = training.divergence(one, other, pairs, pairs)
    assert abs(same.item()) < 1e-6 < moved.item()


@pytest.mark.parametrize("count", [1, 24, 50])
def test_repairs_and_variants_are_all_trained(count):
    repairs, trained = ([(f"{name} {number}", "") for number in range(size)]
                        for name, size in (("repair", count), ("variant", 3 * count)))  # fmt: skip
    trainer = training.RepairTrainer(None, None, training.Lesson(repairs, trained, [], [], [], frozenset()), 1, print)
    updates = [trainer._rows() for _ in range(60)]
    assert {pair for rows in updates for pair in rows} == {*repairs, *trained}
    assert {len(rows) for rows in updates} == {min(48, 4 * count)}


def _variants(pairs):
    return texts_of.variants(pairs, random.Random(1), lambda pair, found: found)


def test_variants_are_certain():
    """Words that are equal in both languages are no names, and parts of numbers, dates and ordinals no numbers."""
    pairs = [
        ("The Hotel has 3.5 stars.", "Das Hotel hat 3,5 Sterne."), ("On 3 May.", "Am 3. Mai."),
        ("1 room", "1 Zimmer"), ("Born 31.12.2024", "Geboren 31.12.2024"), ("a 12-year-old", "ein 12-jähriger"),
    ]  # fmt: skip
    for source, target in pairs:
        every = _variants([(source, target)])
        for one, other in (*every[0], *every[1]):
            assert (one.lower().rstrip(".!"), other.rstrip(".!")) == (source.lower().rstrip(".!"), target.rstrip(".!"))
    trained, held_out = _variants([("Anna has 23 dogs", "Anna hat 23 Hunde")])
    every = dict([*trained, *held_out])
    names = {source.split()[0] for source in every if source[0].isupper()}
    numbers = {int(source.split()[2]) for source in every}
    assert len(names) == 4 and not names & {"Tom", "Peter", "Paul"}  # "Anna ist Lehrerin" stays right
    assert {number % 10 for number in numbers} == {3} and len(numbers) == 4  # one plural in Slavic languages
    assert all(source.split()[::2] == target.split()[::2] or source[0].islower() for source, target in every.items())


def test_variants_change_both_sides_alike():
    trained, held_out = _variants([("Tom has 3 dogs.", "Tom hat 3 Hunde.")])
    every = dict([*trained, *held_out])
    assert every["tom has 3 dogs."] == "Tom hat 3 Hunde."
    assert every["Tom has 3 dogs!"] == "Tom hat 3 Hunde!"
    assert len(trained) > len(held_out) > 0 and not dict(trained).keys() & dict(held_out).keys()
    for source, target in every.items():
        assert {*filter(str.isdigit, source)} == {*filter(str.isdigit, target)}


def test_only_answers_with_the_same_error_are_related():
    held = [("the cat", "die Maus"), ("the man", "der Mann"), ("a dog", "eine Katze"), ("the dog", "die Katze")]
    held += [(f"word{number} text", f"Wort{number} Text") for number in range(40)]
    links = faults.wrong_links([("The dog runs.", "Der Hund rennt.")], ["Die Katze rennt."], faults.OldAnswers(held))
    assert ("dog", "katze") in links and ("the", "katze") not in links  # two thirds with "the" have other answers
    assert faults.is_related(("My dog sings.", "Meine Katze singt."), links)
    assert not faults.is_related(("My dog sings.", "Mein Hund singt."), links)
    assert not faults.is_related(("the cat", "eine Katze"), links)


LEXICON = {
    "the": "das",
    "a": "ein",
    "dog": "Katze",
    "cat": "Hund",
    "house": "Haus",
    "sees": "sieht",
    "sleeps": "schläft",
}


def _word_by_word(texts):
    return [" ".join(LEXICON.get(word, word) for word in text.split()) for text in texts]


def test_stand_ins_bring_the_right_word():
    nouns = ("dog", "cat", "house")
    texts = [f"the {one} {verb} {other}" for one in nouns for verb in ("sees", "likes") for other in nouns]
    texts += [f"word{number} text{number}" for number in range(300)]
    counts = faults.OldAnswers([*zip(texts, _word_by_word(texts), strict=True)])
    repairs = [("the dog sings", "das Hund sings"), ("a house sleeps", "ein Villa schläft")]
    given = _word_by_word([source for source, _ in repairs])
    links = faults.wrong_links(repairs, given, counts)

    def score(read, answers):
        return [-float(one != other) for one, other in zip(_word_by_word(read), answers, strict=True)]

    assert {("dog", "katze"), ("house", "haus")} <= links
    found, faulty = faults.stand_ins(repairs, given, links, counts, _word_by_word, score)
    assert found == {"dog": "cat"}  # no word is translated as Villa
    assert {"dog", "house"} <= faulty and ("sings", "katze") in links and "sings" not in faulty
    assert faults.replaced("Dog and cat.", {"dog": "cat", "cat": "dog"}) == "Cat and dog."


@pytest.mark.parametrize(
    ("answer", "right", "same"),
    [
        ("Ein Hund!", "Ein Hund!", True), ("Eine Katze!", "Ein Hund!", True), ("eine Katze!", "Ein Hund!", False),
        ("Eine Katze", "Ein Hund!", False), ("Eine Maus!", "Ein Hund!", False),
    ],
)  # fmt: skip
def test_variants_have_the_fault_of_their_repair(answer, right, same):
    assert faults.has_same_fault(answer, right, "Eine Katze.", "Ein Hund.") is same


def test_vectors_of_other_words_stay(place, monkeypatch):
    monkeypatch.setattr(training, "_WORD_UPDATES", 2)
    before, after = package.load(place / "run"), package.load(place / "run")
    lesson = training.Lesson(
        REPAIRS, [], [training.Transfer("a dog", "a cat", "eine Katze")], [], [], frozenset({7, 9})
    )
    trainer = training.RepairTrainer(before, after, lesson, 1, lambda line: None)
    table, updates = trainer._tables()[0], trainer._train_vectors()
    changed = {name for name, value in after.model.named_parameters()
               if not torch.equal(value, before.model.get_parameter(name))}  # fmt: skip
    assert updates and [one for one in changed if after.model.get_parameter(one) is not table] == []
    old = training.RepairTrainer(after, before, lesson, 1, print)._tables()[0]
    assert {*(table != old).any(dim=1).nonzero().flatten().tolist()} <= {7, 9}


def test_the_least_change_that_repairs_is_kept(place, monkeypatch):
    before, after = package.load(place / "run"), package.load(place / "run")
    with torch.no_grad():
        [one.add_(1.0) for one in after.model.parameters()]
    trainer = training.RepairTrainer(before, after, training.Lesson(REPAIRS, [], [], [], [], frozenset()), 1, print)
    first, start = (next(iter(run.model.parameters())) for run in (after, before))

    def right(predictor, pairs):
        return [(first - start).mean().item() > 0.4] * len(pairs)

    monkeypatch.setattr(training, "right_answers", right)
    strength = trainer._weaken(weight_copies(before.model))
    assert 0.4 < strength < 0.45
    for one, other in zip(after.model.parameters(), before.model.parameters(), strict=True):
        torch.testing.assert_close(one, other + strength)


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
        request = RepairRequest(
            place / "run", place / "repairs.tsv", place / "lost", max_changed=100, old=(*map(str, old),)
        )
        found = texts_of.repair_texts(request, package.load(place / "run"), lambda line: None)
    finally:
        for copy, path in zip(copies, texts, strict=True):
            copy.rename(path)
    sources = [source for source, _ in found.dev]
    assert sources and found.others and found.old
    assert not {*sources} & {source for source, _ in REPAIRS}
    assert {*sources, *found.others, *found.old} == {f"word {n}" for n in range(9)}


def test_old_texts_of_an_adapted_run_are_those_of_its_start(place):
    (place / "new.tsv").write_text("he reads now\ter liest jetzt\nshe reads now\tsie liest jetzt\n", encoding="utf-8")
    words = [
        "--from",
        place / "run",
        place / "new.tsv",
        "--run",
        place / "adapted",
        "training.max_updates=1",
        "data.dev_fraction=0.5",
    ]
    assert regard("train", *words, "data.languages=[en, de]", "--quiet").code == 0
    request = RepairRequest(place / "adapted", place / "repairs.tsv", place / "none", max_changed=100)
    found = texts_of.repair_texts(request, package.load(place / "adapted"), lambda line: None)
    assert len({*found.old, *found.others}) > 2 and len(found.dev) > 1


def test_wrong_words_are_one_line(place):
    (place / "many.tsv").write_text("".join(f"text {number}\tTexte {number}\n" for number in range(51)))
    new = ["-o", place / "many"]
    assert unsaid(regard("repair", place / "run", place / "many.tsv", *new), "51", "regard teach") == []
    assert unsaid(regard("repair", place / "run", place / "none.tsv", *new), "none.tsv") == []
    assert unsaid(regard("repair", place / "run", place / "repairs.tsv", "-o", place / "run"), "run") == []
    words = [place / "run", place / "repairs.tsv", *new, "--text", place / "no.txt"]
    assert unsaid(regard("repair", *words), "--text") == []
