"""Every name the literature has for attention stands for settings that build, or for something that is there."""

import json
import warnings
from importlib import import_module

import pytest
import torch

from regard.attention import SCORES, SPANS, WEIGHTINGS
from regard.attention.elsewhere import ELSEWHERE, Elsewhere
from regard.attention.names import ALIASES, AMBIGUOUS, MEANINGS, bare, look_up, names_of, resolve
from regard.config import parse_changes, plain, read_settings
from regard.errors import ConfigError
from regard.experiment import MECHANISMS, TABLES, Experiment, schema
from regard.models import build_attention

DIM = 16

# As papers, surveys and lectures write them, in English and Chinese.
LITERATURE = """
soft; hard; global; local; general; static; dynamic; self; inner; multi-layer; multi-head; forced-forward; key-value;
additive; multiplicative; local-m; local-p; restricted; perceptron; gumbel; concat; content; location; dot; scaled dot;
Bahdanau attention; Luong attention; Vaswani; Transformer; dot-product attention; scaled dot-product attention;
inner product; bilinear; tanh aggregation; concatenation; MLP; multi-layer perceptron; cosine; cosine similarity;
location-based; scaled Luong; normed Bahdanau; stochastic hard attention; Gumbel-softmax; straight-through; concrete;
local monotonic; local predictive; monotonic alignment; predictive alignment; context vector; feature-wise;
forced forward soft; forced forward hard; monotonic; coverage; coverage vector; key-value-predict; structured;
structured self-attention; self-attention; multihead; masked; masked self-attention; causal; look-ahead; sliding window;
banded; dilated; atrous; sparse; multi-step attention; multi-hop; hierarchical attention; HAN; feed-forward attention;
double attention; doubly stochastic; gated; aligned question embedding; DrQA; attention pooling; pooling; max; mean;
last; memory addressing; memory network; MemN2N; Neural Turing Machine; NTM; content-based addressing; stack;
differentiable stack; encoder-decoder attention; cross attention; intra-attention; intra-temporal attention; temporal;
decomposable attention; mutual; co-attention; attention-sum; pointer; copy; input feeding; sinusoidal; learned;
positional encoding; PE; TPE; position embedding; relative; relative position; Shaw; rotary; RoPE; ALiBi; linear biases;
complex-order; complex-vanilla; complex; modulus; ranking; kernel; Nadaraya-Watson; Gaussian; Euclidean; sparsemax;
entmax; entmax-1.5; sigmoid; none; linear; unnormalised; unnormalized; softmax; query-key-value; QKV; ByteNet;
same position; window; everywhere; external; internal; single-head; single-layer; concat inner product; Att-BLSTM;
single-head attention mechanism; RNNsearch; Paulus; drqa; ConvS2S; intra-decoder attention;
软注意力; 硬注意力; 全局注意力; 局部注意力; 静态注意力; 动态注意力; 自注意力; 自注意力机制; 内部注意力;
外部注意力; 多头注意力; 单头; 单层; 多层注意力; 层次化注意力; 强制前向注意力; 键值对注意力; 键值预测;
加性注意力; 乘性注意力; 点积; 缩放点积注意力; 双线性; 拼接; 感知机; 多层感知机; 余弦; 余弦相似度;
编码器解码器注意力; 交叉注意力; 结构化自注意力; 前馈注意力; 双重注意力; 掩码; 带掩码; 受限注意力; 稀疏注意力;
空洞; 多步注意力; 位置编码; 位置向量; 相对位置; 旋转位置; 复数; 指针; 记忆网络; 寻址; 单调; 覆盖; 注意力池化;
线性注意力; 双随机; 排序; 核
"""
ROWS = [name for table in (SCORES, SPANS, WEIGHTINGS) for name in table]
NAMES = [name.strip() for name in LITERATURE.replace("\n", " ").split(";")]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_of_the_literature_stands_for_something(name, assert_agrees):
    assert_agrees("H03", torch.tensor(float(look_up(name) is not None)), torch.ones(()))


@pytest.mark.filterwarnings("ignore:attention ")
@pytest.mark.parametrize("name", [*ROWS, *(names.partition(", ")[0] for _, names in MEANINGS)])
def test_an_alias_builds_a_socket_that_works(name):
    experiment = read_settings(Experiment, {"model": {"attention": name}})
    attention = build_attention(experiment.model.settings["attention"], DIM, DIM)
    attended = attention(torch.randn(2, 3, DIM), attention.remember(torch.randn(2, 5, DIM)), need_weights=True)
    assert attended.context.shape == (2, 3, DIM) and attended.weights.shape[-2:] == (3, 5)


