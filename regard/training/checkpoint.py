"""Checkpoints: safetensors and JSON in a sealed folder that appears whole or not at all. No pickle."""

import json
import shutil
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple, Protocol

import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_bytes
from safetensors.torch import load_file, save_file
from torch import Tensor, nn, optim

from regard.config import parse_json
from regard.data.sealed import making, publish, seal, unseal
from regard.errors import CheckpointError
from regard.training.shards import Tensors, load_whole, sharded_like, whole
from regard.training.world import ONE_PROCESS, World

CHECKPOINT_FORMAT = 1
FOLDER = "checkpoints"
METRICS_FILE = "metrics.jsonl"
FINAL = "final.json"  # which of them to use, once training has ended
MODEL_FILE, OBJECTIVE_FILE, OPTIMIZERS_FILE, GENERATORS_FILE, STATE_FILE = (
    "model.safetensors", "objective.safetensors", "optimizers.safetensors", "generators.safetensors", "state.json",
)  # fmt: skip


class Saved(Protocol):
    """A part of training that changes from update to update, and is kept in each checkpoint."""

    def state(self) -> Mapping[str, Any]:
        """Return what JSON holds and `restore` takes."""
        ...

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a saved state."""
        ...


class Checkpoint(NamedTuple):
    """The content of a checkpoint, verified."""

    folder: Path
    model: Tensors
    objective: Tensors
    optimizers: Tensors
    generators: Tensors
    state: dict[str, Any]


class Content(NamedTuple):
    """The tensors of a checkpoint, whole, and what else there is to know of them."""

    model: Tensors
    objective: Tensors | None
    moments: Tensors
    groups: dict[str, Any]  # of each optimizer
    generators: Tensors


def content_of(
    model: nn.Module,
    objective: nn.Module | None = None,
    optimizers: Mapping[str, optim.Optimizer] | None = None,
    world: World = ONE_PROCESS,
) -> Content:
    """Collect what is to be saved. All processes call it together: each gives its shards and its generators."""
    groups, moments = {}, Tensors()
    for turn, optimizer in (optimizers or {}).items():
        kept = optimizer.state_dict()
        groups[turn] = kept["param_groups"]
        for number, values in kept["state"].items():
            moments |= {f"{turn}.{number}.{name}": whole(value) for name, value in values.items()}
    generators = {
        _generator(name, rank): state
        for rank, one in enumerate(world.gather(_generators()))
        for name, state in one.items()
    }
    kept_objective = None if objective is None else _whole(objective)
    return Content(_whole(model), kept_objective, moments, groups, generators)


def write(folder: Path, content: Content, state: Mapping[str, Any]) -> None:
    """Write a checkpoint. Raises CheckpointError where the disk does not take it; no other file is touched."""
    try:
        with making(folder) as made:
            aliases = _write(content.model, made / MODEL_FILE)
            if content.objective is not None:
                _write(content.objective, made / OBJECTIVE_FILE)
                _write(content.moments, made / OPTIMIZERS_FILE)
                _write(content.generators, made / GENERATORS_FILE)
            said = {**state, "groups": content.groups, "aliases": aliases}
            (made / STATE_FILE).write_text(json.dumps(said), encoding="utf-8")
            for path in made.iterdir():
                path.chmod(0o644)  # a server under another user reads it
            seal(made, {"format": CHECKPOINT_FORMAT, "torch": torch.__version__})
            publish(made, folder)
    except (OSError, SafetensorError) as error:
        raise CheckpointError(folder, f"could not be written: {error}", "is the disk full?") from error


def load_checkpoint(folder: Path, *, training: bool = True) -> Checkpoint:
    """Reads and verifies. Raises CheckpointError for what is missing, foreign, or not as it was written.

    Without `training` the weights alone are read and verified; the files that only training needs may be gone.
    """
    if not folder.is_dir():
        raise CheckpointError(folder, "there is no such checkpoint")
    content = unseal(folder, None if training else (MODEL_FILE, STATE_FILE))
    if not isinstance(content, dict):
        problem = "is damaged, cut short or no checkpoint: its files are not as its manifest says"
        raise CheckpointError(folder, problem, _instead(folder))
    if content.get("format") != CHECKPOINT_FORMAT:
        raise CheckpointError(folder, f"has format {content.get('format')}, this version reads {CHECKPOINT_FORMAT}")
    try:
        state = parse_json((folder / STATE_FILE).read_text(encoding="utf-8"))
        model = _model(folder, state)
        paths = (folder / name for name in (OBJECTIVE_FILE, OPTIMIZERS_FILE, GENERATORS_FILE))
        rest = [_read(path) if training and path.exists() else {} for path in paths]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, SafetensorError) as error:
        raise CheckpointError(folder, f"cannot be read: {_line(error)}") from error
    objective, optimizers, generators = rest
    return Checkpoint(folder, model, objective, optimizers, generators, state)


def weights_of(checkpoint: Checkpoint) -> Tensors:
    """Read the model's tensors of a checkpoint that was verified."""
    try:
        return _model(checkpoint.folder, checkpoint.state)
    except (OSError, SafetensorError) as error:
        raise CheckpointError(checkpoint.folder, f"cannot be read: {_line(error)}") from error


def load_model(model: nn.Module, checkpoint: Checkpoint) -> None:
    """Puts the weights into a model of the same settings."""
    try:
        load_whole(model, checkpoint.model)
    except RuntimeError as error:
        raise CheckpointError(checkpoint.folder, f"belongs to another model: {_line(error)}") from error


