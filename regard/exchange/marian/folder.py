"""Folders of Marian and of Firefox Translations: their files by name, packed or not, and their vocabularies."""

import gzip
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import yaml

from regard.errors import CheckpointError, RegardError
from regard.exchange.format import short_repr
from regard.registry import Choice
from regard.text.sentencepiece import PieceList, SentencePieceTokenizer, load_model_proto, own_pieces

GZ = ".gz"
_LARGEST = 8 << 30  # bytes that a file is ungzipped to
_CHUNK = 1 << 20
_WITHOUT_RATIO = 3  # max-length-factor of Marian where a search has no max_ratio: the default of its programs
_END, _UNKNOWN = "</s>", "<unk>"
_LANGUAGES = re.compile(r"^model\.([a-z]{2,3}(?:-[A-Za-z]{2,4})?)([a-z]{2})\.|^model\.([a-z]{2,3})([a-z]{2,3})\.")


_Tokenizers = tuple[SentencePieceTokenizer, SentencePieceTokenizer]  # of source and target


class ModelFiles(NamedTuple):
    """The files of a folder."""

    model: Path  # .npz, .bin or .bin.gz
    vocabularies: tuple[Path, ...]  # .spm: of both sides, or of source and target
    listed: Path | None  # .yml: the pieces by their ids, where those of the .spm are others
    shortlist: Path | None
    search: Path | None  # decoder.yml

    @property
    def names(self) -> list[str]:
        """Return their names."""
        found = (self.model, *self.vocabularies, self.listed, self.shortlist, self.search)
        return [file.name for file in found if file is not None]

    @property
    def languages(self) -> list[str] | None:
        """Return the codes in the name of the model, such as model.ende.intgemm.alphas.bin."""
        found = _LANGUAGES.match(self.model.name)
        return None if found is None else [one for one in found.groups() if one]


def model_files(folder: Path) -> list[Path]:
    """Return the files of a folder that look like models."""
    found = [*folder.glob("*.npz"), *folder.glob("*.bin"), *folder.glob(f"*.bin{GZ}")]
    return sorted(file for file in found if not file.name.startswith("lex") and ".optimizer." not in file.name)


def find_files(folder: Path) -> ModelFiles:
    """Return the files of a folder. Raises CheckpointError where a model or its vocabulary is missing."""
    models = model_files(folder)
    best = next((file for file in models if file.name == "model.npz"), None)
    if not models:
        raise CheckpointError(folder, "has no model", "model.npz, or model.bin and model.bin.gz of Firefox")
    if best is None and len(models) > 1:
        names = ", ".join(file.name for file in models[:3])
        raise CheckpointError(folder, f"has several models: {names}", "keep one of them in the folder")
    return ModelFiles(
        best or models[0],
        _vocabularies(folder),
        next(iter(sorted(folder.glob("*vocab*.yml"))), None),
        next(iter(sorted([*folder.glob("lex*.bin"), *folder.glob(f"lex*.bin{GZ}")])), None),
        next(iter(sorted(folder.glob("*decoder.yml"))), None),
    )


def _vocabularies(folder: Path) -> tuple[Path, ...]:
    found = sorted([*folder.glob("*.spm"), *folder.glob(f"*.spm{GZ}")])
    for first, second in (("source", "target"), ("srcvocab", "trgvocab")):
        sides = [next((file for file in found if file.name.startswith(name)), None) for name in (first, second)]
        if sides[0] is not None and sides[1] is not None:
            return sides[0], sides[1]
    if len(found) != 1:
        problem = f"has {len(found) or 'no'} vocabularies ending in .spm"
        raise CheckpointError(
            folder, problem, "vocab.spm, or srcvocab.spm and trgvocab.spm, or source.spm and target.spm"
        )
    return (found[0],)


@contextmanager
def ungzipped(file: Path) -> Iterator[Path]:
    """A file, or what a .gz holds. Raises CheckpointError for one that cannot be ungzipped."""
    if file.suffix != GZ:
        yield file
        return
    with TemporaryDirectory() as folder:
        found = Path(folder) / file.name.removesuffix(GZ)
        try:
            with gzip.open(file) as opened, found.open("wb") as written:
                while some := opened.read(_CHUNK):
                    written.write(some)
                    if written.tell() > _LARGEST:
                        raise CheckpointError(file, f"holds more than {_LARGEST >> 30} GiB")
        except (OSError, EOFError, zlib.error) as error:
            raise CheckpointError(file, f"cannot be ungzipped: {error}", "fetch it again") from error
        yield found


