"""The name of a mechanism changes what it stands for and nothing else, wherever and however it is given."""

from pathlib import Path

import pytest
from networks import build_translator

from regard.config import read_settings
from regard.errors import ConfigError
from regard.experiment import PARTS, Experiment, load_experiment, read_experiment
from regard.experiment.complete_settings import read_changes
from regard.experiment.names import look_up

RECURRENT = "{name: recurrent, hidden_dim: 16}"
FILE = f"model: {{dim: 16, encoder: {RECURRENT}, decoder: {RECURRENT}, attention: {{score: additive, gate: true}}}}"
WAYS = {
    "text": "model.attention={name}",
    "name": "model.attention.name={name}",
    "group": "model.attention={{name: {name}}}",
    "model": "model={{attention: {name}}}",
}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    for name in ("a.en", "a.de"):
        (tmp_path / name).write_text("one\ntwo\n" * 20, encoding="utf-8")
    path = tmp_path / "config.yaml"
    path.write_text(
        f"{FILE}\ndata: {{train: {{source: {tmp_path}/a.en, target: {tmp_path}/a.de}}}}\n", encoding="utf-8"
    )
    return path


def faults(config: Path, *changes: str) -> list[str]:
    with pytest.raises(ConfigError) as told:
        build(read_experiment(config, changes))
    return str(told.value).splitlines()


def build(experiment: Experiment) -> Experiment:
    build_translator(experiment.model.settings, 9, 9)
    return experiment


@pytest.mark.filterwarnings("ignore:attention ")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["hard", "local_m", "local_p", "restricted", "sparse", "monotonic", "none", "ntm"])
def test_a_name_keeps_the_rest_of_the_group_of_the_file(config, name, way):
    attention = build(read_experiment(config, [WAYS[way].format(name=name)])).model.settings["attention"]
    assert (attention.score.name, attention.gate) == ("additive", True)
    (said,) = look_up(name)[0].socket.items()
    spelt = read_experiment(config, [f"model.attention.{said[0]}={_flow(said[1])}"]).model.settings["attention"]
    assert attention == spelt


def _flow(value) -> str:
    return str(value).replace("'", "")


def test_a_name_in_a_file_is_laid_on_the_defaults(config):
    said = config.read_text(encoding="utf-8").replace("{score: additive, gate: true}", "stochastic_hard")
    config.write_text(said.replace("recurrent, hidden_dim: 16", "transformer"), encoding="utf-8")
    attention = read_experiment(config).model.settings["attention"]
    assert (attention.weighting.name, attention.score.name, attention.num_heads) == ("hard", "scaled_dot", 4)


@pytest.mark.filterwarnings("ignore:attention ")
@pytest.mark.parametrize("name", ["bahdanau", "scaled_luong"])
@pytest.mark.parametrize(
    ("before", "after", "heads"),
    [
        ((), (), 1),
        (("model.attention.num_heads=2",), (), 2),
        ((), ("model.attention.num_heads=2",), 2),
        (("model.attention.gate=true",), ("model.attention.name=multihead",), 8),
    ],
)
def test_a_name_of_recurrent_attention_has_one_head_by_default(config, name, before, after, heads):
    attention = read_experiment(config, [*before, f"model.attention={name}", *after]).model.settings["attention"]
    assert (attention.num_heads, type(attention.num_heads)) == (heads, int)


def test_heads_of_a_file_outlast_a_name(config):
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace("{score: additive, gate: true}", "{name: bahdanau, num_heads: 2}"), "utf-8")
    for change in ("bahdanau", "{name: normed_bahdanau}"):
        attention = read_experiment(config, [f"model.attention={change}"]).model.settings["attention"]
        assert (attention.score.name, attention.num_heads) == ("additive", 2)


def test_a_score_of_recurrent_attention_changes_no_heads(config):
    config.write_text(config.read_text(encoding="utf-8").replace("recurrent, hidden_dim: 16", "transformer"), "utf-8")
    attention = read_experiment(config, ["model.attention.score=bahdanau"]).model.settings["attention"]
    assert (attention.score.name, attention.num_heads) == ("additive", 4)


def test_a_name_says_no_more_than_it_means(config):
    heads = ["model.attention.score=dot", "model.attention=single_head", "model.attention.project=true"]
    attention = read_experiment(config, heads).model.settings["attention"]
    assert (attention.score.name, attention.num_heads, attention.project, attention.gate) == ("dot", 1, True, True)


