"""A run folder: all files of a trained model.

experiment.yaml   the complete settings
environment.json  versions, device and threads of its training, and the number of this format
origins.json      digests of its texts
imported.json     where the model of an imported run, or of the run that it started from, comes from: with its licence
text/             vocabularies of columns: tokenizers (`shared`, or one per column or language) and labels
manifest.json     the digests of all these, see regard.data.manifest
frozen.json       names of frozen weights, where `init.frozen` keeps weights of another run
data/             the memory-mapped training corpus
checkpoints/      see regard.training.checkpoint
metrics.jsonl     one JSON object per line of the log
tuning/           results of `regard tune`: tables, and the weights of features, with a manifest of their own
shortlist.safetensors, translations.tsv.gz   results of `regard shortlist` and `regard adequacy`
start.json        statistics of the weights that it started from, on its dev sets
grades.json, calibration.json, alignment.json, adaptation.json   measurements, see regard.runs.measurements
final.json        the selected checkpoint, once training has ended
.lock             held by the process that trains there

Files are written in an order in which a process can be killed at any moment: until there are settings, a run can begin
there as in an empty folder; from then on it can be resumed. Without a checkpoint, resuming starts from the beginning.
"""

import fcntl
import json
import os
import platform
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from shlex import quote
from tempfile import mkdtemp
from typing import Any, BinaryIO, cast

import torch

from regard.config import parse_json, read_checked, staged, write_atomically
from regard.config.atomic_write import is_unfinished
from regard.data.manifest import MANIFEST, is_settled, place_file, write_manifest
from regard.errors import CheckpointError, ConfigError, RegardError
from regard.experiment import SETTINGS_FILE, Experiment
from regard.ops.machine import onednn_kinds
from regard.training import checkpoint as files
from regard.training.checkpoint import METRICS_FILE

ENVIRONMENT, ORIGINS = "environment.json", "origins.json"
DEVICES = ("cpu", "cuda", "mps")
FORMAT = 1  # of a run; incremented when earlier versions of Regard would misread new runs
TUNING, DECODING = "tuning", "decoding.yaml"  # tables of regard tune, and its search and features
IMPORTED = "imported.json"
TRAIN = "train"  # a part that every run has
LOCK = ".lock"
Origins = dict[str, dict[str, Any]]  # part → how it is read, and the digests of its files


