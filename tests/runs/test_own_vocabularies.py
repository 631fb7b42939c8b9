"""Target languages with vocabularies of their own: learnt apart, used by route, kept by languages that come later."""

import re
from shutil import copytree

import pytest
import torch
from engines import pairs_of
from small_runs import SMALL, regard, unsaid

from regard.data.columns import TextColumn
from regard.evaluation import METRICS
from regard.evaluation.metric import corpus_of
from regard.experiment import SETTINGS_FILE, load_experiment, read_experiment
from regard.objectives.objective import Context
from regard.objectives.self_critical import TotalReward
from regard.predictor import load, load_routes
from regard.records import EOS
from regard.registry import Choice
from regard.reports.evaluation import evaluate
from regard.runs import Run, RunFolder
from regard.runs.embeddings import read_embeddings
from regard.runs.run import task_of
from regard.runs.texts import training_batches
from regard.runs.training_links import training_links
from regard.serve.engine.answering import Answering
from regard.serve.engine.questions import Explain, Predict

TEXTS = {
    "en": ["a dog runs", "two cats", "he reads", "yes"],
    "de": ["ein Hund läuft", "zwei Katzen", "er liest", "ja"],
    "fr": ["un chien court", "deux chats", "il lit", "oui"],
    "cs": ["pes běží", "dvě kočky", "on čte", "ano"],
}
ONE = ["model.name=one_to_many", "model.tied=target", "text.shared=false", "training.max_updates=4"]
JOINT = ["model.tied=all", "text.shared=true"]  # as a translator is by default


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("texts")
    for language, texts in TEXTS.items():
        (found / f"a.{language}").write_text("".join(f"{one}\n" for one in texts * 3), encoding="utf-8")
    return found


def pair(folder, target, place="data", parts=("train", "dev", "test")):
    """Settings that name the texts of a pair of languages."""
    return [f"{place}.{part}={{source: '{folder}/a.en', target: '{folder}/a.{target}'}}" for part in parts]


def begun(folder, *others, first="de", frozen=()):
    """Settings of a run of languages: the first one, others that are learnt, and those that are frozen."""
    names = [one for one in TEXTS if one in (first, *others, *frozen)]
    words = [*SMALL, *ONE, f"model.languages=[{','.join(names)}]", *pair(folder, first)]
    words += [word for one in others for word in pair(folder, one, f"data.routes.{one}")]
    return words + [word for one in frozen for word in pair(folder, one, f"data.routes.{one}", ("dev", "test"))]


def trained(run, *words):
    done = regard("train", "--quiet", *words, "--run", run)
    assert done.code == 0, done.said
    return run


@pytest.fixture(scope="module")
def runs(folder, tmp_path_factory):
    """German and French with vocabularies of their own, or one for both; two translators; and Czech added to each."""
    found = tmp_path_factory.mktemp("runs")
    made = {
        "own": trained(found / "own", *begun(folder, "fr")),
        "one": trained(found / "one", *begun(folder, "fr"), "text.own_vocabularies=[]"),
        "single": trained(found / "single", *SMALL, "model.tied=target", "text.shared=false", *pair(folder, "de")),
        "joint": trained(found / "joint", *SMALL, *pair(folder, "de")),
    }
    for name, frozen in {"own": ("de", "fr"), "one": ("de", "fr"), "single": ("de",), "joint": ("de",)}.items():
        words = [*begun(folder, first="cs", frozen=frozen), *(JOINT if name == "joint" else [])]
        made[f"{name}-cs"] = trained(found / f"{name}-cs", *words, f"init={{run: '{made[name]}', frozen: true}}")
    return made


def letters(column):
    """What a vocabulary spells without bytes."""
    return {one for one in column.alphabet if one.isalpha()}


def letters_of(*languages):
    return {one for language in languages for text in TEXTS[language] for one in text if one.isalpha()}


