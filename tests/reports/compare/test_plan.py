"""Configs, grids and seeds → runs; the texts they share; and what is wrong, told before anything is trained."""

import json
import math
from pathlib import Path

import pytest

from regard.config import read_settings
from regard.errors import ConfigError
from regard.experiment import DataSettings, Experiment
from regard.registry import Choice
from regard.reports.compare.plan import (
    Budget,
    Contender,
    Publication,
    contenders_of,
    differing_settings,
    flat_settings,
    grid_combinations,
    implied_differences,
    publication_of,
    runs_of,
    value_name,
)
from regard.reports.compare.stages import TextOrigins, common_test
from regard.reports.compare.train import job_of

CONFIGS = sorted((Path(__file__).parents[3] / "configs").rglob("*.yaml"))
CONFIG = """
data: {train: {source: a.en, target: a.de}}
model:
  dim: 16
  encoder: {name: transformer, num_layers: 1, feedforward_dim: 16}
  decoder: {name: transformer, num_layers: 1, feedforward_dim: 16}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the command runs: two configs and their texts."""
    for name in ("a.en", "a.de"):
        (tmp_path / name).write_text("one\ntwo\n" * 20, encoding="utf-8")
    for name in ("first.yaml", "second.yaml"):
        (tmp_path / name).write_text(CONFIG, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def plan(*configs: str, changes=(), grids=(), budget=Budget()):  # noqa: B008  it cannot be changed
    return contenders_of([Path(name) for name in configs], changes, grids, budget)


def faults(*configs: str, **settings) -> list[str]:
    with pytest.raises(ConfigError) as told:
        plan(*configs, **settings)
    return str(told.value).splitlines()


def test_a_grid_over_one_config_is_named_by_its_values():
    found = plan("first.yaml", grids=["model.attention.score=dot,additive", "model.dim=16,32"])
    assert [one.name for one in found] == ["dot-dim-16", "dot-dim-32", "additive-dim-16", "additive-dim-32"]
    assert [one.experiment.model.settings["dim"] for one in found] == [16, 32, 16, 32]
    attentions = [one.experiment.model.settings["attention"] for one in found]
    assert [one.score.name for one in attentions] == [
        "dot",
        "dot",
        "additive",
        "additive",
    ]


def test_a_grid_over_several_is_named_after_them_too():
    found = plan("first.yaml", "second.yaml", grids=["model.dropout=0.1,0.3"])
    assert [one.name for one in found] == [
        "first-dropout-0.1", "first-dropout-0.3", "second-dropout-0.1", "second-dropout-0.3",
    ]  # fmt: skip


def test_runs_go_seed_by_seed_and_differ_in_nothing_else(folder):
    contenders = plan("first.yaml", "second.yaml", changes=["model.dim=32"])
    runs = runs_of(contenders, 2, Path("out"))
    assert [run.name for run in runs] == ["first-seed1", "second-seed1", "first-seed2", "second-seed2"]
    one, other = runs[0].experiment(), runs[2].experiment()
    assert (one.training.seed, other.training.seed, one.model, one.run) == (1, 2, other.model, Path("out/first-seed1"))
    assert one.data.cache == folder / "out" / "corpora"


def test_what_a_worker_reads_are_the_settings_of_the_run_whatever_becomes_of_its_config(folder):
    contenders = plan("first.yaml", grids=["model.attention.score=dot,additive"], budget=Budget(minutes=2.5))
    (folder / "first.yaml").write_text(CONFIG.replace("dim: 16", "dim: 48"), encoding="utf-8")
    for run in runs_of(contenders, 2, Path("it's [odd] \udcff")):
        job = json.loads(json.dumps(job_of(run.experiment(), resume=False, threads=1)))
        assert read_settings(Experiment, job["experiment"]) == run.experiment()


@pytest.mark.parametrize(
    ("budget", "limits"),
    [
        (Budget(), (7, None, 3.0, None)),
        (Budget(minutes=2.5), (None, None, 2.5, None)),
        (Budget(updates=5), (5, None, None, None)),
        (Budget(minutes=1, updates=5), (5, None, 1, None)),
        (Budget(core_minutes=4), (None, None, None, 4)),
    ],
)
def test_a_budget_takes_the_place_of_every_limit(budget, limits):
    changes = ["training.max_updates=7", "training.max_minutes=3"]
    training = plan("first.yaml", changes=changes, budget=budget)[0].experiment.training
    found = (training.max_updates, training.max_epochs, training.max_minutes, training.max_core_minutes)
    assert found == limits


def test_a_group_stands_before_what_is_inside_it():
    """model.attention=bahdanau would discard the score of the grid, came it later."""
    found = plan("first.yaml", changes=["model.attention=bahdanau"], grids=["model.attention.score.hidden_dim=4,8"])
    assert [one.experiment.model.settings["attention"].score.settings["hidden_dim"] for one in found] == [4, 8]


def test_all_that_is_wrong_is_told_at_once_with_whom_it_concerns():
    told = faults("first.yaml", changes=["model.dmi=3"], grids=["model.attention.score=dot,addtive,rop"])
    assert told[0] == "model.dmi: there is no such setting (did you mean 'dim'?)"
    assert told[1].startswith("addtive: model.attention.score: there is no 'addtive' (did you mean 'additive'?)")
    assert told[2].startswith("rop: model.attention.score: there is no 'rop'")


def test_parts_that_do_not_fit_together_are_told_before_anything_is_trained():
    (told,) = faults("first.yaml", grids=["model.attention.num_heads=2,3"])
    assert told.startswith("num_heads-3: model.attention.num_heads: 3 heads do not divide dim 16")


@pytest.mark.parametrize(
    ("grid", "told"),
    [
        ("model.dim", "written KEY=VALUE,VALUE"),
        ("=3", "written KEY=VALUE,VALUE"),
        ("model.dim=", "written KEY=VALUE,VALUE"),
        ("model.dim=[3", "this is not YAML"),
    ],
)
def test_a_grid_that_is_none(grid, told):
    (line,) = faults("first.yaml", grids=[grid])
    assert line.startswith(f"--grid {grid}: ")
    assert told in line


@pytest.mark.parametrize(
    ("grids", "changes", "told"),
    [
        (["training.seed=1,2"], [], "training.seed: is set for each run by the comparison (--seeds"),
        (["training={seed: 1},{seed: 2}"], [], "training.seed: is set for each run by the comparison (--seeds"),
        (["run=a,b"], [], "run: is set for each run by the comparison (--run"),
        ([], ["training.seed=3"], "training.seed: is set for each run by the comparison (--seeds"),
    ],
    ids=str,
)
def test_what_the_comparison_sets_itself_cannot_be_compared(grids, changes, told):
    (line,) = faults("first.yaml", grids=grids, changes=changes)
    assert line.startswith(told)


def test_limits_are_compared_unless_there_is_a_budget_for_all():
    grids = ["training.max_updates=1,2"]
    assert len(plan("first.yaml", grids=grids)) == 2
    (line,) = faults("first.yaml", grids=grids, budget=Budget(None, 5))
    hint = "(leave --minutes, --core-minutes and --updates out)"
    assert line == f"training.max_updates: is set for each run by the comparison {hint}"


def test_a_name_of_two_meanings_is_told_of_once():
    with pytest.warns(UserWarning, match="taken as") as told:
        plan("first.yaml", "second.yaml", grids=["model.attention=luong,general", "model.dim=8,16"])
    assert sorted(str(one.message).split()[1] for one in told) == ["'general'", "'luong'"]


def test_a_name_of_two_meanings_is_not_told_of_beside_a_fault():
    assert len(faults("first.yaml", changes=["model.dim=x"], grids=["model.attention=luong,general"])) == 1


@pytest.mark.parametrize(
    ("grids", "told"),
    [
        (["model.dim=8", "model.dim=16"], "--grid model.dim: is given twice"),
        (["model.dim=16,8,16"], "--grid model.dim: 16 is given twice (each value once)"),
        (["model.dropout=0.1,0.10"], "--grid model.dropout: 0.1 is given twice (each value once)"),
        (["model.attention.score=dot,dot"], '--grid model.attention.score: "dot" is given twice (each value once)'),
        (["run.x=a b,a-b"], '--grid run.x: "a b" and "a-b" would both be called \'a-b\''),
    ],
    ids=str,
)
def test_a_value_or_a_grid_twice(grids, told):
    (line,) = faults("first.yaml", grids=grids)
    assert line.startswith(told)


def test_a_config_twice():
    assert "2 that would be called 'first'" in faults("first.yaml", "first.yaml")[0]


@pytest.mark.parametrize("number", [math.inf, math.nan])
def test_a_budget_without_an_end_is_told_by_its_option(number):
    assert faults("first.yaml", budget=Budget(minutes=number)) == ["--minutes: must be a finite number"]
    assert faults("first.yaml", budget=Budget(core_minutes=number)) == ["--core-minutes: must be a finite number"]


def test_names_that_no_file_can_have_are_told_before_anything_is_trained(folder):
    """What is kept of a run, and written under another name first, is called longer still."""
    names = ["x" * 200, "y" * 201]
    for name in names:
        (folder / f"{name}.yaml").write_text(CONFIG)
    (one,) = plan(f"{names[0]}.yaml")
    kept = folder / f".{one.name}-seed1000.json.{2**22}.new"
    kept.touch()
    (line,) = faults(f"{names[1]}.yaml")
    assert line.startswith(f"CONFIG: '{'y' * 40}…' would be the name of a folder, and has 201 bytes (at most 200: ")


def test_what_differs_between_contenders():
    found = differing_settings(plan("first.yaml", grids=["model.attention.score=dot,{name: additive, hidden_dim: 8}"]))
    assert found["model.attention.score"] == ["dot", "additive"]
    assert found["model.attention.score.hidden_dim"] == [None, 8]
    assert {name.rpartition(".")[0] for name in found} <= {"model.attention", "model.attention.score"}


def test_another_score_changes_nothing_else():
    found = plan("first.yaml", grids=["model.attention.score=scaled_dot,additive,location"])
    assert [one.experiment.model.settings["attention"].num_heads for one in found] == [4, 4, 4]
    assert implied_differences(found) == []


def test_differences_that_nobody_named_are_listed():
    (line,) = implied_differences(plan("first.yaml", grids=["model.encoder=transformer,recurrent", "model.dim=16,32"]))
    transformers, recurrent = ([f"{name}-dim-{dim}" for dim in (16, 32)] for name in ("transformer", "recurrent"))
    assert line == f"model.encoder.num_layers 2 ({', '.join(transformers)}), 1 ({', '.join(recurrent)})"


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("dot", "dot"),
        (0.1, "key-0.1"),
        (None, "key-null"),
        (True, "key-true"),
        ({"name": "window", "radius": 5}, "window-radius-5"),
        (["causal", {"name": "window", "radius": 5}], "causal+window-radius-5"),
        ("../../x y", "x-y"),
        ("//", "key"),
    ],
)
def test_names_of_values_are_names_of_folders(value, name):
    assert value_name("some.key", value) == name