def load_training(
    checkpoint: Checkpoint, objective: nn.Module, optimizers: Mapping[str, optim.Optimizer], rank: int = 0
) -> None:
    """Puts back what only training needs: objective, optimizers and the generators of torch, those of a process."""
    try:
        known = objective.state_dict()
        load_whole(objective, upgraded_objective(checkpoint.objective, checkpoint.model, known))
        for turn, optimizer in optimizers.items():
            groups = checkpoint.state["groups"][turn]
            states = _states(
                checkpoint.optimizers, turn, [one for group in optimizer.param_groups for one in group["params"]]
            )
            optimizer.load_state_dict({"state": states, "param_groups": groups})
        torch.set_rng_state(checkpoint.generators[_generator("cpu", rank)])
    except (RuntimeError, ValueError, KeyError, IndexError) as error:
        problem = f"belongs to another objective or optimizer: {_line(error)}"
        raise CheckpointError(checkpoint.folder, problem) from error
    cuda = checkpoint.generators.get(_generator("cuda", rank))
    if torch.cuda.is_available() and cuda is not None:
        torch.cuda.set_rng_state(cuda)


def steps(run: Path) -> list[Path]:
    """The folders of numbered checkpoints, latest first; not verified."""
    return sorted((run / FOLDER).glob("step-*"), reverse=True)


def step_folder(run: Path, update: int) -> Path:
    """Return the folder of the checkpoint after an update."""
    return run / FOLDER / f"step-{update:08d}"


def latest_valid(run: Path, *, training: bool = True) -> tuple[Checkpoint, list[str]]:
    """The latest checkpoint that is whole, and what is wrong with later ones. CheckpointError where none is left."""
    warnings: list[str] = []
    for folder in steps(run):
        try:
            return load_checkpoint(folder, training=training), warnings
        except CheckpointError as error:
            warnings.append(f"{folder}: {error.problem}")
    raise CheckpointError(run, "holds no whole checkpoint", "; ".join(warnings) or "training has not saved one yet")


def remove(folder: Path) -> None:
    """Deletes a checkpoint; it stops being one at once, by its manifest."""
    (folder / "manifest.json").unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)


def clear(run: Path) -> None:
    """Deletes what a run that was killed while it saved has left behind."""
    for made in (run / FOLDER).glob(".*"):
        shutil.rmtree(made, ignore_errors=True)


def _instead(folder: Path) -> str:
    """Say what to do without a checkpoint."""
    run = folder.parent.parent
    others = any(other != folder for other in steps(run))
    return f"regard train --run {quote(str(run))} --resume takes another one" if others else "it is the only one"


def _line(error: Exception) -> str:
    """Return the line of an error with its cause."""
    return (str(error).strip().splitlines() or [type(error).__name__])[-1].strip()


def _states(moments: Tensors, turn: str, parameters: Sequence[Tensor]) -> dict[int, Tensors]:
    """Return the state of an optimizer, by the number of the parameter, sharded as the parameter is."""
    states: dict[int, Tensors] = {}
    for name, value in moments.items():
        owner, number, field = name.rsplit(".", 2)
        if owner == turn:
            states.setdefault(int(number), {})[field] = sharded_like(value, parameters[int(number)])
    return states


def _whole(module: nn.Module) -> Tensors:
    return {name: whole(tensor) for name, tensor in module.state_dict().items()}


def _generator(name: str, rank: int) -> str:
    """The name of a process's generator; the first one's are named as those of a process alone."""
    return f"{name}.{rank}" if rank else name


def _generators() -> Tensors:
    found = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        found["cuda"] = torch.cuda.get_rng_state()
    return found


def _model(folder: Path, state: Mapping[str, Any]) -> Tensors:
    """Tensors of the model, tied ones under each of their names."""
    found = _read(folder / MODEL_FILE)
    return {**found, **{alias: found[name] for alias, name in state["aliases"].items()}}


def _read(path: Path) -> Tensors:
    """The tensors of a file. safetensors opens none by a name that is not UTF-8: of that the bytes are read."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return load_bytes(path.read_bytes())
    return load_file(path)


def _write(tensors: Mapping[str, Tensor], path: Path) -> dict[str, str]:
    """Each storage once: tied tables are saved under their first name, the others are returned as aliases of it."""
    kept: Tensors = {}
    aliases, seen, storages = {}, dict[Any, str](), set[int]()
    for name, tensor in tensors.items():
        key = (tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype)
        if tensor.numel() and key in seen:
            aliases[name] = seen[key]
            continue
        seen[key] = name
        shared = tensor.untyped_storage().data_ptr() in storages  # another view of a storage is written out
        storages.add(tensor.untyped_storage().data_ptr())
        kept[name] = (tensor.detach().clone() if shared else tensor.detach()).contiguous().cpu()
    save_file(kept, path)
    return aliases


def upgraded_state(state: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the state of training as it is saved today, of a checkpoint by whatever version.

    The first one knew one turn, and at the beginning no processor time: the wall's is the best guess.
    """
    if "driven" not in state:
        return state
    window, schedules = dict(state["window"]), dict(state["driven"])
    wall = window.pop("seconds")
    spent = {"wall": wall, "core": window.pop("core_seconds", wall)}
    turns = {"model": schedules.pop("")}
    kept = {"validated": -1, "core_seconds": state["seconds"], **state, "turns": turns, "schedules": schedules}
    kept["window"] = {"turns": {"model": {**window, "rate": 0.0}}, "tokens": window["tokens"], "spent": spent}
    return kept


def upgraded_objective(
    tensors: Mapping[str, Tensor], model: Container[str], known: Container[str]
) -> dict[str, Tensor]:
    """Return the tensors of an objective without those of the model, which some objectives saved once more.

    `model` are the names of the model's tensors, `known` those that the objective has today.
    """
    return {name: one for name, one in tensors.items() if name in known or name.partition("model.")[2] not in model}
