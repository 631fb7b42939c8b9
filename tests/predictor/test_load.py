"""What of a trained run may be changed, and how that is said."""

import pytest

from regard import load
from regard.errors import CheckpointError, ConfigError


def test_a_change_that_stands_in_no_list_is_told(tmp_path):
    with pytest.raises(TypeError, match=r"one change: load\(run, \['decoding.search.size=3'\]\)"):
        load(tmp_path, "decoding.search.size=3")


@pytest.mark.parametrize("change", ["model.dim=3", "text.shared=false", "run=elsewhere", "format=1"])
def test_what_a_model_was_trained_with_cannot_change(tmp_path, change):
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, ["decoding.search.size=3", change])
    key = change.partition("=")[0]
    assert (
        str(caught.value) == f"{key}: cannot change in a trained model (only decoding.…, evaluation.… and device can)"
    )


@pytest.mark.parametrize("change", ["decoding.search.size=3", "decoding={}", "device=cpu", "evaluation.metrics=bleu"])
def test_what_a_trained_model_leaves_open(tmp_path, change):
    with pytest.raises(CheckpointError):  # there is no run, which is looked for once the changes are allowed
        load(tmp_path, [change])
