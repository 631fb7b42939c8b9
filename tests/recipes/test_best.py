"""regard best: which steps stay, which texts are refused, and a folder that goes on, serves and moves."""

import errno
import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from best_texts import PARTS, ROWS, SHORT, options, write_parts
from small_runs import regard, unsaid

from regard.errors import TrainingError
from regard.experiment import ConsensusSettings, RerankSettings
from regard.explain.frame import static
from regard.predictor import load
from regard.recipes.best import page, phrases, program
from regard.recipes.best import step as step_module
from regard.recipes.best.pairs import BestTexts, make_texts, write_lines
from regard.recipes.best.phrases import PhraseTimes, PhraseTuning
from regard.recipes.best.step import BestStep, NoGainError
from regard.recipes.best.steps import BEST_STEPS
from regard.recipes.best.workshop import Workshop, copied_run
from regard.reports.forecast.forecast import Forecast, Road
from regard.reports.forecast.learning_curve import Band
from regard.reports.report import Report
from regard.results import TextPrediction
from regard.runs import Run, RunFolder
from regard.training.interrupt import Interrupted

REPORT = Report([], {}, "")


@pytest.fixture
def texts(tmp_path):
    return write_parts(tmp_path)


def workshop(folder, references):
    """One whose steps have no runs: their dev translations are files."""
    for side in ("source", "target"):
        write_lines(folder / f"dev.{side}", references)
    files = {side: folder / f"dev.{side}" for side in ("source", "target")}
    return Workshop(folder, BestTexts(files, files, {}, None))


class Known:
    """A predictor of texts that are known."""

    def __init__(self, answers):
        self.answers, self.asked = answers, []

    def predict(self, lines, **_):
        self.asked.extend(lines)
        return [TextPrediction(line, self.answers[line], 0.0) for line in lines]


def evaluated(monkeypatch, work, name, correct):
    """The result of a step of the table that translates so many of the sentences as the references, others wrongly."""
    wrong = [f"x{place} y z w v" for place in range(len(work.references))]
    texts = [*work.references[:correct], *wrong[correct:]]
    translator = Known(dict(zip(work.sources, texts, strict=True)))
    monkeypatch.setattr("regard.recipes.best.workshop.load", lambda run: translator)
    return work.evaluated(name, BEST_STEPS[name], 1.0, "")


def test_a_step_stays_where_it_gains_on_its_family_and_leads_where_it_gains_on_all(tmp_path, monkeypatch):
    work = workshop(tmp_path, [f"a{place} b c d e" for place in range(100)])
    outcomes = [
        (one.rival, one.kept, one.leads)
        for one in (
            evaluated(monkeypatch, work, "phrases", 50),  # the first of all
            evaluated(monkeypatch, work, "phrases_of_back", 51),  # one sentence more is no sure gain
            evaluated(monkeypatch, work, "network", 20),  # the first network stays, behind phrases
            evaluated(monkeypatch, work, "taught", 40),  # gains on the network alone
            evaluated(monkeypatch, work, "reranked", 70),  # combinations are compared with the best of all
            evaluated(monkeypatch, work, "back", 90),
            evaluated(monkeypatch, work, "reranked_again", 80),
        )
    ]
    assert outcomes == [
        ("", True, True),
        ("phrases", False, False),
        ("phrases", True, False),
        ("network", True, False),
        ("phrases", True, True),
        ("taught", True, True),
        ("back", False, False),
    ]
    assert work.best().step == "back" and work.best("phrases").step == "phrases"


def test_synthetic_text_leaves_out_empty_lines_and_copies_and_is_made_once(tmp_path, monkeypatch):
    work = workshop(tmp_path, ["a"])
    teacher = Known({"one": "eins", "two": "two", "three": "", "four": "vier"})
    monkeypatch.setattr("regard.recipes.best.workshop.load", lambda run, changes: teacher)
    write_lines(tmp_path / "lines", ["one", "two", "three", "four"])
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "back.draft").write_text("eins\nha", encoding="utf-8")  # half a line of a killed process
    files = work.synthetic("back", tmp_path, tmp_path / "lines", "source", 60.0)
    assert teacher.asked == ["two", "three", "four"]
    assert files["source"].read_text() == "eins\nvier\n" and files["target"].read_text() == "one\nfour\n"
    assert work.synthetic("back", tmp_path, tmp_path / "lines", "source", 60.0) == files and len(teacher.asked) == 3


