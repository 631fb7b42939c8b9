"""Settings that a new run takes from the run, or the Hugging Face model, that it starts from."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from regard.attention.recipes import as_yaml
from regard.config import SETTINGS_FILE, Taken, lay, marked, read_yaml, settings_file
from regard.errors import CheckpointError, ConfigError
from regard.experiment.huggingface import CONFIG, absolute, huggingface_settings, is_huggingface
from regard.experiment.settings import Experiment
from regard.experiment.upgrade import upgraded
from regard.models import MODELS
from regard.models.settings import TranslatorSettings
from regard.tasks import TASKS, task_class

_OWN = "own_vocabularies"  # of `text`: it follows from the languages, and another run may have more of them
_KINDS = ("run", "huggingface")  # of origins that `init` may name


def continued(run: Path, said: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a run that starts from another one.

    On other texts of the same task it has the same tokenizers and model. Another task, named by `said`, has its own
    model, with the embedder and the encoder, or the decoder, of that run.
    """
    before, foreign = _settings(run), is_huggingface(run)
    base = {"init": {_KINDS[foreign]: str(run)}, **({"training": before["training"]} if foreign else {})}
    if "task" in said and named_task(said) != named_task(before):
        return {**_of_another_task(before, said), **base}
    taken = {group: before[group] for group in marked(Experiment, Taken) if group in before}
    return {**taken, **({"text": _without_own(taken["text"])} if "text" in taken else {}), **base}


def task_name_of(run: Path) -> str:
    """Return the name of the task of a run, or of a model of Hugging Face."""
    return named_task(_settings(run))


def named_model(settings: Mapping[str, Any]) -> Path | None:
    """Return the Hugging Face folder that `init` names: it determines the network, as with --from."""
    init = settings.get("init")
    folder = init.get("huggingface") if isinstance(init, Mapping) else None
    if not isinstance(folder, str):
        return None
    path = Path(folder).expanduser()
    if not is_huggingface(path):
        problem = "is a run" if (path / SETTINGS_FILE).exists() else f"there is no {CONFIG} in it"
        raise CheckpointError(path, problem, "init.run=RUN, or a folder that Hugging Face's save_pretrained wrote")
    return path


def named_run(settings: Mapping[str, Any]) -> Path | None:
    """Return the run that `init` names, as with --from."""
    init = settings.get("init")
    folder = init.get("run") if isinstance(init, Mapping) else None
    return Path(folder).expanduser() if isinstance(folder, str) else None


def _settings(folder: Path) -> dict[str, Any]:
    """Return the settings of a run, in the current format, or of a model of Hugging Face."""
    return huggingface_settings(folder) if is_huggingface(folder) else upgraded(read_yaml(settings_file(folder)))


def _of_another_task(before: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a run that another task takes, where it has such settings."""
    name, starts = named_task(said), task_class(named_task(before)).spec.starts
    own = said.get("model", {})
    row = own.get("name") if isinstance(own, Mapping) else own
    usual = task_class(name).spec.model
    row = row or starts.get("rows", {}).get(usual, usual)
    known = MODELS.settings(row)
    wanted = (*marked(TranslatorSettings, Taken), *starts.get("taken", {}).get(row, ()))
    taken = {key: before["model"][key] for key in wanted if key in known and key in before["model"]}
    task = {key: value for key, value in starts.get("task", {}).items() if key in TASKS.settings(name)}
    training = {"training": dict(starts["training"])} if "training" in starts else {}
    return {
        "task": {"name": name, **task},
        "text": _without_own(before["text"]),
        "model": {"name": row, **taken, **starts.get(row, {})},
        **training,
    }


def with_text(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with `text` of the run that `init` names, and with its absolute path.

    A run of another task sets whether its columns share a vocabulary. Raises ConfigError for another `text`,
    CheckpointError where there is no such run. Errors of `init` itself are left to `read_settings`.
    """
    init = settings.get("init")
    kind = next(
        (kind for kind in reversed(_KINDS) if isinstance(init, Mapping) and isinstance(init.get(kind), str)), None
    )
    if not isinstance(init, Mapping) or kind is None:
        return dict(settings)
    run = absolute(Path(init[kind]))
    before = huggingface_settings(run) if kind == "huggingface" else read_yaml(settings_file(run))
    given = _named(settings.get("text", {}))
    text = _without_own(before.get("text", {}))
    own = {_OWN: given[_OWN]} if isinstance(given, Mapping) and _OWN in given else {}
    given = _without_own(given)
    if isinstance(given, Mapping) and named_task(before) != named_task(settings):
        text = {**text, "shared": given.get("shared", True)}
    if lay(text, given) != text:
        both = f"{as_yaml(given)} here, {as_yaml(text)} there"
        problem = f"cannot differ from that of '{run}', whose vocabularies are taken: {both}"
        raise ConfigError("text", problem, "leave it out")
    _check_kept(before, own.get(_OWN), run)
    return {**settings, "text": {**text, **own}, "init": {**init, kind: str(run)}}


def own_languages(experiment: Experiment, able: Sequence[str]) -> tuple[str, ...]:
    """Return the languages with a vocabulary of their own by default.

    For a new model all but the first, where both sides share none; for one that starts from a run those of that run,
    and new languages.
    """
    if experiment.init is None or experiment.init.run is None:
        return () if experiment.text.shared else tuple(able)
    before = _settings(experiment.init.run)
    known = before["model"].get("languages", ())
    return tuple(one for one in able if one not in known or one in before["text"].get(_OWN, ()))


def named_task(settings: Mapping[str, Any], otherwise: str = "translation") -> Any:
    """Return the name of the task, which a file may leave out."""
    task = settings.get("task", otherwise)
    return task.get("name", otherwise) if isinstance(task, Mapping) else task


def _check_kept(before: Mapping[str, Any], own: Any, run: Path) -> None:
    """Raise ConfigError for a language whose vocabulary differs from that of its decoder in `run`."""
    kept, known = before.get("text", {}).get(_OWN, ()), before.get("model", {}).get("languages", ())
    said = [own] if isinstance(own, str) else own if isinstance(own, list) else kept  # others are refused when read
    for one in known:
        if (one in said) != (one in kept):
            problem = f"'{one}' has {'a' if one in kept else 'no'} vocabulary of its own in '{run}'"
            raise ConfigError("text.own_vocabularies", problem, "leave it out: it follows from that run")


def _without_own(text: Any) -> Any:
    """Return `text` without the languages with vocabularies of their own."""
    return {name: value for name, value in text.items() if name != _OWN} if isinstance(text, Mapping) else text


def _named(text: Any) -> Any:
    """Return `text` with the tokenizer as a group; a file may give its name alone."""
    if not isinstance(text, Mapping) or not isinstance(text.get("tokenizer"), str):
        return text
    return {**text, "tokenizer": {"name": text["tokenizer"]}}