@pytest.mark.parametrize(
    ("name", "own", "taught"),
    [
        ("own", ("fr",), {"de": ("de",), "fr": ("fr",)}),
        ("one", (), {"de": ("de", "fr"), "fr": ("de", "fr")}),
        ("own-cs", ("fr", "cs"), {"de": ("de",), "fr": ("fr",), "cs": ("cs",)}),
        ("one-cs", ("cs",), {"de": ("de", "fr"), "fr": ("de", "fr"), "cs": ("cs",)}),
        ("single-cs", ("cs",), {"de": ("de",), "cs": ("cs",)}),
        ("joint-cs", ("cs",), {"de": ("en", "de"), "cs": ("cs",)}),
    ],
)
def test_a_vocabulary_is_learnt_from_the_texts_of_its_languages(runs, name, own, taught):
    run = RunFolder(runs[name])
    assert Run.open(run).experiment.text.own_vocabularies == own
    for language, teachers in taught.items():
        columns = Run.open(run, [f"decoding.route={language}"]).columns
        assert letters(columns["target"]) == letters_of(*teachers), language
        sources = ("en", "de") if name == "joint-cs" else ("en",)
        assert letters(columns["source"]) == letters_of(*sources)


def test_batches_of_a_route_are_cut_by_its_vocabulary(runs):
    run = RunFolder(runs["own"])
    _, task, opened = Run.open(run).assembled()
    experiment = opened.experiment
    stream, found = training_batches(experiment, run, task, lambda _: None, {"train": "de", "fr": "fr"}), set()
    for _, (_, batch) in zip(range(12), stream.stream(), strict=False):
        column = Run.open(run, [f"decoding.route={batch.route}"]).columns["target"]
        texts = [column.decode([one for one in row if one > EOS]) for row in batch.sequences("target").items.tolist()]
        assert {*texts} <= {*TEXTS[batch.route]}
        found.add(batch.route)
    assert found == {"de", "fr"}


@pytest.mark.parametrize("name", ["own", "one-cs", "joint-cs"])
def test_a_route_is_scored_in_its_own_pieces(runs, name):
    """As the parts of its route say, which read ids that the vocabulary in the run folder gives."""
    for route, predictor in load_routes(runs[name], []).items():
        language = predictor.setup.languages[1]
        own = Run.open(runs[name]).experiment.text.own_vocabularies
        rest = "shared" if name == "joint-cs" else "target"
        place = f"target-{language}" if language in own else rest
        column = TextColumn.load(runs[name] / "text" / place)
        source = predictor.task.vocabularies["source"].encode("two cats")
        batch = predictor.task.batch([{"source": source, "target": column.encode(TEXTS[language][1])}])
        (found,) = predictor.score(["two cats"], [TEXTS[language][1]])
        with torch.no_grad():
            wanted = -predictor.model.nll(batch._replace(route=language)).sum()
        assert found.score == pytest.approx(float(wanted), rel=1e-5), route


def test_a_route_answers_and_explains_in_its_own_pieces(runs, tmp_path):
    predictor = load(runs["own-cs"], ["decoding.route=fr"])
    evaluate([runs["own-cs"]], {}, changes=["decoding.route=fr"], output=tmp_path / "answers")
    asked = [one.text for one in predictor.predict(TEXTS["en"], safeguards=False)]
    assert (tmp_path / "answers").read_text(encoding="utf-8").splitlines() == asked * 3
    scored = predictor.score(["two cats"], ["deux chats"])
    (explained,) = predictor.explainer.with_attention(scored)
    pieces = TextColumn.load(runs["own"] / "text" / "target-fr")
    assert explained.explanation.target_tokens[:-1] == pieces.pieces(pieces.encode("deux chats"))


def test_a_server_answers_in_the_pieces_of_a_language(runs):
    first, cards = Answering.load(runs["own-cs"], batch_tokens=8192)
    run = RunFolder(runs["own-cs"])
    for route in ("de", "fr"):
        alone = load(run.path, [f"decoding.route={route}"])
        done = first.answer(Predict.lines(["two cats"], route=route))
        assert done.found[0].text == alone.predict(["two cats"])[0].text
        forced = first.answer(Explain(pairs_of(["two cats"], [TEXTS[route][1]]), route=route))
        assert forced.found[0].score == pytest.approx(alone.score(["two cats"], [TEXTS[route][1]])[0].score)
        columns = Run.open(run, [f"decoding.route={route}"]).columns
        assert cards[route]["vocabulary"] == {name: len(column) for name, column in columns.items()}


