"""What is meant by a name of the literature that no encoder has here."""

from regard.layers.recurrent import RECURRENT
from regard.layers.recurrent.meant import BOTH_WAYS, bare, cell_of

_CELLS = {bare(name): name for name in RECURRENT}
_ROWS = {
    "convolutional": "cnn, conv, convolution, convolutions, convs2s, fconv, gatedcnn, glu, textcnn",
    "transformer": "attentionisallyouneed, bert, ffn, feedforward, multihead, transformerencoder, vaswani",
    "self_attention": "attention, intraattention, san, selfattn, threeattention",
    "recurrent": "bahdanau, luong, recurrentneuralnetwork, rnnsearch, seq2seq",
    "bytenet": "dilated, dilatedcnn, tcn, wavenet",
    "parallel": "beside, branches, concatenate",
    "sequential": "chain, cnnrnn, pipeline, series, stack, stacked",
}
_NAMES = {name: row for row, names in _ROWS.items() for name in names.split(", ")}
_GROUPS = {
    "cho": "{name: recurrent, cell: gru, bidirectional: false}",
    "gnmt": "{name: recurrent, cell: lstm, num_layers: 8, bidirectional: lowest, residual_from: 3}",
    "sutskever": "{name: recurrent, cell: lstm, num_layers: 4, bidirectional: false, reverse: true}",
}


def meant(name: str) -> str:
    """A hint for who gives an encoder such a name, or ""."""
    known = bare(name)
    cell = _CELLS.get(known) or cell_of(name)
    if cell is not None:
        both = ", bidirectional: true" if known in BOTH_WAYS else ""
        return f"it is a cell: {{name: recurrent, cell: {cell}{both}}}"
    if known in _GROUPS:
        return f"write {_GROUPS[known]}"
    return f"did you mean '{_NAMES[known]}'?" if known in _NAMES else ""
