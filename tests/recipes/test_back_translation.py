"""Back-translation in rounds: filters by hand, tags, copies, whole chunks, and that an end changes no weight."""

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file
from small_runs import PAIRS, SMALL, regard, unsaid, write_texts

from regard.config import as_values, write_checked
from regard.errors import RegardError
from regard.predictor import load
from regard.recipes import back_translation as module
from regard.recipes.back_translation import fraction_copied, kept_lines
from regard.recipes.one_language import BASE_SETTINGS, BackTranslationSettings
from regard.runs import Run, RunFolder

LINES = ["ein Haus", "zwei Hunde", "er schläft", "sie liest", "drei Katzen"]


def test_filter_keeps_best_scores_then_drops_unlike():
    scores, likeness = [-1.0, -5.0, -2.0, -3.0, -9.0], [0.2, 1.0, 0.9, 0.1, 1.0]
    assert kept_lines(scores, likeness, 0.8, 0.0) == [0, 1, 2, 3]  # without -9
    assert kept_lines(scores, likeness, 0.8, 0.25) == [0, 1, 2]  # without the likeness .1, one of four
    assert kept_lines(scores, likeness, 1.0, 0.2) == [0, 1, 2, 4]
    assert kept_lines([0.0] * 4, [0.0] * 4, 0.5, 0.5) == [0]  # of equal ones the first


def test_copied_words_are_counted_as_often_as_they_stand():
    assert fraction_copied(["a b b", "c"], ["b b b x", "y"]) == 2 / 5
    assert fraction_copied(["a"], [""]) == 0


class Writer:
    """Translates by a table; scores a translation by its length."""

    def __init__(self, table=None):
        self.table, self.asked = table or {}, []

    def predict(self, lines, *, safeguards):
        assert not safeguards
        self.asked += lines
        return [SimpleNamespace(text=self.table.get(line, f"made of {line.split()[0]}")) for line in lines]

    def score(self, lines, made):
        return [SimpleNamespace(score=-float(len(one))) for one in made]


@pytest.fixture
def rounds(tmp_path):
    """Rounds whose texts are written, with settings as a test wants them."""

    def made(**settings):
        place = tmp_path / module.ROUNDS_FOLDER
        (place / "texts").mkdir(parents=True)
        (place / "texts" / "text.target").write_text("".join(f"{line}\n" for line in LINES))
        (place / "texts" / "train.source").write_text("red red red\n" * 9)
        values = as_values(BackTranslationSettings(**settings))
        write_checked(place / module.ROUNDS_FILE, {"settings": values, "languages": None})
        return module._Rounds(tmp_path, lambda line: None, True)

    return made


def texts_of(files):
    return {side: file.read_text().splitlines() for side, file in files.items()}


def test_sources_are_tagged_and_empty_ones_unknown(rounds, monkeypatch):
    monkeypatch.setattr(module, "load", lambda run, changes: Writer({"zwei Hunde": ""}))
    files = rounds(round_trip=0.0).synthetic("forward-back-1", "r", "f", "target", "<bt>", made_side="source")
    assert texts_of(files) == {
        "source": ["<bt> made of ein", "<bt> <unk>", "<bt> made of er", "<bt> made of sie", "<bt> made of drei"],
        "target": LINES,
    }


def test_self_training_reads_the_text_and_drops_empty_targets(rounds, monkeypatch):
    monkeypatch.setattr(module, "load", lambda run, changes: Writer({"zwei Hunde": ""}))
    files = rounds(round_trip=0.0).synthetic("reverse-self-1", "r", "f", "target", "<st>", made_side="source")
    assert texts_of(files)["target"] == [f"<st> {line}" for line in LINES if line != "zwei Hunde"]
    assert texts_of(files)["source"][0] == "made of ein"


def test_score_language_model_and_round_trip_filter(rounds, monkeypatch):
    table = dict(zip(LINES, ["blue", "red red", "far too long a line", "green", "red"], strict=True))
    back = {**{made: line for line, made in table.items()}, "green": "etwas ganz anderes"}
    writers = {"r": Writer(table), "f": Writer(back)}
    monkeypatch.setattr(module, "load", lambda run, changes: writers[Path(run).name])
    one = rounds(top_fraction=0.8, lm_weight=1.0, round_trip=0.25)
    files = one.synthetic("forward-back-1", "r", "f", "target", "<bt>", made_side="source")
    assert texts_of(files)["source"] == ["<bt> blue", "<bt> red red", "<bt> red"]
    weak = module.kneser_ney((line.split() for line in ["red red red"] * 9), 3)
    assert sum(weak.log_probs_of(["red"])) > sum(weak.log_probs_of(["blue"]))


def test_a_model_that_copies_is_refused(rounds, monkeypatch):
    monkeypatch.setattr(module, "load", lambda run, changes: Writer({line: line for line in LINES}))
    with pytest.raises(RegardError, match="reverse-0 copies its input: 100% of the words"):
        rounds().synthetic("forward-back-1", "reverse-0", "f", "target", "<bt>", made_side="source")


