"""Two texts and no pairs: words by a dictionary, what is refused, and that each step is found again."""

from pathlib import Path

import pytest
import torch
from small_runs import SMALL, regard, unsaid

from regard.predictor import load
from regard.recipes import no_pairs as module
from regard.recipes.no_pairs import in_words, network_settings
from regard.reports.dictionary import Dictionary, word_maps
from regard.runs import Run, RunFolder
from regard.statistical.dictionaries.method import Space

NOUNS = {"dog": "hund", "cat": "katze", "house": "haus", "tree": "baum", "man": "mann", "car": "auto"}
WORDS = {"the": "das", "sees": "sieht", "and": "und", "red": "rotes", "new": "neues", "more": "mehr", **NOUNS}


def sentences(start):
    """Two hundred different sentences, of which `start` chooses the half."""
    nouns, found = [*NOUNS], []
    for place in range(start, 1_000, 2):
        one, two = nouns[place % 6], nouns[place // 6 % 6]
        found.append(f"the {('red', 'new')[place // 36 % 2]} {one} sees the {two} and {place} more")
    return found


@pytest.fixture
def texts(tmp_path):
    own = sentences(0)
    other = [in_words(line, WORDS) for line in sentences(1)]
    for name, lines in {"a.en": own, "b.de": other, "few.en": own[:20], "c.en": sentences(1)}.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return tmp_path


def test_words_are_translated_and_signs_copied():
    found = in_words("The old man, 2 m.", {"the": "der", "old": "alte", "man": "Mann", ",": "x", "2": "zwei"})
    assert found == "der alte Mann, 2 m."


def test_known_words_come_before_neighbours():
    vectors = torch.eye(3)
    dictionary = Dictionary(Space(["a", "b", "c"], vectors), Space(["x", "y", "z"], vectors), 0.5)
    there, back = word_maps(dictionary, [("a", "z"), ("a", "x"), ("d", "w")])
    assert there == {"a": "z", "b": "y", "c": "z", "d": "w"}
    assert back == {"x": "a", "y": "b", "z": "a", "w": "d"}


def test_each_language_is_learnt_from_translations_of_its_own_text(tmp_path):
    sides = [(code, tmp_path / f"{code}.txt", tmp_path / f"words.{code}") for code in ("en", "de")]
    data = network_settings(sides)["data"]
    assert data["train"] == {"source": str(tmp_path / "words.de"), "target": str(tmp_path / "de.txt")}
    assert data["languages"] == ["en", "de"]
    back = data["routes"]["de-en"]
    assert back["train"] == {"source": str(tmp_path / "words.en"), "target": str(tmp_path / "en.txt")}
    assert back["languages"] == ["de", "en"]


def test_texts_that_cannot_teach_are_refused_in_one_line(texts):
    def refused(one, other, *words):
        return regard("train", "--text", texts / one, "--text", texts / other, *words)

    run = ["--run", texts / "run"]
    assert not unsaid(refused("few.en", "b.de", *run), "few.en", "too few to learn from without pairs")
    assert not unsaid(refused("a.en", "c.en", *run), "a.en", "in the language of")
    assert not unsaid(refused("a.en", "a.en", *run), "also stand in")
    assert not unsaid(refused("a.en", "b.de"), "--run", "must be given with two texts")
    for option in ("--source", "--dev-source", "--text-target"):
        assert not unsaid(refused("a.en", "b.de", option, "x", *run), option, "does not go with two texts")
    assert not unsaid(refused("a.en", "b.de", "--seed-pairs", "x.tsv", *run), "x.tsv", "there is no such file")
    alone = regard("train", "--text", texts / "a.en", "--seed-pairs", "x.tsv", *run)
    assert not unsaid(alone, "--seed-pairs", "does not go with pairs, nor with one text")
    assert not unsaid(refused("a.en", "b.de", "--text", "x", *run), "is given 3 times")
    best = regard("best", "--text-source", texts / "few.en", "--text-target", texts / "b.de", *run)
    assert not unsaid(best, "few.en", "too few to learn from without pairs")  # the same road
    both = ["--text-source", texts / "a.en", "--text-target", texts / "b.de", *run]
    assert not unsaid(regard("best", *both, "--from", texts), "--from", "does not go with two texts without pairs")
    assert not (texts / "run-start").exists()


def test_two_texts_become_a_translator_of_both_directions(texts, monkeypatch):
    """A command that was cut off finds the word vectors again, and refuses those of other texts."""
    monkeypatch.setattr(module, "_VECTORS", ("model.dim=8", "training.max_updates=2", "data.dev_fraction=0"))
    pairs = texts / "known.tsv"
    pairs.write_text("".join(f"{one}\t{two}\n" for one, two in WORDS.items()))
    both = ["--text", texts / "a.en", "--text", texts / "b.de", "--seed-pairs", pairs, "--run", texts / "run"]
    small = [word for word in SMALL if "average" not in word]
    assert regard("train", *both, *small).code == 0
    start = texts / "run-start"
    given = (start / "word-by-word.de").read_text().splitlines()
    assert given == sentences(1)  # the dictionary knows every word
    run = Run.open(texts / "run")
    assert run.experiment.task.name == "unpaired_translation"
    assert {view.data.language_pair() for view in run.experiment.views().values()} == {("en", "de"), ("de", "en")}
    runs = {name: texts / "run-phrases" / name for name in ("en-de", "de-en")}
    for name, folder in runs.items():
        data = Run.open(folder).experiment.data
        source, target = (Path(data.train.settings["files"][side]) for side in ("source", "target"))
        assert target == texts / ("b.de" if name == "en-de" else "a.en")
        route = ["decoding.route=de-en"] if name == "en-de" else []
        lines = target.read_text().splitlines()
        assert source.read_text().splitlines() == [one.text for one in load(texts / "run", route).predict(lines)]
    (runs["de-en"] / "final.json").unlink()  # as where the command was cut off there
    resumed = regard("train", *both[:-1], texts / "run", *small)
    assert resumed.code == 0 and RunFolder(runs["de-en"]).finished
    again = regard("train", *both[:-1], texts / "run", *small)
    assert not unsaid(again, "exists and is not empty")
    (texts / "run").rename(texts / "other")
    assert not unsaid(regard("train", *both[:4], *both[6:], *small), "--run", "was made of other texts or known words")
    (texts / "a.en").write_text("".join(f"{line[::-1]}\n" for line in sentences(0)))  # as long as before
    assert not unsaid(regard("train", *both, *small), "--run", "was made of other texts")


@pytest.mark.parametrize("task", [[], ["task=phrases"]])
def test_two_processes_do_not_train_on_the_same_texts(texts, task):
    both = ["--text", texts / "a.en", "--text", texts / "b.de", "--run", texts / "run"]
    with RunFolder(texts / "run-start").begun():
        assert not unsaid(regard("train", *both, *task), "run-start", "is being trained by another process")
    assert not (texts / "run-start").exists()


def test_minutes_of_best_count_word_vectors_and_a_killed_network_goes_on(texts, monkeypatch):
    monkeypatch.setattr(module, "_VECTORS", ("model.dim=8", "training.max_updates=2", "data.dev_fraction=0"))
    both = ["--text-source", texts / "a.en", "--text-target", texts / "b.de", "--run", texts / "run", "--minutes", "5"]
    small = [word for word in SMALL if "average" not in word]
    asked, train = [], module.train_run

    def killed(experiment, **options):
        asked.append(experiment)
        if experiment.task.name != "unpaired_translation":
            return train(experiment, **options)
        (texts / "run").mkdir()
        experiment.save(texts / "run" / "experiment.yaml")  # as a process leaves it that is killed then
        return None

    monkeypatch.setattr(module, "train_run", killed)
    assert regard("best", *both, *small).code == 75
    spent = float((texts / "run-start" / "seconds.json").read_text())
    assert spent > 0 and asked[0].training.max_minutes == 1.0
    assert asked[-1].training.max_minutes == pytest.approx(0.9 * 5 - spent / 60, abs=2e-3)
    monkeypatch.setattr(module, "train_run", train)
    done = regard("best", *both, *small)
    assert done.code == 0, done.said
    assert Run.open(texts / "run").experiment.training.max_minutes == asked[-1].training.max_minutes
    assert RunFolder(texts / "run-phrases" / "en-de").finished
    (texts / "run-start" / "seconds.json").write_text("400")
    assert not unsaid(regard("best", *both, *small), "--minutes: 5 are over", "--minutes 14 or more")


def test_an_interrupted_step_names_the_same_command(texts, monkeypatch):
    monkeypatch.setattr(module, "train_run", lambda experiment, **options: None)
    done = regard("train", "--text", texts / "a.en", "--text", texts / "b.de", "--run", texts / "run")
    assert (done.code, done.said.splitlines()[-1]) == (75, module.SAME_COMMAND)
