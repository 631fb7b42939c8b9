"""A run with context in its sources: trained, opened, predicted with and explained; refusals are one clear line."""

import json
from shutil import copytree

import pytest
import yaml
from small_runs import SMALL, regard, unsaid, write_texts
from typer.testing import CliRunner

import regard as package
from regard.cli.app import app
from regard.documents.glossary import Glossary
from regard.errors import ConfigError
from regard.experiment import read_experiment
from regard.memory import TranslationMemory, TranslationUnit
from regard.results import MemoryMatch
from regard.runs import Run, RunFolder
from regard.runs.run import routed
from regard.runs.texts import training_batches
from regard.text.source_marks import SOURCE_MARKS

NOUNS = {"dog": "Hund", "cat": "Kater", "man": "Mann"}
PAIRS = [(f"the {one} sees a {two}", f"der {NOUNS[one]} sieht {NOUNS[two]}") for one in NOUNS for two in NOUNS] * 2
BOTH = "data.source_augmentations=[{name: fuzzy_matches, fraction: 0.4}, {name: terms, fraction: 0.2}]"
TEXT = "the dog sees a cat"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    for side, name in enumerate(("a.en", "a.de")):
        (folder / name).write_text("".join(f"{pair[side]}\n" for pair in PAIRS), encoding="utf-8")
    sides = ["--source", folder / "a.en", "--target", folder / "a.de"]
    assert regard("train", *sides, "--run", folder / "run", "data.languages=[en, de]", BOTH, *SMALL).code == 0
    return folder / "run"


@pytest.fixture
def memory(tmp_path):
    found = TranslationMemory(tmp_path / "m.memory", ("en", "de"))
    found.add([TranslationUnit("the dog sees a man", "der Hund sieht Mann")])
    return found.path


@pytest.fixture
def glossary(tmp_path):
    (tmp_path / "terms.tsv").write_text("cat\tKatze\n", encoding="utf-8")
    return tmp_path / "terms.tsv"


def invoked(*words, given=None):
    done = CliRunner().invoke(app, [*map(str, words)], input=given)
    assert done.exit_code == 0, done.stderr
    return done.stdout, done.stderr


@pytest.mark.parametrize("given", [[], ["data.source_augmentations=[]"]])
def test_a_continued_run_reads_what_its_start_reads(run, tmp_path, given):
    (tmp_path / "b.tsv").write_text("".join(f"{word}\t{word}e\n" for word in "abcdefghijkl"), encoding="utf-8")
    words = ["train", tmp_path / "b.tsv", "--from", run, "--run", tmp_path / "next", "data.dev_fraction=0.2"]
    done = regard(*words, "data.old.dev_fraction=0.2", "data.old.tolerance=1000", *SMALL, *given)
    assert done.code == 0, done.said
    context = package.load(tmp_path / "next").setup.context
    assert context.term_method("auto") == ("constraints" if given else "annotations")
    assert context.reads_memory == (not given)
    assert ("fuzzy_matches: no pair of" in done.said) == (not given)


def test_augmented_pairs_have_the_same_share_of_new_and_old_text(run, tmp_path):
    words = [("a b c d e", "f g h"), ("a b c d i", "f g j"), ("k", "l")] * 5
    (tmp_path / "b.tsv").write_text("".join(f"{one}\t{other}\n" for one, other in words), encoding="utf-8")
    changes = ["data.dev_fraction=0.2", "data.old.fraction=0.25", "data.old.dev_fraction=0", f"run={tmp_path}"]
    experiment = read_experiment(tmp_path / "b.tsv", changes, start=run, adapts=True)
    model, task, _ = Run.open(run).assembled()
    stream = training_batches(experiment, RunFolder(tmp_path), routed(task, model, experiment), print)
    assert stream.shares == pytest.approx(
        {"train": 0.3, "fuzzy_matches": 0.3, "terms": 0.15, "old": 0.1, "old.fuzzy_matches": 0.1, "old.terms": 0.05}
    )


def test_each_mark_is_a_piece_and_fractions_are_those_of_settings(run):
    column = Run.open(run).columns["source"]
    assert all(f"▁{mark}" in column.pieces(column.encode(f"a {mark}, b")) for mark in SOURCE_MARKS)
    assert Run.open(run).experiment.data.fractions() == {"fuzzy_matches": 0.4, "terms": 0.2}


def test_memory_and_glossary_are_read_as_context(run, memory, glossary):
    shown, said = invoked("predict", run, "--memory", memory, "--glossary", glossary, "--json", given=f"{TEXT}\nyes\n")
    first, other = map(json.loads, shown.splitlines())
    assert first["source"] == TEXT
    assert first["augmented"] == "the dog sees a ⟦term⟧ cat ⟦as⟧ Katze ⟦end⟧ ⟦match⟧ der Hund sieht Mann"
    assert first["term_method"] == "annotations"
    assert "augmented" not in other
    assert "1 with similar segments, read as context" in said
    assert "annotated in the source" in said


def test_the_way_of_terms_can_be_chosen(run, glossary):
    shown, _ = invoked("predict", run, "--glossary", glossary, "--json", "decoding.terms=constraints", given=TEXT)
    found = json.loads(shown)
    assert "augmented" not in found
    assert found["term_method"] == "constraints"
    assert "Katze" in found["text"]
    both, _ = invoked("predict", run, "--glossary", glossary, "--json", "decoding.terms=both", given=TEXT)
    assert "Katze" in json.loads(both)["text"] and json.loads(both)["augmented"]


