"""Every head of taggers against a sum over all sequences of tags."""

from itertools import pairwise, product

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.heads.tagging import TAG_HEADS
from regard.heads.tagging.crf import CrfHead
from regard.heads.tagging.linear import LinearTagHead
from regard.registry import Choice

DIM, TAGS, LENGTHS = 4, 3, (4, 2, 1)


@pytest.fixture(params=sorted(TAG_HEADS))
def head(request):
    return _drawn(TAG_HEADS.build(Choice(request.param), DIM, TAGS))


@pytest.fixture
def states():
    return torch.randn(len(LENGTHS), max(LENGTHS), DIM, dtype=torch.float64)


FREE = torch.zeros(TAGS + 1, TAGS + 1, dtype=torch.float64)
MASK = torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS).unsqueeze(-1)


def _drawn(head):
    for parameter in head.parameters():
        torch.nn.init.normal_(parameter)
    return head.double()


def _paths(length: int) -> Tensor:
    """All sequences of tags (TAGS ** length, length)."""
    return torch.tensor(list(product(range(TAGS), repeat=length)))


def _joint(head, states: Tensor, length: int) -> Tensor:
    """log p of each path, for one row (word, dim)."""
    paths = _paths(length)
    rows = states[:length].expand(len(paths), -1, -1)
    log_probs = head.log_probs(rows, torch.ones(len(paths), length, dtype=torch.bool), paths)
    return log_probs.gather(-1, paths.unsqueeze(-1)).squeeze(-1).sum(dim=-1)


def test_all_sequences_of_tags_have_probability_one(head, states):
    for row, length in zip(states, LENGTHS, strict=True):
        assert_close(_joint(head, row, length).exp().sum(), torch.tensor(1.0, dtype=torch.float64))


def test_each_tag_is_likely_given_those_before_it(head, states):
    """Against quotients of sums over all ways to go on."""
    row, tags = states[0], torch.tensor([2, 0, 1, 1])
    joint, paths = _joint(head, row, 4).exp(), _paths(4)
    found = head.log_probs(row.unsqueeze(0), MASK[:1], tags.unsqueeze(0))[0].exp()
    assert_close(found.sum(dim=-1), torch.ones(4, dtype=torch.float64))
    for word in range(4):
        before = (paths[:, :word] == tags[:word]).all(dim=-1)
        wanted = [joint[before & (paths[:, word] == tag)].sum() / joint[before].sum() for tag in range(TAGS)]
        assert_close(found[word], torch.stack(wanted))


def test_marginals_are_sums_over_sequences(head, states):
    found = head.marginals(states, MASK).exp()
    for row, (vectors, length) in enumerate(zip(states, LENGTHS, strict=True)):
        joint, paths = _joint(head, vectors, length).exp(), _paths(length)
        for word, tag in product(range(length), range(TAGS)):
            assert_close(found[row, word, tag], joint[paths[:, word] == tag].sum())


def test_best_tags_are_the_likeliest_sequence(head):
    """Of many sentences: with few, a wrong step is often hidden by a tag that leads by far."""
    states, mask = torch.randn(60, 4, DIM, dtype=torch.float64) / 2, torch.ones(60, 4, dtype=torch.bool)
    mask[::2, 3] = False
    for vectors, kept, found in zip(states, mask, head.best(states, mask, FREE), strict=True):
        length = int(kept.sum())
        assert found[:length].tolist() == _paths(length)[_joint(head, vectors, length).argmax()].tolist()


def test_best_tags_are_the_likeliest_that_moves_allow(head):
    """No 1 at the front, 2 only on 1, none ends with 1."""
    moves = FREE.clone()
    moves[-1, 1] = moves[0, 2] = moves[2, 2] = moves[1, -1] = -torch.inf
    states, mask = torch.randn(60, 4, DIM, dtype=torch.float64) / 2, torch.ones(60, 4, dtype=torch.bool)
    mask[::2, 3] = False
    for vectors, kept, found in zip(states, mask, head.best(states, mask, moves), strict=True):
        length = int(kept.sum())
        allowed = torch.tensor([_cost(moves, path) == 0 for path in _paths(length).tolist()])
        joint = _joint(head, vectors, length).masked_fill(~allowed, -torch.inf)
        assert found[:length].tolist() == _paths(length)[joint.argmax()].tolist()


def _cost(moves, path):
    return float(sum(moves[one, two] for one, two in pairwise([-1, *path, -1])))


