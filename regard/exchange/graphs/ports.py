"""Tensors between the graphs of a translator: their names, their free axes, and which of them a step changes.

Names are those of Hugging Face's optimum where it has one, such as past_key_values.0.decoder.key. Rows come first in
every tensor.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor

from regard.models.model import ROUTE
from regard.models.translator import Translator, Writing
from regard.ops.plain import plain
from regard.pieces import BOS, EOS
from regard.records import Batch, Encoded, Sequences


def leaves(tree: Any, path: str = "") -> Iterator[tuple[str, Tensor | int]]:
    """Yield tensors and counters of nested tuples with their paths, such as `layers.0.own.keys`."""
    if isinstance(tree, Tensor) or type(tree) is int:
        yield path, tree
    elif isinstance(tree, tuple):
        for name, one in zip(_names(tree), tree, strict=True):
            yield from leaves(one, f"{path}.{name}".lstrip("."))


def tensors(tree: Any) -> dict[str, Tensor]:
    """Return the tensors of nested tuples by their paths."""
    return {path: one for path, one in leaves(tree) if isinstance(one, Tensor)}


def rebuilt(tree: Any, values: Mapping[str, Any], path: str = "") -> Any:
    """Return nested tuples with these values in the places of tensors and counters, by path; others stay."""
    if isinstance(tree, Tensor) or type(tree) is int:
        return values.get(path, tree)
    if not isinstance(tree, tuple):
        return tree
    items = [rebuilt(one, values, f"{path}.{name}".lstrip(".")) for name, one in zip(_names(tree), tree, strict=True)]
    return type(tree)(*items) if hasattr(tree, "_fields") else tuple(items)


def _names(tree: Any) -> Any:
    return getattr(tree, "_fields", range(len(tree)))


BATCH_AXIS, SOURCE_AXIS, PAST_AXIS = "batch_size", "encoder_sequence_length", "past_decoder_sequence_length"
LAST_STATES, STATES = "last_hidden_state", "encoder_hidden_states"  # the same going out and coming in
WORDS_READ = 4  # that the state of the examples has read
_EXAMPLES = ((3, 5), (2, 7))  # rows and pieces of two sources, which show the axes that are free


class GraphPort(NamedTuple):
    """A tensor that goes into a graph or comes out of it."""

    name: str
    shape: tuple[int | str, ...]  # a free axis has a name
    example: Tensor


class States(NamedTuple):
    """Tensors from graph to graph, with an example of each."""

    source: Batch
    encoded: Encoded
    written: Writing  # after WORDS_READ words
    vocabulary: int  # of the target
    encoder: tuple[GraphPort, ...]
    fixed: tuple[GraphPort, ...]  # of a state: what no step changes
    moving: tuple[GraphPort, ...]
    masks: frozenset[str]  # paths of a state that hold the mask of the source
    counters: Mapping[str, int]  # path → its value after WORDS_READ words
    paths: Mapping[str, str]  # name → path, of encoder and state

    @property
    def growing(self) -> tuple[str, int] | None:
        """The name and the axis of a tensor that grows by one place a word; None: there is none."""
        return next(((one.name, one.shape.index(PAST_AXIS)) for one in self.moving if PAST_AXIS in one.shape), None)


class _Watched:
    """Encoder output that notes which of its fields are read."""

    def __init__(self, encoded: Encoded, used: set[str]) -> None:
        self._encoded, self._used = encoded, used

    def __getattr__(self, name: str) -> Any:
        if name == "read":
            return self.states if self.values is None else self.values
        self._used.add(name)
        return getattr(self._encoded, name)


class _Example(NamedTuple):
    batch: Batch
    encoded: Encoded
    written: Writing
    later: Writing  # one word more
    used: frozenset[str]  # fields of the encoder's output that a decoder reads at its start
    kept: frozenset[str]  # those that the head reads
    vocabulary: int


def source_batch(ids: Tensor, mask: Tensor) -> Batch:
    """ids and mask (batch, source) → a batch of sources."""
    return Batch({"source": Sequences(ids, mask)}, ROUTE, torch.arange(ids.shape[0], device=ids.device), 1)


def states_of(model: Translator, vocabulary: int) -> States:
    """Run two examples, and note which axes differ between them, and what a step changes."""
    with torch.no_grad(), plain():
        one, other = (_run(model, *sizes, vocabulary) for sizes in _EXAMPLES)
    mask = one.batch.sequences("source").mask
    masks = frozenset(path for path, found in tensors(one.written).items() if _holds(found, mask))
    paths = {STATES: "states"}
    encoder = list[GraphPort]()
    elsewhere = tensors(other.encoded)
    for path, found in tensors(one.encoded).items():
        wanted = path.partition(".")[0] in one.used | one.kept
        if wanted and not (path == "mask" and _holds(found, mask)):
            name = LAST_STATES if path == "states" else f"encoder_{path}"
            paths[name] = path
            encoder.append(GraphPort(name, _shape(found, elsewhere[path], found), found))
    after, elsewhere = dict(leaves(one.later)), tensors(other.written)
    fixed, moving, counters = list[GraphPort](), list[GraphPort](), dict[str, int]()
    for path, value in leaves(one.written):
        if isinstance(value, int):
            counters |= {path: value} if after[path] != value else {}
        elif path not in masks and value.numel() and _is_read(path, one.kept):
            port = GraphPort(_name(path), _shape(value, elsewhere[path], cast(Tensor, after[path])), value)
            paths[port.name] = path
            (fixed if after[path] is value else moving).append(port)
    ports = tuple(encoder), tuple(fixed), tuple(moving)
    return States(one.batch, one.encoded, one.written, one.vocabulary, *ports, masks, counters, paths)


def _run(model: Translator, rows: int, pieces: int, vocabulary: int) -> _Example:
    """Encode a source of which one row is padded, since a mask that shows all would be left out, and write words."""
    ids = torch.arange(rows * pieces).view(rows, pieces) % (vocabulary - EOS - 1) + EOS + 1
    mask = torch.ones(rows, pieces, dtype=torch.bool)
    mask[0, -1] = False
    batch = source_batch(ids.masked_fill(~mask, 0), mask).to(model.device)
    route, encoded, used, kept = model.routes[ROUTE], model.encode(batch), set[str](), set[str]()
    model.decoders[route.decoder].start(cast(Encoded, _Watched(encoded, used)))
    state, word = model.start(batch), torch.full((rows, 1), BOS, device=model.device)
    if state.encoded is not None:
        watched = cast(Encoded, _Watched(encoded, kept))
        model.step(word, model.start(batch)._replace(encoded=watched))
    states, vocabulary = [state], 0
    for _ in range(WORDS_READ + 1):
        step, after = model.step(word, states[-1])
        states.append(cast(Writing, after))
        vocabulary, word = step.log_probs.shape[-1], word * 0 + EOS + 1
    return _Example(batch, encoded, states[-2], states[-1], frozenset(used), frozenset(kept), vocabulary)


def _is_read(path: str, kept: Iterable[str]) -> bool:
    """Return whether a step reads a tensor of a state: the mask and the encoder's output are there for some heads."""
    first, *rest = path.split(".")
    return first == "decoder" or (first == "encoded" and rest[0] in kept)


def _holds(one: Tensor, mask: Tensor) -> bool:
    """Return whether a tensor is the mask of the source, with axes of length 1 between its two."""
    return one.dtype == torch.bool and one.numel() == mask.numel() and bool((one.view(mask.shape) == mask).all())


def _shape(one: Tensor, other: Tensor, later: Tensor) -> tuple[int | str, ...]:
    """Name the axes that differ between sources, or grow with words."""
    found: list[int | str] = [*one.shape]
    for axis, size in enumerate(one.shape):
        if axis == 0:
            found[axis] = BATCH_AXIS
        elif later.shape[axis] != size:
            found[axis] = PAST_AXIS
        elif other.shape[axis] != size:
            found[axis] = SOURCE_AXIS
    return tuple(found)


def _name(path: str) -> str:
    """Return optimum's name of a tensor of a state, or one like it."""
    parts = path.removeprefix("decoder.").split(".")
    match parts:
        case ["layers", layer, "own", ("keys" | "values") as what]:
            return f"past_key_values.{layer}.decoder.{what.removesuffix('s')}"
        case ["source", "memories", layer, ("keys" | "values") as what]:
            return f"past_key_values.{layer}.encoder.{what.removesuffix('s')}"
    return f"past_state.{'.'.join(parts)}"