def test_a_name_stands_for_one_thing():
    """Rows of the tables, aliases and what is elsewhere share one room; spelling makes no difference."""
    written = [name for _, names in MEANINGS for name in names.split(", ")]
    others = [name for one in ELSEWHERE for name in one.names]
    spelt = [bare(name) for name in (*ROWS, *written, *others)]
    assert sorted({name for name in spelt if spelt.count(name) > 1}) == []
    assert "" not in spelt


def test_every_row_of_a_socket_is_named_by_itself():
    for kind, table in (("score", SCORES), ("span", SPANS), ("weighting", WEIGHTINGS)):
        for name in table:
            assert look_up(name) == {kind: name}


def test_rows_of_the_kin_are_told_by_their_own_names():
    """Without the two poolings whose names are plain words of the field."""
    kin = {(kind, name) for kind in ("pooling", "penalty", "position") for name in MECHANISMS[kind]}
    for kind, name in kin - {("pooling", "attention"), ("pooling", "query")}:
        known = look_up(name)
        assert isinstance(known, Elsewhere) and (known.kind, known.part) == (kind, name)


@pytest.mark.parametrize("name", ["local_m", "Local-M", "local m", "LOCAL-M attention", "local-m attention mechanism"])
def test_spelling_makes_no_difference(name):
    assert resolve(name) == {"span": "local_monotonic"}


def test_attention_alone_is_no_mechanism():
    assert look_up("attention") is None


@pytest.mark.parametrize("name", AMBIGUOUS)
def test_a_name_of_two_meanings_warns_and_stands_for_one(name):
    with pytest.warns(UserWarning, match=f"attention '{name}' is taken as ") as told:
        settings = resolve(name)
    assert len(told) == 1 and settings == ALIASES[name]


def test_a_name_of_one_meaning_does_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert all(resolve(name) == ALIASES[name] for name in ALIASES.keys() - AMBIGUOUS.keys())


@pytest.mark.parametrize("one", ELSEWHERE, ids=lambda one: one.names[0])
def test_what_is_elsewhere_is_there(one):
    if one.kind == "socket":
        assert hasattr(Experiment().model, one.part)
    elif one.kind == "python":
        module, _, name = one.part.rpartition(".")
        assert callable(getattr(import_module(module), name))
    else:
        assert one.part in {**MECHANISMS, **TABLES}[one.kind]
    assert one.part in one.use


@pytest.mark.parametrize("one", [one for one in ELSEWHERE if one.kind in TABLES], ids=lambda one: one.names[0])
def test_what_a_config_can_choose_is_chosen_by_what_is_told(one):
    """The change that a hint begins with is read, and the experiment then has that part."""
    assert one.use.startswith(one.config) and one.config
    told = plain(read_settings(Experiment, parse_changes([one.config])))
    assert one.part in parts_of(told, one.config.partition("=")[0].split("."))


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


@pytest.mark.parametrize("one", ELSEWHERE, ids=lambda one: one.names[0])
def test_what_is_elsewhere_says_so_when_it_is_asked_for_as_a_socket(one):
    with pytest.raises(ConfigError) as told:
        read_settings(Experiment, {"model": {"attention": one.names[0]}})
    assert str(told.value) == f"model.attention: '{one.names[0]}' is {one.about} ({one.use})"


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
    attention = read_settings(Experiment, {"model": {"attention": settings}}).model.attention
    assert (attention.score.name, attention.span[0].name, attention.num_heads) == ("bilinear", "local_predictive", 2)


def test_names_of_a_row():
    assert names_of("score", "additive") >= ["bahdanau"]
    assert {"bahdanau", "normed_bahdanau"} <= set(names_of("score", "additive"))
    assert {"soft", "global"} <= set(names_of("weighting", "softmax"))
    assert "tpe" in names_of("position", "learned")
    assert names_of("score", "nothing") == []


def test_the_schema_knows_the_names():
    told = json.dumps(schema(), ensure_ascii=False)
    assert [name for name in ALIASES if f'"{name}"' not in told] == []
