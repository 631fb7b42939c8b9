"""No encoder: the embeddings are the states, as in fastText, Kim's network and feed-forward attention."""

from regard.attention import Sockets
from regard.encoders.encoder import Encoder
from regard.layers.pooling.mean import MeanPooling
from regard.records import Encoded, Sequences


class EmbeddingsEncoder(Encoder):
    """states_i = x_i: each word by itself, before a pooling that reads words (https://arxiv.org/abs/1607.01759).

    No state knows its neighbours; the order of words is in what the embedder and the pooling make of it. `final` is
    their mean.
    """

    aliases = "none, no_encoder, identity, bag_of_words, bow, fasttext"

    def __init__(self, input_dim: int, sockets: Sockets) -> None:
        super().__init__()
        self.dim, self.mean = input_dim, MeanPooling(input_dim)

    def forward(self, source: Sequences) -> Encoded:
        """vectors (batch, source, dim) → the same; padded ones are zero."""
        states = source.items.masked_fill(~source.mask.unsqueeze(-1), 0.0)
        return Encoded(states, source.mask, self.mean(states, source.mask))
