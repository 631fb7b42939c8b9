"""Initialisation of a run from another one, or from a model of Hugging Face: vocabularies, and weights of parts."""

import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from regard.config import read_checked, write_checked
from regard.data.columns import Column, Columns, closed_columns, load_columns, vocabulary_folders
from regard.errors import CheckpointError, ConfigError, DataError, nearest
from regard.experiment.huggingface import huggingface_parts
from regard.experiment.settings import Experiment, InitialSettings
from regard.models import Model
from regard.runs.folder import RunFolder
from regard.runs.run import Run, model_of
from regard.runs.texts import Say, training_texts
from regard.text.subwords import SubwordTokenizer, with_new_pieces
from regard.text.vocabulary import matched_ids
from regard.training import checkpoint as files

Named = dict[str, str]  # name within a part → name in the state of the model
FROZEN = "frozen.json"
_SHOWN = 8  # new pieces that are printed
REST = "model"  # tensors outside of all parts
CHOOSING = (REST, "head")  # the parts that predict a label, a tag or a piece


class Origin(NamedTuple):
    """A model to start from."""

    name: str  # in messages
    languages: tuple[str, ...]  # its target languages
    parts: Mapping[str, Named]
    values: Mapping[str, Tensor]  # by the names in `parts`


class TakenTensor(NamedTuple):
    """A tensor of a new model and its initial value."""

    name: str  # in the state of the model
    value: Tensor


def origin_of(experiment: Experiment) -> Run | None:
    """Open the run to start from; None where there is none, or it is a model of Hugging Face."""
    init = experiment.init
    return None if init is None or init.run is None else Run.open(init.run)


def taken_columns(experiment: Experiment, folder: RunFolder, origin: Run | None, say: Say) -> Columns:
    """Copy the vocabularies shared with the run to start from, and return their columns by name.

    Unless `init.vocabularies` says which, those that have the same name there; labels, where the other run is of this
    task and knows all that are learnt from. Raises ConfigError where none has. That of a model of Hugging Face is read
    as the tokenizer of `text`, so nothing is copied.
    """
    init = experiment.init
    if init is None:
        return {}
    if origin is None:
        say(f"the vocabulary is that of {init.folder}")
        return {}
    if init.own_vocabulary:
        say(f"vocabularies are learnt from the new text; embeddings of equal pieces come from {init.run}")
        return {}
    before, kinds, shared = origin.experiment, experiment.vocabularies, experiment.text.shared
    theirs = vocabulary_folders(before.vocabularies, shared=before.text.shared)
    mine = vocabulary_folders(kinds, shared=shared)
    for name, other in init.vocabularies.items():
        _check_column(name, other, mine, theirs, init)
    said = {mine[name]: theirs[other] for name, other in init.vocabularies.items()}
    again = [] if said else [mine[name] for name in _other_labels(experiment, origin, say)]
    places = said or {place: place for place in mine.values() if place in theirs.values() and place not in again}
    if not places:
        problem = f"'{init.run}' has {', '.join(theirs)}, none of which is named as {' or '.join(mine)} here"
        raise ConfigError(
            "init.vocabularies", problem, f"init.vocabularies={{{next(iter(mine))}: {next(iter(theirs))}}}"
        )
    for place, other in places.items():
        shutil.copytree(origin.folder.text / other, folder.text / place, dirs_exist_ok=True)
    taken = {name: kind for name, kind in kinds.items() if mine[name] in places}
    first = next(iter(taken))
    others = [name for name in taken if mine[name] != mine[first]]
    hint = f"; init.vocabularies={{{first}: {first}}} learns {', '.join(others)} again" if others and not said else ""
    say(f"vocabularies of {', '.join(taken)} come from {init.run}{hint}")
    columns = load_columns(taken, folder.text, shared=shared)
    if not init.new_pieces:
        return columns
    for place in dict.fromkeys(mine[name] for name in taken):
        names = [name for name in taken if mine[name] == place]
        _add_pieces(experiment, columns, names, folder.text / place, say)
    return load_columns(taken, folder.text, shared=shared)


