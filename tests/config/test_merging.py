"""Defaults < file < changes."""

import pytest

from regard.config import lay, merge, parse_changes
from regard.config.merging import name_parts
from regard.errors import ConfigError


def test_groups_join_and_values_are_replaced():
    base = {"model": {"dim": 256, "dropout": 0.1}, "metrics": ["bleu", "chrf"]}
    over = {"model": {"dim": 512}, "metrics": ["ter"], "run": "runs/a"}
    assert merge(base, over) == {"model": {"dim": 512, "dropout": 0.1}, "metrics": ["ter"], "run": "runs/a"}


def test_nothing_given_is_changed_in_place():
    base = {"model": {"dim": 256}, "metrics": ["bleu"]}
    merge(base, {"model": {"dim": 1}, "metrics": {"0": "ter"}})
    assert base == {"model": {"dim": 256}, "metrics": ["bleu"]}


@pytest.mark.parametrize(
    ("base", "over", "joined"),
    [
        ("transformer", {"num_layers": 6}, {"name": "transformer", "num_layers": 6}),
        ({"name": "transformer", "num_layers": 6}, "transformer", "transformer"),
        (
            {"name": "transformer", "num_layers": 6},
            {"name": "transformer", "dim": 1},
            {"name": "transformer", "num_layers": 6, "dim": 1},
        ),
        (
            {"name": "transformer", "num_layers": 6},
            {"name": "recurrent", "cell": "gru"},
            {"name": "recurrent", "cell": "gru"},
        ),
        (None, {"name": "sinusoidal"}, {"name": "sinusoidal"}),
        ({"name": "sinusoidal"}, None, None),
    ],
)
def test_a_part_of_another_name_takes_no_settings_of_the_one_it_replaces(base, over, joined):
    assert merge({"part": base}, {"part": over}) == {"part": joined}


def test_items_of_a_list_are_reached_by_number():
    changes = parse_changes(["span.1.size=3", "span.2=causal"])
    assert merge({"span": ["everywhere", "window"]}, changes) == {
        "span": ["everywhere", {"name": "window", "size": 3}, "causal"]
    }


def test_an_item_beyond_the_list_is_a_fault():
    with pytest.raises(ConfigError, match=r"model\.span\.3: the list has 1 items"):
        merge({"model": {"span": ["causal"]}}, parse_changes(["model.span.3=causal"]))


def test_changes_nest_and_the_last_word_counts():
    assert parse_changes(["a.b=1", "a.c=[x, y]", "a.b=2", "d=", "e=f=g"]) == {
        "a": {"b": 2, "c": ["x", "y"]},
        "d": None,
        "e": "f=g",
    }


def test_a_name_and_its_settings_may_come_in_any_order():
    wanted = {"encoder": {"name": "recurrent", "cell": "lstm"}}
    assert parse_changes(["encoder=recurrent", "encoder.cell=lstm"]) == wanted
    assert parse_changes(["encoder.cell=lstm", "encoder.name=recurrent"]) == wanted


@pytest.mark.parametrize(
    "later", ["search=greedy", "search={name: beam}", "search=", "search=[a]"], ids=["name", "group", "nothing", "list"]
)
def test_a_change_that_discards_an_earlier_one_is_a_fault(later):
    with pytest.raises(ConfigError) as caught:
        parse_changes(["search.size=3", later])
    assert str(caught.value) == "search: comes after search.size and discards it (give search first)"


@pytest.mark.parametrize(
    ("changes", "search"),
    [
        (["search.name=beam", "search=greedy"], "greedy"),
        (["search={name: beam, size: 3}", "search=greedy"], "greedy"),
        (["search.size=3", "search={size: 4}"], {"size": 4}),
    ],
)
def test_what_is_said_again_is_not_discarded(changes, search):
    assert parse_changes(changes) == {"search": search}


def test_all_wrong_changes_are_told_at_once():
    with pytest.raises(ConfigError) as caught:
        parse_changes(["training.updates", "=3", "a..b=1", "a=1", "a.b=2", "c=[1", "d.e=1", "d=x"])
    lines = str(caught.value).splitlines()
    assert len(lines) == 6
    assert lines[0].startswith("training.updates: a change is written key=value")
    assert "a.b: an earlier change made this 1" in lines[3]
    assert lines[4].startswith("c: this is not YAML")
    assert lines[5].startswith("d: comes after d.e and discards it")


def test_an_attention_of_another_score_keeps_the_number_of_heads():
    default = {"attention": {"score": "scaled_dot", "num_heads": 4}}
    additive = {"attention": {"score": {"name": "additive", "hidden_dim": 8}}}
    for laid in (lay, merge):
        assert laid(default, additive) == {"attention": {**additive["attention"], "num_heads": 4}}
    assert lay(default, {"attention": {"score": {"scale": 2.0}}}) == {
        "attention": {"score": {"name": "scaled_dot", "scale": 2.0}, "num_heads": 4}
    }


def test_the_name_of_a_default_part_keeps_its_settings():
    default = {"encoder": {"name": "transformer", "num_layers": 2}, "metric": "bleu", "embedder": "words"}
    given = {"encoder": "transformer", "metric": "chrf", "embedder": "words"}
    assert lay(default, given) == {**given, "encoder": {"name": "transformer", "num_layers": 2}}
    assert lay(default, {"encoder": "recurrent"})["encoder"] == "recurrent"


def test_parts_without_a_name_are_those_of_the_default():
    default = {"text": {"tokenizer": {"name": "words", "size": 9}}, "training": {"optimizer": "sgd", "rate": 1}}
    given = {"text": {"tokenizer": {"size": 3}}, "training": {"optimizer": {"momentum": 0.5}}}
    assert name_parts(default, given) == {
        "text": {"tokenizer": {"name": "words", "size": 3}},
        "training": {"optimizer": {"name": "sgd", "momentum": 0.5}},
    }
    other = {"text": {"tokenizer": {"name": "characters"}}, "training": {"optimizer": "adam", "rate": 2}, "more": {}}
    assert name_parts(default, other) == other