def test_the_dev_part_and_more_text_have_nothing_in_common_with_what_is_judged(texts):
    files = [texts / "train.en", texts / "train.de"]
    (texts / "more.de").write_text("".join(f"{pair[1]}\n" for pair in ROWS[:60]), encoding="utf-8")
    made = make_texts(texts / "made", files, [], {"target": texts / "more.de"}, lambda line: None)
    train, dev = ([*zip(*(part[side].read_text().splitlines() for side in ("source", "target")), strict=True)]
                  for part in (made.train, made.dev))  # fmt: skip
    assert len(dev) == 12 and {*dev} | {*train} <= {*PARTS["train"]}
    assert not {pair[0] for pair in dev} & {pair[0] for pair in train}
    assert {*made.more["target"].read_text().splitlines()} == {pair[1] for pair in ROWS[:60]} - {one[1] for one in dev}
    assert made.languages == ("en", "de")
    many = ["train.en", "train.de"]
    for name in many:
        lines = (texts / name).read_text().splitlines()
        write_lines(texts / f"many.{name}", [f"{line} {turn}" for turn in range(20) for line in lines])
    most = make_texts(texts / "most", files, [texts / f"many.{name}" for name in many], {}, lambda line: None)
    assert len(most.dev["source"].read_text().splitlines()) == 1_200  # every second of 2,400


def test_the_first_lines_of_sorted_texts_are_a_fair_sample(texts):
    """Steps translate the first lines of a text until their time is over: these must not be its shortest ones."""
    rows = sorted((1 + number % 40, number) for number in range(400))
    for name, word in (("sorted.en", "the"), ("sorted.de", "und"), ("more.de", "oder")):
        write_lines(texts / name, [f"{number} {' '.join([word] * length)}" for length, number in rows])
    files = [texts / "sorted.en", texts / "sorted.de"]
    made = make_texts(texts / "fair", files, [], {"target": texts / "more.de"}, lambda line: None)
    train = [made.train[side].read_text().splitlines() for side in ("source", "target")]
    assert [one.split()[0] for one in train[0]] == [one.split()[0] for one in train[1]]  # still pairs
    for lines in (train[0], made.more["target"].read_text().splitlines()):
        words = [len(line.split()) for line in lines]
        assert sum(words[:100]) / 100 == pytest.approx(sum(words) / len(words), rel=0.15)


def test_the_page_quotes_the_forecast_of_the_best_road(texts, monkeypatch):
    def road(name, middle):
        bands = [Band(value - 1.0, value, value + 2.0) for value in (middle, middle + 1.5)]
        return Road(name, bands[0], bands[0], 1.0, {1_000: bands[1]})

    found = Forecast(10.0, [road("phrases", 20.0), road("both", 24.0)])
    monkeypatch.setattr(program, "forecast", lambda files, minutes, dev: found)
    monkeypatch.setattr(program, "BEST_STEPS", {"phrases": BEST_STEPS["phrases"]})
    monkeypatch.setattr(page, "BEST_STEPS", {"phrases": BEST_STEPS["phrases"]})
    assert regard("best", *options(texts, "--minutes", "10", "--quiet")).code == 0
    report = (texts / "run" / "report.md").read_text()
    assert "both 24.0 dev BLEU (80 %: 23.0 to 26.0)" in report and "more pairs: 1,000 more +1.5 BLEU" in report


def test_rounds_of_tuning_are_those_that_fit(monkeypatch):
    times = PhraseTimes(fit=10.0, dev=20.0)
    monkeypatch.setattr(phrases, "measured_times", lambda texts: times)
    work = SimpleNamespace(texts=None, seconds_left=600.0)
    found = [phrases.affordable_tuning(work, seconds) for seconds in (8.0, 20.0, 30.0, 130.0)]
    assert [one.rounds for one in found] == [0, 1, 2, 3]
    assert [one.seconds for one in found] == [4 * seconds - 30.0 for seconds in (8.0, 20.0, 30.0, 130.0)]
    with pytest.raises(NoGainError, match=r"too little time was left: phrases would take 0\.5 minutes"):
        phrases.affordable_tuning(work, 7.0)
    work.seconds_left = 95.0  # the search ends before four times the seconds
    assert phrases.affordable_tuning(work, 130.0) == (2, 65.0)
    assert "task.minutes=1.083" in PhraseTuning(2, 65.0).settings([])
    assert [times.rounds(seconds) for seconds in (20, 59, 60, 95, 10_000)] == [0, 0, 1, 2, 5]


