"""Settings that are right and change nothing, or leave a part next to nothing to do: each is told in one line."""

from collections.abc import Iterator, Mapping
from typing import Any

from regard.experiment.parts import parts_in
from regard.experiment.settings import Experiment
from regard.models import AttentionSettings

OF_A_SOURCE = ("reads", "copy_past", "couplings", "merge", "alignment_layer")  # settings of decoders


def ineffective_settings(experiment: Experiment, given: Mapping[str, Any]) -> Iterator[str]:
    """Return a warning for each setting that changes nothing; `given` are the settings that a person wrote."""
    for where, choice in parts_in("model", experiment.model):
        yield from _of_a_part(where, choice.settings, _longest(experiment))
    for name, socket in experiment.model.settings.items():
        if isinstance(socket, AttentionSettings):
            for span in socket.span:
                yield from _of_a_span(f"model.{name}.span", span.settings)
    if len(experiment.columns) == 1:
        yield from _of_one_text(given)
    window, tokens = experiment.task.settings.get("window"), experiment.training.batch_tokens
    if window and tokens < window:
        yield f"training.batch_tokens={tokens} is less than one window, so each batch is one of {window} pieces"


def _of_a_part(place: str, settings: Mapping[str, Any], longest: int) -> Iterator[str]:
    layers, first = settings.get("num_layers", 1), settings.get("residual_from") or 0
    if first > layers:
        yield f"{place}.residual_from={first} changes nothing: the highest layer is number {layers}"
    ratio, extra = settings.get("ratio", 1), settings.get("extra", 0)
    if ratio <= 1 and extra <= 0 and (ratio, extra) != (1, 0):
        yield f"{place}: ratio {ratio:g} and extra {extra:g} change nothing: no source is made shorter"
    width = max(1, ratio) * longest + max(0, extra)
    far = [rate for rate in settings.get("dilations", ())[:layers] if rate >= width]
    if far and settings.get("kernel", 2) > 1:
        yield f"{place}.dilations: blocks of {far[0]} see one word alone: no text is longer than {longest} pieces"


def _of_a_span(place: str, settings: Mapping[str, Any]) -> Iterator[str]:
    radius, dilation = settings.get("radius", 0), settings.get("dilation", 1)
    if dilation > max(1, radius):
        shown = "each word sees itself alone" if settings.get("pattern") == "dilated" else "this is the pattern 'band'"
        yield f"{place}: dilation {dilation} is more than the radius of {radius}, so {shown}"


def _of_one_text(given: Mapping[str, Any]) -> Iterator[str]:
    """Settings of a source, where there is none."""
    if "shared" in given.get("text", {}):
        yield "text.shared changes nothing: there is one text, and one vocabulary"
    decoder = given.get("model", {}).get("decoder", {})
    for name in OF_A_SOURCE:
        if isinstance(decoder, Mapping) and name in decoder:
            yield f"model.decoder.{name} changes nothing: a language model has no source"


def _longest(experiment: Experiment) -> int:
    """Pieces of a text in training, its end counted."""
    return int(experiment.task.settings.get("window") or experiment.data.max_length + 1)
