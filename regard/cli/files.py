"""Words and files of the command line, checked before much is done."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from regard.errors import ConfigError


def is_change(word: str) -> bool:
    """Return whether a word of a command changes a setting: KEY=VALUE, unless there is a file of that name."""
    try:
        return "=" in word and not Path(word).exists()
    except OSError:  # it is too long for the name of a file
        return True


def paths_and_changes(words: Sequence[str]) -> tuple[list[Path], list[str]]:
    """Return the files and folders among the words of a command, and the changes of settings."""
    return [Path(word) for word in words if not is_change(word)], [word for word in words if is_change(word)]


def named_pairs(files: Sequence[Path], source: Path | None, target: Path | None) -> list[Path]:
    """Return the files of pairs: two texts or a table that are named as arguments, or --source and --target.

    Raises ConfigError for files named in both ways, and for more than two.
    """
    pairs = both_sides("", source, target)
    if files and pairs:
        named = " and ".join(map(str, files))
        raise ConfigError("--source", f"the pairs are named twice, beside '{named}'", "leave one of them out")
    if len(files) > 2:
        problem = "is a third file"
        raise ConfigError(str(files[2]), problem, "pairs are two text files, or one table; settings are KEY=VALUE")
    return pairs or [*files]


def both_sides(prefix: str, source: Path | None, target: Path | None) -> list[Path]:
    """Return the files of two options, or none; `prefix` is that of their names. Raises ConfigError for one alone."""
    if (source is None) != (target is None):
        given, missing = ("source", "target") if target is None else ("target", "source")
        raise ConfigError(f"--{prefix}{missing}", "must be given", f"beside --{prefix}{given}")
    return [one for one in (source, target) if one is not None]


def check_writable(path: Path | None, option: str = "") -> None:
    """Raise OSError unless a file can be written there, ConfigError where its folder is missing.

    Nothing is changed, a new file is not left behind. `option` is where the file was named, if it was.
    """
    if path is None:
        return
    if not path.parent.exists():
        place = f"{option}: {path}" if option else str(path)
        raise ConfigError(place, f"there is no folder '{path.parent}'", f"make it first: mkdir -p {path.parent}")
    if path.exists() and not (path.is_file() or path.is_dir()):
        return  # a pipe or a device: to open it is to use it
    new = not path.exists()
    path.open("ab").close()
    if new:
        path.unlink()


def check_all_writable(files: Mapping[str, Path | None]) -> None:
    """Raise as `check_writable` does for the first of the files, by option."""
    for option, path in files.items():
        check_writable(path, option)


def check_apart(read: Sequence[Path], written: Mapping[str, Path]) -> None:
    """Raise ConfigError for a file, by option, that is also read, or that two options name."""
    known = {path.resolve(): f"'{path}' is read" for path in read}
    for option, path in written.items():
        if problem := known.get(path.resolve()):
            raise ConfigError(option, f"{problem}, too", "name another file")
        known[path.resolve()] = f"'{path}' is written for {option}"
