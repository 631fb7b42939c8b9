"""Pooling of poolings: first the words of each sentence, then the sentences (https://aclanthology.org/N16-1174)."""

from torch import Tensor, nn

from regard.layers.pooling.pooling import Pooling


class HierarchicalPooling(nn.Module):
    """A text's vector: `sentences` pools the vectors that `words` pools of each sentence. Empty sentences are ignored.

    `sentences` is built for the output width of `words`.
    """

    aliases = (
        "hierarchical, hierarchical_attention_network, han, multi_layer, multi_level, 层次, 层次化, 层级, 分层, 多层"
    )

    def __init__(self, words: Pooling, sentences: Pooling) -> None:
        super().__init__()
        self.words, self.sentences = words, sentences
        self.out_dim = sentences.out_dim

    def forward(self, states: Tensor, word_mask: Tensor, sentence_mask: Tensor | None = None) -> Tensor:
        """states (batch, sentence, word, dim), word_mask (batch, sentence, word), sentence_mask (batch, sentence)."""
        shown = word_mask.any(dim=-1)
        if sentence_mask is not None:
            shown = shown & sentence_mask
        pooled: Tensor = self.sentences(each_sentence(self.words, states, word_mask), shown)
        return pooled


def each_sentence(pooling: Pooling, states: Tensor, mask: Tensor) -> Tensor:
    """states (batch, sentence, word, dim), mask (batch, sentence, word) → (batch, sentence, out_dim), all at once.

    For models that encode the sentences' vectors before pooling them, such as hierarchical attention networks.
    """
    pooled: Tensor = pooling(states.flatten(0, 1), mask.flatten(0, 1))
    return pooled.unflatten(0, mask.shape[:2])
