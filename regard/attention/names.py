"""Every name the literature has for attention → partial settings of a socket (`attention: bahdanau` in a config).

What bears the name of an attention and is none between a query and its keys (a pooling, a position, a layer) is listed
in `elsewhere.py`. Capitals, spaces, hyphens and the word "attention" itself make no difference: "Local-M attention" is
`local_m`. A row of the tables needs no line here: its own name stands for it.

A name changes what it stands for and nothing else: `attention: hard` is `attention: {weighting: hard}`, so the score
and the heads of a file stay as they are, while `multihead` says both a score and a number of heads. A name that stands
for a score, a span or a weighting alone can also be given where that part is: `score: bahdanau`.
"""

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any

from regard.attention.elsewhere import ELSEWHERE, Elsewhere
from regard.attention.scores import SCORES
from regard.attention.spans import SPANS
from regard.attention.weightings import WEIGHTINGS
from regard.errors import ConfigError
from regard.registry import Registry

Settings = Mapping[str, Any]

_TABLES: Mapping[str, Registry[Any]] = {"score": SCORES, "span": SPANS, "weighting": WEIGHTINGS}
WITHOUT = "a recurrent decoder does without attention by model.decoder.reads=final"
_HEADS = {"score": "scaled_dot", "num_heads": 8}

MEANINGS: tuple[tuple[Settings, str], ...] = (  # what a config would say, and all its names
    # scores
    ({"score": "additive"}, "bahdanau, tanh_aggregation, rnnsearch, 加性, 加性模型"),
    ({"score": {"name": "additive", "normed": True, "bias": True}}, "normed_bahdanau"),
    (
        {"score": {"name": "concat", "activation": "none"}},
        "concat_inner_product, concat_then_inner_product, linear_concat",
    ),
    ({"score": "bilinear"}, "general, luong, luong_general, multiplicative, 乘性, 双线性, 双线性模型, 矩阵相乘"),
    ({"score": {"name": "bilinear", "scaled": True}}, "scaled_luong"),
    ({"score": "concat"}, "luong_concat, concatenation, 拼接, 串联"),
    ({"score": "context_vector"}, "static, static_am, trainable_context_vector, 静态"),
    ({"score": "cosine"}, "content, content_based, content_based_addressing, cosine_similarity, cos, 余弦, 余弦相似度"),
    ({"score": "coverage"}, "coverage_vector, linguistic_coverage, tu, 覆盖, 覆盖率"),
    ({"score": "dot"}, "dot_product, inner_product, luong_dot, 点积, 点积模型, 内积"),
    ({"score": "euclidean"}, "distance, gaussian, gaussian_kernel, rbf, 欧氏距离, 高斯"),
    ({"score": "location"}, "location_based, luong_location, 基于位置"),
    ({"score": "mlp"}, "perceptron, multilayer_perceptron, 感知机, 多层感知机"),
    ({"score": "modulus"}, "complex, complex_valued"),
    ({"score": "relu_dot"}, "drqa"),
    ({"score": "rotary"}, "rope, roformer, rotary_position, rotary_position_embedding, 旋转位置"),
    ({"score": "scaled_dot"}, "scaled_dot_product, qkv, query_key_value, 缩放点积, 缩放点积模型"),
    (_HEADS, "multihead, transformer, vaswani, encoder_decoder, 多头, 编码器解码器"),
    # spans
    ({"span": "alibi"}, "linear_biases, attention_with_linear_biases"),
    ({"span": "causal"}, "masked, masked_self, look_ahead, autoregressive, unidirectional, 掩码, 遮蔽, 带掩码"),
    ({"span": "everywhere", "weighting": "softmax"}, "soft, global, dynamic, global_soft, 软, 全局, 动态, 全局软"),
    ({"span": "forced_forward"}, "forced_forward_soft, 强制前向, 强制向前"),
    ({"span": {"name": "forced_forward", "mode": "hard"}}, "forced_forward_hard"),
    ({"span": "local_monotonic"}, "local_m, monotonic_alignment, 单调局部"),
    ({"span": "local_predictive"}, "local, local_p, predictive_alignment, semi_hard, 局部, 预测局部"),
    ({"span": "relative"}, "shaw, relative_position, relative_positions, relative_self, 相对位置"),
    ({"span": "same_position"}, "bytenet, position_by_position, diagonal, 逐位置"),
    ({"span": "temporal"}, "intra_temporal, temporal_intra, paulus, summariser, summarizer, 摘要"),
    (
        {"span": "window"},
        "restricted, restricted_self, sliding_window, band, banded, local_window, windowed, 受限, 窗口",
    ),
    ({"span": {"name": "window", "pattern": "dilated", "dilation": 2}}, "dilated, atrous, atrous_self, 空洞, 膨胀"),
    ({"span": {"name": "window", "pattern": "sparse", "dilation": 2}}, "sparse, sparse_self, 稀疏"),
    # weightings
    ({"weighting": "addressing"}, "ntm, memory_addressing, content_and_location, neural_turing_machine, 寻址"),
    ({"weighting": "entmax"}, "entmax_1.5, alpha_entmax"),
    ({"weighting": "gumbel"}, "gumbel_softmax, concrete, 耿贝尔"),
    ({"weighting": {"name": "gumbel", "straight_through": True}}, "straight_through, straight_through_gumbel"),
    ({"weighting": "hard"}, "stochastic_hard, 硬, 硬性"),
    ({"weighting": "monotonic"}, "hard_monotonic, online_monotonic, 单调"),
    ({"weighting": "sigmoid"}, "independent"),
    ({"weighting": "softmax"}, "normalised, normalized"),
    ({"weighting": "sparsemax"}, "sparse_softmax"),
    ({"weighting": "unnormalised"}, "none, linear, unnormalized, 线性"),
    # the socket itself
    ({"gate": True}, "gate, gated, double, 门控, 双重"),
    ({"num_heads": 1}, "single_head, single_layer, 单头, 单层"),
)

