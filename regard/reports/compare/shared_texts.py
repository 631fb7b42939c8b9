"""The texts of a comparison: all contenders learn from the same ones, and are judged on the same ones."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from regard.data.columns import small_columns
from regard.errors import ConfigError, DataError, Fault
from regard.experiment import DataSettings, Experiment
from regard.reports.compare.plan import Contender
from regard.runs.resuming import origins_of
from regard.runs.texts import HeldOut, held_out, part_reader, test_examples
from regard.tasks import TASKS, Examples


class TextOrigins:
    """What contenders learn from, by content. Files named alike are read once."""

    def __init__(self) -> None:
        self._known: list[tuple[DataSettings, dict[str, Any]]] = []

    def of(self, one: Contender) -> dict[str, Any]:
        """The texts of a training, with the settings that leave out some of them."""
        data = one.experiment.data
        for known, found in self._known:
            if known == data:
                return found
        found = with_settings(origins_of(one.experiment), held_out(one.experiment), data.max_length)
        self._known.append((data, found))
        return found


def with_settings(origins: Mapping[str, Any], shares: HeldOut, max_length: int) -> dict[str, Any]:
    """The origins of a run, with what leaves out some of its training texts."""
    train = {**origins["train"], "held_out": shares, "max_length": max_length}
    return dict.fromkeys(("train", "dev")) | {**origins, "train": train}


def common_test(contenders: Sequence[Contender], origins: TextOrigins, *, any_data: bool) -> Examples:
    """The sentences that all are judged on. Raises ConfigError of all that is not the same for all.

    With `any_data` they may learn from other texts, but are still judged on the same ones.
    """
    first, *others = _by_data(contenders)
    test, texts = _test(first.experiment), origins.of(first)
    if test is None:
        named = [f"data.test.{column}" for column in first.experiment.columns]
        hint = " ".join(f"{name}=FILE" for name in named)
        raise ConfigError(named[0], f"must be given: '{first.name}' names no test part to be judged on", hint)
    faults = []
    for other in others:
        if _test(other.experiment) != test:
            faults.append(_other_texts("test", "is judged on", first, other, ""))
        if not any_data:
            their = origins.of(other)
            parts = [part for part in {**texts, **their} if texts.get(part) != their.get(part)]
            faults += [_other_texts(part, "learns from", first, other, ", or --any-data") for part in parts]
    if faults:
        raise ConfigError.of(faults)
    return test


def fold_tests(contenders: Sequence[Contender], seeds: int) -> list[Examples]:
    """The test part of each fold that is trained; [] without folds. Raises DataError for an empty one."""
    first, found = contenders[0].experiment, []
    if first.data.folds is None:
        return []
    for fold in range(1, seeds + 1):
        test = _test(replace(first, data=replace(first.data, fold=fold)))
        if test is None:
            raise DataError("data.folds", f"fold {fold} of {first.data.folds} has no example", hint="fewer folds")
        found.append(test)
    return found


def _test(experiment: Experiment) -> Examples | None:
    """The test part of a contender. What of it is judged depends on the settings of the task alone."""
    columns = small_columns(experiment.columns, shared=experiment.text.shared)
    return test_examples(experiment, TASKS.build(experiment.task, columns))


def _by_data(contenders: Sequence[Contender]) -> Iterator[Contender]:
    """The first contender of each way to say where the texts are."""
    seen: list[DataSettings] = []
    for one in contenders:
        if one.experiment.data not in seen:
            seen.append(one.experiment.data)
            yield one


def _other_texts(part: Any, verb: str, first: Contender, other: Contender, more: str) -> Fault:
    problem = f"'{other.name}' {verb} {_files(other, part)}, '{first.name}' {verb} {_files(first, part)}"
    files = " ".join(f"data.{part}.{column}=FILE" for column in first.experiment.columns)
    return Fault(f"data.{part}", problem, f"say the same for all: {files}{more}")


def _files(one: Contender, part: Any) -> str:
    reader = part_reader(one.experiment, part)
    if reader is None:
        return "no such file"
    names = " and ".join(map(str, reader.files)) or reader.place
    if part == "train":
        share, longest = sum(held_out(one.experiment)[:2]), one.experiment.data.max_length
        names += f" up to {longest} pieces" + (f" without a share of {share:g}" if share else "")
    return names
