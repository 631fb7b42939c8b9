"""What is meant by a name of the literature that no recurrent layer has here."""

import re

BOTH_WAYS = {"birnn": "rnn", "bigru": "gru", "bilstm": "lstm", "blstm": "lstm", "brnn": "rnn", "bisru": "sru"}
_OTHER = {"elman": "rnn", "jordan": "rnn", "vanilla": "rnn", "vanillarnn": "rnn", "simplernn": "rnn", "simple": "rnn"}


def bare(name: str) -> str:
    """'Bi-LSTM' → 'bilstm'."""
    return re.sub(r"[\s_-]+", "", str(name).lower())


def cell_of(name: str) -> str | None:
    """The row that a name of the literature stands for, of cells that read one way or both."""
    known = bare(name)
    return BOTH_WAYS.get(known) or _OTHER.get(known)


def meant(name: str) -> str:
    """A hint for who gives a cell such a name, or ""."""
    cell = cell_of(name)
    if cell is None:
        return ""
    both = bare(name) in BOTH_WAYS
    return f"cell: {cell}, and model.encoder.bidirectional=true" if both else f"did you mean '{cell}'?"
