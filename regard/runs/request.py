"""Requests of a training: a config, texts and changes → complete settings, or a run to resume."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from regard.config import own_folder, parse_changes, quoted
from regard.errors import ConfigError
from regard.experiment import plan_experiment, text_settings
from regard.experiment.complete_settings import PlannedExperiment
from regard.experiment.data import by_ending
from regard.runs.folder import RunFolder
from regard.runs.run import Run

CONFIGS = (".yaml", ".yml", ".json")


class TrainingRequest(NamedTuple):
    """The settings of a training, before they are completed."""

    config: Path | None  # or a file of pairs in its place
    changes: Sequence[str]
    text: str | None = None  # training text of a task with one text
    start: Path | None = None  # the run whose model is trained further
    run: Path | None = None  # folder of the model
    resume: bool = False

    @classmethod
    def of_words(
        cls,
        words: Sequence[str],
        files: Mapping[str, str | None],
        *,
        text: str | None = None,
        start: Path | None = None,
        run: Path | None = None,
        resume: bool = False,
    ) -> "TrainingRequest":
        """Return the request of a command, given words (a config, a run or a table; changes) and files by setting.

        Raises ConfigError for a run that is missing or not to be resumed, for texts given as a config, and for options
        that exclude each other.
        """
        config, changes = config_and_changes(words)
        if config is not None:
            _check_config(config, words, resume=resume)
            if config.is_dir():
                config, run = None, run or config
        if text and any(files[f"data.train.{side}"] for side in ("source", "target")):
            problem = "is for a language model, a classifier or a tagger, --source for a translator"
            raise ConfigError("--text", problem, "use one of them")
        if resume and start is not None:
            raise ConfigError("--from", "is for a new run", "leave it out: --resume needs the run alone")
        return cls(config, [*changes, *file_changes(files, run)], text, start, run, resume)

    def check_free(self) -> None:
        """Raise ConfigError for a run folder that exists; of several processes only the first checks."""
        if self.run is not None and os.environ.get("RANK", "0") == "0":
            RunFolder(self.run).check_free()

    def read(self, say: Callable[[str], None]) -> tuple[PlannedExperiment, Run | None]:
        """Return the complete settings, with a plan, and the run to resume, where the request names only a run.

        Raises as `plan_experiment` and `Run.open` do.
        """
        if self.config is not None or not self.resume:
            found = plan_experiment(self.config, self.changes, text=self.text, start=self.start, adapts=True, say=say)
            return found, None
        named = parse_changes(self.changes).get("run")
        if not isinstance(named, str):
            raise ConfigError("--resume", "needs the run to resume", "--run FOLDER")
        folder = RunFolder(own_folder(Path(named)))  # a version of it, which is complete, is not trained on
        run = Run.open(folder, self.changes if self.text is None else ())
        if self.text is not None:
            run = run.changed([*text_settings(self.text, run.experiment.task.name)[1], *self.changes])
        return PlannedExperiment(run.experiment, None), run


def config_and_changes(words: Sequence[str]) -> tuple[Path | None, list[str]]:
    """Return the config file, if the first word is one, and the changes."""
    if words and words[0] and ("=" not in words[0] or Path(words[0]).is_file()):
        return Path(words[0]), [*words[1:]]
    return None, [*words]


def file_changes(files: Mapping[str, str | None], run: Path | None) -> list[str]:
    """Return the changes that name files, by their settings, and the folder of a run."""
    named = {**files, "run": str(run) if run else None}
    return [f"{name}={quoted(file)}" for name, file in named.items() if file]


def _check_config(config: Path, words: Sequence[str], *, resume: bool) -> None:
    """Raise ConfigError for a run that is missing or not to be resumed, and for texts given as a config."""
    if config.is_dir() and not resume:
        raise ConfigError(str(config), "this is a folder", f"to resume a run: regard train {config} --resume")
    if resume and not config.exists():
        raise ConfigError(str(config), "there is no such run to resume", "regard train RUN --resume")
    if config.is_file() and config.suffix not in CONFIGS and not by_ending(str(config)):
        other = next((word for word in words[1:] if "=" not in word), "FILE")
        hint = f"two texts: regard train --source {config} --target {other}"
        raise ConfigError(str(config), "is neither a config (.yaml) nor a table of pairs (.tsv ...)", hint)
