"""A run of several pairs of languages: one process answers for all of them."""

import asyncio
import json
from pathlib import Path

import pytest
from engines import asking, pairs_of
from known_engine import KnownEngine, served
from small_runs import SMALL, regard, write_texts

from regard.errors import ConfigError
from regard.predictor import load
from regard.serve.catalogue import Catalogue, models_of, wanted
from regard.serve.engine.answering import Answering
from regard.serve.engine.messages import Batch, Failure
from regard.serve.engine.questions import Explain, Predict
from regard.serve.engine.worker import answer
from regard.serve.settings import Settings

TEXTS = ["a dog runs", "two cats"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """English to German, and back, by tokens."""
    found = tmp_path_factory.mktemp("routes")
    first, second = write_texts(found)[1::2]
    parts = [f"data.routes.de-en.{part}={{source: '{second}', target: '{first}'}}" for part in ("train", "dev")]
    search = "decoding.search={name: beam, size: 2, max_ratio: 1.0, max_extra: 3}"
    words = ["model.name=many_to_many", "model.languages=[de,en]", *SMALL, *parts, search]
    done = regard("train", "--source", first, "--target", second, *words, "--run", found / "run", "--quiet")
    assert done.code == 0, done.said
    return found / "run"


@pytest.fixture(scope="module")
def loaded(folder):
    return Answering.load(folder, batch_tokens=8192)


def test_each_route_answers_as_its_predictor(folder, loaded):
    answering, _ = loaded
    for route, change in (("", []), ("de-en", ["decoding.route=de-en"])):
        found = load(folder, change)
        done = answering.answer(Predict.lines(TEXTS, route=route))
        assert [done.found[row].text for row in range(2)] == [each.text for each in found.predict(TEXTS)]
        forced = answering.answer(Explain(pairs_of(TEXTS, ["ja", "yes"]), route=route))
        scores = [each.score for each in found.score(TEXTS, ["ja", "yes"])]
        assert [forced.found[row].score for row in range(2)] == pytest.approx(scores)


def test_routes_share_every_weight(loaded):
    answering, _ = loaded
    first, other = answering.predictor, answering.along("de-en").predictor
    assert first.model is other.model
    assert (first.task.route, other.task.route) == ("de", "en")
    beside = answering.beside()
    assert [one.data_ptr() for one in beside.along("de-en").predictor.model.parameters()] == [
        one.data_ptr() for one in first.model.parameters()
    ]


def test_a_message_names_its_route(loaded):
    answering, _ = loaded
    told = answer(answering, Batch(name="0", lane=0, question=Predict.lines(TEXTS, route="de-en")))
    done = answering.along("de-en").answer(Predict.lines(TEXTS))
    assert [one.prediction.prediction.text for one in told.outcomes] == [done.found[row].text for row in range(2)]
    assert isinstance(answer(answering, Batch(name="0", lane=0, question=Predict.lines(TEXTS, route="xx"))), Failure)


def test_what_is_told_of_each_route(folder, loaded):
    _, cards = loaded
    info, told = cards[""], cards["de-en"]
    assert (info["languages"], list(cards)) == (["en", "de"], ["", "de-en"])
    assert (told["languages"], told["sha256"]) == (["de", "en"], info["sha256"])
    *_, line = (json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines() if "bleu-de" in line)
    assert (told["scores"]["chrf"], info["scores"]["chrf"]) == (round(line["chrf-de-en"], 1), round(line["chrf-de"], 1))


@pytest.fixture
def both(engine):
    """Two pairs of one engine, whose process a test plays."""
    engine.cards[""]["predicted"] = "target"
    engine.cards |= {"back": {**engine.cards[""], "languages": ["de", "en"], "alphabet": "ab"}}
    return models_of(engine)


def test_a_catalogue_has_every_pair_of_an_engine(engine, both):
    catalogue = Catalogue(both)
    first, other = catalogue.model("en", "de"), catalogue.model("de", "en")
    assert [first, other] == both
    assert (first.engine, first.name, other.engine) == (engine, "en-de", engine)
    assert (other.name, other.alphabet, other.route) == ("en-de:back", frozenset("ab"), "back")
    assert catalogue.named("en-de:back") is other


def test_requests_of_two_pairs_share_a_process_and_no_batch(engine, both, models, run):
    async def case():
        models[0].gate.clear()
        first = asking(engine, "first")
        others = [
            asking(engine, "a"),
            asyncio.ensure_future(both[1].ask(Predict.lines(("b",)), seconds=9.0)),
            asking(engine, "c"),
        ]
        others.append(asyncio.ensure_future(both[1].ask(Explain(pairs_of("d", "D")), seconds=9.0)))
        await asyncio.sleep(0.01)
        models[0].gate.set()
        await asyncio.gather(first, *others)

    run(case())
    batches = zip(models[0].asked, models[0].messages, strict=True)
    routes = {source: message.question.route for sources, message in batches for source in sources}
    assert routes == {"first": "", "a": "", "b": "back", "c": "", "d": "back"}
    assert all(len({routes[text] for text in asked}) == 1 for asked in models[0].asked)


class Several(KnownEngine):
    """English to German, with French and Czech from the same model."""

    def __init__(self, source, target):
        super().__init__(source, target)
        self.cards |= {name: {**self.info, "languages": ["en", name]} for name in ("fr", "cs")}


@pytest.mark.parametrize(
    ("only", "targets"), [((), ["cs", "de", "fr"]), (("en", "fr"), ["fr"]), (("en", "de", "cs"), ["cs", "de"])]
)
def test_a_server_offers_the_pairs_that_are_wanted(only, targets):
    engine = Several("en", "de")
    with served([engine], Settings(load_only=only)) as client:
        found = {one["code"]: one["targets"] for one in client.get("/languages").json()}
        assert found["en"] == targets
        answer = client.post("/translate", data={"q": "one", "source": "en", "target": targets[0]}).json()
        assert answer["translatedText"] == f"{targets[0]}:one"
        assert not engine.stopped


def test_a_run_is_loaded_for_any_of_its_pairs(folder):
    assert wanted([folder], ["de", "en"]) == [folder]
    assert wanted([folder], []) == [folder]
    with pytest.raises(ConfigError, match="no run translates between fr, en; the runs have en-de, de-en"):
        wanted([folder], ["fr", "en"])
