"""Networks and schedules for a time: chosen by the speed that is measured, told, and only where they are left open."""

from dataclasses import replace

import pytest
import torch

from regard.experiment import read_experiment, time_plan
from regard.experiment.sizes import DATA_SIZES, defaults_for
from regard.ops import machine
from regard.training.clock import ClockTime

SECONDS = 240.0
SIDES = (("source", "en"), ("target", "zh"))


def speeds(fast):
    """By the width of a network, so that a larger one is slower."""
    return lambda size: fast / size.dim


@pytest.mark.parametrize(
    ("pairs", "fast", "dim", "pieces"),
    [
        (114_000, 10**9, 256, 8_000),  # as large as the data ask for
        (600_000, 10**9, 512, 32_000),
        (600_000, 15.5 * 10**6, 256, 8_000),  # 1,221 updates of the largest, 3,027 of this
        (114_000, 15 * 10**6, 128, 10_000),  # 2,930 of the larger one
        (114_000, 10**6, 128, 5_000),  # a short training
        (20_000, 10**6, 128, 5_000),
        (114_000, 10**5, 128, 2_000),
        (114_000, 1, 128, 2_000),  # nothing fits: the smallest
        (3_000, 10**9, 128, 1_000),  # never larger than the data ask for
    ],
)
def test_the_largest_network_with_enough_updates_is_planned(pairs, fast, dim, pieces):
    plan = time_plan.plan_for(pairs, SECONDS, speeds(fast))
    assert (plan.size.dim, plan.size.pieces) == (dim, pieces)
    assert plan.updates == max(1, round(SECONDS * time_plan.TRAINING * fast / dim / plan.size.batch_tokens))


@pytest.fixture
def files(tmp_path):
    for name in ("a.en", "a.de"):
        (tmp_path / name).write_text("".join(f"{name} {number}\n" for number in range(30)), encoding="utf-8")
    return [f"data.train.source={tmp_path}/a.en", f"data.train.target={tmp_path}/a.de"]


@pytest.mark.parametrize(
    ("speed", "tokens", "pieces", "schedule"),
    [
        (10**5, 4_096, 10_000, "inverse_sqrt"),
        (40_000, 1_536, 5_000, "linear"),  # 1,992 updates of 4,096 tokens
        (1_500, 1_024, 2_000, "inverse_sqrt"),  # 199 of 1,536
    ],
)
def test_a_short_training_of_many_pairs_has_few_pieces(speed, tokens, pieces, schedule, files, monkeypatch):
    monkeypatch.setattr(time_plan, "measured_speed", lambda experiment, size: speed)
    monkeypatch.setattr("regard.experiment.complete_settings.count_examples", lambda given: 30_000)
    experiment = read_experiment(None, [*files, "training.max_minutes=4"], say=[].append)
    assert (experiment.training.batch_tokens, experiment.training.schedule.name) == (tokens, schedule)
    assert experiment.text.tokenizer.settings["size"] == pieces
    if schedule == "linear":
        assert experiment.training.schedule.settings["warmup"] == 400


def test_a_plan_is_told_and_fits_the_time(files, monkeypatch):
    monkeypatch.setattr(time_plan, "measured_speed", lambda experiment, size: 1_000.0)
    told = []
    experiment = read_experiment(None, [*files, "training.max_minutes=4"], say=told.append)
    updates = round(SECONDS * time_plan.TRAINING * 1_000 / 1_024)
    training = experiment.training
    assert (training.max_minutes, training.max_updates, training.max_epochs) == (4, None, None)
    assert training.schedule.settings["warmup"] == updates // 10 and training.validate_every == 50
    assert told == [
        "measuring how fast this machine trains, to plan 4 min of training",
        f"planned: 2 + 2 layers of 128, {DATA_SIZES[0].pieces:,} pieces, about {updates:,} updates or "
        f"{updates * 1024 / 30 / 16:.1f} epochs (1,000 tokens/s)",
    ]


def test_more_pieces_than_planned_are_reported(files, monkeypatch, tmp_path):
    monkeypatch.setattr(time_plan, "measured_speed", lambda experiment, size: 1_000.0)
    signs = "".join(chr(0x4E00 + number) for number in range(2_000))
    (tmp_path / "a.de").write_text("".join(f"{signs[start::30]}\n" for start in range(30)), encoding="utf-8")
    told = []
    experiment = read_experiment(None, [*files, "training.max_minutes=4"], say=told.append)
    size = experiment.text.tokenizer.settings["size"]
    assert size > 4_000 and told[-1].startswith(f"{size:,} pieces, not {DATA_SIZES[0].pieces:,}: ")


