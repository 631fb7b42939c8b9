"""The state of training of earlier versions, by today's names."""

import pytest
import torch

from regard.data.streams import saved_place
from regard.training.checkpoint import upgraded_objective, upgraded_state
from regard.training.progress import LogWindow, TurnWindow

OLD = {
    "update": 7,
    "cursor": [1, 3],
    "seconds": 20.0,
    "core_seconds": 30.0,
    "best": {"ranked": [], "waited": 0},
    "driven": {"": {"scale": 0.5}, "objective.label_smoothing": {}},
    "metrics": 120,
    "window": {"loss": 6.0, "norm": 2.0, "tokens": 3, "updates": 2, "seconds": 1.0, "core_seconds": 2.0, "parts": {}},
    "due": False,
    "validated": 6,
}


def test_schedules_clocks_and_window_are_found_again():
    state = upgraded_state(OLD)
    assert (state["update"], state["metrics"], state["due"], state["validated"]) == (7, 120, False, 6)
    assert (state["seconds"], state["core_seconds"]) == (20.0, 30.0)
    assert (state["turns"], state["schedules"]) == ({"model": {"scale": 0.5}}, {"objective.label_smoothing": {}})
    assert saved_place(state) == {"epoch": 1, "index": 3}
    window = LogWindow()
    window.restore(state["window"])
    assert window.turns == {"model": TurnWindow(6.0, 2.0, 0.0, 3, 2, {})}
    assert window.values()["tokens_per_core_second"] == pytest.approx(1.5)


def test_what_the_first_version_did_not_count_is_guessed():
    first = {name: value for name, value in OLD.items() if name not in ("core_seconds", "validated")}
    first["window"] = {name: value for name, value in OLD["window"].items() if name != "core_seconds"}
    state = upgraded_state(first)
    assert (state["core_seconds"], state["validated"]) == (20.0, -1)
    window = LogWindow()
    window.restore(state["window"])
    assert window.spent.core == 1.0


def test_a_state_of_today_is_left_as_it_is():
    state = {"seconds": 1.0, "core_seconds": 1.0, "turns": {}}
    assert upgraded_state(state) is state


def test_copies_of_the_model_in_an_objective_are_left_out():
    names = ["model.head.weight", "objective.model.head.weight", "critic.weight", "critic.model.head.weight"]
    saved = {name: torch.zeros(1) for name in names}
    known = {"critic.weight", "critic.model.head.weight"}
    assert set(upgraded_objective(saved, {"head.weight"}, known)) == known
    assert set(upgraded_objective({"critic.weight": torch.zeros(1)}, {"weight"}, {})) == {"critic.weight"}