AMBIGUOUS: Mapping[str, str] = {  # what a name with two meanings is taken for
    "content": "the cosine of Graves et al. 2014 (others call every score of query and key content-based)",
    "double": "the gate of Xu et al. 2015 (its penalty is set apart: penalties: doubly_stochastic)",
    "dynamic": "soft attention, computed anew for each query (others mean dynamic convolutions or memories)",
    "general": "the bilinear score of Luong et al. 2015 (others mean attention to something outside of the text)",
    "global": "all keys, as in Luong et al. 2015 (others mean one vector for a whole text)",
    "linear": "weights without softmax (score concat with activation 'none' is also called linear)",
    "local": "a window around a predicted place, local-p of Luong et al. 2015 (local-m is span 'local_monotonic'; "
    "others mean a region, or attention within the text alone)",
    "luong": "the bilinear score (the paper also has dot, concat and location)",
    "monotonic": "the weighting of Raffel et al. 2017 (local-m of Luong et al. 2015 is span 'local_monotonic')",
    "multiplicative": "the bilinear score of Luong et al. 2015 (Vaswani et al. 2017 mean the dot product)",
    "none": "weights that are the scores (a recurrent decoder without attention has reads: final)",
    "sparse": "a sparse pattern of keys (sparse weights over all keys are weighting 'sparsemax' or 'entmax')",
    "static": "a learned context vector in place of the query (as a summary of one text it is pooling 'attention')",
}


def _rows() -> Iterator[tuple[str, Settings]]:
    for kind, table in _TABLES.items():
        for name in table:
            yield name, {kind: name}


def _written() -> Iterator[tuple[str, Settings]]:
    yield from _rows()
    for settings, names in MEANINGS:
        for name in names.split(", "):
            yield name, settings


def bare(name: str) -> str:
    """What of a name makes a difference: "Local-M attention" → localm."""
    letters = "".join(letter for letter in name.casefold() if letter.isalnum())
    shorter = letters.removesuffix("mechanism").removesuffix("attention").removesuffix("机制").removesuffix("注意力")
    return shorter or letters


ALIASES: Mapping[str, Settings] = MappingProxyType(dict(sorted(_written())))  # as the literature writes them
_SETTINGS = {bare(name): settings for name, settings in ALIASES.items()}
_AMBIGUOUS = {bare(name): meaning for name, meaning in AMBIGUOUS.items()}
_ELSEWHERE = {bare(name): one for one in ELSEWHERE for name in one.names}


def resolve(name: str) -> Settings:
    """The settings an alias stands for. Warns where the literature gives it two meanings.

    Raises ConfigError for a name nobody knows, and for one of something that is no socket: it tells what that is.
    """
    known = bare(str(name))
    if not known:
        raise ConfigError("model.attention", f"'{name}' names nothing", WITHOUT)
    if known in _ELSEWHERE:
        one = _ELSEWHERE[known]
        raise ConfigError("model.attention", f"'{name}' is {one.about}", one.use)
    if known not in _SETTINGS:
        hint = _joined(re.split(r"[\s,;+&/]+", str(name))) or _nearest(known)
        raise ConfigError("model.attention", f"there is no '{name}'", hint)
    if known in _AMBIGUOUS:
        warnings.warn(f"attention '{name}' is taken as {_AMBIGUOUS[known]}", stacklevel=2)
    return _SETTINGS[known]


