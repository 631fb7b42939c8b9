"""Pseudo-targets beside the true ones: two decoders from one command more, then two passes; used like any run."""

import math

import pytest
from small_runs import PAIRS, SMALL, regard

from regard.attention import recording
from regard.pieces import END
from regard.predictor import load
from regard.reports.evaluation import evaluate
from regard.serve.engine.answering import Answering
from regard.serve.engine.questions import Predict

GREEDY = "decoding.search={name: greedy, max_extra: 4}"
LONG = "decoding.search={name: greedy, max_ratio: 2, max_extra: 10}"  # as drafts are
SHARED = ["text.shared=true", "model.tied=all", GREEDY]
BOTH = ["model.name=one_to_many", "model.languages=[de,pseudo]"]


def trained(*words: object) -> None:
    done = regard("train", "--quiet", *words)
    assert done.code == 0, done.said


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A translator, pseudo-targets of its texts, a run of both decoders, and two passes that start from it."""
    found = tmp_path_factory.mktemp("pseudo")
    for side, name in enumerate(("a.en", "a.de")):
        (found / name).write_text("".join(f"{pair[side]}\n" for pair in PAIRS * 4), encoding="utf-8")
    files = f"{{source: '{found}/a.en', target: '{found}/a.de'}}"
    data = [f"data.{part}={files}" for part in ("train", "dev", "test")]
    trained(*SMALL, *SHARED, *data, "--run", found / "first")
    done = regard("adequacy", found / "first", "--pseudo", found / "pseudo.tsv")
    assert done.code == 0, done.said
    pseudo = f"data.routes.pseudo.train={{name: tsv, file: '{found / 'pseudo.tsv'}'}}"
    data += [pseudo, "data.dev_fraction=0", "data.test_fraction=0"]
    trained(*SMALL, *SHARED, *BOTH, *data, "training.max_updates=4", "--run", found / "tasks")
    passes = ["model.name=two_pass", BOTH[1], f"init.run={found / 'tasks'}"]
    trained(*[one for one in SMALL if "tokenizer" not in one], *SHARED, *passes, *data, "--run", found / "passes")
    return found


@pytest.fixture(scope="module")
def predictor(folder):
    return load(folder / "passes")


def test_the_second_pass_starts_from_two_decoders(folder, predictor):
    """What only one run has is new, and what it begins with changes nothing."""
    before, model = load(folder / "tasks").model, predictor.model
    assert {*model.first.state_dict()} == {*before.state_dict()}
    assert model.drafts == "pseudo" and model.languages == ("de", "pseudo")
    assert bool(model.second["de"].gates[0].any())  # it has learnt


def test_answers_and_drafts_are_asked_by_route(folder, predictor):
    alone = load(folder / "passes", ["decoding.route=pseudo", LONG])
    (draft,) = alone.predict(["a dog runs"], explain=True, safeguards=False)
    (found,) = predictor.predict(["a dog runs"], explain=True, safeguards=False)
    shown = found.explanation
    assert shown.columns["draft"].texts[:-1] == [one for one in draft.explanation.target_tokens if one != END]
    assert shown.columns["draft"].texts[-1] == END
    (look,) = [one for one in shown.maps if one.keys == "draft"]
    assert (look.kind, look.queries) == ("cross", "target")
    for head in look.weights:
        assert [len(row) for row in head] == [len(shown.columns["draft"].texts)] * len(shown.target_tokens)
        assert all(math.isclose(sum(row), 1.0, abs_tol=1e-2) for row in head)
    assert shown.source_tokens[-1] == END and [len(row) for row in shown.weights]


def test_drafts_look_at_no_draft(folder):
    predictor = load(folder / "passes", ["decoding.route=pseudo"])
    (found,) = predictor.predict(["a dog runs"], explain=True)
    assert found.explanation.columns.keys() == {"source", "target"}
    assert all(one.keys != "draft" for one in found.explanation.maps)
    with recording(predictor.model) as records:
        predictor.predict(["a dog runs"])
    assert not any(answers for name, (_, answers) in records.items() if name.startswith("second"))


def test_figures_are_those_of_the_last_pass(folder, predictor):
    found = evaluate([folder / "passes"])
    assert found.examples == len(PAIRS) * 4
    assert all(0 <= one.value <= (100 if one.higher_is_better else float("inf")) for one in found.systems[0].scores)
    (scored,) = predictor.score(["two cats"], ["zwei Katzen"])
    batch = predictor.task.batch(predictor.task.encode([{"source": "two cats", "target": "zwei Katzen"}]))
    assert scored.score == pytest.approx(-float(predictor.model.nll(batch).sum().detach()), rel=1e-5)


@pytest.mark.parametrize("route", ["", "pseudo"])
def test_a_server_answers_and_explains_every_route(folder, route):
    loaded, cards = Answering.load(folder / "passes", batch_tokens=8192)
    assert (cards[""]["languages"][1], [*cards]) == ("de", ["", "pseudo"])
    answering = loaded.along(route)
    (found,) = loaded.answer(Predict.lines(["a dog runs"], explain=True, maps=True, route=route)).found.values()
    alone = load(folder / "passes", [f"decoding.route={route}"] if route else [])
    assert found == alone.predict(["a dog runs"], explain=True)[0]
    weights = sum(len(row) for each in found.explanation.maps for head in each.weights for row in head)
    assert answering.looking.weights(found) >= weights


@pytest.mark.parametrize("method", ["lrp", "gradient_times_input"])
def test_relevance_takes_the_draft_as_given(predictor, method):
    (found,) = predictor.explain(["a dog runs"], method=method)
    assert {*found.tokens} == {"source", "target"}


def test_drafts_have_the_pieces_of_their_own_vocabulary(folder, tmp_path):
    apart = ["text.shared=false", "model.tied=target", LONG]
    texts = [
        f"data.train={{source: '{folder}/a.en', target: '{folder}/a.de'}}",
        "data.dev_fraction=0",
        "data.test_fraction=0",
    ]
    data = [*texts, f"data.routes.pseudo.train={{name: tsv, file: '{folder / 'pseudo.tsv'}'}}"]
    trained(*SMALL, *apart, *BOTH, *data, "training.max_updates=2", "--run", tmp_path / "tasks")
    passes = ["model.name=two_pass", BOTH[1], f"init.run={tmp_path / 'tasks'}"]
    small = [one for one in SMALL if "tokenizer" not in one]
    trained(*small, *apart, *passes, *data, "penalties=guided_alignment", "--run", tmp_path / "passes")
    whole, drafts = load(tmp_path / "passes"), load(tmp_path / "passes", ["decoding.route=pseudo"])
    assert whole.task.learnt["target-pseudo"].key() != whole.task.learnt["target"].key()
    (draft,) = drafts.predict(["a dog runs"], explain=True, safeguards=False)
    (found,) = whole.predict(["a dog runs"], explain=True, safeguards=False)
    assert found.explanation.columns["draft"].texts[:-1] == [
        one for one in draft.explanation.target_tokens if one != END
    ]
    assert {len(row) for row in found.explanation.weights} == {len(found.explanation.source_tokens)}  # links no draft
