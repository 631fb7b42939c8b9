"""Packages of Argos Translate (.argosmodel): a zip with metadata.json, a CTranslate2 model and SentencePiece pieces.

They are searched as Argos Translate does: sentence by sentence, a beam of 4, a length penalty of 0.2.
"""

import zlib
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from zipfile import BadZipFile, LargeZipFile, ZipFile, ZipInfo

import sentencepiece
import torch

from regard.config import parse_json
from regard.documents.sentences import sentences
from regard.errors import ConfigError, DataError

_ENTRIES = 10_000
_UNPACKED = 2 << 30  # bytes of the model
_SMALL = 1 << 20  # bytes of the metadata
_BLOCK = 1 << 20
_BROKEN = (BadZipFile, LargeZipFile, NotImplementedError, EOFError, RuntimeError, OSError, ValueError, zlib.error)
_METADATA, _PIECES, _BPE, _MODEL = "metadata.json", "sentencepiece.model", "bpe.model", "model"
_SPACE = "\u2581"
_HINT = "expected a zip with metadata.json, model/ and sentencepiece.model"
_SEARCH = {"beam_size": 4, "length_penalty": 0.2, "replace_unknowns": True, "max_batch_size": 32}


class ArgosTranslator:
    """A package, opened; its files are unpacked while it is loaded."""

    def __init__(self, path: Path) -> None:
        """Raise ConfigError where CTranslate2 is not installed, DataError for a file that is not a package."""
        if find_spec("ctranslate2") is None:
            raise ConfigError(str(path), "needs ctranslate2, which is not installed", "pip install -e '.[ctranslate2]'")
        import ctranslate2

        self._path = path
        with TemporaryDirectory(prefix="regard-argos-") as folder:
            found = _unpacked(path, Path(folder))
            self.languages, self._prefix = found.languages, found.prefix
            threads = {"inter_threads": 1, "intra_threads": torch.get_num_threads()}
            try:
                self._pieces = sentencepiece.SentencePieceProcessor(model_file=str(Path(folder) / _PIECES))
                self._model: Any = ctranslate2.Translator(str(Path(folder) / _MODEL), device="cpu", **threads)
            except (RuntimeError, ValueError, OSError) as error:
                raise DataError(path, f"has a model that cannot be opened: {error}".replace(folder, "")) from error

    def translate(self, texts: Sequence[str]) -> list[str | None]:
        """Translate texts; their sentences are joined by spaces."""
        parts = [[text[start:end] for start, end, *_ in sentences(text, language=self.languages[0])] for text in texts]
        found = dict(zip(flat := [*{one for some in parts for one in some}], self._translated(flat), strict=True))
        return [" ".join(found[one] for one in some) for some in parts]

    def _translated(self, parts: Sequence[str]) -> list[str]:
        cut = self._pieces.encode(list(parts), out_type=str)
        prefix = [[self._prefix]] * len(cut) if self._prefix else None
        try:
            found = self._model.translate_batch(cut, target_prefix=prefix, **_SEARCH)
        except (RuntimeError, ValueError) as error:
            raise DataError(self._path, f"has a model that cannot translate: {error}") from error
        written = [one.hypotheses[0] for one in found]
        return ["".join(one[1:] if self._prefix else one).replace(_SPACE, " ").strip() for one in written]


class _Package(NamedTuple):
    """Contents of metadata.json."""

    languages: tuple[str, str]
    prefix: str  # piece in front of every translation


def _unpacked(path: Path, folder: Path) -> _Package:
    """Write the model and the pieces of a package into a folder, and return its metadata. Raises DataError."""
    try:
        with ZipFile(path) as archive:
            entries = _entries(path, archive)
            found = _metadata(path, archive, entries)
            (folder / _MODEL).mkdir()
            for name, entry in entries.items():
                with archive.open(entry) as content, (folder / name).open("wb") as out:
                    while block := content.read(_BLOCK):  # never more than the entry declares
                        out.write(block)
            return found
    except _BROKEN as error:
        raise DataError(path, f"is not a package of Argos Translate, or is broken: {error}", hint=_HINT) from error


def _entries(path: Path, archive: ZipFile) -> dict[str, ZipInfo]:
    """Return the entries to unpack by their names below the package's folder. Raises DataError."""
    infos = archive.infolist()
    if len(infos) > _ENTRIES:
        raise DataError(path, f"has more than {_ENTRIES:,} entries", hint=_HINT)
    names = {info.filename.replace("\\", "/"): info for info in infos if not info.is_dir()}
    if any(name.startswith("/") or ".." in name.split("/") for name in names):
        raise DataError(path, "has an entry whose name leads out of it")
    roots = [one.parent for one in map(PurePosixPath, names) if one.name == _METADATA and len(one.parts) <= 2]
    if len(roots) != 1:
        raise DataError(path, "is not a package of Argos Translate", hint=_HINT)
    inside = {
        PurePosixPath(name).relative_to(roots[0]): info
        for name, info in names.items()
        if PurePosixPath(name).is_relative_to(roots[0])
    }
    kept = {
        str(one): info for one, info in inside.items() if str(one) in (_METADATA, _PIECES) or str(one.parent) == _MODEL
    }
    if _PIECES not in kept and PurePosixPath(_BPE) in inside:
        raise DataError(path, f"cuts texts with {_BPE}; only {_PIECES} is read", hint="test a server that has it")
    if missing := {_PIECES, f"{_MODEL}/model.bin"} - {*kept}:
        raise DataError(path, f"has no {min(missing)}", hint=_HINT)
    if sum(info.file_size for info in kept.values()) > _UNPACKED:
        raise DataError(path, f"unpacks to more than {_UNPACKED >> 30} GiB")
    return kept


def _metadata(path: Path, archive: ZipFile, entries: dict[str, ZipInfo]) -> _Package:
    """Return languages and prefix. Raises DataError where a language is missing."""
    info = entries[_METADATA]
    found = parse_json(archive.read(info)) if info.file_size <= _SMALL else None
    given = found if isinstance(found, dict) else {}
    texts = [given.get(name) for name in ("from_code", "to_code")]
    prefix = given.get("target_prefix") or ""
    source, target = (one if isinstance(one, str) else "" for one in texts)
    if not source or not target or not isinstance(prefix, str):
        raise DataError(
            path, f"has no from_code and to_code in {_METADATA}", hint="only packages of translators are tested"
        )
    return _Package((source, target), prefix)
