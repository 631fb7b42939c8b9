"""A softmax for each word: its tag depends on its state alone."""

from torch import Tensor, nn

from regard.heads.tagging.tag_head import TagHead, viterbi


class LinearTagHead(TagHead):
    """p(tags | x) = product over the words of softmax(W x_t + b)[tag_t]."""

    aliases = "softmax_tagger, token_classification"

    def __init__(self, dim: int, num_tags: int) -> None:
        super().__init__()
        self.to_tag = nn.Linear(dim, num_tags)

    def log_probs(self, states: Tensor, mask: Tensor, tags: Tensor) -> Tensor:
        return self.marginals(states, mask)

    def marginals(self, states: Tensor, mask: Tensor) -> Tensor:
        scores: Tensor = self.to_tag(states)
        return scores.log_softmax(dim=-1)

    def best(self, states: Tensor, mask: Tensor, moves: Tensor) -> Tensor:
        scores: Tensor = self.to_tag(states)
        return viterbi(scores, mask, moves) if moves.any() else scores.argmax(dim=-1)