@pytest.mark.parametrize("name", ["own", "one", "single", "joint"])
def test_frozen_languages_answer_as_before(runs, name):
    """To the bit, whatever was learnt beside them."""
    before, after = load_routes(runs[name], []), load_routes(runs[f"{name}-cs"], [])
    known = {one.setup.languages[1]: one for one in after.values()}
    for predictor in before.values():
        language, other = predictor.setup.languages[1], known[predictor.setup.languages[1]]
        told = [[(one.text, one.score) for one in each.predict(TEXTS["en"])] for each in (predictor, other)]
        assert told[0] == told[1]
        scores = [[one.score for one in each.score(TEXTS["en"], TEXTS[language])] for each in (predictor, other)]
        assert scores[0] == scores[1]
    assert len(known) == len(before) + 1


@pytest.mark.parametrize("name", ["own", "one"])
def test_what_is_kept_of_the_other_run_is_byte_for_byte(runs, name):
    before, after = (runs[one] / "text" for one in (name, f"{name}-cs"))
    files = [path.relative_to(before) for path in before.rglob("*") if path.is_file()]
    assert all((after / path).read_bytes() == (before / path).read_bytes() for path in files)
    mine, theirs = (RunFolder(runs[one]).checkpoint().model for one in (f"{name}-cs", name))
    assert all(mine[key].equal(value) for key, value in theirs.items())


def test_a_language_can_be_added_in_the_pieces_of_the_others(folder, runs, tmp_path):
    words = [*begun(folder, first="cs", frozen=("de", "fr")), f"init={{run: '{runs['one']}', frozen: true}}"]
    made = RunFolder(trained(tmp_path / "run", *words, "text.own_vocabularies=[]"))
    czech, german = (Run.open(made, [f"decoding.route={one}"]).columns for one in ("cs", "de"))
    assert czech["target"].key() == german["target"].key()
    assert [path.name for path in sorted(made.text.iterdir())] == ["source", "target"]


def test_a_run_goes_on_with_the_vocabularies_of_its_languages(folder, tmp_path):
    whole = trained(tmp_path / "whole", *begun(folder, "fr"), "training.max_updates=6")
    broken = trained(tmp_path / "broken", *begun(folder, "fr"))
    done = regard("train", "--run", broken, "--resume", "--quiet", "training.max_updates=6")
    assert done.code == 0, done.said
    one, other = (RunFolder(path).checkpoint().model for path in (whole, broken))
    assert all(one[name].equal(other[name]) for name in one)


def test_settings_of_earlier_versions_have_one_vocabulary(runs, tmp_path):
    settings = (runs["one"] / SETTINGS_FILE).read_text(encoding="utf-8")
    earlier = re.sub(r"\n  own_vocabularies:.*", "", settings)
    assert earlier != settings
    (tmp_path / SETTINGS_FILE).write_text(earlier, encoding="utf-8")
    assert load_experiment(tmp_path / SETTINGS_FILE).text.own_vocabularies == ()


def test_what_continues_a_run_has_its_vocabularies(folder, runs):
    """Behind --from, new languages get their own, too."""
    words = [word for word in begun(folder, "cs", "fr") if not word.startswith(("text.", *SMALL[:3]))]
    assert read_experiment(None, words, start=runs["one"]).text.own_vocabularies == ("cs",)
    assert read_experiment(None, words, start=runs["own"]).text.own_vocabularies == ("fr", "cs")


def test_a_reward_reads_the_texts_of_the_route(runs):
    run = RunFolder(runs["own"])
    columns = Run.open(run).vocabularies
    task = task_of(Run.open(run).experiment, columns)
    reward = TotalReward(Context(None, task), Choice("sentence_bleu"))
    batch = task.along("fr").batch(task.along("fr").encode([{"source": "two cats", "target": "deux chats lit"}]))
    written = tuple(columns["target-fr"].encode("deux chats"))
    metric = METRICS.build(Choice("sentence_bleu"))
    [row] = metric.statistics(corpus_of(["deux chats"], ["deux chats lit"]))
    assert reward([[written]], batch).tolist() == pytest.approx([metric.value(row) / 100])


def test_links_of_training_pairs_are_in_the_pieces_of_the_route(runs, tmp_path):
    """A word of its own in each place: all words of a pair are linked, whichever route it takes."""
    run = RunFolder(copytree(runs["own"], tmp_path / "run"))
    opened = Run.open(run)
    experiment = opened.experiment
    columns = opened.vocabularies
    links = training_links(experiment, run, columns, lambda _: None, Choice("ibm1"))
    for route in ("de", "fr"):
        task = task_of(experiment, columns).along(route)
        batch = task.batch(task.encode([{"source": "two cats", "target": TEXTS[route][1]}]))
        written, read = batch.sequences("target").items[0] > EOS, batch.sequences("source").items[0] > EOS
        found = links(batch)[0]
        assert torch.equal(found.any(dim=1), written), route
        assert torch.equal(found.any(dim=0), read), route


