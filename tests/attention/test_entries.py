"""Names of the sources, entry by entry of the specification: each stands for what its entry describes.

The list is copied from the specification and the texts it cites, in English and Chinese. Nothing in it is read from the
code.
"""

import re
import warnings

import pytest
import torch

from regard.attention.recipes import RECIPES
from regard.config import read_settings
from regard.errors import ConfigError
from regard.experiment import PARTS, Experiment
from regard.experiment.names import advise, look_up, look_up_place
from regard.models import build_attention

DIM = 16
SOCKET = ("score", "span", "weighting", "num_heads", "gate")  # what an attention is made of

# entry | what it is: settings of an attention, a row of a table, or a place for an attention | names
ENTRIES = """
A01 | score scaled_dot | QKV attention; QKV; query-key-value
A01 | weighting softmax | softmax; normalised
A01 | weighting unnormalised | none; linear; linear attention; unnormalised; 线性注意力
A01 | weighting sigmoid | sigmoid
A02 | score dot | dot; inner product; dot product; dot-product attention; Luong dot; 点积
A02 | score dot | 点积模型; 点乘; 点乘注意力; 内积
A03 | score scaled_dot | scaled dot; scaled dot-product attention; Scaled Dot-Product; 缩放点积模型; 缩放点积注意力
A04 | score bilinear | general; bilinear; Luong; Luong general; multiplicative; 双线性模型
A04 | score bilinear | 乘性; 乘法注意力; 乘法注意力机制
A04 | score bilinear | Luong attention; multiplicative attention; 矩阵相乘
A05 | score additive | additive; Bahdanau; Bahdanau attention; tanh aggregation; RNNsearch; 加性模型; 加性注意力
A06 | score concat | concat; Luong concat; concatenation; linear concat; concat then inner product; 拼接; 串联
A07 | score mlp | MLP; perceptron; multi-layer perceptron; multilayer perceptrons; 感知机; 多层感知机
A08 | score cosine | cosine; cosine similarity; 余弦相似度; 余弦
A09 | score location | location; location-based; location-based attention; 基于位置
A09 | score bilinear | scaled Luong
A09 | score additive | normed Bahdanau
A10 | span everywhere | soft; global; soft attention; global attention; dynamic; 软注意力
A10 | span everywhere | 全局注意力; 动态注意力; 软AM; 软 AM
A10 | weighting softmax | Soft Attention Model; Global Attention Model; Global AM; Soft AM; vanilla attention; 全局AM
A11 | weighting hard | hard; hard attention; stochastic hard; 硬注意力; 硬性注意力; 硬AM
A11 | weighting hard | 硬 AM; Hard AM; Hard Attention Model
A11 | objective reinforce | REINFORCE; policy gradient; 强化学习
A12 | weighting gumbel | Gumbel; Gumbel-softmax; straight-through; concrete; 耿贝尔
A13 | span local_monotonic | local-m; local monotonic; monotonic alignment; 单调性校准; 单调局部
A14 | span local_predictive | local-p; local predictive; local; predictive alignment; 局部注意力
A14 | span local_predictive | 预测性校准; 局部AM; Local AM
A14 | span local_predictive | Local Attention Model; local attention; local attention mechanism; 局部注意力机制
A15 | score context_vector | static; static attention; static AM; context vector; trainable context vector; 静态注意力
A15 | score context_vector | 静态AM; 静态 AM; Static Attention Model; Static AM
A15 | pooling attention | inner; inner attention; word-level attention; 内
A15 | pooling tanh_attention | Att-BLSTM; Att-BiLSTM
A16 | pooling featurewise | feature-wise; feature-wise static attention; multi-dimensional; source2token
A17 | span forced_forward | forced-forward attention; forced-forward soft; forced-forward hard
A17 | span forced_forward | 强制前向; 强制前向注意力
A17 | span forced_forward | 强制前向AM; 强制前向 AM; forced-forward AM; Forced Forward Attention Model; 强制向前
A17 | weighting monotonic | monotonic; hard monotonic; 单调
A18 | score coverage | coverage; coverage-vector attention; linguistic coverage; 覆盖; 覆盖向量
A19 | cell key_value | key-value; key-value attention; key-value-predict attention
A19 | cell key_value | plain window attention; 键值对注意力
A19 | cell key_value | 关键值注意力; 关键值注意力机制; 键值预测注意力; KV; KVP
A19 | cell ngram | n-gram RNN; N-gram RNNs
A20 | pooling structured | structured; structured self-attention; 结构化自注意力; structured self-attentive
A20 | penalty overlap | overlap; Frobenius
A21 | socket self_attention | self; self-attention; self-attention mechanism; 自注意力; 自注意力机制; 自我注意力
A21 | socket self_attention | internal; 内部; 内部注意力; Self Multi-Head Attention; self-multi-head attention
A22 | num_heads 8 | multi-head; multi-head attention; multihead; multi_head; 多头注意力; 多头
A22 | num_heads 1 | single-head; single-layer; 单头; 单层
A23 | span causal | masked; masked self-attention; causal; look-ahead; 掩码; 遮蔽; 带掩码
A24 | span window | restricted; restricted self-attention; window; band; dilated; atrous
A24 | span window | sparse; 受限注意力; 空洞; 稀疏注意力
A25 | decoder convolutional | multi-step attention; multi-step; multi-hop; ConvS2S; 多步注意力; 多跳
A26 | layer hierarchical_pooling | hierarchical attention; multi-layer; HAN; 层次化注意力; 多层注意力; 层级; 分层
A26 | layer hierarchical_pooling | Hierarchical Attention Networks
A27 | pooling feedforward | feed-forward attention; feed-forward; 前馈注意力
A28 | gate True | double attention; double; gate; gated; 双重注意力; 门控
A28 | penalty doubly_stochastic | doubly stochastic; doubly stochastic attention; 双随机
A29 | layer aligned_question | aligned question embedding; aligned question; aligned question embeddings
A29 | score relu_dot | DrQA
A30 | pooling query | attention pooling; query pooling; 注意力池化
A30 | pooling max | max pooling; max; 最大池化
A30 | pooling mean | mean pooling; mean; average; 平均池化
A30 | pooling last | last; last state
A31 | weighting addressing | memory addressing; content and location; NTM; Neural Turing Machine
A31 | weighting addressing | Neural Turing Machines; 寻址
A31 | score cosine | content; content-based addressing
A31 | layer memory_hop | MemN2N; memory network; Memory Networks; end-to-end memory networks; 记忆网络
A31 | layer ntm_head | NTM head; read head
A31 | layer differentiable_stack | stack; differentiable stack; Differentiable Stack RNNs; stack-augmented RNN
A32 | score scaled_dot | encoder-decoder attention; encoder-decoder; Transformer; Vaswani; 编码器解码器注意力
A32 | socket attention | cross attention; source-target attention; external; 交叉注意力; 外部
A33 | socket self_attention | intra-attention; intra-decoder attention
A33 | cell lstmn | LSTMN; long short-term memory-network; Long Short-Term Memory-Networks
A33 | layer mutual_attention | decomposable; decomposable attention; decomposable attention model
A33 | layer mutual_attention | mutual; co-attention
A33 | span temporal | summariser; intra-temporal attention; temporal; Paulus
A33 | head pointer | attention-sum; attention-sum reader; pointer; copy; 指针
A33 | layer key_value | structured text representation
A33 | encoder self_matching | R-Net; self-matching; self-matching attention; gated self-matching
A34 | decoder recurrent | input feeding
B01 | cell rnn | RNN; vanilla RNN; RNNs
B02 | cell gru | GRU; gated recurrent unit; gated recurrent units
B03 | cell lstm | LSTM; long short-term memory; LSTMs
B04 | encoder recurrent | bidirectional RNN; BiLSTM; Bi-LSTM; BLSTM; bidirectional LSTM; BiGRU
B05 | pooling last | last
B06 | cell sru | SRU; simple recurrent unit
B09 | feedforward sru | Transformer + SRU; SRU feed-forward
B10 | pooling sliced | SRNN; sliced RNN; sliced recurrent neural network
B11 | pooling convolutional | Kim; Text-CNN; convolutional pooling
B12 | decoder convolutional | masked convolution
B13 | encoder bytenet | dilated convolution; dilated convolutions
B14 | layer residual_block | residual block; residual blocks
B14 | encoder bytenet | multiplicative unit; residual multiplicative block
B15 | norm sub_batch | sub-batch normalisation; sub-batch normalization
B16 | embedder character_ngrams | character n-grams; bag of character n-grams; character n-gram
B17 | decoder convolutional | GLU; gated CNN
B18 | position sinusoidal | sinusoidal; sinusoid; positional encoding; PE
B18 | position sinusoidal | 位置编码; 绝对位置编码; Sinusoidal Position Encoding
B19 | position learned | learned; learned positions; TPE; position embedding; 位置向量; 可学习位置
B20 | span relative | relative; relative position; Shaw; 相对位置; 相对位置编码; relative positions
B21 | embedder complex_order | complex-order; c-order; complex-vanilla; c-vanilla; complex embedding; 复数
B21 | score modulus | complex; complex-valued attention
B22 | feedforward position_wise | position-wise FFN; position-wise feed-forward network
B22 | feedforward position_wise | position-wise feed-forward networks
B23 | layer transformer_block | Transformer block
B25 | encoder sequential | hybrid; CNN RNN
B25 | encoder parallel | parallel
D07 | comparison bcnn | Attention-Based BCNN-1; ABCNN-1; ABCNN
H01 | layer ranking | ranking; ranking attention; attention for ranking; 排序
H02 | layer kernel_smoothing | kernel; Nadaraya-Watson; kernel smoothing; 核; kernel view
H02 | layer chebyshev_kernel | orthogonal kernel; Chebyshev kernel; 正交核函数; 正交核
"""
ROWS = [tuple(cell.strip() for cell in line.split("|")) for line in ENTRIES.strip().splitlines()]
NAMES = [(entry, stands, name) for entry, stands, names in ROWS for name in names.split("; ")]
CLASHES = (
    "general; luong; multiplicative; 乘法; 乘性; local; 局部; global; dynamic; 动态; static; 静态; double; 双重; "
    "linear; 线性; none; sparse; 稀疏; content; vanilla; monotonic; 单调"
)


