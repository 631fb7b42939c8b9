"""A student learns what teachers, or another program, write."""

import json
from itertools import islice

import pytest
from small_runs import PAIRS, SMALL, regard, unsaid, write_texts

from regard.config import write_checked
from regard.data.readers.lines import read_lines
from regard.decoding.shortlist import SHORTLIST_FILE
from regard.errors import ConfigError
from regard.exchange import model_card
from regard.predictor import load
from regard.recipes import distillation
from regard.recipes.distillation import DistillationRequest, distil
from regard.runs import Run, RunFolder
from regard.runs.folder import IMPORTED
from regard.training.interrupt import Interrupted

# a student has 8-bit weights; a processor without such products warns, and keeps float32
pytestmark = pytest.mark.filterwarnings("ignore:decoding.precision. this processor has no 8-bit products")
STUDENT = [*SMALL[:4], "training.batch_tokens=500", "training.validate_lines=5"]


@pytest.fixture(scope="module")
def teacher(tmp_path_factory):
    folder = tmp_path_factory.mktemp("teacher")
    options = [*write_texts(folder), "--dev-source", folder / "a.en", "--dev-target", folder / "a.de"]
    assert regard("train", *options, "--run", folder / "run", "data.test_fraction=0", *SMALL).code == 0
    origin = {"format": "marian", "folder": "opus", "architecture": "Transformer", "license": "cc-by-4.0"}
    write_checked(folder / "run" / IMPORTED, origin)
    return folder / "run"


@pytest.fixture
def text(tmp_path, monkeypatch):
    monkeypatch.setattr(distillation, "_FEWEST", 4)
    monkeypatch.setattr("regard.recipes.shards.program.Processes.launch", answered_here)
    path = tmp_path / "more.en"
    path.write_text("".join(f"{PAIRS[row % 4][0]} {row % 9}\n" for row in range(30)), encoding="utf-8")
    return path


def answered_here(self, folder, plan, workers, say):
    from regard.recipes.shards.worker import ShardWorker

    worker = ShardWorker(folder.path)
    for number in range(len(plan.shards)):
        worker.answer(number)


def request_of(teacher, text, tmp_path, **changes):
    given = {"minutes": 0.05, "dropped": 0.25, "shape": "small", "changes": STUDENT, **changes}
    return DistillationRequest([teacher], [text], tmp_path / "student", **given)


@pytest.mark.parametrize(("bound", "shortlist"), [(1, True), (10**9, False)])
def test_a_student_is_a_run_with_8_bits(bound, shortlist, teacher, text, tmp_path, monkeypatch):
    monkeypatch.setattr(distillation, "_SHORTENED", bound)  # weights of its output layer
    report = distil(request_of(teacher, text, tmp_path), lambda line: None, quiet=True)
    run = Run.open(tmp_path / "student")
    assert (run.experiment.training.quantization, run.experiment.objective.settings["label_smoothing"]) == ("int8", 0)
    assert (run.experiment.decoding.precision, run.experiment.decoding.shortlist) == ("int8", shortlist)
    assert (run.path / SHORTLIST_FILE).is_file()
    assert len(load(tmp_path / "student").predict(["a dog runs"])) == 1
    assert len([*tmp_path.rglob("links-*.npz")]) == 1  # of words, learnt once for both trainings
    systems = [teacher, tmp_path / "student-distillation/eight-bit", tmp_path / "student"]
    assert [one["system"] for one in report.values["systems"]] == [*map(str, systems)]
    card = model_card(load(tmp_path / "student"))
    assert "\nlicense: cc-by-4.0\n" in card and f"Made of runs: {teacher.name} (a student of" in card
    assert run.experiment.data.cache is None  # its folder may be deleted


def test_the_worst_translations_are_dropped(teacher, text, tmp_path):
    steps = distillation.Distillation(request_of(teacher, text, tmp_path), lambda line: None, quiet=True)
    kept = {*zip(*map(read_lines, steps.pairs().values()), strict=True)}
    sources = [*dict.fromkeys(read_lines(text))]
    answers = load(teacher).predict(sources)
    found = [one for one in answers if one.text and one.text != one.source]
    ranked = sorted(found, key=lambda one: one.score / (1 + len(one.text)))
    best = islice(reversed(ranked), len(found) - round(0.25 * len(found)))
    assert kept == {(one.source, one.text) for one in best}


def test_the_same_call_goes_on(teacher, text, tmp_path):
    request = request_of(teacher, text, tmp_path)
    distil(request, lambda line: None, quiet=True)
    weights = Run.open(tmp_path / "student").weights_digest
    said = []
    distil(request, said.append, quiet=True)
    assert Run.open(tmp_path / "student").weights_digest == weights
    assert not [line for line in said if "training" in line]


