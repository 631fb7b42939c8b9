"""`regard tune`: tables of a run's own texts, weights by BLEU on its dev part, and what uses them."""

import json
import random

import pytest
import yaml
from small_runs import SMALL, regard, unsaid
from typer.testing import CliRunner

from regard.cli.app import app
from regard.decoding.features.tables import LEXICON
from regard.predictor import load
from regard.recipes import tuning
from regard.recipes.rerank_tuning import tune_weights
from regard.runs import Run
from regard.runs import run as opening
from regard.statistical.arpa import read_arpa
from regard.statistical.lexical_table import Lexicon

NUMBERS = ["one", "two", "three", "four", "five", "six"]
ZAHLEN = ["eins", "zwei", "drei", "vier", "fünf", "sechs"]
TUNED = "decoding.tuned=true"


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """Numbers in two languages, word by word: some in any order to learn words from, the others in their order."""
    place, draw = tmp_path_factory.mktemp("counting"), random.Random(3)
    drawn = [[draw.randrange(6) for _ in range(draw.randrange(1, 5))] for _ in range(200)]
    counted = [[(first + place) % 6 for place in range(4 + first % 3)] for first in range(200)]
    for part, rows in (("train", drawn + counted), ("dev", counted[:12])):
        for side, words in (("en", NUMBERS), ("de", ZAHLEN)):
            lines = "".join(" ".join(words[one] for one in row) + "\n" for row in rows)
            (place / f"{part}.{side}").write_text(lines, encoding="utf-8")
    return place


def trained(texts, run, *changes):
    sides = ["--source", texts / "train.en", "--target", texts / "train.de"]
    done = regard(
        "train",
        "text.tokenizer=words",
        *SMALL,
        *sides,
        *("training.max_updates=60", "training.validate_every=60"),
        *("training.learning_rate=0.01", "training.schedule=constant"),
        *changes,
        "--run",
        run,
        "-q",
    )
    assert done.code == 0, done.said
    return run


@pytest.fixture(scope="module")
def dev(texts):
    return [f"data.dev.source={texts / 'dev.en'}", f"data.dev.target={texts / 'dev.de'}"]


@pytest.fixture(scope="module")
def run(texts, dev, tmp_path_factory):
    """A model of sixty updates, which says little that is right, and its tuning."""
    place = trained(texts, tmp_path_factory.mktemp("runs") / "run", *dev)
    done = CliRunner().invoke(app, ["tune", str(place), "--rounds", "3", "--n-best", "10"])
    assert done.exit_code == 0, done.stderr
    return place, done.stdout


def test_tables_are_learnt_of_the_training_texts(run):
    lexicon = Lexicon.read(run[0] / "tuning" / LEXICON)
    for word, wort in zip(NUMBERS, ZAHLEN, strict=True):
        assert lexicon.best(f"▁{word}")[0][0] == f"▁{wort}"
    model = read_arpa(run[0] / "tuning" / "language.arpa.gz")
    assert {f"▁{wort}" for wort in ZAHLEN} <= {*model.words}


