"""What bears the name of an attention and is no setting of a socket: what it is, and where it is to be had.

The tables of these parts stand on higher floors, so their rows are named here as texts; a test reads every `config` and
opens every part.
"""

from typing import NamedTuple


class Elsewhere(NamedTuple):
    """Something else than a way from a query to its keys. `about` completes the sentence "'structured' is …"."""

    names: tuple[str, ...]
    kind: str  # as `regard list` has it: pooling, position …; "socket": one of the sockets; "python": a class
    part: str  # the row of that kind, the name of the socket, or the class with its module
    about: str
    use: str
    config: str = ""  # the change of a config that chooses it, where there is one; `use` begins with it


_ARTICLES = {"embedder": "an", "objective": "an"}


def _socket(part: str, about: str, names: str, use: str) -> Elsewhere:
    return Elsewhere(tuple(names.split(", ")), "socket", part, about, use)


def _row(kind: str, part: str, about: str, names: str, config: str = "", more: str = "") -> Elsewhere:
    """Where no config names rows of that kind, `regard list` shows it."""
    use = config + more if config else f"regard list {kind} shows it: {part}"
    return Elsewhere(tuple(names.split(", ")), kind, part, f"{_ARTICLES.get(kind, 'a')} {kind}: {about}", use, config)


def _python(part: str, about: str, names: str) -> Elsewhere:
    return Elsewhere(tuple(names.split(", ")), "python", part, about, f"in Python: {part}")