def test_batch_mates_do_not_matter(run, memory):
    predictor, opened = package.load(run), TranslationMemory(memory)
    texts = [TEXT, "a man", "the cat sees a cat"]
    matches = [opened.search(text, threshold=50) for text in texts]
    terms = [Glossary.of_lines(["cat\tKatze"]), Glossary([]), Glossary([])]
    together = predictor.predict(texts, glossary=terms, matches=matches)
    for text, glossary, found, one in zip(texts, terms, matches, together, strict=True):
        (alone,) = predictor.predict([text], glossary=glossary, matches=[found])
        assert (alone.text, alone.augmented) == (one.text, one.augmented)
        assert alone.log_probs == pytest.approx(one.log_probs, abs=1e-4)


def test_context_that_is_too_long_is_left_out(run):
    predictor = package.load(run, ["decoding.max_source=60"])
    long = MemoryMatch(80, 1, "the dog sees a man", "Wort " * 60, "", "", "")
    (found,) = predictor.predict([TEXT], matches=[[long]])
    assert found.augmented == ""
    assert found.text == predictor.predict([TEXT])[0].text
    (found,) = predictor.predict([TEXT], matches=[[long]], glossary=Glossary.of_lines(["cat\tKatze"]))
    assert found.augmented == "the dog sees a ⟦term⟧ cat ⟦as⟧ Katze ⟦end⟧"


def test_explain_reads_no_segment_of_the_same_text(run, memory):
    done = regard("explain", run, "the dog sees a man", "--memory", memory, "--json")
    assert done.code == 0 and "⟦match⟧" not in done.printed
    assert "which regard predict reuses" in done.said


def test_members_of_an_ensemble_read_the_same_context(run, tmp_path):
    other = copytree(run, tmp_path / "other")
    settings = yaml.safe_load((other / "experiment.yaml").read_text("utf-8"))
    assert settings["data"].pop("source_augmentations")
    (other / "experiment.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    (other / "manifest.json").unlink()
    with pytest.raises(ConfigError, match=r"reads other context.* are none"):
        package.load(run, [f"decoding.ensemble=[{other}]"])
    assert package.load(run, [f"decoding.ensemble=[{run}]"])
    with pytest.raises(ConfigError, match=r"data\.source_augmentations=terms"):
        package.load(other, ["decoding.terms=both"])


@pytest.mark.parametrize("method", [[], ["--method", "saliency"]])
def test_context_is_a_column_of_its_own_in_explanations(run, memory, glossary, method):
    options = ["--memory", memory, "--glossary", glossary, "--json", *method]
    found = json.loads(invoked("explain", run, TEXT, *options)[0])["predictions"][0]["explanation"]
    assert [word["text"] for word in found["source_words"]][:5] == TEXT.split()
    tokens = found["columns"]["context"]["tokens"]
    assert [one for one in tokens if "⟦" in one] == ["▁⟦term⟧", "▁⟦as⟧", "▁⟦end⟧", "▁⟦match⟧"]
    most = len(found["source_tokens"])
    assert all(source < most for source, _ in found["alignment"])
    assert all(len(row) == most for row in found["weights"])
    (cross,) = [one for one in found["maps"] if (one["queries"], one["keys"]) == ("target", "context")]
    assert all(len(row) == len(tokens) for head in cross["weights"] for row in head)


def test_relevance_has_a_share_of_the_context(run, glossary):
    predictor = package.load(run)
    predictions = predictor.predict([TEXT], glossary=Glossary.read(glossary))
    (found,) = predictor.explainer.relevance(predictions, "saliency")
    assert {"source", "context", "target"} == found.tokens.keys()
    assert all(sum(shares) == pytest.approx(1) for shares in zip(*found.sides().values(), strict=True))


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        (["text.tokenizer=words"], ("data.source_augmentations", "text.tokenizer=subwords")),
        (["text.shared=false"], ("data.source_augmentations", "text.shared=true")),
        (["data.source_augmentations=[terms, terms]"], ("names terms twice",)),
        (["data.source_augmentations={name: terms, fraction: 0.6}", "data.recombination.fraction=0.5"],
         ("leaves no batch to plain pairs", "terms 0.6, recombined 0.5")),
        (["data.source_augmentations=fuzzy"], ("fuzzy_matches",)),
    ],
)  # fmt: skip
def test_settings_that_cannot_work_are_refused(tmp_path, changes, parts):
    words = ["train", *write_texts(tmp_path), "--run", tmp_path / "run", "data.source_augmentations=terms"]
    assert not unsaid(regard(*words, *[one for one in SMALL if "tokenizer" not in one], *changes), *parts)


def test_a_run_without_context_refuses_it(tmp_path, memory):
    folder = tmp_path / "plain"
    assert regard("train", *write_texts(tmp_path), "--run", folder, *SMALL).code == 0
    done = regard("explain", folder, TEXT, "--memory", memory)
    assert not unsaid(done, "--memory", "data.source_augmentations=fuzzy_matches")
    (tmp_path / "g.tsv").write_text("dog\tHund\n", encoding="utf-8")
    done = regard("predict", folder, "--glossary", tmp_path / "g.tsv", "decoding.terms=annotations", given="a dog")
    assert not unsaid(done, "decoding.terms", "data.source_augmentations=terms")
    words = [*write_texts(tmp_path), "--from", folder, "--run", tmp_path / "next", "data.source_augmentations=terms"]
    words += ["--dev-source", tmp_path / "a.en", "--dev-target", tmp_path / "a.de"]
    assert not unsaid(regard("train", *words, *SMALL), "data.source_augmentations", "⟦match⟧")
