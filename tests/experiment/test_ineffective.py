"""What changes nothing is told in a line, and what changes something is not."""

import warnings

import pytest

from regard.experiment import read_experiment

DEEP = "{name: recurrent, hidden_dim: 4, num_layers: 2"
BYTENET = "{name: bytenet, hidden_dim: 4, num_layers: 2"


@pytest.fixture
def told(tmp_path):
    """The warnings of an experiment with these changes."""
    for name in ("train.en", "train.de"):
        (tmp_path / name).write_text("one\ntwo\nthree\n")

    def warned(*changes: str, text: bool = False) -> list[str]:
        files = [f"data.train.source={tmp_path / 'train.en'}", f"data.train.target={tmp_path / 'train.de'}"]
        files = ["task.name=language_model", f"data.train.text={tmp_path / 'train.en'}"] if text else files
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            read_experiment(None, [*files, *changes])
        return [str(one.message) for one in found]

    return warned


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (f"model.encoder={DEEP}, residual_from: 3}}", "model.encoder.residual_from: 3 changes nothing"),
        (f"model.decoder={DEEP}, residual_from: 3}}", "model.decoder.residual_from: 3 changes nothing"),
        (
            f"model.encoder={{name: parallel, encoders: [recurrent, {DEEP}, residual_from: 5}}]}}",
            "model.encoder.encoders.1.residual_from: 5 changes nothing",
        ),
        (f"model.encoder={BYTENET}, ratio: 0.5}}", "model.encoder.ratio: 0.5 with extra 0 changes nothing"),
        (
            "model.encoder={name: unfolded, ratio: 1, extra: -50}",
            "model.encoder.ratio: 1 with extra -50 changes nothing",
        ),
        (f"model.encoder={BYTENET}, dilations: [1, 400]}}", "model.encoder.dilations: blocks of 400 see only one word"),
        (
            "model.attention={score: bilinear, num_heads: 1, span: same_position}",
            "model.attention.score: 'bilinear' changes nothing where a query sees one key, and its 16,384 weights",
        ),
        (
            "model.self_attention={span: {name: window, pattern: dilated, dilation: 9, radius: 3}}",
            "model.self_attention.span.dilation: 9 is more than the radius of 3, so each word sees itself alone",
        ),
        (
            "model.self_attention={span: {name: window, pattern: sparse, dilation: 9, radius: 3}}",
            "model.self_attention.span.dilation: 9 is more than the radius of 3, so this is the pattern 'band'",
        ),
    ],
)
def test_what_changes_nothing_is_told(told, change, line):
    found = told(change)
    assert len(found) == 1 and found[0].startswith(line)


@pytest.mark.parametrize(
    "change",
    [
        f"model.encoder={DEEP}, residual_from: 2}}",
        f"model.encoder={BYTENET}, ratio: 1, extra: 0}}",
        f"model.encoder={BYTENET}, ratio: 1.5, extra: -2}}",
        f"model.encoder={BYTENET}, dilations: [1, 16, 4000]}}",  # two layers take the first two
        f"model.encoder={BYTENET}, kernel: 1, dilations: [4000]}}",
        "model.self_attention={span: {name: window, pattern: dilated, dilation: 3, radius: 3}}",
        "model.attention={score: uniform, num_heads: 1, span: same_position}",
        "model.attention={score: bilinear, num_heads: 1, span: same_position, weighting: sigmoid}",
    ],
)
def test_what_changes_something_is_not_told(told, change):
    assert told(change) == []


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        (["text.shared=false"], "text.shared changes nothing"),
        (
            ["evaluation.metrics=bleu"],
            "evaluation.metrics changes nothing: 'language_model' is evaluated by bits_per_character, ",
        ),
        (["model.decoder={name: recurrent, source_context: final}"], "model.decoder.source_context changes nothing"),
        (["task.window=200", "training.batch_tokens=100"], "training.batch_tokens=100 is less than one window"),
    ],
)
def test_what_a_language_model_has_no_use_for_is_told(told, changes, line):
    found = told(*changes, text=True)
    assert len(found) == 1 and found[0].startswith(line)
    assert told("task.window=100", "training.batch_tokens=100", "model.decoder.num_layers=1", text=True) == []
