"""Several languages in one run: trained from one config, used by route, a language added later, and what is refused."""

import json
from shutil import copytree, rmtree

import pytest
from small_runs import SMALL, regard, unsaid

from regard.data.streams import MixedStream
from regard.experiment import read_experiment
from regard.explain.alignment import AlignmentHead
from regard.models import ROUTE
from regard.predictor import answers_and_losses, load, load_routes
from regard.reports.evaluation import evaluate
from regard.runs import Run, RunFolder
from regard.runs.initial import FROZEN
from regard.runs.measurements import ALIGNMENT, ATTENTION, CALIBRATION
from regard.runs.run import routed
from regard.runs.texts import training_batches, training_readers
from regard.training.checkpoint import latest_valid

TEXTS = {
    "en": ["a dog runs", "two cats", "he reads", "yes"],
    "de": ["ein Hund läuft", "zwei Katzen", "er liest", "ja"],
    "fr": ["un chien court", "deux chats", "il lit", "oui"],
    "cs": ["pes běží", "dvě kočky", "on čte", "ano"],
}
ONE = ["model.name=one_to_many", "model.languages=[de,fr]", "model.tied=target"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("texts")
    for language, texts in TEXTS.items():
        (found / f"a.{language}").write_text("".join(f"{one}\n" for one in texts * 3), encoding="utf-8")
    return found


def parts(folder, target, place="data", names=("train", "dev", "test"), source="en"):
    """Settings that name the texts of a pair of languages."""
    files = f"{{source: '{folder}/a.{source}', target: '{folder}/a.{target}'}}"
    return [f"{place}.{name}={files}" for name in names]


def trained(run, *words):
    done = regard("train", "--quiet", *SMALL, *words, "--run", run)
    assert done.code == 0, done.said
    return run


@pytest.fixture(scope="module")
def run(folder, tmp_path_factory):
    """English to German and French."""
    words = [*ONE, *parts(folder, "de"), *parts(folder, "fr", "data.routes.fr")]
    return trained(tmp_path_factory.mktemp("runs") / "one", *words)


def test_each_route_learns_from_its_own_texts(run):
    """Batches of the corpus of a language take its route, and no other ones do."""
    folder = RunFolder(run)
    model, task, opened = Run.open(folder).assembled()
    experiment = opened.experiment
    routes = {"train": "de", "fr": "fr"}
    stream = training_batches(experiment, folder, task, lambda _: None, routes)
    assert isinstance(stream, MixedStream)
    found = set()
    for _, (_, batch) in zip(range(12), stream.stream(), strict=False):
        column = task.vocabularies["target"]
        texts = [column.decode([id for id in row if id > 2]) for row in batch.sequences("target").items.tolist()]
        assert set(texts) <= set(TEXTS[batch.route])
        found.add(batch.route)
    assert found == {"de", "fr"} == set(model.languages)


def test_figures_of_a_validation_are_means_over_routes(run):
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    told = [line for line in lines if "bleu-fr" in line]
    assert told
    for line in told:
        for key in ("loss", "chrf", "perplexity"):
            assert line[key] == pytest.approx((line[f"{key}-de"] + line[f"{key}-fr"]) / 2)


@pytest.mark.parametrize(("named", "route"), [(None, "de"), ("de", "de"), ("en-de", "de"), ("fr", "fr")])
def test_a_route_is_chosen_when_a_model_is_loaded(run, named, route):
    """What is scored with a route is what the model itself says with that route."""
    predictor = load(run, [] if named is None else [f"decoding.route={named}"])
    assert predictor.setup.languages == ("en", route)
    model, task, _ = Run.open(run).assembled()
    batch = task.batch(task.encode([{"source": "two cats", "target": TEXTS[route][1]}]))
    (scored,) = predictor.score(["two cats"], [TEXTS[route][1]])
    assert scored.score == pytest.approx(-float(model.nll(batch._replace(route=route)).sum().detach()), rel=1e-5)


def test_a_route_is_evaluated_and_explained_by_its_own_texts(run, tmp_path):
    evaluate([run], {}, changes=["decoding.route=fr"], output=tmp_path / "answers")
    predictor = load(run, ["decoding.route=fr"])
    asked = [one.text for one in predictor.predict(TEXTS["en"], safeguards=False)]
    assert (tmp_path / "answers").read_text(encoding="utf-8").splitlines() == asked * 3
    wanted = [
        -loss for loss in answers_and_losses(predictor, {"source": TEXTS["en"], "target": TEXTS["fr"]}).losses[:, 0]
    ]
    assert [one.score for one in predictor.score(TEXTS["en"], TEXTS["fr"])] == pytest.approx(wanted)
    (found,) = load(run, ["decoding.route=fr"]).predict(["a dog runs"], explain=True)
    assert [one.keys for one in found.explanation.maps if one.kind == "cross"]


GUIDED = "penalties=[{name: guided_alignment, layer: -1, head: 1}]"


def test_the_guided_head_links_words_of_each_route(folder, tmp_path):
    """It is counted among the attentions of one route, whose maps an explanation shows."""
    words = [*ONE, GUIDED, *parts(folder, "de"), *parts(folder, "fr", "data.routes.fr")]
    made = trained(tmp_path / "run", *words)
    loaded = load_routes(made, [])
    for route, predictor in {**loaded, "alone": load(made, ["decoding.route=fr"])}.items():
        assert predictor.task.alignment_head == AlignmentHead(0, 1), route
        (found,) = predictor.predict(["a dog runs"], explain=True, safeguards=False)
        (cross,) = [one for one in found.explanation.maps if one.kind == "cross"]
        assert found.explanation.weights == cross.weights[1]


def test_what_was_measured_with_the_first_pair_is_not_said_of_others(folder, run, tmp_path):
    made = RunFolder(copytree(run, tmp_path / "run"))
    Run.open(made).measurements.keep(CALIBRATION, {"items": {"name": "temperature", "settings": {"temperature": 2.0}}})
    Run.open(made).measurements.keep(ALIGNMENT, {"ways": {ATTENTION: {"head": [0, 1, False]}}})
    first, *others = load_routes(made.path, []).values()
    chosen = {name: load(made.path, [f"decoding.route={name}"]) for name in ("de", "fr")}
    for predictor in (first, load(made.path), chosen["de"]):
        assert predictor.setup.calibration is not None
        assert predictor.task.alignment_head == AlignmentHead(0, 1)
    for predictor in (*others, chosen["fr"]):
        assert predictor.setup.calibration is None
        assert predictor.task.alignment_head is None


def test_a_task_that_is_routed_keeps_no_head_of_another_route(run):
    model, task, opened = Run.open(run).assembled()
    assert routed(task.along("de", AlignmentHead(0, 1)), model, opened.experiment).alignment_head is None


def test_a_run_of_routes_goes_on_where_it_was(folder, tmp_path):
    words = [*ONE, *parts(folder, "de"), *parts(folder, "fr", "data.routes.fr")]
    whole = trained(tmp_path / "whole", *words, "training.max_updates=6")
    broken = trained(tmp_path / "broken", *words)
    done = regard("train", "--run", broken, "--resume", "--quiet", "training.max_updates=6")
    assert done.code == 0, done.said
    one, other = (RunFolder(path).checkpoint().model for path in (whole, broken))
    assert all(one[name].equal(other[name]) for name in one)


@pytest.fixture(scope="module")
def added(folder, run, tmp_path_factory):
    """Czech, added to it; what was there does not learn, and is validated."""
    words = [*ONE, "model.languages=[de,fr,cs]", f"init={{run: '{run}', frozen: true}}", *parts(folder, "cs")]
    words += [*parts(folder, "de", "data.routes.de", ("dev",)), *parts(folder, "fr", "data.routes.fr", ("dev",))]
    return trained(tmp_path_factory.mktemp("runs") / "added", *words)


def test_a_language_is_added_without_forgetting(run, added):
    """Bit for bit: other languages have the losses that they had, and the new one has learnt."""
    before, after = (Run.open(path).assembled() for path in (run, added))
    for route in ("de", "fr"):
        pair = [{"source": "two cats", "target": TEXTS[route][1]}]
        tasks = [one.task.along(route) for one in (before, after)]
        losses = [
            one.model.nll(task.batch(task.encode(pair))) for one, task in zip((before, after), tasks, strict=True)
        ]
        assert losses[0].equal(losses[1])
    mine, theirs = (RunFolder(path).checkpoint().model for path in (added, run))
    assert all(mine[name].equal(theirs[name]) for name in theirs)
    assert list(training_readers(after.run.experiment)) == ["train"]


def test_adding_a_language_goes_on_where_it_was(folder, added, run, tmp_path):
    done = regard("train", "--run", added, "--resume", "--quiet", "training.max_updates=4")
    assert done.code == 0, done.said
    mine, theirs = (RunFolder(path).checkpoint().model for path in (added, run))
    assert all(mine[name].equal(theirs[name]) for name in theirs)


@pytest.mark.parametrize("lost", ["origin", FROZEN])
def test_what_is_frozen_is_known_without_the_other_run(folder, run, tmp_path, lost):
    """Nor is the note needed where the other run is there, as beside runs of an earlier version."""
    origin, words = copytree(run, tmp_path / "origin"), [*ONE, "model.languages=[de,fr,cs]"]
    words += [f"init={{run: '{origin}', frozen: true}}", *parts(folder, "cs")]
    words += [word for one in ("de", "fr") for word in parts(folder, one, f"data.routes.{one}", ("dev",))]
    made = trained(tmp_path / "added", *words)
    if lost == FROZEN:
        (made / FROZEN).unlink()
    else:
        rmtree(origin)
    done = regard("train", "--run", made, "--resume", "--quiet", "training.max_updates=4")
    assert done.code == 0, done.said
    before, (after, _) = RunFolder(run).checkpoint(), latest_valid(made)
    assert after.state["update"] == 4
    assert all(after.model[name].equal(value) for name, value in before.model.items())


def test_tokens_of_languages_serve_many_to_one_and_many_to_many(folder, tmp_path):
    words = ["model.name=many_to_many", "model.languages=[en,de]", *parts(folder, "en", source="de")]
    words += [*parts(folder, "en", "data.routes.fr-en", source="fr"), *parts(folder, "de", "data.routes.en-de")]
    made = trained(tmp_path / "run", *words)
    pairs = {name: load(made, [f"decoding.route={name}"]) for name in ("de-en", "fr-en", "en-de")}
    assert {name: one.setup.languages for name, one in pairs.items()} == {
        "de-en": ("de", "en"), "fr-en": ("fr", "en"), "en-de": ("en", "de"),
    }  # fmt: skip
    assert {name: one.task.route for name, one in pairs.items()} == {"de-en": "en", "fr-en": "en", "en-de": "de"}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (["model.languages=[de]"], ("model.languages: 'fr' is not a target language of this model", "it has de")),
        (["model.languages=[de,fr,cs]"], ("data.routes.cs.train: must be given", "which has no training text")),
        (["data.routes.fr.train.target=gone.fr"], ("data.routes.fr.train.target: there is no file 'gone.fr'",)),
        (["data.weights={train: 1}"], ("data.weights: names train, the corpora are train, fr",)),
        (["decoding.route=fr"], ("decoding.route: is for a trained model",)),
    ],
)
def test_what_does_not_fit_is_one_line(folder, tmp_path, changes, told):
    words = [*SMALL, *ONE, *parts(folder, "de"), *parts(folder, "fr", "data.routes.fr")]
    done = regard("train", "--quiet", *words, *changes, "--run", tmp_path / "run")
    assert not unsaid(done, *told)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", ["de", "en-de"])