def test_what_is_wrong_is_told_in_a_line_before_anything_is_written(texts, monkeypatch):
    overlap = ["--dev-source", texts / "train.en", "--dev-target", texts / "train.de"]
    found = unsaid(regard("best", *options(texts)[:4], *overlap, "--run", texts / "run"), "train.en", "120 of 120 dev")
    (texts / "short.de").write_text("eins\n" * 100, encoding="utf-8")
    short = regard("best", "--source", texts / "train.en", "--target", texts / "short.de", "--run", texts / "run")
    found += unsaid(short, "train.en", "120 lines, but", "has 100")
    write_lines(texts / "few.en", [f"line {place}" for place in range(20)])
    many = ["--source", texts / "train.en", "--target", texts / "train.en", "--run", texts / "run"]
    found += unsaid(regard("best", *many), "train.en: ", "have the fault 'copied'", "is one text given twice?")
    with RunFolder(texts / "run").begun():  # another first call
        found += unsaid(regard("best", *options(texts)), "is being trained by another process")
    few = regard("best", "--source", texts / "few.en", "--target", texts / "few.en", "--run", texts / "run")
    found += unsaid(few, "pairs: leave 2 pairs of dev text", "--dev-source")
    turned = regard("best", *options(texts, "--text-target", texts / "more.en"))
    found += unsaid(turned, "more.en", "is in the language of", "exchanged")
    assert not (texts / "run").exists()
    times = PhraseTimes(fit=30.0, dev=60.0)
    monkeypatch.setattr(program, "measured_times", lambda texts: times)
    late = regard("best", *options(texts, "--minutes", "1"))
    found += unsaid(late, "1.0 are left", "1.5", f"--minutes {program._least_minutes(times)} or more")
    found += unsaid(regard("best", *options(texts)[:2]), "--target: must be given", "beside --source")
    found += unsaid(regard("best"), "--source: must be given")
    found += unsaid(regard("best", texts / "train.en", *options(texts)), "--source: the pairs are named twice")
    three = [texts / "train.en", texts / "train.de", texts / "dev.en"]
    found += unsaid(regard("best", *three), "dev.en: is a third file", "two text files, or one table")
    found += unsaid(regard("best", texts / "train.en"), "FILES: expected two text files, or one file")
    shutil.rmtree(texts / "run")
    (texts / "run").mkdir()
    (texts / "run" / "mine").touch()
    assert found + unsaid(regard("best", *options(texts)), "--run", "was not made by regard best") == []


def check_own_files_stay(texts):
    """Where another step becomes the run."""
    (texts / "run" / "mine.txt").write_text("of the user")
    dev = {side: texts / f"dev.{code}" for side, code in (("source", "en"), ("target", "de"))}
    work = Workshop(texts / "run", BestTexts(dev, dev, {}, None))
    program._publish(work, "network")
    assert Run.open(texts / "run").experiment.task.name == "translation"
    assert (texts / "run" / "mine.txt").read_text() == "of the user"
    program._publish(work, "phrases")


