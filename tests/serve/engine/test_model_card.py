"""What a server tells of a model besides its parts."""

import shutil
from itertools import islice

from small_runs import PAIRS, SMALL, regard

from regard.data.toy import pairs
from regard.recipes import demo
from regard.runs import Run
from regard.runs.texts import training_readers
from regard.serve.engine import model_card
from regard.serve.engine.answering import Answering


def info(run):
    return Answering.load(run, batch_tokens=8192)[1][""]


def test_pairs_score_and_short_sentences_of_a_run(tiny_run):
    found = info(tiny_run)
    learnt_from = training_readers(Run.open(tiny_run).experiment)["train"]
    assert found["pairs"] == sum(1 for _ in learnt_from)
    assert set(found["examples"]) <= {source for source, _ in PAIRS}
    assert (found["bleu"], found["demo"]) == (0.0, False)  # after two updates


def test_recombined_copies_do_not_count_as_pairs(tmp_path):
    texts, run = tmp_path / "pairs.tsv", tmp_path / "run"
    texts.write_text("".join(f"{source}\t{target}\n" for source, target in pairs("de", 300, 1)), encoding="utf-8")
    copies = ["data.recombination.copies=3", "text.tokenizer.size=400"]
    assert regard("train", texts, "--run", run, *SMALL, *copies).code == 0
    learnt_from = training_readers(Run.open(run).experiment)["train"]
    assert sum(1 for _ in run.glob("data/*/manifest.json")) == 2
    assert info(run)["pairs"] == sum(1 for _ in learnt_from)


def test_a_demo_offers_sentences_of_its_grammar(tiny_run, tmp_path):
    assert model_card.DEMO == demo.DEMO_MARK
    shutil.copytree(tiny_run, tmp_path / demo.MODEL)
    (tmp_path / demo.DEMO_MARK).write_text("{}")
    found = info(tmp_path / demo.MODEL)
    assert found["demo"]
    assert len(found["examples"]) == 4
    drawn = pairs("de", model_card.READ_SENTENCES, model_card.SEED, part="test")
    known = {source for source, _ in islice(drawn, model_card.READ_SENTENCES)}
    assert {*found["examples"]} <= known


def test_examples_are_short_and_different():
    sentences = ["A dog.", "A black dog.", "A black dog.", "Two men are singing.", "x" * 200]
    assert model_card.chosen(sentences) == ["A black dog.", "Two men are singing."]
    assert model_card.chosen([]) == []