def test_a_student_that_has_begun_may_have_another_time_limit(teacher, text, tmp_path, monkeypatch):
    steps = distillation.Distillation(request_of(teacher, text, tmp_path), lambda line: None, quiet=True)
    pairs = steps.pairs()
    tuned = RunFolder(steps.student(pairs))
    (tuned.path / "final.json").rename(tmp_path / "final.json")  # as if killed
    assert not tuned.finished
    seen = []
    monkeypatch.setattr(distillation, "train_run", lambda experiment, **options: seen.append((experiment, options)))
    with pytest.raises(Interrupted):
        distillation.Distillation(
            request_of(teacher, text, tmp_path, minutes=20), lambda line: None, quiet=True
        ).student(pairs)
    ((experiment, options),) = seen
    assert options["resume"]
    assert experiment.training.max_minutes == pytest.approx(3)


def test_translations_of_another_program(teacher, text, tmp_path):
    translated, dev = tmp_path / "more.de", teacher.parent
    translated.write_text("".join(f"{line.upper()}\n" for line in read_lines(text)), encoding="utf-8")
    request = DistillationRequest(
        [], [text], tmp_path / "student", translated, {"source": dev / "a.en", "target": dev / "a.de"},
        shape="small", minutes=0.05, changes=STUDENT,
    )  # fmt: skip
    distil(request, lambda line: None, quiet=True)
    pairs = zip(
        *(read_lines(tmp_path / f"student-distillation/pairs.{side}") for side in ("source", "target")), strict=True
    )
    assert [*pairs] == [(line, line.upper()) for line in dict.fromkeys(read_lines(text))]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["TEACHER", "--shape", "tinny"], ["--shape", "did you mean 'tiny'?"]),
        ([], ["TEACHER: must be given", "--translated FILE"]),
        (["TEACHER", "--translated", "TEXT"], ["--translated", "does not go with a teacher"]),
        (["TEACHER", "--dev-source", "TEXT"], ["--dev-source", "goes with --dev-target"]),
        (["--translated", "SHORT", "--dev-source", "TEXT", "--dev-target", "TEXT"], ["short", "not as many lines"]),
        (["--translated", "TEXT", "--dev-source", "TEXT", "--dev-target", "TEXT"], ["0 translations are left"]),
    ],
)
def test_refusals(teacher, text, tmp_path, words, said):
    (tmp_path / "short.de").write_text("ein\n", encoding="utf-8")
    names = {"TEACHER": teacher, "TEXT": text, "SHORT": tmp_path / "short.de"}
    done = regard("distil", *(names.get(word, word) for word in words), "--text", text, "--run", tmp_path / "student")
    assert unsaid(done, *said) == []


BEGUN = {"teachers": ["another"], "texts": [], "--shape": "tiny", "--drop": 0.2, "settings": []}


@pytest.mark.parametrize(
    ("begun", "said"),
    [
        (BEGUN, "with other teachers and texts and --drop and settings"),
        ({"teachers": ["another"], "shape": "tiny"}, "by another version of Regard"),
    ],
)
def test_a_folder_begun_otherwise_is_refused(begun, said, teacher, text, tmp_path):
    work = tmp_path / "student-distillation"
    work.mkdir()
    (work / "request.json").write_text(json.dumps(begun))
    (work / "translated").mkdir()
    done = regard("distil", teacher, "--text", text, "--run", tmp_path / "student", "model.dim=8")
    assert unsaid(done, "--run", f"was begun {said}") == []


def test_a_request_that_failed_at_once_binds_nobody(teacher, text, tmp_path):
    (tmp_path / "empty.en").touch()
    words = ["distil", teacher, "--run", tmp_path / "student", "model.dim=8"]
    assert unsaid(regard(*words, "--text", tmp_path / "empty.en"), "the file is empty") == []
    assert "was begun with" not in regard(*words, "--text", text, "--minutes", 0.02).said


def test_an_interruption_while_teachers_translate_can_be_resumed(teacher, text, tmp_path, monkeypatch):
    def interrupted(self, folder, plan, workers, say):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("regard.recipes.shards.program.Processes.launch", interrupted)
        with pytest.raises(Interrupted, match="while the teachers translated"):
            distil(request_of(teacher, text, tmp_path), lambda line: None, quiet=True)
    steps = distillation.Distillation(request_of(teacher, text, tmp_path), lambda line: None, quiet=True)
    assert len([*read_lines(steps.pairs()["target"])]) > 0


def test_another_run_is_not_taken_for_the_student(teacher, text, tmp_path):
    (tmp_path / "student").symlink_to(teacher)
    with pytest.raises(ConfigError, match="exists and is not empty"):
        distil(request_of(teacher, text, tmp_path), lambda line: None, quiet=True)