def test_what_was_saved_is_changed_by_a_name_likewise(config, tmp_path):
    read_experiment(config).save(tmp_path / "saved.yaml")
    attention = load_experiment(tmp_path / "saved.yaml", ["model.attention=restricted"]).model.settings["attention"]
    assert (attention.score.name, attention.span[0].name, attention.gate) == ("additive", "window", True)


@pytest.mark.parametrize(
    ("change", "chosen"),
    [
        ("score=bahdanau", "additive"),
        ("score=scaled_luong", "bilinear"),
        ("span=restricted", "window"),
        ("span=[causal, local_p]", "causal"),
        ("weighting=sparse_softmax", "sparsemax"),
        ("score={name: bahdanau, hidden_dim: 4}", "additive"),
    ],
)
def test_a_part_is_known_by_its_other_names(config, change, chosen):
    attention = read_experiment(config, [f"model.attention.{change}"]).model.settings["attention"]
    part = getattr(attention, change.partition("=")[0])
    assert (part if hasattr(part, "name") else part[0]).name == chosen


@pytest.mark.parametrize("kind", ["score", "span", "weighting"])
def test_every_name_printed_beside_a_part_works_there(kind):
    for name, wanted in PARTS[kind].aliases().items():
        experiment = read_settings(Experiment, read_changes([f"model.attention.{kind}={name}"]))
        part = getattr(experiment.model.settings["attention"], kind)
        found = part[0] if kind == "span" else part
        assert (found.name, found.settings | wanted.settings) == (wanted.name, found.settings)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("attention.score=hard", "it is a weighting: weighting: hard"),
        ("attention.weighting=general", "it is a score: score: bilinear"),
        ("attention.score=pointer", "model.head=pointer"),
        ("attention.score=multihead", "a name of the attention itself"),
        ("attention.score=self", "a text that attends to itself"),
        ("attention=[luong, local_p]", "together: {name: luong, span: local_predictive}"),
        ("attention=luong+local_p", "together: {name: luong, span: local_predictive}"),
        ("attention=", "model.decoder.source_context=final"),
        ('attention=""', "model.decoder.source_context=final"),
        ("attention=5", "for example bahdanau"),
        ("position=rotary", "model.self_attention={score: rotary}"),
        ("position=none", "model.position=null"),
        ("attention.num_heads=3", "model.attention.num_heads: 3 heads"),
        ("attention.span={name: window, dilation: 2}", "model.attention.span.dilation: is 2"),
    ],
)
def test_a_fault_names_the_setting_and_what_to_write_instead(config, change, told):
    (line,) = faults(config, f"model.{change}")
    assert line.startswith("model.") and told in line


def test_weights_that_may_be_negative_are_no_shares(config):
    (line,) = faults(config, "model.head=pointer", "model.attention.weighting=unnormalised")
    assert line.startswith("model.attention.weighting: weights by 'unnormalised' may be negative")
    build(read_experiment(config, ["model.head=pointer", "model.attention.weighting=sigmoid"]))


def test_an_attention_that_the_model_does_not_have_is_told_of(config):
    with pytest.warns(UserWarning, match="^model.self_attention changes nothing") as told:
        read_experiment(config, ["model.self_attention.num_heads=7"])
    assert len(told) == 1
    with pytest.warns(UserWarning, match="^model.attention changes nothing"):
        read_experiment(config, ["model.decoder.source_context=final"])


def test_a_name_of_two_meanings_is_told_of_once_and_never_before_a_fault(config):
    with pytest.warns(UserWarning, match="taken as") as told:
        read_experiment(config, ["model.attention=general"])
    assert len(told) == 1
    assert len(faults(config, "model.attention=general", "model.dim=x")) == 1


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("penalties={name: overlap, weight: -1}", "penalties.weight: must be at least 0, not -1"),
        ("objective={name: reinforce, reward: -1}", "objective.reward: must be at least 0, not -1"),
        ("model.attention.weighting={name: monotonic, noise: -1}", "weighting.noise: must be at least 0, not -1"),
        ("model.attention.span={name: local_predictive, radius: 0}", "span.radius: must be at least 1, not 0"),
    ],
)
def test_numbers_that_mean_nothing_are_refused(config, change, told):
    (line,) = faults(config, change)
    assert told in line


def test_one_attention_may_be_named_without_a_list(config):
    (penalty,) = read_experiment(config, ["penalties={name: overlap, attentions: decoders.*.cross}"]).penalties
    assert penalty.settings["attentions"] == ("decoders.*.cross",)