@pytest.mark.parametrize(
    "changes", [[], ["training.max_minutes=4", "device=cuda"], ["training.max_updates=4"]], ids=str
)
def test_without_a_time_of_this_machine_nothing_is_planned(files, monkeypatch, changes):
    for name in ("measured_speed", "measured_pace"):
        monkeypatch.setattr(time_plan, name, pytest.fail)
    told = []
    read_experiment(None, [*files, *changes], say=told.append)
    assert told == []


@pytest.mark.parametrize(
    "changes",
    [
        ["model.dim=64"],
        ["training.batch_tokens=100"],
        ["text.tokenizer.size=100"],
        ["training.batch_sentences=16", "training.batch_tokens=null"],
        ["training.accumulate=2"],
    ],
    ids=str,
)
def test_what_a_person_decides_is_left_and_paced(files, monkeypatch, changes):
    monkeypatch.setattr(time_plan, "measured_speed", pytest.fail)
    monkeypatch.setattr(time_plan, "measured_pace", lambda experiment: time_plan.TrainingPace(1.02, 15, 1.02))
    told = []
    usual = read_experiment(None, [*files, *changes])
    experiment = read_experiment(None, [*files, *changes, "training.max_minutes=4"], say=told.append)
    assert told == ["planned: about 200 updates or 100.0 epochs in 4 minutes (1.0 updates/s)"]
    assert (experiment.model, experiment.text) == (usual.model, usual.text)
    assert (experiment.training.schedule.settings["warmup"], experiment.training.validate_every) == (20, 25)


@pytest.mark.parametrize(
    ("usual", "updates", "warmup"), [(400, 10_000, 400), (400, 600, 60), (50, 600, 50), (400, 3, 1)]
)
def test_a_planned_warmup_is_a_tenth_at_most(usual, updates, warmup):
    assert time_plan.planned_warmup(usual, updates) == warmup


TABLES = {
    "classification": ("tsv", "good\tnice film\nbad\tdull film\n"),
    "tagging": ("conll", "a\tDET\ndog\tNOUN\n\nit\tPRON\nruns\tVERB\n\n"),
    "pairs": ("tsv", "yes\ta dog\tan animal\nno\ta dog\ta cat\n"),
    "reading": ("tsv", "The cat sat .\tWho sat ?\tcat\nA dog ran .\tWho ran ?\tdog\n"),
}


@pytest.mark.parametrize("task", TABLES)
def test_every_kind_of_task_has_a_pace(tmp_path, monkeypatch, task):
    monkeypatch.setattr(time_plan, "SECONDS", 0.02)
    kind, rows = TABLES[task]
    path = tmp_path / "a.tsv"
    path.write_text(rows * 20, encoding="utf-8")
    fields = ", fields: {passage: 1, question: 2, answer: 3}" if task == "reading" else ""
    told = []
    words = [f"task={task}", f"data.train={{name: {kind}, file: '{path}'{fields}}}", "training.max_minutes=0.2"]
    experiment = read_experiment(None, words, say=told.append)
    assert any("planned: about" in line for line in told)
    assert experiment.training.schedule.settings["warmup"] >= 1


@pytest.mark.parametrize("task", ["word_vectors", "phrases"])
def test_networks_that_no_size_describes_are_not_planned(files, monkeypatch, task):
    measured = []
    monkeypatch.setattr(time_plan, "measured_speed", lambda *given, **_: measured.append(given))
    text = [files[0].replace("source", "text")] if task == "word_vectors" else files
    read_experiment(None, [f"task={task}", *text, "training.max_minutes=1"], say=lambda line: None)
    assert measured == []


