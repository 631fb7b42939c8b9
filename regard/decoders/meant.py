"""What is meant by a name of the literature that no decoder has here."""

from regard.layers.recurrent import RECURRENT
from regard.layers.recurrent.meant import BOTH_WAYS, bare, cell_of

_CELLS = {bare(name): name for name in RECURRENT}
_ROWS = {
    "convolutional": "cnn, conv, convolution, convolutions, convs2s, fconv, gatedcnn, glu",
    "transformer": (
        "attentionisallyouneed, decoderonly, ffn, feedforward, gpt, multihead, transformerdecoder, vaswani"
    ),
    "three_attention": "selfattention, selfattn, san",
    "recurrent": "recurrentneuralnetwork, rnnsearch, seq2seq",
    "bytenet": "dilated, dilatedcnn, tcn, wavenet",
}
_NAMES = {name: row for row, names in _ROWS.items() for name in names.split(", ")}
_GROUPS = {
    "aan": "{name: transformer, history: average}",
    "averageattention": "{name: transformer, history: average}",
    "bahdanau": "{name: recurrent, order: bahdanau}",
    "cho": "{name: recurrent, reads: summary}",
    "gnmt": "{name: recurrent, order: gnmt}",
    "luong": "{name: recurrent, order: luong}",
    "sutskever": "{name: recurrent, reads: start}",
}
_MADE_OF = ("parallel", "sequential", "unfolded")


def meant(name: str) -> str:
    """A hint for who gives a decoder such a name, or ""."""
    known = bare(name)
    cell = _CELLS.get(known) or cell_of(name)
    if cell is not None:
        one_way = "; a decoder reads one way" if known in BOTH_WAYS else ""
        return f"it is a cell: {{name: recurrent, cell: {cell}}}{one_way}"
    if known in _MADE_OF:
        return f"it is an encoder: model.encoder={known}"
    if known in _GROUPS:
        return f"write {_GROUPS[known]}"
    return f"did you mean '{_NAMES[known]}'?" if known in _NAMES else ""
