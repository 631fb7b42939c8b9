"""Settings that a new run takes from the run, or the Hugging Face model, that it starts from.

A translator that is fine-tuned on other texts gets old texts in its batches, and defaults that suit few updates.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from regard.attention.recipes import as_yaml
from regard.config import SETTINGS_FILE, Taken, lay, marked, read_settings, read_yaml, settings_file
from regard.errors import CheckpointError, ConfigError
from regard.experiment.corrections import KIND, texts_of, upgraded
from regard.experiment.data import DataSettings
from regard.experiment.huggingface import CONFIG, absolute, huggingface_settings, is_huggingface
from regard.experiment.settings import Experiment
from regard.experiment.sizes import SENTENCE_PIECES, held_out_fraction
from regard.models import MODELS
from regard.models.settings import TranslatorSettings
from regard.tasks import TASKS, task_class

_OWN = "own_vocabularies"  # of `text`: it follows from the languages, and another run may have more of them
_CONTEXT = "source_augmentations"  # of `data`: the model goes on reading what it learned to read
_KINDS = ("run", "huggingface")  # of origins that `init` may name

_FEWEST = 50  # pairs from which a dev set is held out, unless a fraction is given
_DEV_SHARE, _DEV_PAIRS, _LEAST_DEV = 0.1, 500, 100  # of few pairs: a tenth, 100 to 500, and a fifth at most
_FEW = 20_000  # pairs; more also have a test set held out, as without a start
_OLD_DEV = 500  # pairs of old text that are held out, a twentieth at most
_READINGS, _UPDATES = 20, (200, 4_000)  # epochs of the new text, and bounds of updates on it
_RATE, _LARGEST_RATE = 0.08, 1e-3  # learning rate times the width of the model: 6e-4 for 128, 1.6e-4 for 512
_FEW_WEIGHTS = 5  # times that rate, where low-rank factors or biases alone are trained
_VALIDATIONS, _PATIENCE = 16, 5
_START_MEANS = 7  # with an eighth of the change, a quarter, and so on: old text's loss is not linear in it
_BATCH = {5_000: 1_024, _FEW: 2_048}  # tokens of a batch below so many pairs
_LARGE_BATCH = 4_096


def continued(run: Path, explicit: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a run that starts from another one.

    On other texts of the same task it has the same tokenizers, model and context in sources. Another task, named by
    `explicit`, has its own model, with the embedder and the encoder, or the decoder, of that run.
    """
    before, foreign = _settings(run), is_huggingface(run)
    base = {"init": {_KINDS[foreign]: str(run)}, **({"training": before["training"]} if foreign else {})}
    if "task" in explicit and named_task(explicit) != named_task(before):
        return {**_of_another_task(before, explicit), **base}
    taken = {group: before[group] for group in marked(Experiment, Taken) if group in before}
    if _learns_vocabulary(explicit):
        text = before["text"]
        taken["text"] = {"shared": text.get("shared", True) or text.get("joint", False)}  # one vocabulary, either way
    elif rows := before.get("data", {}).get(_CONTEXT):
        taken["data"] = {_CONTEXT: rows}
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