def test_a_part_of_a_sorted_dev_set_is_a_fair_sample(run, tmp_path):
    rows = [" ".join(["one"] * (1 + number // 10)) for number in range(200)]
    for side in ("en", "de"):
        (tmp_path / f"dev.{side}").write_text("\n".join(rows) + "\n", encoding="utf-8")
    files = [f"data.dev.{name}={tmp_path / f'dev.{side}'}" for name, side in (("source", "en"), ("target", "de"))]
    first, again = (tuning.dev_part(Run.open(run[0], files), 50) for _ in range(2))
    assert first == again and first["source"] == first["target"]
    words = [len(one.split()) for one in first["source"]]
    assert sum(words) / 50 == pytest.approx(10.5, rel=0.2)  # 3 in the first 50 lines of the file


def test_features_make_a_poor_model_better(run):
    """The figures told are those of the run with and without them, on the same sentences."""
    line = next(line for line in run[1].splitlines() if line.startswith("BLEU"))
    before, after = (float(word) for word in line.split() if word[0].isdigit())
    assert after > before + 5
    assert TUNED in run[1]
    kept = yaml.safe_load((run[0] / "tuning" / "decoding.yaml").read_text("utf-8"))
    assert [one["name"] for one in kept["features"]] == [one.name for one in tuning.FIRST_FEATURES]


def test_shares_of_the_score_are_told(run):
    done = CliRunner().invoke(app, ["predict", str(run[0]), TUNED, "--json", "--raw"], input="two three\n")
    told = json.loads(done.stdout)
    assert [*told["shares"]] == ["model", *(one.name for one in tuning.FIRST_FEATURES)]
    assert sum(told["shares"].values()) == pytest.approx(told["score"])
    done = CliRunner().invoke(
        app, ["predict", str(run[0]), TUNED, "--json", "--raw", "--n-best", "3"], input="two three\n"
    )
    for one in (best := json.loads(done.stdout), *best["alternatives"]):
        assert sum(one["shares"].values()) == pytest.approx(one["score"])
    assert "shares" not in CliRunner().invoke(app, ["predict", str(run[0]), "--json"], input="two three\n").stdout


def test_the_command_line_counts_more_than_the_tuning(run):
    predictor = load(run[0], [TUNED, "decoding.search.size=7", "decoding.features=length"])
    assert predictor.setup.search.size == 7
    assert [one.name for one in predictor.setup.features] == ["length"]


def test_the_run_stays_as_it_was(run):
    assert load(run[0]).setup.features == ()


def test_random_search_and_features_of_ones_own(run):
    words = [
        "tune",
        run[0],
        "decoding.features=[{name: lexicon, weight: 0}, {name: no_repeat, size: 2}]",
        "--method",
        "random",
    ]
    done = regard(*words, "--rounds", "2", "--n-best", "5", "--lines", "9")
    assert (done.code, "9 dev sentences" in done.said) == (0, True)


def test_bad_input_is_one_line(run, texts, tmp_path):
    alone = trained(texts, tmp_path / "alone", "data.dev_fraction=0", "data.test_fraction=0")
    for words, told in (
        ([alone], "data.dev: the run has no dev set to tune on"),
        ([run[0], "--method", "guess"], "--method: there is no 'guess'"),
        ([run[0], "decoding.search=greedy"], "decoding.search: 'greedy' finds only one translation"),
        ([run[0], "decoding.features=no_repeat"], "decoding.features: has no tunable weight"),
        ([tmp_path / "nothing"], "nothing"),
    ):
        assert unsaid(regard("tune", *words), told) == []
    assert unsaid(regard("predict", alone, TUNED, given="one\n"), "decoding.yaml: is missing", "regard tune") == []
    language = run[0] / "tuning" / "language.arpa.gz"
    (tmp_path / "cut.arpa.gz").write_bytes(language.read_bytes()[:200])
    cut = f"decoding.features={{name: ngram_model, file: {tmp_path / 'cut.arpa.gz'}}}"
    assert unsaid(regard("predict", run[0], cut, given="one\n"), "cut.arpa.gz") == []
    phrases = tmp_path / "cut.txt"
    phrases.write_text("▁one ||| ▁eins ||| 0.5 0.5", encoding="utf-8")
    cut = f"decoding.features={{name: phrases, file: {phrases}}}"
    assert unsaid(regard("predict", run[0], cut, given="one\n"), "cut.txt:1", "cut off") == []


class Slow:
    """A model that takes a second of `now` for each sentence."""

    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        return self.now

    def translated(self, sources, search):
        self.now += len(sources)
        return [*sources]


@pytest.fixture
def slow(monkeypatch):
    model = Slow()
    monkeypatch.setattr(tuning, "time", model)
    return model


def test_of_the_dev_part_is_taken_what_all_rounds_have_time_for(slow):
    said, lines = [], {"source": ["a"] * 1000, "target": ["b"] * 1000}
    part = tuning._Clock(600.0, said.append).affordable(slow, tuning.DevPart(lines), None, rounds=4)
    assert len(part.sources) == len(part.references) == (600 - tuning.PIECE) // 5
    assert "112 of 1,000 dev sentences" in said[0]
    assert len(tuning._Clock(9e9, said.append).affordable(slow, tuning.DevPart(lines), None, rounds=4).sources) == 1000


def test_progress_is_told_and_an_end_comes_in_time(slow):
    said, part = [], tuning.DevPart({"source": ["a"] * 120, "target": ["b"] * 120})
    assert len(tuning._Clock(121.0, said.append).translated(slow, part, None, "round 1")) == 120
    assert said[0] == "round 1: 40 of 120 sentences, about 80 s left of it"
    with pytest.raises(tuning._TimeOver):
        tuning._Clock(50.0, said.append).translated(slow, part, None, "round 1")


@pytest.mark.parametrize("rounds", [0, 1])
def test_an_interruption_keeps_the_best_round_so_far(run, monkeypatch, rounds):
    """Calls: what time is measured by, without features, rounds."""
    calls, translated = [], tuning._LogLinear.translated
    verified, verify = [], opening.verify
    monkeypatch.setattr(opening, "verify", lambda path: verified.append(path) or verify(path))

    def interrupted(model, sources, search):
        calls.append(search)
        if len(calls) == 3 + rounds:
            raise KeyboardInterrupt
        return translated(model, sources, search)

    monkeypatch.setattr(tuning._LogLinear, "translated", interrupted)
    said = []
    if rounds:
        found = tune_weights(run[0], [], n_best=4, lines=6, say=said.append)
        assert found.after >= found.before and "stopped: keeps the best of 1 rounds" in said[-1]
    else:
        with pytest.raises(KeyboardInterrupt):
            tune_weights(run[0], [], n_best=4, lines=6)
    assert verified == [run[0]]
