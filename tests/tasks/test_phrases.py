"""Translation by phrases: a run that is counted, and all that is asked of a run."""

import shutil

import pytest
import torch

from regard.decoding import SEARCHES
from regard.decoding.features import FEATURES
from regard.documents.glossary import Glossary
from regard.errors import CheckpointError, ConfigError
from regard.experiment import read_experiment
from regard.models.phrase_based import CountedArrays
from regard.predictor import load
from regard.recipes import rerank_tuning
from regard.recipes.rerank_tuning import GAIN, tune_weights
from regard.registry import Choice
from regard.reports.evaluation import evaluate
from regard.runs import train_run
from regard.runs.rehearsal import Rehearsal

NOUNS = {"Hund": "dog", "Vogel": "bird", "Mann": "man", "Baum": "tree"}
VERBS = {"läuft": "runs", "schläft": "sleeps", "fällt": "falls"}
ADVERBS = {"heute": "today", "gern": "gladly"}
PAIRS = [
    (f"der {noun} {verb} {adverb} .", f"the {NOUNS[noun]} {ADVERBS[adverb]} {VERBS[verb]} .")
    for noun in NOUNS
    for verb in VERBS
    for adverb in ADVERBS
]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Verb and adverb change places in the target."""
    folder = tmp_path_factory.mktemp("phrases")
    for place, side in enumerate(("source", "target")):
        (folder / side).write_text("\n".join(pair[place] for pair in PAIRS) + "\n", encoding="utf-8")
    files = [
        f"data.{part}.{side}={folder / side}" for part in ("train", "dev", "test") for side in ("source", "target")
    ]
    changes = ["task={name: phrases, rounds: 2, candidates: 20}", *files, f"run={folder / 'run'}"]
    assert train_run(read_experiment(None, changes), quiet=True)
    return folder / "run"


@pytest.fixture(scope="module")
def predictor(run):
    return load(run)


def test_all_sentences_are_translated(run, predictor):
    assert [one.text for one in predictor.predict([source for source, _ in PAIRS])] == [target for _, target in PAIRS]
    assert {score.name: score.value for score in evaluate([run]).systems[0].scores}["BLEU"] == pytest.approx(100)


@pytest.fixture(scope="module")
def network(run, tmp_path_factory):
    """A network of the same texts with a vocabulary of its own, hardly trained."""
    data = read_experiment(run / "experiment.yaml", []).data
    files = [
        f"data.{part}.{side}={getattr(data, part).settings['files'][side]}"
        for part in ("train", "dev")
        for side in ("source", "target")
    ]
    blocks = "{num_layers: 1, feedforward_dim: 16}"
    small = ["text.tokenizer=characters", "model.dim=16", f"model.encoder={blocks}", f"model.decoder={blocks}"]
    folder = tmp_path_factory.mktemp("network") / "run"
    assert train_run(read_experiment(None, [*files, *small, "training.max_updates=20", f"run={folder}"]), quiet=True)
    return folder


def test_network_ranks_translations_of_phrases_anew(run, predictor, network):
    weight, words, count = 2.0, 0.5, 5
    rerank = f"decoding.rerank={{run: {network}, weight: {weight}, words: {words}, n_best: {count}}}"
    sources = [source for source, _ in PAIRS[:4]]
    wide = predictor.predict(sources, search=SEARCHES.build(Choice("beam", {"n_best": count})))
    other = load(network)
    for before, after in zip(wide, load(run, [rerank]).predict(sources), strict=True):
        listed = [before, *before.alternatives]
        scored = other.score([before.source] * len(listed), [one.text for one in listed])
        sums = [
            one.score + weight * sum(network.log_probs) + words * len(one.text.split(" "))
            for one, network in zip(listed, scored, strict=True)
        ]
        assert after.text == listed[sums.index(max(sums))].text
        assert after.score == pytest.approx(max(sums))


def test_a_network_and_phrases_agree(run, predictor, network):
    sources = [source for source, _ in PAIRS]
    wide = predictor.predict(sources, search=SEARCHES.build(Choice("beam", {"n_best": 5})))
    found = load(network, [f"decoding.consensus={{runs: {run}, weight: 1000, n_best: 5}}"]).predict(sources)
    for theirs, one in zip(wide, found, strict=True):
        assert one.text in [theirs.text, *(other.text for other in theirs.alternatives)]  # the network's hardly count
        assert one.shares["run"] > 0.9 * one.score
    (scored,) = load(network).score(sources[:1], [found[0].text])
    assert found[0].log_probs == pytest.approx(scored.log_probs, abs=1e-5)
    alone = load(network, ["decoding.consensus={n_best: 4}"]).predict(sources[:2], explain=True)
    assert all(one.explanation is not None and one.score <= 1 for one in alone)
    names = [f"decoding.consensus={{runs: [{run}, {run}], n_best: 4}}", "decoding.search={name: sampling, seed: 3}"]
    sampled = load(network, names)
    assert [*sampled.predict(sources[:1])[0].shares] == ["model", "run", "run (2)"]
    assert sampled.copy().predict(sources[:3])[2].text == sampled.predict(sources[2:3])[0].text


@pytest.mark.parametrize(
    ("own", "changes", "message"),
    [
        ("run", ["decoding.consensus={}"], "decoding.consensus: .* cannot score the translations of others"),
        ("network", ["decoding.consensus={}", "decoding.rerank.run=NETWORK"], "together with decoding.rerank"),
        ("network", ["decoding.consensus={n_best: 1}"], "decoding.consensus.n_best"),
        ("network", ["decoding.consensus.runs=nowhere"], "nowhere"),
    ],
)
def test_consensus_that_cannot_be_is_refused(own, changes, message, run, network):
    with pytest.raises((CheckpointError, ConfigError), match=message):
        load({"run": run, "network": network}[own], [one.replace("NETWORK", str(network)) for one in changes])


def test_tuned_weights_of_a_network_are_no_worse(run, network, tmp_path):
    mine = tmp_path / "run"
    shutil.copytree(run, mine)
    found = tune_weights(mine, [f"decoding.rerank.run={network}"], n_best=5)
    assert found.after >= found.before
    assert (found.path is not None) == (found.after > found.before + GAIN)


def test_reranking_is_tuned_on_what_the_time_allows(run, network, tmp_path, monkeypatch):
    shutil.copytree(run, tmp_path / "run")
    monkeypatch.setattr(rerank_tuning, "PIECE", 5)
    said = []
    tune_weights(tmp_path / "run", [f"decoding.rerank.run={network}"], n_best=5, minutes=1e-9, say=said.append)
    assert said[1] == "the time allows 5 of them"


def test_unknown_words_are_copied(predictor):
    (found,) = predictor.predict(["der Zürcher läuft heute ."])
    assert found.text == "the Zürcher today runs ."


def test_boxes_tell_which_phrase_became_which(predictor):
    (found,) = predictor.predict(["der Hund läuft heute ."], explain=True)
    shown = found.explanation
    words = [token.strip() for token in shown.target_tokens[:-1]]
    linked = {(source, target) for source, target in shown.alignment}
    assert {(2, words.index("runs")), (3, words.index("today")), (1, words.index("dog"))} <= linked
    assert torch.tensor(shown.weights).sum(dim=1).tolist() == pytest.approx([1.0] * 6)
    (boxes,) = shown.maps
    assert (boxes.name, boxes.kind, boxes.queries, boxes.keys) == ("phrases", "cross", "target", "source")
    for row, weights in enumerate(shown.weights[:-1]):  # a target word is of one stretch of the source
        inside = [place for place, weight in enumerate(weights) if weight]
        assert inside == [*range(inside[0], inside[-1] + 1)]
        assert all(source in inside for source, target in linked if target == row)


def test_what_phrases_do_not_give_is_not_explained(predictor):
    batch = predictor.task.batch(predictor.task.encode([{"source": "der Hund", "target": "a bird"}]))
    (shown,) = predictor.task.explain(predictor.model, batch)
    assert (shown.alignment, shown.weights) == ([], [])


def test_several_translations_differ(predictor):
    search = SEARCHES.build(Choice("beam", {"size": 5, "n_best": 5}))
    (found,) = predictor.predict(["der Hund läuft heute ."], search=search)
    texts = [found.text, *(one.text for one in found.alternatives)]
    scores = [found.score, *(one.score for one in found.alternatives)]
    assert len(set(texts)) == len(texts) == 5
    assert scores == sorted(scores, reverse=True)
    assert len(found.log_probs) == len(found.ids) + 1


def test_lines_that_are_no_longer_wanted_are_left(predictor):
    search = SEARCHES.build(Choice("greedy")).until(lambda: {0})
    left, done = predictor.predict(["der Hund läuft gern .", "der Mann"], search=search)
    assert (left.text, left.finished) == ("", False)
    assert (done.text, done.finished) == ("the man", True)


def test_a_copy_shares_what_was_counted(predictor):
    other = predictor.copy()
    assert other.model.decoder is predictor.model.decoder
    assert other.predict(["der Mann"])[0].text == "the man"


def test_features_of_other_searches_are_refused(predictor):
    feature = FEATURES.build(Choice("length"))
    with pytest.raises(ConfigError, match="phrases have features of their own"):
        predictor.task.engine(predictor.model, SEARCHES.build(Choice("greedy")), [feature])


def test_tuning_of_features_is_refused_before_tables_are_learnt(run):
    with pytest.raises(ConfigError, match="phrases have features of their own"):
        tune_weights(run, [])
    assert not (run / "tuning").exists()


def test_prefixes_are_refused(predictor):
    """The target is not found from its beginning on, so nothing is left out in silence."""
    for glossary in (None, Glossary.of_lines(["Hund\tcat"])):
        with pytest.raises(ConfigError, match="prefixes"):
            predictor.predict(["der Hund"], prefixes=["a"], glossary=glossary)


def test_terms_are_kept_and_reported(predictor):
    glossary = Glossary.of_lines(["Hund\tfat cat", "läuft\tmoves", "Baum\ttree"])
    found = predictor.predict(["der Hund läuft heute .", "der Baum fällt gern .", "der Mann"], glossary=glossary)
    assert found[0].text == "the fat cat today moves ."
    assert [use.target_place for use in found[0].terms.uses] == [[4, 11], [18, 23]]
    assert found[1].text == "the tree gladly falls ."
    assert found[2].terms is None


def test_given_translations_have_no_probability(predictor):
    with pytest.raises(ConfigError, match="no probabilities of given translations"):
        predictor.score(["der Mann"], ["the man"])


def test_arrays_take_the_sizes_of_a_checkpoint():
    one, other = (CountedArrays({"a": torch.arange(size).numpy()}) for size in (3, 5))
    one.load_state_dict(other.state_dict())
    assert one.arrays()["a"].tolist() == [0, 1, 2, 3, 4]


def test_without_a_dev_part_weights_stay(tmp_path, capsys):
    for place, side in enumerate(("source", "target")):
        (tmp_path / side).write_text("\n".join(pair[place] for pair in PAIRS) + "\n", encoding="utf-8")
    files = [f"data.train.{side}={tmp_path / side}" for side in ("source", "target")]
    shares = ["data.dev_fraction=0", "data.test_fraction=0", "task.name=phrases"]
    assert train_run(read_experiment(None, [*files, *shares, f"run={tmp_path / 'run'}"]))
    said = capsys.readouterr().err
    assert "no dev set: the weights of phrases" in said
    assert "M parameters" not in said and "0 updates" not in said and f"run {tmp_path / 'run'}\n" in said
    assert load(tmp_path / "run").predict(["der Hund"])[0].text == "the dog"


def test_a_plan_knows_that_nothing_is_learnt(tmp_path):
    for place, side in enumerate(("source", "target")):
        (tmp_path / side).write_text("\n".join(pair[place] for pair in PAIRS) + "\n", encoding="utf-8")
    files = [f"data.train.{side}={tmp_path / side}" for side in ("source", "target")]
    experiment = read_experiment(None, [*files, "task.name=phrases", f"run={tmp_path / 'run'}"])
    plan = Rehearsal(experiment).plan()
    assert (plan.batch, plan.seconds) == (0, 0)
    assert plan.lines(experiment)[-1].endswith("no updates")