def test_values_may_hold_commas():
    (axis,) = [cell for cell in [grid_combinations(["a.b={name: x, y: [1, 2]}, z"])]]
    assert axis == [[("a.b", {"name": "x", "y": [1, 2]})], [("a.b", "z")]]
    assert dict(flat_settings({"a": {"name": "x", "y": 1}, "b": "z"})) == {"a": "x", "a.y": 1, "b": "z"}


def test_the_head_of_a_config_tells_where_it_comes_from(tmp_path):
    config = tmp_path / "a.yaml"
    config.write_text("# A model: small\n# paper: https://a.b/c\n#published:  BLEU 1: on x\nrun: a\n# paper: no\n")
    assert publication_of(config) == Publication("https://a.b/c", "BLEU 1: on x")
    config.write_text("run: a\n")
    assert publication_of(config) == Publication()


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_what_a_config_says_was_published_says_by_whom(path):
    found = publication_of(path)
    if found.published is not None or path.parent.name == "language":
        assert found.published is not None
        assert found.paper is not None
        assert found.paper.startswith("https://")


@pytest.fixture
def text_files(tmp_path):
    for name, lines in {"a": "one\ntwo\n", "b": "eins\nzwei\n", "c": "un\ndeux\n", "d": "uno\n"}.items():
        (tmp_path / name).write_text(lines)
    return tmp_path


