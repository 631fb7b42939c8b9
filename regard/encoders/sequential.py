"""Encoders one after the other: convolutions, then a recurrent network, then an attention over its states."""

from regard.attention import Sockets
from regard.config.common_settings import DropoutProbability
from regard.encoders.encoder import Encoder
from regard.encoders.table import ENCODERS, EncoderChoices
from regard.ops.modules import module_list
from regard.records import Encoded, Sequences
from regard.registry import Choice


class SequentialEncoder(Encoder):
    """E_n(… E_2(E_1(x))): each reads the states of the one before; what is seen is what the last one saw."""

    aliases = "chain, cnn_rnn, hybrid, pipeline, series, stack, stacked"

    def __init__(
        self,
        input_dim: int,
        sockets: Sockets,
        *,
        encoders: EncoderChoices = (Choice("convolutional"), Choice("recurrent")),
        dropout: DropoutProbability = 0.1,
    ) -> None:
        super().__init__()
        stages, width = list[Encoder](), input_dim
        for number, choice in enumerate(encoders):
            place = f"encoders.{number}"
            stages.append(ENCODERS.build(choice, width, sockets, given={"dropout": dropout}, place=place))
            width = stages[-1].dim
        self.stages, self.dim = module_list(stages), width

    def forward(self, source: Sequences) -> Encoded:
        """vectors (batch, source, input_dim) → states (batch, source, dim); `final` and the rest are the last one's."""
        first, *rest = self.stages
        encoded: Encoded = first(source)
        for stage in rest:
            encoded = stage(Sequences(encoded.states, encoded.mask))
        return encoded
