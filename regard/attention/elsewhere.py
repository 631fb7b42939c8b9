"""What bears the name of an attention and is no setting of a socket: what it is, and where it is to be had."""

from typing import NamedTuple


class Elsewhere(NamedTuple):
    """Something else than a way from a query to its keys. `about` completes the sentence "'structured' is …"."""

    names: tuple[str, ...]
    kind: str  # as `regard list` has it: pooling, position …; "socket": one of the sockets; "python": a class
    part: str  # the row of that kind, the name of the socket, or the class with its module
    about: str
    use: str


_ARTICLES = {"embedder": "an"}


def _socket(part: str, about: str, names: str, use: str) -> Elsewhere:
    return Elsewhere(tuple(names.split(", ")), "socket", part, about, use)


def _row(kind: str, part: str, about: str, names: str, use: str = "") -> Elsewhere:
    known = use or f"regard list {kind} shows it: {part}"
    return Elsewhere(tuple(names.split(", ")), kind, part, f"{_ARTICLES.get(kind, 'a')} {kind}: {about}", known)


def _python(part: str, about: str, names: str) -> Elsewhere:
    return Elsewhere(tuple(names.split(", ")), "python", part, about, f"in Python: {part}")


ELSEWHERE: tuple[Elsewhere, ...] = (
    _socket(
        "self_attention",
        "a text that looks at itself, with any score, span and weighting",
        "self, intra, internal, intra_decoder, 自, 自我, 内部",
        "set model.self_attention, which the transformer encoder and decoder use",
    ),
    _socket(
        "attention",
        "what a decoder looks at of its source, with any score, span and weighting",
        "cross, inter, external, source_target, 交叉, 外部",
        "this is model.attention itself: name a mechanism, as bahdanau or multihead",
    ),
    _row("pooling", "attention", "one learned question for every text", "inner, word_level, att_blstm, 内"),
    _row(
        "pooling",
        "query",
        "another reader of the text asks",
        "attention_pooling, query_pooling, pooling, 池化, 注意力池化",
    ),
    _row("pooling", "structured", "several learned questions", "structured, structured_self, lin, 结构化, 结构化自"),
    _row(
        "pooling", "featurewise", "each feature has weights of its own", "featurewise, multi_dimensional, source2token"
    ),
    _row("pooling", "feedforward", "each state says how much it counts", "feedforward, raffel_ellis, 前馈"),
    _row("pooling", "mean", "all states alike", "mean, average, uniform, 平均"),
    _row("pooling", "max", "the largest value of each feature", "max, max_over_time, 最大"),
    _row("pooling", "last", "the last state", "last, final, 最后"),
    _python(
        "regard.layers.pooling.HierarchicalPooling",
        "a pooling of the words of each sentence below one of the sentences",
        "hierarchical, han, multi_layer, multi_level, 层次, 层次化, 层级, 分层, 多层",
    ),
    _row(
        "penalty",
        "doubly_stochastic",
        "each source word is looked at once in all",
        "doubly_stochastic, 双随机",
        "penalties: doubly_stochastic; its gate is attention: {gate: true}",
    ),
    _row("penalty", "overlap", "several questions look at different words", "overlap, frobenius", "penalties: overlap"),
    _row(
        "position",
        "sinusoidal",
        "waves of many lengths",
        "sinusoidal, sinusoid, positional_encoding, absolute_position, pe, 正弦, 位置编码",
        "model.position: sinusoidal",
    ),
    _row(
        "position",
        "learned",
        "a trained vector for each place",
        "learned, learned_position, position_embedding, tpe, 可学习位置, 位置向量",
        "model.position: learned",
    ),
    _row(
        "embedder",
        "complex_order",
        "words are waves over places",
        "complex_order, complex_embedding, 复数",
        "model.embedder: complex_order; its attention is score: modulus",
    ),
    _row(
        "embedder",
        "complex_order",
        "words are complex numbers without an order",
        "complex_vanilla",
        "model.embedder: {name: complex_order, places: false}",
    ),
    _row(
        "head",
        "pointer",
        "the weights on the source are shares of its words",
        "pointer, pointer_generator, copy, attention_sum, 指针",
        "model.head: pointer",
    ),
    _row(
        "decoder",
        "recurrent",
        "the last attentional state is read beside the next word",
        "input_feeding",
        "model.decoder: {name: recurrent, input_feeding: true}",
    ),
    _python(
        "regard.layers.key_value.KeyValueLayer",
        "a layer over its own last states, each split into a key, a value and what predicts",
        "key_value, key_value_predict, kv, kvp, 键值, 键值对, 键值预测",
    ),
    _python(
        "regard.layers.aligned_question.AlignedQuestion",
        "a layer that lays the question beside each word of a passage",
        "aligned_question, aligned_question_embedding, question_aligned",
    ),
    _python(
        "regard.layers.mutual_attention.MutualAttention",
        "a layer in which two sentences look at each other",
        "mutual, co, decomposable, inter_sentence, 互, 协同",
    ),
    _python(
        "regard.layers.multi_step_attention.MultiStepAttention",
        "a step in every layer of a convolutional decoder",
        "multi_step, multi_hop, convs2s, 多步, 多跳",
    ),
    _python(
        "regard.layers.memory_hop.MemoryHop",
        "a layer over memories that are compared and read by different embeddings",
        "memory_network, end_to_end_memory, memn2n, memory, 记忆网络",
    ),
    _python("regard.layers.ntm.ReadHead", "a layer that reads a memory of slots", "ntm_head, read_head, memory_head"),
    _python(
        "regard.layers.differentiable_stack.StackHead",
        "a layer with stacks that are pushed and popped by degrees",
        "stack, differentiable_stack, stack_memory, 栈",
    ),
    _python("regard.attention.ranking.RankingAttention", "places of a list that look at results", "ranking, 排序"),
    _python(
        "regard.attention.kernel_view.smoothed",
        "a view: any attention with a softmax smooths values by a kernel",
        "kernel, kernel_smoothing, nadaraya_watson, 核",
    ),
)