def test_padding_changes_nothing(head, states):
    tags = torch.randint(0, TAGS, MASK.shape)
    other, strange = states.masked_fill(~MASK.unsqueeze(-1), 99.0), torch.where(MASK, tags, 0)
    assert_close(head.log_probs(states, MASK, tags)[MASK], head.log_probs(other, MASK, strange)[MASK])
    assert_close(head.marginals(states, MASK)[MASK], head.marginals(other, MASK)[MASK])
    assert torch.equal(head.best(states, MASK, FREE)[MASK], head.best(other, MASK, FREE)[MASK])


def test_gradients_are_those_of_differences(head):
    states = torch.randn(2, 3, DIM, dtype=torch.float64, requires_grad=True)
    mask, tags = MASK[:2, :3], torch.tensor([[0, 2, 1], [1, 1, 0]])

    def loss(*_: Tensor) -> Tensor:
        chosen = head.log_probs(states, mask, tags).gather(-1, tags.unsqueeze(-1)).squeeze(-1)
        return chosen[mask].sum()

    assert torch.autograd.gradcheck(loss, (states, *head.parameters()))


def test_a_row_without_words_is_finite(head):
    states, nobody = torch.randn(1, 2, DIM, dtype=torch.float64, requires_grad=True), torch.zeros(1, 2).bool()
    tags = torch.zeros(1, 2, dtype=torch.long)
    found = [head.log_probs(states, nobody, tags), head.marginals(states, nobody)]
    torch.stack(found).sum().backward()
    assert all(one.isfinite().all() for one in found)
    assert states.grad.isfinite().all()
    assert head.best(states, nobody, FREE).shape == (1, 2)


def test_linear_losses_are_those_of_torch(states):
    head, tags = _drawn(LinearTagHead(DIM, TAGS)), torch.randint(0, TAGS, MASK.shape)
    scores = torch.nn.functional.linear(states, head.to_tag.weight, head.to_tag.bias)
    wanted = torch.nn.functional.cross_entropy(scores[MASK], tags[MASK], reduction="none")
    chosen = head.log_probs(states, MASK, tags).gather(-1, tags.unsqueeze(-1)).squeeze(-1)
    assert_close(-chosen[MASK], wanted)


def test_crf_weighs_begin_moves_and_end(states):
    """exp(score) / Z, where both are sums that are written out."""
    head = _drawn(CrfHead(DIM, TAGS))
    for row, length in zip(states, LENGTHS, strict=True):
        said = row @ head.to_tag.weight.T + head.to_tag.bias
        scores = []
        for path in _paths(length).tolist():
            score = head.begin[path[0]] + head.end[path[-1]] + sum(said[word, tag] for word, tag in enumerate(path))
            scores.append(score + sum(head.move[one, two] for one, two in pairwise(path)))
        assert_close(_joint(head, row, length), torch.stack(scores).log_softmax(dim=0))


def test_crf_without_moves_is_a_softmax_of_each_word(states):
    crf, linear = CrfHead(DIM, TAGS).double(), LinearTagHead(DIM, TAGS).double()
    linear.to_tag.load_state_dict(crf.to_tag.state_dict())
    tags = torch.randint(0, TAGS, MASK.shape)
    assert_close(crf.log_probs(states, MASK, tags)[MASK], linear.log_probs(states, MASK, tags)[MASK])
    assert torch.equal(crf.best(states, MASK, FREE)[MASK], linear.best(states, MASK, FREE)[MASK])


def test_crf_forbids_a_move_of_large_cost(states):
    """I after O is never chosen, though each word by itself prefers it."""
    head = CrfHead(DIM, 2).double()
    with torch.no_grad():
        head.to_tag.weight.zero_()
        head.to_tag.bias.copy_(torch.tensor([0.0, 1.0]))
        head.begin.copy_(torch.tensor([0.0, -1e4]))
        head.move[0, 1] = -1e4
    free = torch.zeros(3, 3, dtype=torch.float64)
    assert head.best(states, MASK, free)[MASK].unique().tolist() == [0]


@pytest.mark.parametrize("words", [1, 2000])
def test_long_sentences_of_half_precision_stay_finite(words):
    head = CrfHead(DIM, 5).to(torch.bfloat16)
    states, tags = torch.randn(1, words, DIM, dtype=torch.bfloat16), torch.zeros(1, words, dtype=torch.long)
    found = head.log_probs(states, torch.ones(1, words).bool(), tags)
    assert found.isfinite().all()
    assert_close(found.exp().sum(dim=-1), torch.ones(1, words))
