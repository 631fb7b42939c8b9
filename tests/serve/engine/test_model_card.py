"""What a server tells of a model besides its parts."""

import shutil
from itertools import islice

from small_runs import PAIRS

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