ELSEWHERE: tuple[Elsewhere, ...] = (
    # a text with itself, or with another
    _socket(
        "self_attention",
        "a text that looks at itself, with any score, span and weighting",
        "self, internal, intra_decoder, 自, 自我, 内部",
        "set model.self_attention, which the transformer encoder and decoder use",
    ),
    _socket(
        "self_attention",
        "a text that looks at itself, with any score, span and weighting",
        "intra",
        "set model.self_attention, or let a recurrent network look at its own states: cell lstmn",
    ),
    _socket(
        "self_attention",
        "a text that looks at itself by an additive score; the gate and the network of that reader are not here",
        "self_matching, gated_self_matching, r_net, 自匹配",
        "set model.self_attention=additive",
    ),
    _socket(
        "attention",
        "what a decoder looks at of its source, with any score, span and weighting",
        "cross, inter, external, source_target, 交叉, 外部",
        "this is model.attention itself: name a mechanism, as bahdanau or multihead",
    ),
    # poolings
    _row("pooling", "attention", "one learned question for every text", "inner, word_level, att_blstm, 内"),
    _row(
        "pooling",
        "query",
        "another reader of the text asks",
        "attention_pooling, query_pooling, pooling, 池化, 注意力池化",
    ),
    _row("pooling", "structured", "several learned questions", "structured, structured_self, lin, 结构化, 结构化自"),
    _row(
        "pooling",
        "featurewise",
        "each feature has weights of its own",
        "featurewise, featurewise_static, multi_dimensional, source2token",
    ),
    _row("pooling", "feedforward", "each state says how much it counts", "feedforward, raffel_ellis, 前馈"),
    _row(
        "pooling",
        "convolutional",
        "the best match of each filter",
        "convolutional, convolutional_pooling, kim, text_cnn",
    ),
    _row("pooling", "mean", "all states alike", "mean, mean_pooling, average, uniform, 平均"),
    _row("pooling", "max", "the largest value of each feature", "max, max_pooling, max_over_time, 最大"),
    _row("pooling", "last", "the last state", "last, last_state, final, 最后"),
    _row("pooling", "sliced", "recurrent networks over pieces of a text", "sliced, sliced_rnn, srnn"),
    _python(
        "regard.layers.pooling.HierarchicalPooling",
        "a pooling of the words of each sentence below one of the sentences",
        "hierarchical, han, multi_layer, multi_level, 层次, 层次化, 层级, 分层, 多层",
    ),
    # what training adds
    _row(
        "penalty",
        "doubly_stochastic",
        "each source word is looked at once in all",
        "doubly_stochastic, 双随机",
        "penalties=doubly_stochastic",
        "; its gate is model.attention.gate=true",
    ),
    _row(
        "penalty",
        "overlap",
        "several questions look at different words",
        "overlap, frobenius",
        "penalties=overlap",
    ),
    _row(
        "objective",
        "reinforce",
        "hard attention learns from what came of its draws",
        "reinforce, policy_gradient, 强化学习",
        "objective=reinforce",
        ", and model.attention=hard",
    ),
    # positions and embedders
    _row(
        "position",
        "sinusoidal",
        "waves of many lengths",
        "sinusoidal, sinusoid, positional_encoding, absolute_position, pe, 正弦, 位置编码",
        "model.position=sinusoidal",
    ),
    _row(
        "position",
        "learned",
        "a trained vector for each place",
        "learned, learned_position, position_embedding, tpe, 可学习位置, 位置向量",
        "model.position=learned",
    ),
    _row(
        "embedder",
        "complex_order",
        "words are waves over places",
        "complex_order, c_order, complex_embedding, 复数",
        "model.embedder=complex_order",
        "; its attention is model.self_attention.score=modulus",
    ),
    _row(
        "embedder",
        "complex_order",
        "words are complex numbers without an order",
        "complex_vanilla, c_vanilla",
        "model.embedder={name: complex_order, places: false}",
    ),
    # heads, decoders and cells
    _row(
        "head",
        "pointer",
        "the weights on the source are shares of its words",
        "pointer, pointer_generator, copy, attention_sum, attention_sum_reader, 指针",
        "model.head=pointer",
    ),
    _row(
        "decoder",
        "recurrent",
        "the last attentional state is read beside the next word",
        "input_feeding",
        "model.decoder={name: recurrent, input_feeding: true}",
    ),
    _row(
        "decoder",
        "convolutional",
        "a step in every block looks at the source anew",
        "multi_step, multi_hop, convs2s, 多步, 多跳",
        "model.decoder=convolutional",
    ),
    _row(
        "cell",
        "lstmn",
        "a recurrent network that reads a mix of all its states in place of the last",
        "lstmn, long_short_term_memory_network, intra_lstm",
        "model.encoder={name: recurrent, cell: lstmn}",
        ", and so in a recurrent decoder",
    ),
    _row(
        "cell",
        "key_value",
        "a recurrent network whose states are split into a key, a value and what predicts",
        "key_value, key_value_predict, kv, kvp, 键值, 键值对, 键值预测",
        "model.decoder={name: recurrent, cell: key_value}",
    ),
    _row(
        "cell",
        "key_value",
        "a recurrent network that looks at its last states, each as a whole",
        "plain_window, window_of_states",
        "model.decoder={name: recurrent, cell: {name: key_value, mode: plain}}",
    ),
    _row(
        "cell",
        "ngram",
        "a recurrent network whose states are split by how many words ahead they predict",
        "ngram, ngram_rnn, ngram_recurrent",
        "model.decoder={name: recurrent, cell: ngram}",
    ),
    # layers and functions
    _python(
        "regard.layers.key_value.KeyValueLayer",
        "a layer over its own last states, each split into a key, a value and what predicts",
        "key_value_layer",
    ),
    _python(
        "regard.layers.key_value.KeyValueLayer",
        "a split of states into keys and values; the tree of a text is not here",
        "structured_text, structured_text_representation",
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
        "the step in every block of a convolutional decoder",
        "multi_step_layer",
    ),
    _python(
        "regard.layers.memory_hop.MemoryHop",
        "a layer over memories that are compared and read by different embeddings",
        "memory_network, end_to_end_memory, end_to_end_memory_network, memn2n, memory, 记忆网络",
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
    _python(
        "regard.attention.kernel_view.chebyshev_kernel",
        "a kernel whose features, orthogonal polynomials, can be written down",
        "orthogonal_kernel, chebyshev, chebyshev_kernel",
    ),
)