def test_words_of_a_language_have_the_vectors_of_its_decoder(runs):
    """Data.train of this run is Czech, which is the last of its languages."""
    table = read_embeddings(runs["own-cs"], "target").table
    model, task, _ = Run.open(runs["own-cs"]).assembled()
    number = task.vocabularies["target"].named().index("ano")
    wanted = model.decoders["cs"].embedder.word_vectors(torch.tensor([number])).detach()[0]
    assert table.vector("ano").tolist() == wanted.tolist()


def test_a_table_of_all_stays_one_beside_that_of_a_language(runs):
    """`tied: all` is of what shares a vocabulary; what has its own is tied to its own head."""
    model, _, _ = Run.open(runs["joint-cs"]).assembled()
    encoder, german, _ = model.along("de")
    _, czech, head = model.along("cs")
    assert german.embedder is encoder.embedder
    assert czech.embedder is not encoder.embedder
    assert head.weight is czech.embedder.output_weight()


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (["model.head=pointer", "text.shared=true"], ("model.head: 'pointer' needs one vocabulary",)),
        (["text.own_vocabularies=[de]"], ("text.own_vocabularies: 'de' is the first language",)),
        (["text.own_vocabularies=[es]"], ("text.own_vocabularies: 'es' has no decoder of its own", "possible: fr")),
        (["model.name=many_to_many"], ("text.own_vocabularies: 'fr' has no decoder of its own",)),
    ],
)
def test_what_has_no_vocabulary_of_its_own_is_one_line(folder, tmp_path, changes, told):
    done = regard(
        "train", "--quiet", *begun(folder, "fr"), "text.own_vocabularies=[fr]", *changes, "--run", tmp_path / "run"
    )
    assert not unsaid(done, *told)
    assert not (tmp_path / "run").exists()


def test_a_translator_has_no_language_with_a_vocabulary_of_its_own(folder, tmp_path):
    words = [*SMALL, "model.tied=target", "text.shared=false", "text.own_vocabularies=[de]", *pair(folder, "de")]
    assert not unsaid(
        regard("train", "--quiet", *words, "--run", tmp_path / "run"), "text.own_vocabularies: 'de' has no decoder"
    )


@pytest.mark.parametrize(
    ("name", "own", "told"),
    [("own", "[cs]", "'fr' has a vocabulary of its own"), ("one", "[fr,cs]", "'fr' has no vocabulary of its own")],
)
def test_a_decoder_that_is_taken_keeps_its_vocabulary(folder, runs, tmp_path, name, own, told):
    words = [*begun(folder, first="cs", frozen=("de", "fr")), f"init.run={runs[name]}", f"text.own_vocabularies={own}"]
    done = regard("train", "--quiet", *words, "--run", tmp_path / "run")
    assert not unsaid(done, f"text.own_vocabularies: {told}", "leave it out")


def test_a_first_language_without_texts_is_one_line(folder, runs, tmp_path):
    words = [*begun(folder, first="cs", frozen=("de", "fr")), f"init.run={runs['one']}"]
    done = regard("train", "--quiet", *words, "init.vocabularies={source: source}", "--run", tmp_path / "run")
    assert not unsaid(done, "init.vocabularies: leaves no text", "target")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("command", ["shortlist", "tune"])
def test_what_is_learnt_of_one_vocabulary_is_refused(runs, tmp_path, command):
    made = copytree(runs["own"], tmp_path / "run")
    assert not unsaid(
        regard(command, made), "text.own_vocabularies: gives fr a vocabulary of its own", "text.own_vocabularies=[]"
    )


def test_a_teacher_has_the_same_vocabularies_of_all_languages(folder, runs, tmp_path):
    taught = f"objective={{name: word_distillation, teacher: '{runs['own']}'}}"
    words = [*begun(folder, "fr"), taught]
    done = regard("train", "--quiet", *words, f"init.run={runs['own']}", "--run", tmp_path / "run")
    assert done.code == 0, done.said
    done = regard("train", "--quiet", *words, "text.own_vocabularies=[]", "--run", tmp_path / "other")
    assert not unsaid(done, "objective", "has another vocabulary")
