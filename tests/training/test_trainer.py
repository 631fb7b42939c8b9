"""An unbroken training and one that is broken off anywhere are the same training, to the last bit."""

import os
import shutil
import signal

import pytest
import torch
from streaming import batch_at
from two_turns import TURNS, CriticObjective

from regard.objectives import Context, LikelihoodObjective
from regard.registry import Choice
from regard.training import checkpoint as files
from regard.training.checkpoint import FINAL
from regard.training.interrupt import Interrupted
from regard.training.progress import Progress
from regard.training.settings import TrainingSettings
from regard.training.trainer import Trainer

CLOCK_READINGS = ("seconds", "core_seconds", "validation_seconds")  # of a state
UPDATES = 12
SETTINGS = {
    "max_updates": UPDATES,
    "accumulate": 2,
    "schedule": Choice("plateau", {"patience": 1, "warmup": 3}),
    "schedules": {"objective.label_smoothing": Choice("linear", {"updates": 9})},
    "validate_every": 3,
    "metric": "loss",
    "keep_best": 2,
    "average": 2,
    "log_every": 5,
    "precision": "float32",
    "workers": 0,
}


def ask_to_end():
    os.kill(os.getpid(), signal.SIGTERM)


class Breaking:
    """Batches, and somebody who asks for an end when one of them is taken."""

    def __init__(self, batches, at):
        self.batches, self.at = batches, at

    def stream(self, start, **settings):
        for number, one in enumerate(self.batches.stream(start, **settings), 1):
            if number == self.at:
                ask_to_end()
            yield one


class Losses:
    """A validation by two batches; somebody may ask for an end in the middle of the k-th."""

    def __init__(self, model, batches, at=None):
        self.model, self.at, self.calls = model, at, 0
        self.batches = [batch_at(batches(route="translate"), 0, number) for number in range(2)]

    def __call__(self, should_stop):
        self.calls += 1
        total = torch.rand(()).item() / 1000  # an answer that is drawn, as some searches do
        for number, batch in enumerate(self.batches):
            if should_stop():
                return {}
            with torch.inference_mode():
                total += float(self.model.nll(batch).sum())
            if number == 0 and self.calls == self.at:
                ask_to_end()
        return {"loss": round(total, 0)}  # coarse, so that some validations are no better


def asking(take, at):
    """Somebody asks for an end in the middle of the k-th update."""
    calls = []

    def update(*arguments):
        calls.append(arguments)
        if len(calls) == at:
            ask_to_end()
        return take(*arguments)

    return update


@pytest.fixture(scope="module", params=["one corpus", "two corpora and turns"])
def kind(request, batches, mixed):
    """Stream, objective and settings: the latter with a stream in drawn order, whose sources each epoch makes noisy."""
    if request.param == "one corpus":
        return batches, LikelihoodObjective, {}
    return mixed, CriticObjective, {"turns": TURNS}


@pytest.fixture(scope="module")
def trainer(tiny, batches, kind):
    stream, objective, settings = kind

    def make(run, *, batch=None, update=None, validation=None, **changes):
        run.mkdir(exist_ok=True)
        model = tiny()
        made = Trainer(
            model,
            objective(Context(model)),
            stream() if batch is None else Breaking(stream(), batch),
            settings=TrainingSettings(**{**SETTINGS, **settings, **changes}),
            run=run,
            validate=Losses(model, batches, validation),
            progress=Progress(run, quiet=True),
        )
        if update is not None:
            made.updater.update = asking(made.updater.update, update)
        return made

    return make


@pytest.fixture
def differences(lines):
    """Two runs → in what they differ: weights, optimizers, generators, states, log and end."""

    def compare(one, other):
        found = [] if lines(one) == lines(other) else ["metrics.jsonl"]
        found += [] if (one / FINAL).read_text() == (other / FINAL).read_text() else [FINAL]
        names, others = ({path.name for path in (run / files.FOLDER).iterdir()} for run in (one, other))
        found += sorted(names ^ others)
        for name in sorted(names & others):
            mine, yours = (files.load_checkpoint(run / files.FOLDER / name) for run in (one, other))
            for part in ("model", "objective", "optimizers", "generators"):
                found += [f"{name} {part} {key}" for key in unequal(getattr(mine, part), getattr(yours, part))]
            unsaid = mine.state.get("due") or yours.state.get("due")  # saved before a validation that came at once
            if not unsaid and timeless(mine.state) != timeless(yours.state):
                found.append(f"{name} state")
        return found

    return compare