def test_translation_goes_on_with_a_whole_chunk(rounds, monkeypatch):
    monkeypatch.setattr(module, "_CHUNK", 2)
    one, whole, rest = rounds(), Writer(), Writer()
    unbroken = one._translated("a", whole, LINES)
    file = one.place / "made" / "b"
    file.write_text("".join(f"{line}\n" for line in unbroken[:3]) + "made o")  # killed within a line
    assert one._translated("b", rest, LINES) == unbroken
    assert (whole.asked, rest.asked) == (LINES, LINES[2:])
    assert one._translated("b", rest, LINES) == unbroken and rest.asked == LINES[2:]  # nothing is done twice


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["--text-target", "more.de"], ["--run", "must be given"]),
        (["--rounds", "2", "--run", "r"], ["--text-target", "must be given, or --text-source"]),
        (["--text-target", "a.de", "--run", "r"], ["a.de", "has only lines that the pairs have"]),
        (["--text-target", "nope.de", "--run", "r"], ["nope.de", "there is no such file"]),
        (["--text-target", "more.de", "--run", "r", "back_translation.ration=1"], ["back_translation.ration", "ratio"]),
        (["--text-target", "more.de", "--run", "r", "back_translation.ratio=3"], ["back_translation.ratio", "2"]),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(words, parts, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts = write_texts(tmp_path)
    (tmp_path / "more.de").write_text("".join(f"{line}\n" for line in LINES))
    assert not unsaid(regard("train", *texts, *words, *SMALL), *parts)
    assert not (tmp_path / "r").exists()


def test_a_table_of_pairs_is_not_read_as_settings(tmp_path, monkeypatch):
    table, more = tmp_path / "pairs.tsv", tmp_path / "more.de"
    table.write_text("".join(f"{one}:\t{other}\n" for one, other in PAIRS), encoding="utf-8")  # ": " is YAML
    more.write_text("".join(f"{line}\n" for line in LINES))
    monkeypatch.setattr(module._Rounds, "run", lambda rounds: rounds.folder)
    done = regard("train", table, "--text-target", more, "--run", tmp_path / "r", *SMALL)
    assert done.code == 0, done.said
    rounds = tmp_path / "r" / module.ROUNDS_FOLDER
    assert "dim: 16" in (rounds / BASE_SETTINGS).read_text()
    sources = (rounds / "texts" / "train.source").read_text(encoding="utf-8").splitlines()
    assert {*sources} <= {f"{one}:" for one, _ in PAIRS} and sources


def test_what_a_killed_preparation_left_is_no_obstacle(tmp_path, monkeypatch):
    texts = write_texts(tmp_path)
    (tmp_path / "more.de").write_text("".join(f"{line}\n" for line in LINES))
    call = ["train", *texts, "--text-target", tmp_path / "more.de", "--run", tmp_path / "r", *SMALL]

    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(module._Rounds, "run", lambda rounds: rounds.folder)
    with monkeypatch.context() as patched:
        patched.setattr("regard.recipes.one_language.shutil.rmtree", lambda *_, **__: None)  # nothing is cleared away
        patched.setattr("regard.recipes.one_language.write_checked", killed)
        regard(*call)
    done = regard(*call)
    assert done.code == 0, done.said
    assert (tmp_path / "r" / module.ROUNDS_FOLDER / module.ROUNDS_FILE).is_file()
    assert not [*tmp_path.glob(".r.*"), *(tmp_path / "r").glob(".*new")]


def test_rounds_that_have_begun_are_gone_on_with_by_one_process(tmp_path):
    (tmp_path / "r" / module.ROUNDS_FOLDER).mkdir(parents=True)
    (tmp_path / "r" / module.ROUNDS_FOLDER / module.ROUNDS_FILE).touch()
    call = ["train", *write_texts(tmp_path), "--text-target", tmp_path / "a.de", "--run", tmp_path / "r"]
    assert not unsaid(regard(*call), "--run", "has rounds that have begun", f"regard train {tmp_path}/r --resume")
    with RunFolder(tmp_path / "r").held():
        assert not unsaid(regard("train", tmp_path / "r", "--resume"), "is being trained by another process")


def weights(run):
    return load_file(RunFolder(run).checkpoint().folder / "model.safetensors")


@pytest.mark.slow
def test_rounds_that_were_cut_off_end_as_unbroken_ones(tmp_path, monkeypatch):
    texts = write_texts(tmp_path)
    more = {"--text-target": LINES, "--text-source": ["the car is red", "five birds sing", "he sleeps"]}
    for option, lines in more.items():
        file = tmp_path / f"more{option}"
        file.write_text("".join(f"{line}\n" for line in lines))
        texts += [option, str(file)]
    words = ["train", *texts, "--dev-source", texts[1], "--dev-target", texts[3], *SMALL, "-q"]
    words += ["training.max_epochs=null"]
    assert regard(*words, "--run", tmp_path / "whole").code == 0
    real, calls = module.train_run, []

    def stopping(experiment, **given):
        calls.append(experiment)
        return real(experiment, **given) and len(calls) % 2 == 1

    monkeypatch.setattr(module, "train_run", stopping)
    code = regard(*words, "--run", tmp_path / "cut").code
    for _ in range(10):
        if code == 0:
            break
        assert code == 75
        code = regard("train", tmp_path / "cut", "--resume", "-q").code
    assert code == 0
    names = ["", *(f"{module.ROUNDS_FOLDER}/{name}" for name in ("forward-2", "finished-2", "reverse-1"))]
    for name in names:
        one, other = weights(tmp_path / "whole" / name), weights(tmp_path / "cut" / name)
        assert one.keys() == other.keys() and all((one[key] == other[key]).all() for key in one)
    made = Run.open(tmp_path / "whole" / module.ROUNDS_FOLDER / "forward-2")
    column = made.vocabularies["source"]
    assert column.pieces(column.encode("<bt> <unk>")) == ["▁<bt>", "▁<unk>"]
    assert made.experiment.data.weights == {
        "train": 1.0,
        "back": pytest.approx(5 / 9),
    }  # three of twelve pairs are the test part
    predictor, graded = load(tmp_path / "whole"), list[bool]()
    for part in predictor.model.modules():
        part.register_forward_hook(lambda *_: graded.append(torch.is_grad_enabled()))
    predictor.predict(["two cats"])
    assert graded and not any(graded)  # no gradient passes through generation