def test_a_route_has_another_name_than_the_first_pair(folder, tmp_path, name):
    """Its figures would take the place of those of the first pair, and decoding.route could mean either."""
    words = [*SMALL, *ONE, *parts(folder, "de"), *parts(folder, "fr", f"data.routes.{name}")]
    done = regard("train", "--quiet", *words, "--run", tmp_path / "run")
    assert not unsaid(done, f"data.routes.{name}: has the name of the pair of data.train", "choose another name")


def test_routes_need_a_model_of_several_languages(folder, tmp_path):
    words = [*SMALL, *parts(folder, "de"), *parts(folder, "fr", "data.routes.fr")]
    done = regard("train", "--quiet", *words, "--run", tmp_path / "run")
    assert not unsaid(done, "data.routes: names further language pairs, but 'translator' supports one", "one_to_many")


def test_a_route_that_is_not_there_is_one_line(run, folder, tmp_path):
    done = regard("predict", run, "decoding.route=es", given="yes\n")
    assert not unsaid(done, "decoding.route: there is no 'es'", "de", "fr")
    plain = trained(tmp_path / "plain", *parts(folder, "de"))
    done = regard("predict", plain, "decoding.route=fr", given="yes\n")
    assert not unsaid(done, "decoding.route: there is no 'fr'", "this run has one language pair")