def read_vocabularies(files: ModelFiles, sizes: tuple[int, int]) -> _Tokenizers:
    """Return the tokenizers of source and target; one object where they are one.

    Raises CheckpointError for one that does not have as many pieces as the model has rows.
    """
    models = [_content(file) for file in files.vocabularies]
    if files.listed is not None:
        listed = _listed(files.listed, sizes[0])
        found = [_tokenizer(file, model, listed) for file, model in zip(files.vocabularies, models, strict=True)]
        return found[0], found[-1]
    found = list[SentencePieceTokenizer]()
    for file, model in zip(files.vocabularies, models, strict=True):
        listed = own_pieces(model, file)
        known = load_model_proto(model).get_piece_size()
        for size in {*sizes} if len(models) == 1 else {sizes[len(found)]}:
            if known != size:
                problem = f"has {known:,} pieces, and the model has {size:,} rows for them"
                raise CheckpointError(file, problem, "take the vocabulary of this model")
        found.append(_tokenizer(file, model, listed))
    return found[0], found[-1]


def _content(file: Path) -> bytes:
    with ungzipped(file) as found:
        try:
            return found.read_bytes()
        except OSError as error:
            raise CheckpointError(file, f"cannot be read: {error.strerror or error}") from error


def _tokenizer(file: Path, model: bytes, listed: PieceList) -> SentencePieceTokenizer:
    try:
        return SentencePieceTokenizer(model, listed)
    except RuntimeError as error:
        raise CheckpointError(file, f"is not a SentencePiece model: {error}") from error


def _listed(file: Path, size: int) -> PieceList:
    """The pieces of a vocabulary in YAML: piece → id."""
    found = read_yaml_file(file)
    names = {number: str(piece) for piece, number in found.items() if type(number) is int}
    if len(names) != len(found) or sorted(names) != [*range(len(names))] or len(names) != size:
        problem = f"does not number {size:,} pieces 0, 1, 2 …"
        raise CheckpointError(file, problem, "take the vocabulary of this model")
    numbers = {piece: number for number, piece in names.items()}
    if missing := [piece for piece in (_END, _UNKNOWN) if piece not in numbers]:
        raise CheckpointError(file, f"has no piece {missing[0]}", "take the vocabulary of this model")
    pieces = [*(names[number] for number in range(size)), "<pad>", "<s>"]
    return PieceList.of(pieces, [size, size + 1, numbers[_END], numbers[_UNKNOWN]], codes=True)


def read_yaml_file(file: Path) -> dict[str, Any]:
    """Return the group of settings in a YAML file. Raises CheckpointError where it is not one."""
    try:
        found = yaml.load(file.read_text(encoding="utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (OSError, ValueError, yaml.YAMLError, RecursionError) as error:
        problem = " ".join(str(error).split())
        raise CheckpointError(file, f"cannot be read: {problem:.200}") from error
    if not isinstance(found, dict):
        raise CheckpointError(file, "is not a group of settings")
    return found


def decoder_search(file: Path | None, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the search of a decoder.yml; `settings` are those that stand in where it says nothing.

    Raises CheckpointError for a penalty that no search here has.
    """
    found = {**settings, **(read_yaml_file(file) if file is not None else {})}
    numbers: list[Any] = [found.get(name) for name in ("beam-size", "max-length-factor", "normalize")]
    beams, ratio, penalty = numbers
    if file is not None and found.get("word-penalty"):
        raise CheckpointError(file, f"word-penalty is {short_repr(found['word-penalty'])}, and 0 can be read")
    if not _is_number(beams) or not 1 <= beams <= 1000 or not _is_number(ratio) or not 0 < ratio <= 100:
        raise CheckpointError(file or "model.yml", "beam-size and max-length-factor are not sizes of a search")
    longest = {"max_ratio": float(ratio), "max_extra": 1}
    if beams == 1:
        return {"name": "greedy", **longest}
    length = float(penalty) if _is_number(penalty) else float(bool(penalty))
    return {"name": "beam", "size": int(beams), "length_penalty": length, "stop": "full", **longest}


def decoder_settings(search: Choice) -> dict[str, Any]:
    """Return the settings of a decoder.yml for a search. Raises RegardError for one that Marian does not have."""
    said = search.settings
    if search.name not in ("beam", "greedy") or said.get("normalisation", "length") != "length":
        raise RegardError(f"decoding.search: Marian has no '{search.name}' like it (beam or greedy)")
    if said.get("min_length"):
        raise RegardError("decoding.search.min_length: Marian has no such setting (decoding.search.min_length=0)")
    found = {"max-length-factor": said.get("max_ratio", 2.0) or _WITHOUT_RATIO}
    if search.name == "greedy":
        return {**found, "beam-size": 1}
    return {**found, "beam-size": said.get("size", 5), "normalize": said.get("length_penalty", 1.0)}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def orders_of(tokenizers: Sequence[SentencePieceTokenizer]) -> tuple[Sequence[int], Sequence[int]]:
    """Return ids there by ids here, of source and target."""
    return tokenizers[0].listed.order, tokenizers[1].listed.order