def unequal(tensors, others):
    return [
        key for key in sorted({*tensors, *others})
        if key not in tensors or key not in others or not torch.equal(tensors[key], others[key])
    ]  # fmt: skip


def timeless(state):
    """A state without what a clock tells, or what is as long as that."""
    kept = {name: value for name, value in state.items() if name not in (*CLOCK_READINGS, "metrics")}
    return {**kept, "window": {**state.get("window", {}), "spent": None}}


@pytest.fixture(scope="module")
def unbroken(trainer, tmp_path_factory):
    run = tmp_path_factory.mktemp("unbroken") / "run"
    trainer(run).prepare().train()
    return run


@pytest.fixture(scope="module")
def short_of_memory(trainer):
    """Of trainings whose batches do not fit."""

    def make(run, **settings):
        made = trainer(run, **settings)
        forward = made.updater._forward

        def limited(batch, turn):
            if batch.count > 30:
                torch.empty(2**60, dtype=torch.uint8)
            return forward(batch, turn)

        made.updater._forward = limited
        return made

    return make


def some(numbers, quick):
    """Numbers to break off at; those that are not quick are slow, and a run that is broken off often meets them too."""
    return [pytest.param(one, marks=[] if one in quick else pytest.mark.slow) for one in numbers]


@pytest.mark.parametrize("update", some(range(1, UPDATES + 1), (1, 3, 5, 8, UPDATES)))
def test_broken_off_after_an_update(trainer, differences, unbroken, tmp_path, update):
    run = tmp_path / "broken"
    with pytest.raises(Interrupted, match=f"saved after update {update}$"):
        trainer(run, batch=2 * update).prepare().train()
    trainer(run, workers=update % 3).prepare(resume=True).train()
    assert differences(run, unbroken) == []


def test_broken_off_again_and_again(trainer, differences, unbroken, tmp_path):
    run = tmp_path / "often"
    for update in range(1, UPDATES + 1):
        with pytest.raises(Interrupted, match=f"saved after update {update}$"):
            trainer(run, update=1).prepare(resume=update > 1).train()
    trainer(run).prepare(resume=True).train()
    assert differences(run, unbroken) == []


@pytest.mark.parametrize("validation", some(range(1, 6), (1, 3, 5)))
def test_broken_off_in_a_validation(trainer, differences, unbroken, tmp_path, validation):
    """The last one is that of the averaged weights."""
    run = tmp_path / "broken"
    with pytest.raises(Interrupted):
        trainer(run, validation=validation).prepare().train()
    with pytest.raises(Interrupted):
        trainer(run, validation=1).prepare(resume=True).train()
    trainer(run).prepare(resume=True).train()
    assert differences(run, unbroken) == []


def test_workers_do_not_matter(trainer, differences, unbroken, tmp_path):
    run = tmp_path / "ahead"
    trainer(run, workers=2).prepare().train()
    assert differences(run, unbroken) == []


def test_a_run_that_had_ended_goes_on_as_if_it_had_not(trainer, differences, tmp_path):
    """Also where the last update was judged between two validations."""
    schedule = Choice("plateau", {"patience": 1, "warmup": 1})  # which no limit here shortens
    trainer(tmp_path / "whole", schedule=schedule).prepare().train()
    for ended in (4, 9, 11):
        run = tmp_path / f"{ended}"
        trainer(run, max_updates=ended, schedule=schedule).prepare().train()
        trainer(run, schedule=schedule).prepare(resume=True).train()
        assert differences(run, tmp_path / "whole") == [], ended


def test_broken_off_while_the_last_update_is_judged(trainer, differences, tmp_path):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    trainer(whole, max_updates=7).prepare().train()
    with pytest.raises(Interrupted, match="saved after update 7"):
        trainer(broken, max_updates=7, validation=3).prepare().train()
    trainer(broken, max_updates=7).prepare(resume=True).train()
    assert differences(broken, whole) == []


def test_a_run_that_has_ended_ends_again_the_same(trainer, differences, unbroken, tmp_path):
    run = shutil.copytree(unbroken, tmp_path / "again")
    trainer(run).prepare(resume=True).train()
    assert differences(run, unbroken) == []


@pytest.mark.parametrize("update", some((1, 3, 6), (3,)))
def test_batches_halved_for_want_of_memory_stay_so_when_resumed(short_of_memory, differences, tmp_path, capfd, update):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    short_of_memory(whole).prepare().train()
    assert "pieces, whose gradients are summed" in capfd.readouterr().err
    with pytest.raises(Interrupted):
        short_of_memory(broken, update=update).prepare().train()
    short_of_memory(broken).prepare(resume=True).train()
    assert differences(broken, whole) == []
