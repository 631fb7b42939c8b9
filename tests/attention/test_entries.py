"""Names of mechanisms, entry by entry, as papers and lectures write them: each stands for what the entry says."""

from collections.abc import Mapping

import pytest

from regard.attention.elsewhere import Elsewhere
from regard.attention.names import look_up, resolve
from regard.config import read_settings
from regard.errors import ConfigError
from regard.experiment import Experiment
from regard.models import build_attention

DIM = 16

# entry | what a socket is given, or where else it is to be had | names
ENTRIES = """
A01 | score scaled_dot | QKV attention; QKV; query-key-value
A01 | weighting softmax | softmax; normalised
A01 | weighting unnormalised | none; linear; linear attention; unnormalised
A01 | weighting sigmoid | sigmoid
A02 | score dot | dot; inner product; dot-product attention; Luong dot; 点积; 内积
A03 | score scaled_dot | scaled dot; scaled dot-product attention; Vaswani; 缩放点积模型
A04 | score bilinear | general; bilinear; Luong; Luong general; multiplicative; 双线性模型; 乘性
A05 | score additive | additive; Bahdanau; Bahdanau attention; tanh aggregation; RNNsearch; 加性模型
A06 | score concat | concat; Luong concat; concatenation; linear concat; concat then inner product; 拼接
A07 | score mlp | MLP; perceptron; multi-layer perceptron; 感知机
A08 | score cosine | cosine; cosine similarity; 余弦相似度
A09 | score location | location; location-based
A09 | score bilinear | scaled Luong
A09 | score additive | normed Bahdanau
A10 | span everywhere | soft; global; soft attention; global attention; dynamic; 软注意力; 全局注意力; 动态注意力
A11 | weighting hard | hard; hard attention; stochastic hard; 硬注意力
A11 | objective reinforce | REINFORCE
A12 | weighting gumbel | Gumbel; Gumbel-softmax; straight-through; concrete
A13 | span local_monotonic | local-m; local monotonic; monotonic alignment
A14 | span local_predictive | local-p; local predictive; local; predictive alignment; 局部注意力
A15 | score context_vector | static; static attention; static AM; context vector; trainable context vector; 静态注意力
A15 | pooling attention | inner; inner attention; Att-BLSTM; word-level attention
A16 | pooling featurewise | feature-wise; feature-wise static attention
A17 | span forced_forward | forced-forward attention; forced-forward soft; forced-forward hard; 强制前向
A17 | weighting monotonic | monotonic; hard monotonic
A18 | score coverage | coverage; coverage-vector attention; linguistic coverage; 覆盖
A19 | cell key_value | key-value; key-value attention; key-value-predict attention; plain window attention; 键值对注意力
A19 | cell ngram | n-gram RNN
A20 | pooling structured | structured; structured self-attention; 结构化自注意力
A20 | penalty overlap | overlap; Frobenius
A21 | socket self_attention | self; self-attention; self-attention mechanism; 自注意力机制
A22 | num_heads 8 | multi-head; multi-head attention; multihead; 多头注意力
A22 | num_heads 1 | single-head; single-layer; 单头; 单层
A23 | span causal | masked; masked self-attention; causal; look-ahead; 掩码
A24 | span window | restricted; restricted self-attention; window; band; dilated; atrous; sparse; 受限注意力
A25 | decoder convolutional | multi-step attention; multi-step; multi-hop; ConvS2S; 多步注意力
A26 | python regard.layers.pooling.HierarchicalPooling | hierarchical attention; multi-layer; HAN; 层次化注意力
A27 | pooling feedforward | feed-forward attention; feed-forward; 前馈注意力
A28 | gate True | double attention; double; gate; gated; 双重注意力
A28 | penalty doubly_stochastic | doubly stochastic; doubly stochastic attention
A29 | python regard.layers.aligned_question.AlignedQuestion | aligned question embedding; aligned question
A29 | score relu_dot | DrQA
A30 | pooling query | attention pooling; query pooling; 注意力池化
A30 | pooling max | max pooling; max
A30 | pooling mean | mean pooling; mean; average
A30 | pooling last | last; last state
A31 | weighting addressing | memory addressing; content and location; NTM; Neural Turing Machine; 寻址
A31 | score cosine | content; content-based addressing
A31 | python regard.layers.memory_hop.MemoryHop | MemN2N; memory network; end-to-end memory network; 记忆网络
A31 | python regard.layers.ntm.ReadHead | NTM head; read head
A31 | python regard.layers.differentiable_stack.StackHead | stack; differentiable stack
A32 | score scaled_dot | encoder-decoder attention; encoder-decoder; Transformer; 编码器解码器注意力
A32 | socket attention | cross attention; source-target attention; external
A33 | socket self_attention | intra-attention; internal; intra-decoder attention
A33 | cell lstmn | LSTMN; long short-term memory-network
A33 | python regard.layers.mutual_attention.MutualAttention | decomposable; decomposable attention; mutual; co-attention
A33 | span temporal | summariser; intra-temporal attention; temporal; Paulus
A33 | head pointer | attention-sum; attention-sum reader; pointer; copy
A33 | python regard.layers.key_value.KeyValueLayer | structured text representation
A33 | socket self_attention | R-Net; self-matching; self-matching attention; gated self-matching
A34 | decoder recurrent | input feeding
B18 | position sinusoidal | sinusoidal; sinusoid; positional encoding; PE; 位置编码
B19 | position learned | learned; TPE; position embedding; 位置向量
B20 | span relative | relative; relative position; Shaw; 相对位置
B21 | embedder complex_order | complex-order; c-order; complex-vanilla; c-vanilla; complex embedding; 复数
B21 | score modulus | complex; complex-valued attention
H01 | python regard.attention.ranking.RankingAttention | ranking; ranking attention; 排序
H02 | python regard.attention.kernel_view.smoothed | kernel; Nadaraya-Watson; kernel smoothing
H02 | python regard.attention.kernel_view.chebyshev_kernel | orthogonal kernel; Chebyshev kernel
"""
ROWS = [tuple(cell.strip() for cell in line.split("|")) for line in ENTRIES.strip().splitlines()]
NAMES = [(entry, stands, name) for entry, stands, names in ROWS for name in names.split("; ")]


@pytest.mark.parametrize(("entry", "stands", "name"), NAMES, ids=lambda text: text.replace(" ", "-"))
def test_a_name_stands_for_what_its_entry_says(entry, stands, name):
    known = look_up(name)
    if isinstance(known, Elsewhere):
        assert stands == f"{known.kind} {known.part}"
    else:
        assert isinstance(known, Mapping)
        assert stands in {f"{kind} {said(part)}" for kind, part in known.items()}


def said(part) -> str:
    return str(part["name"] if isinstance(part, Mapping) else part)


@pytest.mark.filterwarnings("ignore:attention ")
@pytest.mark.parametrize(("entry", "stands", "names"), ROWS, ids=lambda text: text.replace(" ", "-")[:40])
def test_a_config_with_that_name_builds_or_is_told_where_it_lives(entry, stands, names):
    for name in names.split("; "):
        if isinstance(look_up(name), Mapping):
            experiment = read_settings(Experiment, {"model": {"attention": name}})
            build_attention(experiment.model.settings["attention"], DIM, DIM)
        else:
            with pytest.raises(ConfigError) as told:
                resolve(name)
            assert stands.split()[1] in str(told.value)


def test_no_entry_is_left_out():
    wanted = {f"A{number:02}" for number in range(1, 35)} | {"B18", "B19", "B20", "B21", "H01", "H02"}
    assert {entry for entry, _, _ in ROWS} == wanted