def meanings(name: str) -> set[str]:
    """What a name stands for, in the words of ENTRIES."""
    place = look_up_place(name)
    if place is not None:
        socket = re.search(r"model\.(self_attention|attention)", place.use)
        return {f"socket {socket[1]}"} if socket else set()
    known = look_up(name)
    if not known:
        return set()
    if known[0].socket is None:
        return {f"{known[0].kind} {known[0].part}"}
    return {f"{kind} {part['name'] if isinstance(part, dict) else part}" for kind, part in known[0].socket.items()}


@pytest.mark.parametrize(("entry", "stands", "name"), NAMES, ids=lambda text: text.replace(" ", "-"))
def test_a_name_stands_for_its_entry(entry, stands, name, assert_agrees):
    assert_agrees("H03", torch.tensor(float(stands in meanings(name))), torch.ones(()))


@pytest.mark.filterwarnings("ignore:attention ")
@pytest.mark.parametrize(("entry", "stands", "names"), ROWS, ids=lambda text: text.replace(" ", "-")[:40])
def test_a_name_builds_or_tells_where_it_lives(entry, stands, names):
    for name in names.split("; "):
        if stands.split()[0] in SOCKET:
            experiment = read_settings(Experiment, {"model": {"attention": name}})
            build_attention(experiment.model.settings["attention"], DIM, DIM)
        else:
            with pytest.raises(ConfigError) as told:
                RECIPES.resolve(name)
            part = stands.partition(" ")[2]
            row = PARTS["layer"][part].__name__ if stands.startswith("layer") else part
            assert row in str(told.value)