def short(kind: str, name: str) -> Settings | None:
    """What a name says where a score, a span or a weighting is asked for, if it stands for one of these alone."""
    settings = _SETTINGS.get(bare(name), {})
    if set(settings) != {kind}:
        return None
    part = settings[kind]
    return part if isinstance(part, Mapping) else {"name": part}


def short_row(kind: str, name: str) -> Settings | None:
    """What a name says where a part of another kind than an attention's is asked for: `position: tpe`."""
    one = _ELSEWHERE.get(bare(name))
    return {"name": one.part} if one is not None and one.kind == kind else None


def short_rows(kind: str) -> list[str]:
    """The names that `short_row` knows, without those of the rows themselves."""
    return [name for one in ELSEWHERE if one.kind == kind for name in one.names if name != one.part]


def placed(name: str) -> str:
    """A hint for who gives a position the name of what an attention does about places, or ""."""
    if bare(name) in ("none", "no", "off", "false"):
        return "a model without positions has model.position=null"
    known = look_up(name)
    return f"it belongs to the attention: model.self_attention={_flow(known)}" if isinstance(known, Mapping) else ""


def shorts(kind: str) -> list[str]:
    """The names that `short` knows, without those of the rows themselves."""
    return [name for name in ALIASES if name not in _TABLES[kind] and short(kind, name) is not None]


def advised(kind: str, name: str) -> str:
    """A hint for who gives a score, a span or a weighting a name that it does not have."""
    known = look_up(name)
    if isinstance(known, Elsewhere):
        return f"it is {known.about}: {known.use}"
    if known is None:
        return _close(bare(name), [*_TABLES[kind], *shorts(kind)]) or f"regard list {kind} shows all of them"
    others = [other for other in _TABLES if set(known) == {other}]
    if others:
        return f"it is a {others[0]}: {others[0]}: {_flow(known[others[0]])}"
    return f"it says {_flow(known)}, so it is a name of the attention itself"


def instead(value: Any) -> str:
    """What to write for an attention that is given neither a name nor a group of settings."""
    if value is None:
        return WITHOUT
    if isinstance(value, list | tuple) and value and all(isinstance(name, str) for name in value):
        return _joined(value) or "one name, or a group: {name: luong, span: local_predictive}"
    return "for example bahdanau, or {score: additive, span: window}"


def look_up(name: str) -> Settings | Elsewhere | None:
    """What a name stands for: settings of a socket, something elsewhere, or nothing. Never warns."""
    known = bare(name)
    return _SETTINGS.get(known) or _ELSEWHERE.get(known)


def names_of(kind: str, part: str) -> list[str]:
    """The other names of a row: of settings that choose it, alone or with more, or of a part elsewhere."""
    chosen = [name for name, settings in ALIASES.items() if _names(settings.get(kind)) == part]
    chosen += [name for one in ELSEWHERE if (one.kind, one.part) == (kind, part) for name in one.names]
    return [name for name in chosen if name != part]


def _joined(names: Sequence[str]) -> str:
    """How several names are said at once, if all of them stand for settings, or why they cannot be."""
    found = [_SETTINGS.get(bare(name)) for name in names] if len(names) > 1 else [None]
    if None in found:
        return ""
    first, *rest = [settings or {} for settings in found]
    more: dict[str, Any] = {}
    for settings in rest:
        twice = settings.keys() & {*first, *more}
        if twice:
            return f"more than one of them says {' and '.join(sorted(twice))}"
        more |= settings
    return f"together: {_flow({'name': names[0], **more})}"


def _flow(value: Any) -> str:
    """A value as one writes it in a config, on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name}: {_flow(item)}" for name, item in value.items()) + "}"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _names(choice: Any) -> Any:
    return choice.get("name") if isinstance(choice, Mapping) else choice


def _nearest(known: str) -> str:
    every = [*ALIASES, *(name for one in ELSEWHERE for name in one.names)]
    return _close(known, every) or "regard list attention shows every name"


def _close(known: str, names: Iterable[str]) -> str:
    """The nearest of some names, if one is near."""
    written = {bare(name): name for name in names}
    close = get_close_matches(known, written, n=1, cutoff=0.6)
    return f"did you mean '{written[close[0]]}'?" if close else ""