def _of_another_task(before: Mapping[str, Any], explicit: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a run that another task takes, where it has such settings."""
    name, starts = named_task(explicit), task_class(named_task(before)).spec.starts
    own = explicit.get("model", {})
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
    if _learns_vocabulary(settings):
        return {**settings, "init": {**init, kind: str(run)}}
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


def _learns_vocabulary(settings: Mapping[str, Any]) -> bool:
    """Return whether the vocabularies of the run to start from are not taken."""
    init = settings.get("init")
    return isinstance(init, Mapping) and bool(init.get("own_vocabulary"))


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


def is_adaptation(experiment: Experiment) -> bool:
    """Return whether a translator is trained further as a whole, on texts of its own languages."""
    init = experiment.init
    if init is None or init.run is None or init.parts or init.frozen or init.own_vocabulary or experiment.data.routes:
        return False
    before = upgraded(read_yaml(settings_file(init.run)))
    return experiment.task.name == named_task(before) == "translation" and _same_pair(experiment.data, before)


def with_old_texts(explicit: dict[str, Any], start: Path, say: Callable[[str], None] | None) -> dict[str, Any]:
    """Return settings with `data.old`: the texts of the run `start`, as its settings name them, unless given.

    None are taken where the new texts are the same files, and where the settings name other training sets. Settings
    with faults stay unchanged; they are reported where they are read.
    """
    if not _takes_old_texts(explicit, start):
        return explicit
    known = texts_of(start)
    files = read_settings(DataSettings, {"train": known["train"]}).readers() if "train" in known else {}
    given = explicit["data"]
    if files.get("train") == read_settings(DataSettings, given).readers()["train"]:
        return explicit
    if not files:
        if say is not None:
            lacking = "none is mixed in" if "old" in given else "forgetting is not measured"
            say(f"the texts of {start} are not here, so {lacking}; --old SOURCE TARGET")
        return explicit
    old = {name: known[name] for name in ("train", "dev", "dev_fraction", "test_fraction") if name in known}
    old |= {"dev_fraction": 0.0} if "dev" in known else {}
    if say is not None:
        say(f"every second batch is of the texts of {start}, against forgetting; without: data.old=null")
    return {**explicit, "data": {**given, "old": {**old, **given.get("old", {})}}}


def _takes_old_texts(explicit: Mapping[str, Any], start: Path) -> bool:
    """Return whether settings fine-tune a translator on one training set, and leave the old texts open."""
    try:
        data = read_settings(DataSettings, explicit.get("data", {}))
    except ConfigError:
        return False
    other = _learns_vocabulary(explicit) or is_huggingface(start)
    if data.train is None or data.routes or other or "corpora" in explicit["data"]:
        return False
    if "old" in explicit["data"] and (data.old is None or data.old.train is not None):
        return False
    before = upgraded(read_yaml(settings_file(start)))
    tasks = {named_task(before), named_task(explicit, named_task(before))}
    return tasks == {"translation"} and _same_pair(data, before)


def adaptation_defaults(given: Experiment, explicit: Mapping[str, Any], pairs: int, old_pairs: int) -> dict[str, Any]:
    """Return settings, in the form of a file, for fine-tuning on `pairs`, mixed with `old_pairs` that are held out of.

    Raises ConfigError where no dev set is given, and too few pairs are left to hold one out.
    """
    data, old, dim = given.data, given.data.old, int(given.model.settings.get("dim", 512))
    if data.dev is None and "dev_fraction" not in explicit.get("data", {}) and pairs < _FEWEST:
        problem = f"must be given: {pairs} pairs are too few to hold a dev set out of them"
        corrected = data.train is not None and data.train.name == KIND
        hint = "--dev-source FILE --dev-target FILE, or data.dev_fraction=0.2"
        raise ConfigError(
            "data.dev", problem, "of corrections 10 suffice: regard teach RUN FILE" if corrected else hint
        )
    mixed = old is not None and old.train is not None
    tokens = next((tokens for most, tokens in _BATCH.items() if pairs < most), _LARGE_BATCH)
    least, most = _UPDATES
    updates = min(most, max(least, _READINGS * -(-pairs * SENTENCE_PIECES // tokens)))
    if old is not None and mixed:
        updates = round(updates / (1 - old.fraction))
    updates = explicit.get("training", {}).get("max_updates") or updates
    dev = (
        held_out_fraction(pairs) if pairs >= _FEW else min(0.2, max(_DEV_SHARE, _LEAST_DEV / pairs), _DEV_PAIRS / pairs)
    )
    held = {"dev_fraction": round(dev, 6), "test_fraction": held_out_fraction(pairs) if pairs >= _FEW else 0.0}
    fraction = round(min(0.05, _OLD_DEV / old_pairs), 6) if old_pairs else 0.0
    return {
        "data": {**held, **({"old": {"dev_fraction": fraction}} if mixed and old and old.dev is None else {})},
        "training": {
            "batch_tokens": tokens,
            "max_updates": updates,
            "learning_rate": round(min(_LARGEST_RATE, _RATE / dim) * (_FEW_WEIGHTS if _trains_few(given) else 1), 7),
            "schedule": {"name": "linear", "warmup": max(1, updates // 10)},
            "validate_every": max(1, updates // _VALIDATIONS),
            "patience": _PATIENCE,
            "start_means": _START_MEANS,
        },
    }


def _trains_few(experiment: Experiment) -> bool:
    """Return whether few weights are trained, which takes larger steps."""
    return experiment.training.trained != "all" or experiment.training.optimizer.name == "low_rank_adam"


def _same_pair(data: DataSettings, before: Mapping[str, Any]) -> bool:
    """Return whether texts may be of the languages of a run; an unknown language may be any."""
    known = read_settings(DataSettings, before.get("data", {})).language_pair()
    return all(None in pair or pair[0] == pair[1] for pair in zip(data.language_pair(), known, strict=True))


def named_task(settings: Mapping[str, Any], otherwise: str = "translation") -> Any:
    """Return the name of the task, which a file may leave out."""
    task = settings.get("task", otherwise)
    return task.get("name", otherwise) if isinstance(task, Mapping) else task


def _check_kept(before: Mapping[str, Any], own: Any, run: Path) -> None:
    """Raise ConfigError for a language whose vocabulary differs from that of its decoder in `run`."""
    kept, known = before.get("text", {}).get(_OWN, ()), before.get("model", {}).get("languages", ())
    named = [own] if isinstance(own, str) else own if isinstance(own, list) else kept  # others are refused when read
    for one in known:
        if (one in named) != (one in kept):
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
