"""Names of the literature for an encoder, a decoder or a cell: what they choose, and what is told where they cannot."""

import pytest

from regard.config import as_values, read_settings
from regard.decoders import DECODERS
from regard.encoders import ENCODERS
from regard.errors import ConfigError
from regard.experiment import Experiment
from regard.experiment.complete_settings import read_changes
from regard.layers.recurrent import RECURRENT


def fault(change: str) -> str:
    with pytest.raises(ConfigError) as told:
        read_settings(Experiment, read_changes([change]))
    return str(told.value)


@pytest.mark.parametrize(
    ("change", "hint"),
    [
        ("model.encoder=lstm", "it is a cell: model.encoder={name: recurrent, cell: lstm}"),
        ("model.encoder=GRU", "it is a cell: model.encoder={name: recurrent, cell: gru}"),
        ("model.decoder=gru", "it is a cell: model.decoder={name: recurrent, cell: gru}"),
        ("model.decoder=sequential", "it is an encoder: model.encoder=sequential"),
        (
            "model.decoder=bigru",
            "it is an encoder: model.encoder={name: recurrent, cell: gru, bidirectional: true}",
        ),
        (
            "model.encoder={name: recurrent, cell: bigru}",
            "it is an encoder: model.encoder={name: recurrent, cell: gru, bidirectional: true}",
        ),
        (
            "model.encoder={name: sequential, encoders: [gru]}",
            "it is a cell: model.encoder={name: recurrent, cell: gru}",
        ),
        ("model.encoder=hard", "it is a weighting: model.attention.weighting=hard"),
        ("model.head=sinusoidal", "it is a position: model.position=sinusoidal"),
        ("model.head=crf", "it is a tag head, for another model; there is: linear, pointer, transformed"),
        ("model.encoder=recurent", "did you mean 'recurrent'?"),
        ("model.encoder={name: recurrent, cell: lsmt}", "did you mean 'lstm'?"),
    ],
)
def test_a_name_of_the_literature_is_told_as_what_it_is(change, hint):
    assert fault(change).endswith(f"{hint})")


@pytest.mark.parametrize(
    ("change", "row", "settings"),
    [
        ("model.encoder=Bi-LSTM", "recurrent", {"cell": "lstm", "bidirectional": True}),
        ("model.encoder=birnn", "recurrent", {"cell": "rnn", "bidirectional": True}),
        ("model.encoder=CNN", "convolutional", {}),
        ("model.encoder=convs2s", "convolutional", {}),
        ("model.encoder=multi-head", "transformer", {}),
        ("model.encoder=Transformer", "transformer", {}),
        ("model.encoder={name: sutskever, num_layers: 2}", "recurrent", {"reverse": True, "num_layers": 2}),
        ("model.decoder=luong", "recurrent", {"order": "luong"}),
        ("model.decoder=average attention", "transformer", {"history": "average"}),
        ("model.encoder={name: recurrent, cell: LSTM}", "recurrent", {"cell": "lstm"}),
        ("model.encoder={name: recurrent, cell: elman}", "recurrent", {"cell": "rnn"}),
        ("model.encoder={name: sequential, encoders: [cnn]}", "sequential", {"encoders": ["convolutional"]}),
    ],
)
def test_a_name_of_the_literature_chooses_its_row(change, row, settings):
    place = change.partition("=")[0].removeprefix("model.")
    found = as_values(read_settings(Experiment, read_changes([change])).model.settings[place])
    assert found["name"] == row
    for name, wanted in settings.items():
        value = found[name]
        names = [part["name"] for part in value] if isinstance(value, list) else value
        assert (names["name"] if isinstance(names, dict) else names) == wanted


@pytest.mark.parametrize("name", [*ENCODERS.aliases(), *ENCODERS])
def test_every_name_of_an_encoder_can_be_written(name):
    assert read_settings(Experiment, read_changes([f"model.encoder={name}"])).model.settings["encoder"].name in ENCODERS


@pytest.mark.parametrize("name", [*DECODERS.aliases(), *DECODERS])
def test_every_name_of_a_decoder_can_be_written(name):
    assert read_settings(Experiment, read_changes([f"model.decoder={name}"])).model.settings["decoder"].name in DECODERS


@pytest.mark.parametrize("name", [*RECURRENT.aliases(), *RECURRENT])
def test_every_name_of_a_cell_can_be_written(name):
    encoder = read_settings(
        Experiment, read_changes([f"model.encoder={{name: recurrent, cell: {name}}}"])
    ).model.settings["encoder"]
    assert encoder.settings["cell"].name in RECURRENT


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