def test_no_entry_is_left_out():
    unnamed = {"B07", "B08", "B24"}  # a version, a kernel and a measurement: no names of their own
    wanted = (
        {f"A{number:02}" for number in range(1, 35)} | {f"B{number:02}" for number in range(1, 26)} | {"H01", "H02"}
    )
    assert {entry for entry, _, _ in ROWS} - {"D07"} == wanted - unnamed


@pytest.mark.parametrize("name", CLASHES.split("; "))
def test_a_name_of_two_meanings_warns(name):
    with pytest.warns(UserWarning, match=f"attention '{name}' is taken as ") as told:
        RECIPES.resolve(name)
    assert len(told) == 1


@pytest.mark.parametrize("name", ["self", "inner", "内部", "internal", "自"])
def test_self_and_inner_tell_both_meanings(name):
    """No setting of an attention bears these names, so what each source means is told beside the fault."""
    with pytest.raises(ConfigError, match="others mean"):
        RECIPES.resolve(name)
    assert "others mean" in advise("score", name)


def test_a_name_of_one_meaning_is_silent():
    clashes = {*CLASHES.split("; ")}
    clear = [
        name
        for _, stands, name in NAMES
        if stands.split()[0] in SOCKET and not any(clash in name.lower() for clash in clashes)
    ]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for name in clear:
            RECIPES.resolve(name)
    assert clear
    assert [str(one.message) for one in told] == []
