"""Marian's folders, as OPUS-MT's originals are, read and written; what they share with those of Firefox."""

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import torch
import yaml
from numpy.typing import NDArray

from regard.data.columns import TextColumn
from regard.decoding.shortlist import SHORTLIST_FILE, Shortlist
from regard.errors import CheckpointError, RegardError
from regard.exchange.format import Foreign, Format, ReadOptions, check_plain_translator, origin_of_folder
from regard.exchange.marian.files import read_model, write_bin, write_npz
from regard.exchange.marian.folder import (
    decoder_search,
    decoder_settings,
    find_files,
    model_files,
    orders_of,
    read_vocabularies,
    ungzipped,
)
from regard.exchange.marian.pieces import MarianVocabulary, marian_vocabulary
from regard.exchange.marian.shape import NetworkShape, first_difference, read_shape, shape_of
from regard.exchange.marian.weights import marian_tensors, our_weights
from regard.predictor import Predictor
from regard.runs.assembly import vocabularies_key
from regard.text.sentencepiece import SentencePieceTokenizer
from regard.text.vector_table import Float32s

_MAGIC = 0xF11A48D5013417F5
_HEADER = struct.Struct("<6Q")  # magic, checksum, first, best, length of offsets, length of lists
_AGAIN = "it was cut short or changed: fetch it again"
_GOLDEN, _MASK = 0x9E3779B9, (1 << 64) - 1


class BinaryShortlist(NamedTuple):
    """Target pieces of each source piece, by Marian's ids."""

    first: int  # so many ids from 0 on may stand in any target
    lists: Sequence[NDArray[np.uint32]]  # by source id, rising


def read_lexicon(file: Path, source_size: int, target_size: int) -> BinaryShortlist:
    """Read a lex.bin for vocabularies of these sizes.

    Raises CheckpointError where the checksum or the length is wrong, or an id is outside of the vocabulary.
    """
    try:
        content = file.read_bytes()
    except OSError as error:
        raise CheckpointError(file, f"cannot be read: {error.strerror or error}") from error
    if len(content) < _HEADER.size or _HEADER.unpack_from(content)[0] != _MAGIC:
        raise CheckpointError(file, "is not a binary shortlist of Marian", _AGAIN)
    _, noted, first, _, offsets, total = _HEADER.unpack_from(content)
    if _HEADER.size + 8 * offsets + 4 * total != len(content):
        problem = f"has {len(content):,} bytes, and its header asks for {_HEADER.size + 8 * offsets + 4 * total:,}"
        raise CheckpointError(file, problem, _AGAIN)
    if checksum(content) != noted:
        raise CheckpointError(file, "is damaged: its checksum is wrong", _AGAIN)
    places = np.frombuffer(content, "<u8", offsets, _HEADER.size)
    ids = np.frombuffer(content, "<u4", total, _HEADER.size + 8 * offsets)
    ordered = bool((places[:-1] <= places[1:]).all()) and (not len(places) or int(places[-1]) <= total)
    if offsets > source_size + 1 or not ordered or (total and int(ids.max()) >= target_size):
        problem = f"does not fit vocabularies of {source_size:,} and {target_size:,} pieces"
        raise CheckpointError(file, problem, "take the shortlist of this model")
    starts = places.tolist()
    ends = [*starts[1:], total][: len(starts)]
    lists = [ids[start:end] for start, end in zip(starts, ends, strict=True)][:source_size]
    lists += [ids[:0]] * (source_size - len(lists))
    return BinaryShortlist(min(first, target_size), lists)


def write_lexicon(file: Path, lexicon: BinaryShortlist) -> None:
    """Write a lex.bin. Marian refuses a source piece at the end without any translation: each list must have one."""
    lengths = [len(one) for one in lexicon.lists]
    places = np.concatenate([[0], np.cumsum(lengths)]).astype("<u8")
    ids = np.concatenate([np.sort(one) for one in lexicon.lists]).astype("<u4")
    body = places.tobytes() + ids.tobytes()
    sizes = (lexicon.first, max(lengths, default=0), len(places), len(ids))
    blank = _HEADER.pack(_MAGIC, 0, *sizes) + body
    file.write_bytes(_HEADER.pack(_MAGIC, checksum(blank), *sizes) + body)


def checksum(content: bytes) -> int:
    """Return the checksum of a lex.bin: of its whole 64-bit words behind magic and checksum.

    seed ^= word + 0x9e3779b9 + (seed << 6) + (seed >> 2), in 64 bits.
    """
    count = len(content) // 8 - 2
    seed = 0
    for word in np.frombuffer(content, "<u8", max(count, 0), 16).tolist():
        seed ^= (word + _GOLDEN + (seed << 6 & _MASK) + (seed >> 2)) & _MASK
    return seed


_LARGEST_SHORTLIST = 250_000_000  # ids, of 4 bytes
_DECODER: Mapping[str, Any] = {"beam-size": 6, "normalize": 1, "max-length-factor": 3}