def test_the_folder_goes_on_where_it_was_stopped_and_serves_wherever_it_is(texts, monkeypatch, tmp_path):
    names = ("phrases", "network", "together", "reranked", "agreed")
    for module in (program, page):
        monkeypatch.setattr(module, "BEST_STEPS", {name: BEST_STEPS[name] for name in names})
    step, made = BEST_STEPS["network"], type(BEST_STEPS["network"]).make

    def stopped(self, *_):
        raise Interrupted("stopped")

    monkeypatch.setattr(type(step), "make", stopped)
    call = options(texts, *SHORT, "--minutes", "5", "--quiet")
    assert regard("best", *call).code == 75
    before = json.loads((texts / "run" / "best.json").read_text())
    assert [one["step"] for one in before["results"]] == ["phrases"]
    with RunFolder(texts / "run").held():  # a second search leaves what the first one has written
        assert unsaid(regard("best", *call), "is being trained by another process") == []
    assert json.loads((texts / "run" / "best.json").read_text()) == before
    assert Run.open(texts / "run").experiment.task.name == "phrases"
    monkeypatch.setattr(type(step), "make", made)
    trained = (texts / "run" / "steps" / "phrases" / "final.json").stat().st_mtime_ns
    assert (done := regard("best", *call)).code == 0, done.said
    after = json.loads((texts / "run" / "best.json").read_text())
    assert [one["step"] for one in after["results"]][:2] == ["phrases", "network"]
    assert (texts / "run" / "steps" / "phrases" / "final.json").stat().st_mtime_ns == trained
    check_report(texts / "run")
    assert unsaid(regard("best", *call, "model.dim=32"), "--run", "other values of: changes") == []
    check_own_files_stay(texts)
    sources = [pair[0] for pair in PARTS["dev"]]
    answers = [one.text for one in load(texts / "run").predict(sources)]
    counted, network = (texts / "run" / "steps" / name for name in ("phrases", "network"))
    for name, run, joined in (
        ("joined", counted, {"rerank": RerankSettings(network, 0.5, n_best=5)}),
        ("both", network, {"ensemble": (network,)}),
        ("in agreement", network, {"consensus": ConsensusSettings((counted,), 9.0, 5)}),
        ("all", network, {"ensemble": (network,), "consensus": ConsensusSettings((counted,), 9.0, 5)}),
    ):
        copied_run(run, texts / "run" / "steps" / name, replace(Run.open(run).experiment.decoding, **joined))
    log = network / "metrics.jsonl"
    before = log.read_bytes()
    with (texts / "run" / "steps" / "both" / "metrics.jsonl").open("a") as more:
        more.write("of a later training")
    assert log.read_bytes() == before
    shutil.move(texts / "run", tmp_path / "moved")
    assert [one.text for one in load(tmp_path / "moved").predict(sources)] == answers
    network, joined, both = (load(tmp_path / "moved" / "steps" / name) for name in ("network", "joined", "both"))
    check_phrases_are_found([tmp_path / "moved" / "steps" / name for name in ("in agreement", "all")], sources)
    assert network.predict(sources)[0].text == both.predict(sources)[0].text
    (best,) = joined.predict(sources[:1])
    (scored,) = network.score(sources[:1], [best.text])
    assert best.shares["network"] == pytest.approx(0.5 * sum(scored.log_probs), abs=1e-4)


def check_report(run):
    text = (run / "report.md").read_text()
    parts = ("there is one network alone", "agreed: ", f"translate with: regard predict {run} <")
    assert [part for part in parts if part not in text] == []


def check_phrases_are_found(runs, sources):
    """Phrases beside a run take the larger part in what both agree on."""
    for run in runs:
        (found, *_) = load(run).predict(sources)
        assert [*found.shares.values()][1] > 0.5


def test_a_step_that_fails_leaves_the_others_their_place(texts, monkeypatch):
    failing = {
        name: type("Failing", (BestStep,), {"fraction": 1.0, "about": name, "family": "network", "make": fail})()
        for name in "ab"
    }
    for module in (program, page):
        monkeypatch.setattr(module, "BEST_STEPS", {"phrases": BEST_STEPS["phrases"], **failing})
    done = regard("best", *options(texts, "--minutes", "5", "--quiet"))
    assert done.code == 0, done.said
    report = (texts / "run" / "report.md").read_text()
    assert "| a | – | – | – | – | – | failed: the loss is no number |" in report and "| b |" in report
    (texts / "run" / "seconds.json").write_text("300.0")  # the next call has no time
    assert regard("best", *options(texts, "--minutes", "5", "--quiet")).code == 0
    assert (texts / "run" / "report.md").read_text().count("failed: the loss is no number") == 2


def fail(*_):
    raise TrainingError("the loss is no number")