def initial_values(
    experiment: Experiment, model: Model, columns: Columns, origin: Run | None, say: Say
) -> list[TakenTensor]:
    """Return the tensors that a model takes from the run to start from, and report them.

    Unless `init.parts` names it, an output layer over other values than the other run's, such as labels, is new.
    Raises CheckpointError where that run is missing or damaged, ConfigError for parts that do not exist or do not fit.
    """
    init = experiment.init
    assert init is not None  # else nothing is taken
    found_there = _foreign(init.folder) if origin is None else _trained(origin)
    mine, theirs = names_by_part(model), found_there.parts
    chosen = init.parts or [
        part for part in mine if part in theirs and part not in _new_outputs(experiment, model, columns, origin)
    ]
    for part in init.parts:
        _check_part(part, mine, theirs, init)
    if "decoder" in chosen:
        _check_languages(model, found_there, init)
    found = [
        TakenTensor(name, found_there.values[theirs[part][key]])
        for part in chosen
        for key, name in mine[part].items()
        if key in theirs[part]
    ]
    if origin is not None and (init.new_pieces or init.own_vocabulary):
        found = _by_pieces(model, columns, origin, found, grown=init.new_pieces > 0, say=say)
    if not found:
        raise ConfigError("init", f"no part of '{init.folder}' is one of this model", f"it has {', '.join(theirs)}")
    _check_shapes(model, found, init)
    _check_tied(model, found, init)
    _report(model, found, found_there.name, say)
    return found


def start_from(model: Model, taken: Iterable[TakenTensor]) -> None:
    """Copy values into a model."""
    state = model.state_dict()
    for name, value in taken:
        state[name].copy_(value)


def is_whole(model: Model, taken: Iterable[TakenTensor]) -> bool:
    """Return whether all weights of a model come from the run to start from."""
    state = model.state_dict()
    known = {state[one.name].data_ptr() for one in taken}
    return bool(known) and all(parameter.data_ptr() in known for parameter in model.parameters())


def check_foundation(experiment: Experiment, model: Model, taken: Iterable[TakenTensor]) -> None:
    """Raise ConfigError where parts that are never trained would stay random."""
    state, owners = model.state_dict(), names_by_part(model)
    known = {state[one.name].data_ptr() for one in taken}
    random = {one.data_ptr() for part in model.foundation() for one in part.parameters()} - known
    if not random:
        return
    parts = [part for part, names in owners.items() if any(state[name].data_ptr() in random for name in names.values())]
    problem = (
        f"'{experiment.model.name}' needs init.run, a run to take {', '.join(parts)} from: they are not trained here"
    )
    hint = "init.run=RUN, a translator" if experiment.init is None else "leave init.parts out, or name a translator"
    raise ConfigError("model", problem, hint)


def keep_frozen(folder: RunFolder, names: Iterable[str]) -> None:
    """Save the names of frozen tensors, so that the run can be resumed without the one that it started from."""
    write_checked(folder.path / FROZEN, {"names": [*names]})


