"""Aliases stand on the rows they name; one index of them all tells what a name stands for."""

import json
import warnings

import pytest
import torch

from regard.aliases import bare
from regard.attention import SCORES, SPANS, WEIGHTINGS
from regard.attention.recipes import RECIPES
from regard.config import as_values, parse_changes, read_settings
from regard.errors import ConfigError
from regard.experiment import MECHANISMS, PARTS, TABLES, Experiment, schema
from regard.experiment.names import NAMES, PLACES, clashes, look_up, look_up_place, names_of
from regard.experiment.tables import IN_PYTHON
from regard.models import build_attention

DIM = 16
ALIASES, resolve = RECIPES.aliases(), RECIPES.resolve
AMBIGUOUS = {name for name, one in RECIPES.named.items() if one.note}
OTHERS = [(name, one) for name, one in NAMES if one.kind in TABLES and one.socket is None and name != one.part]


@pytest.mark.filterwarnings("ignore:attention ")
@pytest.mark.parametrize("name", ALIASES)
def test_an_alias_builds_a_socket_that_works(name):
    experiment = read_settings(Experiment, {"model": {"attention": name}})
    attention = build_attention(experiment.model.settings["attention"], DIM, DIM)
    attended = attention(torch.randn(2, 3, DIM), attention.remember(torch.randn(2, 5, DIM)), need_weights=True)
    assert attended.context.shape == (2, 3, DIM) and attended.weights.shape[-2:] == (3, 5)


def test_a_name_of_an_attention_stands_for_one_thing():
    settings = {}
    for name, meaning in NAMES:
        if meaning.socket is not None:
            settings.setdefault(bare(name), []).append(meaning)
    assert [name for name, found in settings.items() if any(one != found[0] for one in found)] == []
    assert "" not in settings
    places = {bare(name) for place in PLACES for name in place.names}
    assert places & settings.keys() == set()


@pytest.mark.parametrize("kind", PARTS)
def test_a_name_stands_for_one_row_of_a_table(kind):
    table = PARTS[kind]
    spelt = [bare(name) for name in (*table, *table.aliases())]
    assert sorted({name for name in spelt if spelt.count(name) > 1}) == []


@pytest.mark.parametrize("kind", PARTS)
def test_settings_of_an_alias_are_those_of_its_row(kind):
    for choice in PARTS[kind].aliases().values():
        assert choice.settings.keys() <= PARTS[kind].settings(choice.name).keys()


def test_every_row_of_a_socket_is_named_by_itself():
    for kind, table in (("score", SCORES), ("span", SPANS), ("weighting", WEIGHTINGS)):
        for name in table:
            assert look_up(name)[0].socket == {kind: name}


def test_rows_of_the_kin_are_told_by_their_own_names():
    for kind in ("pooling", "penalty", "position", "layer"):
        for name in PARTS[kind]:
            assert (kind, name) in {(one.kind, one.part) for one in look_up(name)}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("local_m", "Local-M attention mechanism"),
        ("local_m", "LOCAL M Attention Models"),
        ("soft", "Soft AM"),
        ("静态", "静态 AM"),
        ("静态", "静态注意力机制"),
        ("点积", "点积模型"),
        ("neural_turing_machine", "Neural Turing Machines"),
        ("memory", "memories"),
        ("self", "SelfAttention"),
    ],
)
def test_spelling_makes_no_difference(first, second):
    assert bare(first) == bare(second)


@pytest.mark.parametrize(("first", "second"), [("beam", "be"), ("adam", "ad"), ("cos", "co"), ("location", "local")])
def test_other_words_stay_apart(first, second):
    assert bare(first) != bare(second)


def test_a_class_does_not_inherit_aliases():
    children = [part for table in PARTS.values() for part in map(table.__getitem__, table) if isinstance(part, type)]
    inherited = [part for part in children if "aliases" not in vars(part) and getattr(part, "aliases", None)]
    for table in PARTS.values():
        for row in table:
            if table[row] in inherited:
                assert row not in {choice.name for choice in table.aliases().values()}


def test_attention_alone_is_no_mechanism():
    with pytest.raises(ConfigError):
        resolve("attention")


@pytest.mark.parametrize("name", sorted(AMBIGUOUS))
def test_a_name_of_two_meanings_warns_and_stands_for_one(name):
    with pytest.warns(UserWarning, match=f"attention '{name}' is taken as ") as told:
        settings = resolve(name)
    assert len(told) == 1 and settings == ALIASES[name]


def test_a_name_of_one_meaning_does_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert all(resolve(name) == ALIASES[name] for name in ALIASES.keys() - AMBIGUOUS)


def test_hard_monotonic_is_read_hard():
    assert resolve("hard_monotonic") == {"weighting": {"name": "monotonic", "hard": True}}