class MarianFormat(Format):
    """A folder with model.npz or model.bin, its vocabulary and decoder.yml: of marian-dev, and OPUS-MT's originals."""

    name = "marian"
    aliases = "marian_nmt, opus"
    usage = "```bash\nmarian-decoder -c FOLDER/model.npz.decoder.yml < texts\n```"
    search: Mapping[str, Any] = _DECODER

    def recognises(self, folder: Path) -> bool:
        return any(file.suffix == ".npz" or file.name == "model.bin" for file in model_files(folder))

    def read(self, folder: Path, options: ReadOptions) -> Foreign:
        files = find_files(folder)
        with ungzipped(files.model) as opened:
            model = read_model(opened)
        shape = read_shape(model.config, files.model)
        tokenizers = read_vocabularies(files, shape.vocabularies)
        weights = our_weights(model.items, shape, orders_of(tokenizers), files.model)
        more, listed = {}, files.shortlist is not None
        if files.shortlist is not None:
            with ungzipped(files.shortlist) as opened:
                lexicon = read_lexicon(opened, *shape.vocabularies)
            more[SHORTLIST_FILE] = _shortlist_bytes(lexicon, tokenizers, shape, files.shortlist)
        one = tokenizers[0] is tokenizers[1]
        languages = options.pair(folder, files.languages)
        settings = {
            "task": "translation",
            "text": {"tokenizer": "sentencepiece_file", "shared": one, "joint": not one and files.listed is not None},
            "model": shape.model_settings(),
            "decoding": {"search": decoder_search(files.search, self.search), "shortlist": listed},
            **({"data": {"languages": [*languages]}} if languages else {}),
        }
        kept = {"shared": tokenizers[0]} if one else {"source": tokenizers[0], "target": tokenizers[1]}
        title = f"Marian Transformer, {shape.decoder} decoder"
        return Foreign(settings, weights, kept, origin_of_folder(self.name, folder, title, files.names), more)

    def write(self, predictor: Predictor, folder: Path) -> None:
        """Write model.npz, model.bin, the vocabulary and decoder.yml."""
        exported = MarianExport.of(predictor)
        config = exported.shape.config()
        write_npz(folder / "model.npz", config, exported.items)
        write_bin(folder / "model.bin", config, exported.items)
        names = [f"{name}vocab.spm" for name in exported.sides("src", "trg")]
        exported.write_vocabularies(folder, names)
        search = decoder_settings(predictor.run.experiment.decoding.search)
        search |= {"models": ["model.npz"], "vocabs": [names[0], names[-1]]}
        (folder / "model.npz.decoder.yml").write_text(yaml.safe_dump(search), encoding="utf-8")


class MarianExport(NamedTuple):
    """A run's model in Marian's terms."""

    shape: NetworkShape
    items: dict[str, Float32s]
    vocabularies: tuple[MarianVocabulary, ...]  # one, or source and target

    @classmethod
    def of(cls, predictor: Predictor) -> "MarianExport":
        """Return it. Raises RegardError for another model than Marian's, with the first setting that differs."""
        check_plain_translator(predictor.run.experiment, "Marian", carried=["shortlist"])
        columns, settings = predictor.task.vocabularies, predictor.run.settings["model"]
        one = columns["source"] is columns["target"]
        sides = ("source",) if one else ("source", "target")
        vocabularies = tuple(marian_vocabulary(columns[side].tokenizer) for side in sides)
        sizes = len(vocabularies[0].order), len(vocabularies[-1].order)
        shape = shape_of(settings, sizes)
        if (line := first_difference(settings, shape.model_settings())) is not None:
            raise RegardError(f"{line} (a config of that shape: configs/translation/marian-student.yaml)")
        orders = vocabularies[0].order, vocabularies[-1].order
        return cls(shape, marian_tensors(predictor.model.state_dict(), shape, orders), vocabularies)

    def sides(self, *names: str) -> tuple[str, ...]:
        """Return these names where source and target have vocabularies of their own, else one that is empty."""
        return ("",) if len(self.vocabularies) == 1 else names

    def write_vocabularies(self, folder: Path, names: Sequence[str]) -> None:
        """Write the SentencePiece models."""
        for name, vocabulary in zip(names, self.vocabularies, strict=True):
            (folder / name).write_bytes(vocabulary.model)


def _shortlist_bytes(
    lexicon: BinaryShortlist,
    tokenizers: tuple[SentencePieceTokenizer, SentencePieceTokenizer],
    shape: NetworkShape,
    file: Path,
) -> bytes:
    """A shortlist file of ours, a row of equal length for each source piece. Raises CheckpointError for a large one.

    With one vocabulary a source piece may always stand for itself, as in Marian.
    """
    source, target = orders_of(tokenizers)
    here = np.full(max(*target, shape.vocabularies[1]) + 1, 0, np.int32)
    here[np.asarray(target)] = np.arange(len(target), dtype=np.int32)
    widest = max(map(len, lexicon.lists)) + 1
    if len(source) * widest > _LARGEST_SHORTLIST:
        problem = f"has {widest - 1:,} translations of one piece; {_LARGEST_SHORTLIST // len(source) - 1:,} can be read"
        raise CheckpointError(file, problem, "import the folder without it")
    likely = np.zeros((len(source), widest), np.int32)
    for ours, there in enumerate(source):
        found = here[lexicon.lists[there]] if there < len(lexicon.lists) else here[:0]
        likely[ours, : len(found)] = found
        likely[ours, len(found) :] = ours if tokenizers[0] is tokenizers[1] else found[0] if len(found) else 0
    made = Shortlist(torch.from_numpy(likely), torch.from_numpy(here[: lexicon.first].copy()), len(target))
    columns = {"source": TextColumn(tokenizers[0]), "target": TextColumn(tokenizers[1])}
    with TemporaryDirectory() as folder:
        made.save(Path(folder) / SHORTLIST_FILE, vocabularies_key(columns))
        return (Path(folder) / SHORTLIST_FILE).read_bytes()