def test_a_classifier_whose_network_is_open_counts_words_and_pairs(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text(TABLES["classification"][1] * 20, encoding="utf-8")
    words = ["task=classification", f"data.train={path}"]
    usual, small = (read_experiment(None, [*words, *more]) for more in ([], ["model.dim=16", "model.embedder.order=3"]))
    assert small.model.settings["embedder"].settings["order"] == 3
    for experiment, dim in ((usual, 32), (small, 16)):
        settings = experiment.model.settings
        assert (settings["encoder"].name, settings["embedder"].name) == ("embeddings", "word_ngrams")
        assert settings["dim"] == dim
        assert (experiment.training.batch_sentences, experiment.training.batch_tokens) == (64, None)


@pytest.mark.parametrize("named", ["encoder=transformer", "pooling=max", "embedder=words", "position=learned"])
def test_who_names_a_part_of_a_network_gets_no_bag(tmp_path, named):
    path = tmp_path / "a.tsv"
    path.write_text(TABLES["classification"][1] * 20, encoding="utf-8")
    experiment = read_experiment(None, ["task=classification", f"data.train={path}", f"model.{named}"])
    part, _, name = named.partition("=")
    settings = experiment.model.settings
    assert settings[part].name == name and settings["embedder"].name == "words"
    assert settings["encoder"].name == ("transformer" if part == "encoder" else "recurrent")
    assert experiment.training.batch_tokens


def test_tokens_of_a_batch_take_the_place_of_sentences(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text(TABLES["classification"][1] * 20, encoding="utf-8")
    training = read_experiment(
        None, ["task=classification", f"data.train={path}", "training.batch_tokens=900"]
    ).training
    assert (training.batch_tokens, training.batch_sentences) == (900, None)


def test_the_speed_of_this_machine_is_measured(files, monkeypatch):
    monkeypatch.setattr(time_plan, "SECONDS", 0.2)
    experiment = read_experiment(None, files)
    assert 100 < time_plan.measured_speed(experiment, DATA_SIZES[0]) < 10**7


@pytest.mark.parametrize(
    ("pairs", "every", "epochs"), [(400, 50, 60), (3_000, 250, None), (19_999, 500, None), (114_000, 445, None)]
)
def test_small_data_are_validated_early_and_read_so_often(pairs, every, epochs):
    training = defaults_for(pairs)["training"]
    assert (training["validate_every"], training.get("max_epochs")) == (every, epochs)


def test_other_programs_do_not_use_up_a_time_of_the_processor(files, monkeypatch):
    monkeypatch.setattr(time_plan, "_time_of", lambda update, experiment: ClockTime(wall=4.0, core=1.0))
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    for limit, times in (
        ("max_minutes=4", 4.0),
        ("max_core_minutes=4", 1.0),
        ("max_minutes=4 max_core_minutes=1", 1.0),
    ):
        changes = [f"training.{one}" for one in limit.split()]
        speed = time_plan.measured_speed(read_experiment(None, [*files, *changes]), DATA_SIZES[0])
        assert speed == pytest.approx(1_024 / times)


def test_a_run_that_has_begun_keeps_its_plan(files, monkeypatch, tmp_path):
    monkeypatch.setattr(time_plan, "measured_speed", lambda experiment, size: 10.0**7)
    words = [*files, "training.max_minutes=4", f"run={tmp_path / 'run'}"]
    before = read_experiment(None, words, say=lambda line: None)
    (tmp_path / "run").mkdir()
    before.save(tmp_path / "run" / "experiment.yaml")
    monkeypatch.setattr(time_plan, "measured_speed", pytest.fail)
    assert read_experiment(None, words, say=pytest.fail) == before


@pytest.fixture
def many_files(tmp_path):
    for name in ("m.en", "m.de"):
        (tmp_path / name).write_text("".join(f"line {n} of {name}\n" for n in range(900)), encoding="utf-8")
    return [f"data.train.source={tmp_path}/m.en", f"data.train.target={tmp_path}/m.de"]


@pytest.mark.parametrize("limit", ["max_updates=700", "max_epochs=50", "max_minutes=4"])
def test_few_pairs_are_recombined_and_the_rate_falls_until_the_limit(limit, many_files, monkeypatch):
    monkeypatch.setattr(time_plan, "measured_speed", lambda experiment, size: 5_000.0)
    experiment = read_experiment(None, [*many_files, f"training.{limit}"], say=lambda line: None)
    assert experiment.data.recombination is not None
    assert (experiment.training.schedule.name, experiment.training.schedule.settings["updates"]) == ("cosine", None)


def test_a_setting_of_the_schedule_refines_that_of_the_size(many_files):
    schedule = read_experiment(None, [*many_files, "training.schedule.updates=60"]).training.schedule
    assert (schedule.name, schedule.settings["updates"], schedule.settings["warmup"]) == ("cosine", 60, 300)


@pytest.mark.parametrize("limit", ["max_updates=600", "max_epochs=40", "max_minutes=2"])
def test_pairs_that_are_not_read_often_are_not_recombined(limit, many_files, monkeypatch):
    monkeypatch.setattr(time_plan, "measured_speed", lambda experiment, size: 4_000.0)
    experiment = read_experiment(None, [*many_files, f"training.{limit}"], say=lambda _: None)
    assert experiment.data.recombination is None and experiment.training.schedule.name == "inverse_sqrt"


@pytest.mark.parametrize(
    ("first", "then"), [("max_updates=300", "max_updates=3000"), ("max_epochs=99", "max_epochs=9")]
)
def test_another_limit_changes_no_default_of_a_run_that_has_begun(first, then, many_files, tmp_path):
    words = [*many_files, f"run={tmp_path / 'run'}"]
    before = read_experiment(None, [*words, f"training.{first}"])
    (tmp_path / "run").mkdir()
    before.save(tmp_path / "run" / "experiment.yaml")
    after = read_experiment(None, [*words, f"training.{then}"])
    limits = {"max_updates": before.training.max_updates, "max_epochs": before.training.max_epochs}
    assert after != before and replace(after, training=replace(after.training, **limits)) == before


@pytest.mark.parametrize("speed", [4_000.0, 9_000.0])
def test_a_run_that_has_begun_keeps_its_recombination(speed, many_files, monkeypatch, tmp_path):
    monkeypatch.setattr(time_plan, "measured_speed", lambda experiment, size: speed)
    words = [*many_files, "training.max_minutes=2", f"run={tmp_path / 'run'}"]
    before = read_experiment(None, words, say=lambda line: None)
    assert (before.data.recombination is None) == (speed == 4_000)
    (tmp_path / "run").mkdir()
    before.save(tmp_path / "run" / "experiment.yaml")
    assert read_experiment(None, words, say=pytest.fail) == before


@pytest.mark.parametrize("change", ["task=phrases", "data.recombination=null"])
def test_pairs_are_recombined_for_a_network_alone(many_files, change):
    assert read_experiment(None, [*many_files, change]).data.recombination is None


@pytest.mark.parametrize(("pairs", "limits"), [(900, []), (20_000, ["training.max_core_minutes=4"])])
def test_few_pieces_are_enough_for_the_characters_of_chinese(pairs, limits, tmp_path, monkeypatch):
    monkeypatch.setattr(time_plan, "measured_speed", lambda experiment, size: 1_000.0)
    (tmp_path / "m.en").write_text("a line\n" * pairs, encoding="utf-8")
    places = [2 * (n % 900) for n in range(pairs)]
    (tmp_path / "m.zh").write_text("".join(f"{chr(0x4E00 + one)}{chr(0x4E01 + one)}\n" for one in places), "utf-8")
    files = [f"data.train.{side}={tmp_path}/m.{code}" for side, code in SIDES]
    settings = read_experiment(None, [*files, *limits], say=lambda _: None).text.tokenizer
    assert settings.settings["size"] > 2 * 1_800


@pytest.mark.parametrize(
    ("usual", "updates", "cost", "every"),
    [
        (500, 10_000, 10, 500),
        (500, 800, 5, 100),  # an eighth
        (500, 800, 15, 150),  # each as long as 15 updates: a tenth of the time
        (500, 800, 40, 200),  # four, which take a fifth
        (500, 800, 60, 300),  # fewer, which take a fifth
        (500, 800, 90, 400),  # two at least
        (500, 40, 0, 10),
    ],
)
def test_validations_take_a_tenth_of_the_time_where_they_are_slow(usual, updates, cost, every):
    assert time_plan.planned_interval(usual, updates, cost) == every


def test_a_tagger_validates_as_often_as_its_dev_set_allows(tmp_path, monkeypatch):
    """150 updates of 5 examples: a validation of 10 lines costs 2 of them, one of 100 lines 20."""
    monkeypatch.setattr(time_plan, "measured_pace", lambda experiment: time_plan.TrainingPace(0.34, 5, 0.34))
    (tmp_path / "a.conll").write_text(TABLES["tagging"][1] * 20, encoding="utf-8")
    intervals = []
    for lines in (10, 100):
        (dev := tmp_path / f"{lines}.conll").write_text("a\tDET\n\n" * lines, encoding="utf-8")
        words = [f"data.train={tmp_path}/a.conll", f"data.dev={dev}", "task=tagging", "training.max_minutes=1"]
        intervals.append(read_experiment(None, words, say=lambda line: None).training.validate_every)
    assert intervals == [150 // 8 + 2, 150 // 2]


def test_the_pace_is_measured_with_the_threads_of_training(files, monkeypatch):
    seen = []
    monkeypatch.setattr(machine, "choose_threads", lambda threads, measured: seen.append(threads) or 1)
    time_plan.measured_speed(read_experiment(None, [*files, "training.threads=3"]), DATA_SIZES[0])
    assert seen == [3]
