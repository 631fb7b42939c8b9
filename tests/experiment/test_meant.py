"""Names of the literature under an encoder, a decoder or a cell: what to write instead, and that it can be written."""

import re

import pytest

from regard.decoders import DECODERS
from regard.decoders.meant import _GROUPS as DECODER_GROUPS
from regard.decoders.meant import _NAMES as DECODER_NAMES
from regard.decoders.meant import meant as decoder_meant
from regard.encoders import ENCODERS
from regard.encoders.meant import _GROUPS as ENCODER_GROUPS
from regard.encoders.meant import _NAMES as ENCODER_NAMES
from regard.encoders.meant import meant as encoder_meant
from regard.errors import ConfigError
from regard.experiment import load_experiment
from regard.layers.recurrent import RECURRENT
from regard.layers.recurrent.meant import BOTH_WAYS


def fault(change: str) -> str:
    with pytest.raises(ConfigError) as told:
        load_experiment(None, [change])
    return str(told.value)


@pytest.mark.parametrize(
    ("change", "hint"),
    [
        ("model.encoder=lstm", "it is a cell: {name: recurrent, cell: lstm}"),
        ("model.encoder=GRU", "it is a cell: {name: recurrent, cell: gru}"),
        ("model.encoder=Bi-LSTM", "it is a cell: {name: recurrent, cell: lstm, bidirectional: true}"),
        ("model.encoder=birnn", "it is a cell: {name: recurrent, cell: rnn, bidirectional: true}"),
        ("model.encoder=CNN", "did you mean 'convolutional'?"),
        ("model.encoder=convs2s", "did you mean 'convolutional'?"),
        ("model.encoder=multi-head", "did you mean 'transformer'?"),
        ("model.encoder=Transformer", "did you mean 'transformer'?"),
        ("model.decoder=gru", "it is a cell: {name: recurrent, cell: gru}"),
        ("model.decoder=luong", "write {name: recurrent, order: luong}"),
        ("model.decoder=sequential", "it is an encoder: model.encoder=sequential"),
        ("model.encoder={name: recurrent, cell: LSTM}", "did you mean 'lstm'?"),
        ("model.encoder={name: recurrent, cell: elman}", "did you mean 'rnn'?"),
        ("model.encoder={name: recurrent, cell: bigru}", "cell: gru, and model.encoder.bidirectional=true"),
        ("model.encoder={name: sequential, encoders: [cnn]}", "did you mean 'convolutional'?"),
    ],
)
def test_a_name_of_the_literature_is_told_as_what_it_is(change, hint):
    assert fault(change).endswith(f"({hint})")


@pytest.mark.parametrize("name", [*RECURRENT, *BOTH_WAYS, *ENCODER_NAMES, *ENCODER_GROUPS])
def test_what_is_advised_for_an_encoder_can_be_written(name):
    assert name not in ENCODERS  # what is a row needs no advice
    assert (
        load_experiment(None, [advised(encoder_meant(name), "model.encoder")]).model.settings["encoder"].name
        in ENCODERS
    )


@pytest.mark.parametrize("name", [*RECURRENT, *BOTH_WAYS, *DECODER_NAMES, *DECODER_GROUPS])
def test_what_is_advised_for_a_decoder_can_be_written(name):
    assert name not in DECODERS
    assert (
        load_experiment(None, [advised(decoder_meant(name), "model.decoder")]).model.settings["decoder"].name
        in DECODERS
    )


def advised(hint: str, place: str) -> str:
    """The change of a config that a hint tells."""
    found = re.search(r"\{.*\}|'(\w+)'", hint)
    return f"{place}={found[1] or found[0]}"


@pytest.mark.parametrize(
    ("change", "hint"),
    [
        ("model.encoder.type=recurrent", "did you mean 'name'?"),
        ("encoder=recurrent", "did you mean 'model.encoder'?"),
        ("batch_tokens=5", "did you mean 'training.batch_tokens' or 'decoding.batch_tokens'?"),
    ],
)
def test_a_setting_at_a_wrong_place_is_told_where_it_is(change, hint):
    assert fault(change).endswith(f": there is no such setting ({hint})")


def test_a_choice_of_words_beside_truth_values_is_told_with_them():
    line = fault("model.encoder={name: recurrent, bidirectional: maybe}")
    assert line == "model.encoder.bidirectional: must be true or false or 'lowest', not 'maybe'"


def test_a_beam_has_a_largest_size():
    assert fault("decoding.search.size=1000000").endswith("must be at most 1000, not 1000000")
