"""What is set beside Inseq: a network of another library under our contract, and its tensors as relevance."""

from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from benchmarks import benchmark
from regard.pieces import BOS, EOS, UNK

peer = benchmark("inseq_peer")
PAIR = [5, 6], [7, 4, 5]


class Network(nn.Module):
    """What Hugging Face asks a translator for: vectors of both sides → logits, here of their sums."""

    def __init__(self):
        super().__init__()
        self.table, self.out = nn.Embedding(8, 4), nn.Linear(4, 8)

    def get_input_embeddings(self):
        return self.table

    def forward(self, *, inputs_embeds, attention_mask, decoder_inputs_embeds):
        read = (inputs_embeds * attention_mask.unsqueeze(-1)).sum(dim=1, keepdim=True)
        return SimpleNamespace(logits=self.out(torch.tanh(read + decoder_inputs_embeds.cumsum(dim=1))))


@pytest.fixture
def network():
    torch.manual_seed(1)
    return Network().double().eval()


def test_a_network_of_another_library_tells_its_losses(network):
    question = peer.question_of(peer.Brought(network), PAIR)
    read = network.table(torch.tensor([*PAIR[0], EOS])).sum(dim=0)
    before = network.table(torch.tensor([BOS, *PAIR[1]])).cumsum(dim=0)
    log_probs = network.out(torch.tanh(read + before)).log_softmax(dim=-1)
    assert_close(question.scores(question.vectors), log_probs[range(4), [*PAIR[1], EOS]])


def test_integrals_begin_at_unknown_words_between_the_symbols(network):
    question = peer.question_of(peer.Brought(network), PAIR)
    source, before = question.baseline("zero")
    assert_close(source[0], network.table(torch.tensor([UNK, UNK, EOS])))
    assert_close(before[0], network.table(torch.tensor([BOS, UNK, UNK, UNK])))


def test_words_that_are_not_read_yet_say_nothing():
    found = torch.tensor([[[3.0, 4.0], [1.0, 0.0]], [[float("nan")] * 2, [0.0, -2.0]]])  # (word, item, dim)
    assert peer.norms(found).tolist() == [[5.0, 0.0], [1.0, 2.0]]
    assert peer.sums(found).tolist() == [[7.0, 0.0], [1.0, -2.0]]