def kept_frozen(folder: RunFolder) -> list[str] | None:
    """Return the saved names; None in a run of an earlier version.

    Raises CheckpointError for a damaged file; without one the names are those of the run that it started from.
    """
    path = folder.path / FROZEN
    try:
        return list(read_checked(path)["names"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError) as error:
        hint = "take it from a copy of the run, or delete it where the run that it started from is still there"
        raise CheckpointError(path, f"cannot be read: {error}", hint) from error


def freeze(model: Model, names: Iterable[str], routes: Mapping[str, str]) -> None:
    """Freeze tensors. Raises ConfigError for a route, by name, without trainable tensors."""
    names = {*names}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        if name in names:
            parameter.requires_grad_(False)
    for name, route in routes.items():
        if not any(one.requires_grad for module in model.along(route) for one in module.parameters()):
            place = name if name == "train" else f"routes.{name}.train"
            raise ConfigError(
                "init.frozen", f"leaves nothing to train on data.{place}", f"leave data.{place} out, or frozen"
            )


def train_biases_alone(model: Model) -> None:
    """Freeze all tensors but biases: BitFit (https://arxiv.org/abs/2106.10199).

    Raises ConfigError for a model without biases.
    """
    biases = [name for name, _ in model.named_parameters() if name.rpartition(".")[2].startswith("bias")]
    if not biases:
        raise ConfigError("training.trained", "is 'biases', and this model has none", "training.trained=all")
    freeze(model, {name for name, _ in model.named_parameters(remove_duplicate=False)} - {*biases}, {})


def names_by_part(model: Model) -> dict[str, Named]:
    """Return the tensors of each part of a model; nested tensors belong to the inner part alone.

    Names within a part start with the number of the module, since a part may have several.
    """
    parts = model.parts()
    known = {id(module) for modules in parts.values() for module in modules}
    places = {prefix: id(one) for prefix, one in model.named_modules(remove_duplicate=False) if id(one) in known}
    owned: dict[int, Named] = {}
    for name in model.state_dict():
        inside = [prefix for prefix in places if name.startswith(f"{prefix}.")]
        prefix = max(inside, key=len, default="")
        owned.setdefault(places.get(prefix, 0), {}).setdefault(name.removeprefix(f"{prefix}."), name)
    found = {
        part: {
            f"{number}.{key}": name
            for number, module in enumerate(modules)
            for key, name in owned.get(id(module), {}).items()
        }
        for part, modules in parts.items()
    }
    return {**found, REST: owned[0]} if 0 in owned else found


def _trained(run: Run) -> Origin:
    """Return the model of a run, with its final checkpoint and the names of its parts."""
    model, values = model_of(run.experiment, run.vocabularies), run.weights()
    files.load_model(model, run.checkpoint._replace(model=values))  # reports tensors of another model
    name = f"{run.path} ({run.checkpoint.folder.name})"
    return Origin(name, model.languages, names_by_part(model), values)


def _foreign(folder: Path) -> Origin:
    """Return a model of Hugging Face, in which each part is one module."""
    parts = huggingface_parts(folder)
    names = {part: {f"0.{key}": f"{part}.{key}" for key in values} for part, values in parts.items()}
    return Origin(
        str(folder),
        (),
        names,
        {f"{part}.{key}": value for part, values in parts.items() for key, value in values.items()},
    )


def _other_labels(experiment: Experiment, origin: Run, say: Say) -> list[str]:
    """Return columns of labels that the other run does not share; those of its task are reported."""
    named = closed_columns(experiment.columns)
    if experiment.task.name != origin.experiment.task.name:
        return named
    known, other = origin.columns, []
    for name in named:
        try:
            for value in filter(str.strip, (texts[name] for texts in training_texts(experiment))):
                known[name].check(value)
        except DataError as error:
            ending = "so the labels are learnt from this data, with a new output layer"
            say(f"{name}: {error.problem} among the labels of {origin.path}, {ending}")
            other.append(name)
    return other


def _new_outputs(experiment: Experiment, model: Model, columns: Columns, origin: Run | None) -> set[str]:
    """Return the output layers of columns whose values differ from the other run's."""
    init = experiment.init
    if origin is None or (init is not None and (init.new_pieces or init.own_vocabulary)):
        return set()
    before = origin.experiment
    others = closed_columns(before.columns) if before.task.name != experiment.task.name else []
    known = {column.key() for name, column in origin.vocabularies.items() if name not in others}
    asked = {*experiment.columns, *before.vocabularies}  # a new language has a new head in any case
    sizes = {column.num_values for name, column in columns.items() if name in asked and column.key() not in known}
    state, parts = model.state_dict(), names_by_part(model)
    return {part for part in CHOOSING if any(sizes & {*state[name].shape} for name in parts.get(part, {}).values())}


def _add_pieces(experiment: Experiment, columns: Columns, names: list[str], place: Path, say: Say) -> None:
    """Add pieces of the new text to the vocabulary of some columns. Raises ConfigError where it cannot grow."""
    if (tokenizer := columns[names[0]].tokenizer) is None or (init := experiment.init) is None:
        return
    texts = (texts[name] for texts in training_texts(experiment) for name in names if name in texts)
    grown = with_new_pieces(tokenizer, texts, init.new_pieces)
    if grown is None:
        problem = f"needs BPE subwords, and the vocabulary of {names[0]} in '{init.run}' is of another kind"
        raise ConfigError("init.new_pieces", problem, "leave it out, or init.own_vocabulary=true")
    grown.save(place)
    added = grown.listed[len(tokenizer) :]
    say(f"{', '.join(names)}: {len(added):,} new pieces: {' '.join(added[:_SHOWN])}{' …' * (len(added) > _SHOWN)}")


def _by_pieces(
    model: Model, columns: Columns, origin: Run, found: list[TakenTensor], *, grown: bool, say: Say
) -> list[TakenTensor]:
    """Return tensors with a row for each piece: that of the equal piece (https://arxiv.org/abs/1604.02201).

    Others stay as initialised; where the vocabulary has `grown`, they are the mean of the rows of their parts.
    """
    state, names = model.state_dict(), [*columns]
    sources = {*names_by_part(model).get("source_embedder", {}).values()}
    rows = {name: _matched(column, origin.vocabularies.get(name), grown=grown) for name, column in columns.items()}
    for name, some in rows.items():
        say(f"{name}: {sum(len(one) == 1 for one in some):,} of {len(some):,} pieces come from {origin.path}")
    fitted = {one.name: one.value for one in found}
    for name, value in found:
        column = names[0] if name in sources else names[-1]
        theirs, mine = origin.vocabularies.get(column), state[name]
        shape = () if theirs is None else (len(theirs), *mine.shape[1:])
        if rows[column] and (len(rows[column]), value.shape) == (*mine.shape[:1], shape):
            fitted[name] = mine.detach().clone()
            for row, ids in enumerate(rows[column]):
                if ids:
                    fitted[name][row] = value[ids].mean(dim=0)
    return [TakenTensor(*one) for one in fitted.items()]


def _matched(column: Column, other: Column | None, *, grown: bool) -> list[list[int]]:
    """Return for each piece the id of the equal one of another column, or with `grown` those of its parts, or []."""
    mine, theirs = column.tokenizer, None if other is None else other.tokenizer
    if mine is None or theirs is None:
        return []  # labels
    pieces, others = (one.pieces(range(len(one))) for one in (mine, theirs))
    return matched_ids(pieces, others, *([theirs.parts] if grown and isinstance(theirs, SubwordTokenizer) else []))


def _check_part(part: str, mine: Mapping[str, Named], theirs: Mapping[str, Named], init: InitialSettings) -> None:
    if part not in mine:
        raise ConfigError("init.parts", f"this model has no '{part}'", nearest(part, mine))
    if part not in theirs:
        raise ConfigError("init.parts", f"the model of '{init.folder}' has no '{part}'", nearest(part, theirs))
    if mine[part] and not mine[part].keys() & theirs[part].keys():
        raise ConfigError(
            "init.parts", f"'{part}' has no tensor in common with that of '{init.folder}'", "leave it out"
        )


def _check_languages(model: Model, origin: Origin, init: InitialSettings) -> None:
    """Raise ConfigError for another order of languages: decoders are matched by their numbers."""
    known = origin.languages
    if model.languages and known and model.languages[: len(known)] != known:
        problem = (
            f"'{init.folder}' translates into {', '.join(known)}, and its first decoder initialises the first one here"
        )
        raise ConfigError("model.languages", problem, f"begin with {', '.join(known)}, in that order")


def _check_column(
    name: str, other: str, mine: Mapping[str, str], theirs: Mapping[str, str], init: InitialSettings
) -> None:
    if name not in mine:
        raise ConfigError("init.vocabularies", f"this task has no column '{name}'", nearest(name, mine))
    if other not in theirs:
        raise ConfigError("init.vocabularies", f"'{init.run}' has no column '{other}'", nearest(other, theirs))


def _check_shapes(model: Model, found: list[TakenTensor], init: InitialSettings) -> None:
    state = model.state_dict()
    wrong = [one for one in found if state[one.name].shape != one.value.shape]
    if not wrong:
        return
    name, value = wrong[0]
    more = f", and {len(wrong) - 1} other tensors differ" if wrong[1:] else ""
    problem = f"{name} has the shape {_shape(state[name])} here and {_shape(value)} in '{init.folder}'{more}"
    raise ConfigError("init", problem, "give the model the settings of that model, or name other init.parts")


def _check_tied(model: Model, found: list[TakenTensor], init: InitialSettings) -> None:
    """Raise ConfigError where one tensor of this model is two different ones of the other."""
    state, known = model.state_dict(), dict[int, TakenTensor]()
    for one in found:
        first = known.setdefault(state[one.name].data_ptr(), one)
        if one.value.numel() and not torch.equal(first.value, one.value):
            problem = f"{first.name} and {one.name} are one tensor here and differ in '{init.folder}'"
            raise ConfigError("init", problem, "tie the model as that run does, or name other init.parts")


def _report(model: Model, found: list[TakenTensor], origin: str, say: Say) -> None:
    """Report taken and new parts, with their numbers of parameters."""
    state = model.state_dict()
    values = {state[one.name].data_ptr() for one in found}
    parts = sorted(reversed(names_by_part(model).items()), key=lambda one: -len({*one[1].values()}))
    owners = {name: part for part, names in parts for name in names.values()}  # the innermost part
    counts: dict[bool, dict[str, int]] = {True: {}, False: {}}
    for name, parameter in model.named_parameters():
        known = counts[parameter.data_ptr() in values]
        known[owners[name]] = known.get(owners[name], 0) + parameter.numel()
    say(f"taken from {origin}: {_counted(counts[True])}")
    say(f"new: {_counted(counts[False])}")


def _counted(parts: Mapping[str, int]) -> str:
    return f"{', '.join(parts)}: {sum(parts.values()):,} parameters" if parts else "nothing"


def _shape(tensor: Tensor) -> str:
    return " × ".join(map(str, tensor.shape)) or "of a number"
