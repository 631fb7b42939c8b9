"""Linear-chain conditional random field: tags that follow on each other (https://arxiv.org/abs/1011.4088).

On a bidirectional LSTM it is the tagger of https://arxiv.org/abs/1508.01991 and https://arxiv.org/abs/1603.01360.
"""

import torch
from torch import Tensor, nn

from regard.heads.tagging.tag_head import TagHead, viterbi
from regard.ops.functional import wide


class CrfHead(TagHead):
    """p(tags | x) = exp(s) / Z, s = begin[y_1] + sum_t (W x_t + b)[y_t] + sum_t move[y_t-1, y_t] + end[y_n].

    Z sums over all sequences of tags, by messages between neighbours. With A_t(y) the log-sum over all that may follow
    on y at t, log p(y_t | y_t-1, x) is the log-softmax over y_t of move[y_t-1, y_t] + (W x_t + b)[y_t] + A_t(y_t): the
    likelihood is exact and has a term for each word. `begin`, `move` and `end` start at 0.
    """

    aliases = "conditional_random_field, linear_chain_crf, viterbi, 条件随机场"

    def __init__(self, dim: int, num_tags: int) -> None:
        super().__init__()
        self.to_tag = nn.Linear(dim, num_tags)
        self.begin, self.end = (nn.Parameter(torch.zeros(num_tags)) for _ in range(2))
        self.move = nn.Parameter(torch.zeros(num_tags, num_tags))  # (tag before, tag)

    def log_probs(self, states: Tensor, mask: Tensor, tags: Tensor) -> Tensor:
        """Return them by the messages from the end: (batch, word, tag)."""
        scores = self._scores(states)
        ahead = scores + self._after(scores, mask)
        before = torch.cat([self.begin.expand(len(tags), 1, -1), self.move[tags[:, :-1]]], dim=1)
        return (before + ahead).log_softmax(dim=-1)

    def marginals(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return them by the messages from both ends: (batch, word, tag)."""
        scores = self._scores(states)
        return (self._until(scores) + self._after(scores, mask)).log_softmax(dim=-1)

    def best(self, states: Tensor, mask: Tensor, moves: Tensor) -> Tensor:
        between = torch.cat([self.move, self.end.unsqueeze(1)], dim=1)
        begin = nn.functional.pad(self.begin, (0, 1)).unsqueeze(0)
        return viterbi(self._scores(states), mask, moves + torch.cat([between, begin]))

    def _scores(self, states: Tensor) -> Tensor:
        """Return emission scores (batch, word, tag), in float32 at least: sums over a sentence grow long."""
        scores: Tensor = self.to_tag(states)
        return scores.to(wide(scores.dtype))

    def _after(self, scores: Tensor, mask: Tensor) -> Tensor:
        """A: the log-sum over all that may follow on each tag (batch, word, tag)."""
        sums = [self.end.expand(len(scores), -1)]
        for word in range(scores.shape[1] - 1, 0, -1):
            through = (self.move + (scores[:, word] + sums[-1]).unsqueeze(-2)).logsumexp(dim=-1)
            sums.append(torch.where(mask[:, word, None], through, sums[-1]))
        return torch.stack(sums[::-1], dim=1)

    def _until(self, scores: Tensor) -> Tensor:
        """The log-sum over all that may come before each tag, and what its word says of it (batch, word, tag)."""
        sums = [self.begin + scores[:, 0]]
        for word in range(1, scores.shape[1]):
            sums.append((sums[-1].unsqueeze(-1) + self.move).logsumexp(dim=-2) + scores[:, word])
        return torch.stack(sums, dim=1)
