"""What was measured before is not measured again, unless anything that it rests on has changed."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from regard.experiment import Experiment
from regard.registry import Choice
from regard.reports.compare import measure
from regard.reports.compare.measure import measured
from regard.reports.compare.plan import Contender, Planned
from regard.text import train_tokenizer

TEXTS = ["the man sees the house by the river", "a man reads the house", "the river sees a man"] * 20


@pytest.fixture
def planned(tmp_path) -> Planned:
    """A run that has been trained, as far as its folder tells."""
    run = Planned(Contender("a", Path("a.yaml"), (), Experiment()), 1, tmp_path / "a-seed1")
    run.path.mkdir()
    (run.path / "final.json").write_text("{}")
    return run


@pytest.fixture
def calls(compared, monkeypatch) -> list[str]:
    """The names of the runs that are measured from now on."""
    names: list[str] = []
    (found,) = compared({"a": 0.1}, seeds=1).rows[0].results

    def noted(planned, judge):
        names.append(planned.name)
        return found

    monkeypatch.setattr(measure, "_measure", noted)
    return names


def test_what_has_not_changed_is_read_again(planned, calls, judge):
    first, second = measured(planned, judge), measured(planned, judge)
    assert calls == ["a-seed1"]
    assert second._replace(statistics=[], curve=[]) == first._replace(statistics=[], curve=[])


def test_other_threads_another_version_or_another_device_are_measured_anew(planned, calls, judge, monkeypatch):
    measured(planned, judge)
    with monkeypatch.context() as patch:
        patch.setattr(torch, "get_num_threads", lambda: 64)
        measured(planned, judge)
    assert len(calls) == 2
    with monkeypatch.context() as patch:
        patch.setattr(measure, "version", lambda name: "0.0.0")
        measured(planned, judge)
    assert len(calls) == 3
    elsewhere = planned.contender._replace(experiment=replace(planned.contender.experiment, device="cuda"))
    measured(planned._replace(contender=elsewhere), judge)
    assert len(calls) == 4


@pytest.mark.parametrize("spoil", ["older", "half", "lacking"])
def test_a_result_of_an_older_version_or_half_of_one_is_measured_anew(planned, calls, judge, spoil):
    measured(planned, judge)
    kept = planned.path.parent / "results" / "a-seed1.json"
    values = json.loads(kept.read_text(encoding="utf-8"))
    if spoil == "half":
        kept.write_text(kept.read_text(encoding="utf-8")[:100], encoding="utf-8")
    else:
        del values["tokens_per_core_second"]
        kept.write_text(json.dumps({**values, **({"key": "old"} if spoil == "older" else {})}), encoding="utf-8")
    assert measured(planned, judge).tokens_per_core_second == 8000.0
    assert calls == ["a-seed1"] * 2


def test_words_are_told_by_the_tokens_that_training_counts():
    """A tokenizer that cuts words anew each time has more tokens a word in training than `encode` finds."""
    plain, sampled = (
        train_tokenizer(Choice("subwords", {"size": 300, "sampling": sampling}), TEXTS) for sampling in (0.0, 0.5)
    )
    by_word = [
        measure._tokens_per_word(SimpleNamespace(task=SimpleNamespace(target=one)), TEXTS) for one in (plain, sampled)
    ]
    tokens = sum(len(plain.encode(text)) + 1 for text in TEXTS)
    assert by_word[0] == tokens / sum(len(text.split()) for text in TEXTS)
    assert by_word[1] > 1.2 * by_word[0]