def contender(name, files, *, train="ab", dev="ab", test="ab", **more):
    parts = {"train": train, "dev": dev, "test": test}
    readers = {
        part: Choice("parallel", {"files": {"source": str(files / pair[0]), "target": str(files / pair[1])}})
        for part, pair in parts.items()
        if pair
    }
    return Contender(name, files / name, (), Experiment(data=DataSettings(**readers, **more)))


def text_faults(*contenders):
    with pytest.raises(ConfigError) as error:
        common_test(contenders, TextOrigins(), any_data=False)
    return str(error.value).splitlines()


def test_the_same_texts_in_other_files_are_the_same(text_files):
    for name in "ab":
        (text_files / name.upper()).write_bytes((text_files / name).read_bytes())
    others = contender("other", text_files, train="AB", dev="AB", test="AB")
    found = common_test([contender("first", text_files), others], TextOrigins(), any_data=False)
    assert found["target"] == ["eins", "zwei"]


def test_other_texts_are_told_with_their_files(text_files):
    lines = text_faults(contender("first", text_files), contender("other", text_files, train="ac", dev="ac", test="ac"))
    assert [line.partition(":")[0] for line in lines] == ["data.test", "data.train", "data.dev"]
    assert f"'other' learns from {text_files / 'a'} and {text_files / 'c'}" in lines[1]
    assert "say the same for all: data.train.source=FILE data.train.target=FILE, or --any-data" in lines[1]
    assert "any-data" not in lines[0]


def test_sentences_left_out_are_other_texts_too(text_files):
    (line,) = text_faults(contender("first", text_files), contender("other", text_files, max_length=7))
    assert "up to 7 pieces" in line
    assert "up to 256 pieces" in line
    held = [contender(name, text_files, dev="", dev_fraction=share) for name, share in (("first", 0.0), ("other", 0.5))]
    assert "without a share of 0.5" in text_faults(*held)[0]


def test_other_training_texts_may_be_allowed_but_no_other_test(text_files):
    others = [contender("first", text_files), contender("other", text_files, train="ac", dev="")]
    assert common_test(others, TextOrigins(), any_data=True)["source"] == ["one", "two"]
    with pytest.raises(ConfigError, match=r"^data.test: 'third' is evaluated on "):
        common_test([*others, contender("third", text_files, test="ac")], TextOrigins(), any_data=True)


def test_there_must_be_a_test_part(text_files):
    assert text_faults(contender("first", text_files, test=""))[0].startswith(
        "data.test.source: must be given: 'first' names no"
    )