class RunFolder:
    """Paths and state of a run folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text, self.data = path / "text", path / "data"

    def __str__(self) -> str:
        return str(self.path)

    @property
    def exists(self) -> bool:
        """Return whether the folder has any file besides a lock and unfinished files of a killed process."""
        if not self.path.is_dir():
            return self.path.exists()
        return any(path.name != LOCK and not is_unfinished(path) for path in self.path.iterdir())

    @property
    def started(self) -> bool:
        """Return whether training has saved anything, complete or not."""
        return bool(files.steps(self.path))

    @property
    def finished(self) -> bool:
        """Return whether training has ended by itself."""
        return (self.path / files.FINAL).is_file()

    @contextmanager
    def held(self, *, make: bool = False) -> Iterator[None]:
        """Lock the folder against other trainings, and remove unfinished files of killed ones.

        Raises ConfigError if another process trains there, OSError where there is no folder; `make` makes it.
        """
        with locked(self.path, make=make):
            for path in filter(is_unfinished, self.path.iterdir()):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            yield

    @contextmanager
    def begun(self) -> Iterator[None]:
        """Lock the folder; make it where it is missing, and remove it where it stays empty.

        Raises ConfigError where another process holds it.
        """
        with self.held(make=True):
            try:
                yield
            finally:
                if not self.exists:
                    (self.path / LOCK).unlink(missing_ok=True)
                    with suppress(OSError):
                        self.path.rmdir()

    @contextmanager
    def created(self) -> Iterator[None]:
        """Lock a new or empty folder. Raises ConfigError where it has files."""
        self.check_free()
        with ExitStack() as stack:
            try:
                stack.enter_context(self.held(make=True))
            except OSError as error:
                raise RegardError(f"{self}: the run folder cannot be made: {error.strerror or error}") from error
            self.check_free()
            yield

    def check_free(self, *, resumed: bool = True) -> None:
        """Raise ConfigError where the folder has files, or cannot be made.

        The message says how to resume the run, if `resumed`.
        """
        if not self.exists:
            place = next(one for one in (self.path, *self.path.absolute().parents) if one.exists())
            try:
                Path(mkdtemp(prefix=".regard-", dir=place)).rmdir()
            except OSError as error:
                problem = f"'{self}' cannot be made: {error.strerror or error}"
                raise ConfigError("run", problem, "choose another folder") from error
            return
        run = (self.path / SETTINGS_FILE).is_file()
        other = f"resume it: regard train --run {quote(str(self))} --resume" if run and resumed else "empty it"
        raise ConfigError("run", f"'{self}' exists and is not empty", f"choose another folder, or {other}")

    @contextmanager
    def preparing(self, experiment: Experiment) -> Iterator[None]:
        """Save the settings of a new run; remove the folder, which must be locked, if the body fails."""
        try:
            experiment.save(self.path / SETTINGS_FILE)
            yield
        except OSError as error:  # mostly a full disk; readers report files that cannot be read
            self.remove()
            raise RegardError(f"{self}: the run cannot be prepared: {error.strerror or error}") from error
        except BaseException:
            self.remove()
            raise

    def begin(self, origins: dict[str, Any], start: Path | None = None) -> None:
        """Save environment and origins of texts of a new run, and the note of an import that its start has.

        It has no vocabularies yet.
        """
        settings, *noted = (self.path / name for name in (SETTINGS_FILE, ENVIRONMENT, ORIGINS))
        write_manifest(self.path, [settings])
        shutil.rmtree(self.text, ignore_errors=True)  # of a killed start, perhaps with other settings
        for path, values in zip(noted, ({**environment(), "format": FORMAT}, origins), strict=True):
            write_atomically(path, json.dumps(values, indent=1))
        if start is not None and (start / IMPORTED).is_file():
            write_atomically(self.path / IMPORTED, (start / IMPORTED).read_text(encoding="utf-8"))

    def seal(self) -> None:
        """Store the digests of settings, environment, origins and vocabularies: opening the run verifies them."""
        noted = [self.path / name for name in (SETTINGS_FILE, ENVIRONMENT, ORIGINS)]
        learnt = [path for path in sorted(self.text.rglob("*")) if path.is_file()]
        write_manifest(self.path, [path for path in noted if path.exists()] + learnt)

    def keep(self, experiment: Experiment, before: Experiment) -> None:
        """Save the settings of a resumed run, changed from those `before`.

        Seals the run if an earlier version made it.
        """
        if not is_settled(self.path):
            self.seal()
        if experiment != before:
            new = staged(self.path / SETTINGS_FILE)
            experiment.save(new)
            place_file(new, self.path / SETTINGS_FILE)

    def origins(self) -> Origins:
        """Return the origins of its texts; empty for a run without them. Raises CheckpointError."""
        path = self.path / ORIGINS
        try:
            found = parse_json(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise CheckpointError(path, f"cannot be read: {error}") from error
        if not _are_origins(found):
            raise CheckpointError(path, "is damaged: it has no origins of the run's texts")
        return cast(Origins, found)

    def checkpoint(self) -> files.Checkpoint:
        """Return the final checkpoint; before the end of training the best so far, or the latest."""
        final = self.path / files.FINAL
        try:
            if final.is_file():
                name = read_checked(final, required=False)["checkpoint"]
                return files.load_checkpoint(self.path / files.FOLDER / Path(name).name, training=False)
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise CheckpointError(final, f"cannot be read: {error}", "the run's checkpoints may be whole") from error
        latest, _ = files.latest_valid(self.path, training=False)
        for _, update, *_ in latest.state["best"]["ranked"][:1]:
            return files.load_checkpoint(files.step_folder(self.path, update), training=False)
        return latest

    def scores(self) -> dict[int, Mapping[str, float]]:
        """Return the metrics of the validations by update, without lines of the log that are damaged."""
        path, found = self.path / METRICS_FILE, dict[int, Mapping[str, float]]()
        lines = path.read_text("utf-8", "replace").splitlines() if path.is_file() else []
        for line in lines:
            if line.startswith('{"event": "validation"'):
                with suppress(ValueError):  # half a line, where a process was killed
                    one = parse_json(line)
                    found[one["update"]] = one
        return found

    def check_format(self) -> None:
        """Raise CheckpointError for a run of a newer format; one without a format is older, and is accepted."""
        noted = self._environment()
        made = noted.get("format", FORMAT)
        if isinstance(made, int) and made > FORMAT:
            problem = f"is a run of format {made}, written by Regard {noted.get('regard', '?')}"
            raise CheckpointError(
                self.path, f"{problem}; Regard {version('regard')} reads formats up to {FORMAT}", "upgrade Regard"
            )

    def _environment(self) -> dict[str, Any]:
        """Return the saved environment of the run; empty where it cannot be read."""
        try:
            found = parse_json((self.path / ENVIRONMENT).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def changed_environment(self) -> list[str]:
        """Return differences from the environment at the run's start: weights may then differ in their last bits."""
        before = self._environment()
        pairs = [(name, before.get(name, now), now) for name, now in environment().items()]
        return [f"{name} was {then}, is {now}" for name, then, now in pairs if then != now]

    def remove(self) -> None:
        """Remove the folder, settings and lock last: if killed, this leaves a run that can be resumed or begun."""
        with suppress(OSError):  # another process may hold it as soon as the lock is gone
            (self.path / MANIFEST).unlink(missing_ok=True)
            for path in self.path.iterdir():
                if path.is_dir():
                    shutil.rmtree(path, ignore_errors=True)
                elif path.name not in (SETTINGS_FILE, LOCK):
                    path.unlink()
            for name in (SETTINGS_FILE, LOCK):
                (self.path / name).unlink(missing_ok=True)
            self.path.rmdir()