@pytest.mark.parametrize(("name", "one"), OTHERS, ids=lambda value: value if isinstance(value, str) else value.part)
def test_what_a_config_can_choose_is_chosen_by_what_is_told(name, one):
    """The change that a hint tells is read, and the experiment then has that part."""
    told = as_values(read_settings(Experiment, parse_changes([one.use()])))
    assert one.part in parts_of(told, one.use().partition("=")[0].split("."))


def parts_of(settings, place):
    """The names of all parts that settings have at a place or below it."""
    for name in place:
        settings = settings[name]
    waiting, found = [settings], []
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            found.append(value.get("name"))
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
        else:
            found.append(value)
    return found


@pytest.mark.parametrize("name", [name for name, one in OTHERS if look_up(name)[0] == one and not look_up_place(name)])
def test_what_is_no_socket_says_so(name):
    one = look_up(name)[0]
    with pytest.raises(ConfigError) as told:
        read_settings(Experiment, {"model": {"attention": name}})
    assert str(told.value) == f"model.attention: '{name}' is {one.about} ({one.use()})"


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.names[0])
def test_a_place_for_an_attention_says_so(place):
    for name in place.names:
        with pytest.raises(ConfigError) as told:
            read_settings(Experiment, {"model": {"attention": name}})
        assert str(told.value) == f"model.attention: '{name}' is {place.about} ({place.use})"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("bahdanu", "did you mean 'bahdanau'?"),
        ("hierarchial", "did you mean 'hierarchical'?"),
        ("xyzzy", "regard list attention shows every name"),
        (3, "there is no '3'"),
        (["a"], "there is no "),
    ],
    ids=str,
)
def test_an_unknown_name_tells_the_nearest(name, told):
    with pytest.raises(ConfigError, match=r"^model\.attention: there is no") as error:
        read_settings(Experiment, {"model": {"attention": {"name": name}}})
    assert told in str(error.value)


def test_an_alias_leaves_room_for_more():
    settings = {"name": "local_p", "score": "bilinear", "num_heads": 2}
    attention = read_settings(Experiment, {"model": {"attention": settings}}).model.settings["attention"]
    assert (attention.score.name, attention.span[0].name, attention.num_heads) == ("bilinear", "local_predictive", 2)


def test_names_of_a_row():
    assert {"bahdanau", "normed_bahdanau"} <= set(names_of("score", "additive"))
    assert {"soft", "global"} <= set(names_of("weighting", "softmax"))
    assert "tpe" in names_of("position", "learned")
    assert names_of("score", "nothing") == []


def test_recipes_choose_rows_that_are_there():
    for one in RECIPES.combinations:
        for kind in one.settings.keys() & {"score", "span", "weighting"}:
            assert one.settings[kind] in MECHANISMS[kind]


def test_the_schema_knows_the_names():
    told = json.dumps(schema(), ensure_ascii=False)
    assert [name for name in ALIASES if f'"{name}"' not in told] == []
    for kind in TABLES.keys() - IN_PYTHON.keys():
        assert [name for name in PARTS[kind].aliases() if f'"{name}"' not in told] == []


SOURCES = {  # names that the sources use → the part that they stand for
    "后验正则化": "posterior_regularisation",
    "posterior regularisation": "posterior_regularisation",
    "层级相关性传播": "lrp",
    "长度奖励": "length",
    "two-pass decoding": "two_pass",
    "长短期记忆网络": "lstm",
    "门控循环单元": "gru",
    "Attention-Based BCNN-2": "bcnn",
    "forced": "forced_forward",
    "next sentence prediction": "next_sentence",
    "下一句预测": "next_sentence",
    "双向 RNN": "recurrent",
    "循环神经网络": "recurrent",
    "扩张卷积": "bytenet",
    "Dynamic Unfolding": "unfolded",
    "Gated Linear Units": "convolutional",
    "image captioning": "captioning",
    "神经图灵机": "neural_turing_machine",
    "NTM": "neural_turing_machine",
    "MemN2N": "memory_network",
}


@pytest.mark.parametrize("name", SOURCES)
def test_a_name_of_the_sources_is_found(name):
    assert SOURCES[name] in {one.part for one in look_up(name)}


@pytest.mark.parametrize("name", ["back translation", "回译", "multi-task learning", "多任务学习"])
def test_a_technique_without_a_part_says_what_to_set(name):
    assert any(sign in look_up_place(name).use for sign in ("=", "data.", " --"))


def test_no_name_is_taken_from_another_part_in_silence():
    """A score that is called as the alias of a layer is: here a kernel's."""
    index = {bare(name): look_up(name) for name, _ in NAMES}
    assert clashes(index) == []
    (kernel,) = look_up("chebyshev")
    taken = {**index, "chebyshev": [kernel._replace(kind="score", part="chebyshev"), kernel]}
    (said,) = clashes(taken)
    assert "'chebyshev' means a score 'chebyshev' and a" in said and kernel.part in said