def test_without_a_name_the_folder_is_of_the_texts(texts, monkeypatch):
    monkeypatch.chdir(texts)
    asked = []
    monkeypatch.setattr(
        "regard.recipes.best.program.best_translator", lambda wanted, **_: asked.append(wanted.folder) or REPORT
    )
    (texts / "pairs.tsv").write_text("a\tb\n")
    words = [
        ["train.en", "train.de"],
        ["more.en", "more.de"],
        ["pairs.tsv"],
        ["train.en", "train.de", "--minutes", "9"],
    ]
    assert [regard("best", *some).code for some in words] == [0] * 4
    first, second, table, again = map(str, asked)
    assert first == again != second and first.startswith("runs/best-en-de-") and table.startswith("runs/best-pairs-")
    assert unsaid(regard("best", "train.en", "none.de"), "none.de: there is no such file") == []


def test_a_folder_on_a_disk_of_its_own_can_be_begun(texts, monkeypatch):
    (texts / "run").mkdir()
    rename = Path.rename

    def on_one_disk(self, target):
        if (texts / "run" in self.parents) != (texts / "run" in Path(target).parents):
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", on_one_disk)
    files = [texts / "train.en", texts / "train.de"]
    wanted = program.BestRequest(files, texts / "run", 5.0)
    state = program._State.of(wanted)
    made = program._texts(wanted, state, lambda line: None)
    assert made.train["source"].parent == texts / "run" / "texts" and made.train["source"].is_file()
    shutil.rmtree(texts / "run")
    (texts / "run" / ".texts.12.new").mkdir(parents=True)  # of a process that was killed
    (texts / "run" / ".texts.12.new" / "train.source").touch()
    with RunFolder(texts / "run").begun():
        assert program._State.of(wanted).results == [] and [*(texts / "run").iterdir()] == [texts / "run" / ".lock"]


def test_two_files_stand_for_source_and_target(texts, monkeypatch):
    asked = []
    monkeypatch.setattr(
        "regard.recipes.best.program.best_translator", lambda wanted, **_: asked.append(wanted) or REPORT
    )
    files, named = [texts / "train.en", texts / "train.de"], options(texts)[:4]
    assert [regard("best", *some, "model.dim=16").code for some in (files, named)] == [0, 0]
    assert asked[0].pairs == asked[1].pairs == files and asked[0].changes == ["model.dim=16"]


@pytest.mark.slow
def test_killed_again_and_again_it_ends_with_all_steps(texts):
    """Killed at whatever moment comes, the same call goes on; what was finished is not made again."""
    more = ["--text-source", texts / "more.en", "--text-target", texts / "more.de", "--minutes", "30", "--quiet"]
    words = [str(word) for word in ("best", *options(texts, *more), *SHORT)]
    ended = dict[Path, int]()
    for attempt in range(20):
        try:
            subprocess.run([sys.executable, "-m", "regard", *words], check=True, timeout=4.0 * 1.3**attempt)
            break
        except subprocess.TimeoutExpired:
            now = {file: file.stat().st_mtime_ns for file in (texts / "run" / "steps").glob("*/final.json")}
            assert ended.items() <= now.items()
            ended = now
    assert len(ended) > 2
    found = json.loads((texts / "run" / "best.json").read_text())["results"]
    assert {one["step"] for one in found} >= {"phrases", "phrases_of_back", "network", "taught", "back", "self_taught"}
    assert (texts / "run" / "report.html").is_file()
    assert len(load(texts / "run").predict([pair[0] for pair in PARTS["dev"]])) == len(PARTS["dev"])


def test_every_step_has_chinese_words():
    script = static("best.js", "regard.recipes.best")
    assert [step.about for step in BEST_STEPS.values() if f'"{step.about}":' not in script] == []
    patterns = [one.replace("\\/", "/") for one in re.findall(r"\[/(\^.+?\$)/,", script)]
    outcomes = ("the best so far", "dropped: no sure gain", "kept", "kept, as the first of its kind")
    late = (step_module.NO_TIME, f"{step_module.NO_TIME}: phrases would take 3.1 minutes here")
    reasons = (
        "networks begin with another run (--from)",
        "there are fewer than 20,000 pairs",
        "two networks at once need two threads of a CPU, and training.threads left open",
        "the time is too short for two, or was not planned",
        "its training did not finish",
        "replaced by twin: two networks write together instead",
    )
    for text in (
        *page._COLUMNS,
        *outcomes,
        *late,
        "no --text-target was given",
        "there is no network to begin with",
        *reasons,
    ):
        assert text == "p" or any(re.search(one, text) for one in patterns), text