def _are_origins(found: Any) -> bool:
    """Return whether values have the form that `begin` writes."""
    if not isinstance(found, dict) or (found and TRAIN not in found):
        return False
    return all(
        isinstance(one, dict)
        and isinstance(one.get("read"), str)
        and isinstance(one.get("files"), list)
        and all(isinstance(digest, str) for digest in one["files"])
        for one in found.values()
    )


def environment() -> dict[str, Any]:
    """Return everything that determines the last bits of a result."""
    return {
        "regard": version("regard"),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "threads": torch.get_num_threads(),
        "onednn": ", ".join(sorted(onednn_kinds(torch.get_num_threads()))),  # kinds of products
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
        "cores": os.cpu_count(),
    }


def choose_device(name: str) -> torch.device:
    """Return a device; `auto` is a GPU where there is one. Raises ConfigError for a device that does not exist."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    kind, _, number = name.partition(":")
    if kind not in DEVICES or (number and not number.isdecimal()):
        raise ConfigError("device", f"there is no '{name}'", f"{', '.join(DEVICES)} or auto; cuda:1 is the second GPU")
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        problem = f"'{name}' cannot be used here: {str(error).splitlines()[0]}"
        raise ConfigError("device", problem, "auto or cpu") from error
    return device


def link_or_copy(source: str, target: str) -> str:
    """Link a file to another one; copy a log, which grows in place, and where the disk does not support links.

    Return its path.
    """
    if Path(source).name != METRICS_FILE:
        with suppress(OSError):
            os.link(source, target)
            return target
    return shutil.copy2(source, target)


@contextmanager
def locked(folder: Path, *, make: bool = False) -> Iterator[None]:
    """Lock a folder, which is made first with `make`. The lock ends with its process.

    Raises ConfigError if another process holds it, OSError where the folder is missing or cannot be made.
    """
    while True:
        if make:
            folder.mkdir(parents=True, exist_ok=True)
        try:
            file = (folder / LOCK).open("ab")
        except FileNotFoundError:
            if not make:
                raise
            continue  # its last holder has just removed the folder
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                problem = f"'{folder}' is being trained by another process"
                raise ConfigError("run", problem, "wait for its end, or stop it") from error
            if _stands(file, folder / LOCK):
                yield
                return


def _stands(file: BinaryIO, path: Path) -> bool:
    """Return whether an open file is still at that path: its last holder may have removed it with the folder."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False
