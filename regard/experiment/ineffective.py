"""Settings that are right and change nothing, or leave a part next to nothing to do: each is told in one line."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from regard.config.warnings import Note
from regard.decoders import DECODERS
from regard.experiment.settings import Experiment


def ineffective_settings(experiment: Experiment, given: Mapping[str, Any], notes: Iterable[Note]) -> Iterator[str]:
    """Return a warning for each setting that changes nothing.

    `given` are the settings that a person wrote, `notes` what the parts of the model said while they were built.
    """
    window, tokens = experiment.task.settings.get("window"), experiment.training.batch_tokens
    longest = window or experiment.data.max_length + 1  # pieces of a text in training, its end counted
    told = {note.place: str(note) for note in reversed([*notes]) if longest <= note.beyond}
    yield from reversed(told.values())
    yield from unused_metrics(experiment, given)
    if len(experiment.columns) == 1:
        yield from _of_one_text(experiment, given)
    if window and tokens is not None and tokens < window:
        yield f"training.batch_tokens={tokens} is less than one window, so each batch is one of {window} pieces"


def unused_metrics(experiment: Experiment, given: Mapping[str, Any]) -> Iterator[str]:
    """Return a warning for metrics of texts, given to a task that writes none."""
    if "metrics" in given.get("evaluation", {}) and not experiment.task_class.answer.metrics():
        keys = ", ".join(one.key for one in experiment.task_class.measures(()))
        yield f"evaluation.metrics changes nothing: '{experiment.task.name}' is judged by {keys}"


def _of_one_text(experiment: Experiment, given: Mapping[str, Any]) -> Iterator[str]:
    """Settings of a source, where there is none."""
    if "shared" in given.get("text", {}):
        yield "text.shared changes nothing: there is one text, and one vocabulary"
    decoder = given.get("model", {}).get("decoder", {})
    choice = experiment.model.settings.get("decoder")
    row: Any = None if choice is None else DECODERS[choice.name]
    for name in () if row is None else row.of_source:
        if isinstance(decoder, Mapping) and name in decoder:
            yield f"model.decoder.{name} changes nothing: a language model has no source"