def test_frozen_texts_that_nothing_learns_from_are_refused(run, folder, tmp_path):
    words = [*SMALL, *ONE, f"init={{run: '{run}', frozen: true}}", *parts(folder, "de")]
    done = regard("train", "--quiet", *words, *parts(folder, "fr", "data.routes.fr"), "--run", tmp_path / "run")
    assert not unsaid(done, "init.frozen: leaves nothing to train on data.train")


@pytest.mark.parametrize(("languages", "routes"), [("[fr,de,cs]", ("de", "fr")), ("[de,cs]", ("de",))])
def test_languages_of_a_run_to_start_from_come_first(run, folder, tmp_path, languages, routes):
    words = [*SMALL, *ONE, f"model.languages={languages}", f"init.run={run}", *parts(folder, "cs")]
    words += [word for one in routes for word in parts(folder, one, f"data.routes.{one}", ("dev",))]
    done = regard("train", "--quiet", *words, "--run", tmp_path / "run")
    assert not unsaid(done, "model.languages", "translates into de, fr", "in that order")


def test_a_translator_becomes_the_first_of_several(folder, tmp_path):
    """Its losses stay the same in its own language, bit for bit."""
    single = trained(tmp_path / "single", "model.tied=target", *parts(folder, "de"))
    words = [*ONE, f"init={{run: '{single}', frozen: true}}", *parts(folder, "fr")]
    several = trained(tmp_path / "several", *words, *parts(folder, "de", "data.routes.de", ("dev",)))
    losses = []
    for route, path in ((ROUTE, single), ("de", several)):
        model, task, _ = Run.open(path).assembled()
        task = task.along(route)
        losses.append(model.nll(task.batch(task.encode([{"source": "two cats", "target": "zwei Katzen"}]))))
    assert losses[0].equal(losses[1])


def test_runs_of_other_languages_neither_join_nor_teach(run, folder, tmp_path):
    words = ["model.tied=target", f"init.run={run}", *parts(folder, "de")]
    single = trained(tmp_path / "single", *words)
    done = regard("predict", run, f"decoding.ensemble={single}", given="yes\n")
    assert not unsaid(done, "decoding.ensemble", "has other languages")
    taught = f"objective={{name: word_distillation, teacher: '{run}'}}"
    done = regard("train", "--quiet", *SMALL, *words, taught, "--run", tmp_path / "taught")
    assert not unsaid(done, "objective", "translates into de, fr", "model.languages")


def test_words_of_several_pairs_are_not_counted_as_one(run):
    assert not unsaid(regard("adequacy", run), "data.routes: names further language pairs", "regard align")


def test_settings_of_routes_are_saved_as_they_are(folder, tmp_path):
    words = [*SMALL, *ONE, *parts(folder, "de"), *parts(folder, "fr", "data.routes.fr")]
    experiment = read_experiment(None, [*words, "data.routes.fr.languages=[en,fr]"])
    experiment.save(tmp_path / "run.yaml")
    assert read_experiment(tmp_path / "run.yaml").data == experiment.data
