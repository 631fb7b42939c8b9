"""Names of the literature that mean no part: a place for an attention, a way to train; with the setting to use."""

from typing import NamedTuple


class Place(NamedTuple):
    """Names of something else than a mechanism. `about` completes the sentence "'self' is …"."""

    names: tuple[str, ...]
    about: str
    use: str


def _place(names: str, about: str, use: str) -> Place:
    return Place(tuple(names.split(", ")), about, use)


_ITSELF = "a text that looks at itself"
_USE = "set model.self_attention, which the transformer encoder and decoder use"
PLACES = (
    _place("self, 自, 自我", f"{_ITSELF} (others mean one learned question to a text: pooling 'attention')", _USE),
    _place(
        "internal, 内部",
        f"{_ITSELF} (others mean one learned question to it, pooling 'attention', or several, pooling 'structured')",
        _USE,
    ),
    _place(
        "intra, intra_decoder",
        _ITSELF,
        "set model.self_attention, or let a recurrent network look at its own states: cell lstmn",
    ),
    _place("self_multi_head, 多头自", f"{_ITSELF} with several heads", "set model.self_attention=multihead"),
    _place(
        "cross, inter, external, source_target, 交叉, 外部",
        "what a decoder looks at of its source, with any score, span and weighting",
        "this is model.attention itself: name a mechanism, as bahdanau or multihead",
    ),
    _place(
        "back_translation, 回译, 反向翻译",
        "text of the target language with a machine's translation of it as its source, to learn from beside pairs",
        "train the other direction, regard predict the text, and name the pairs in data.corpora",
    ),
    _place(
        "multi_task, multi_task_learning, 多任务学习",
        "one network that learns several losses at once",
        "objective=with_language_model for a label and its text, or model.name=one_to_many for several languages",
    ),
)
