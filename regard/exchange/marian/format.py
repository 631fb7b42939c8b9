"""Marian's folders, as OPUS-MT's originals are, read and written; what they share with those of Firefox."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import torch
import yaml

from regard.data.columns import TextColumn
from regard.decoding.shortlist import SHORTLIST_FILE, Shortlist
from regard.errors import CheckpointError, RegardError
from regard.exchange.format import Foreign, Format, ReadOptions, origin_of_folder
from regard.exchange.marian.files import read_model, write_bin, write_npz
from regard.exchange.marian.folder import (
    decoder_search,
    find_files,
    model_files,
    orders_of,
    read_vocabularies,
    ungzipped,
)
from regard.exchange.marian.lexicon import BinaryShortlist, read_lexicon
from regard.exchange.marian.pieces import MarianVocabulary, marian_vocabulary
from regard.exchange.marian.shape import NetworkShape, first_difference, read_shape, shape_of
from regard.exchange.marian.weights import marian_tensors, our_weights
from regard.predictor import Predictor
from regard.runs.assembly import vocabularies_key
from regard.text.sentencepiece import SentencePieceTokenizer
from regard.text.vector_table import Float32s

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
        languages = options.languages or files.languages
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
        search = {**self.search, "models": ["model.npz"], "vocabs": [names[0], names[-1]]}
        (folder / "model.npz.decoder.yml").write_text(yaml.safe_dump(search), encoding="utf-8")


class MarianExport(NamedTuple):
    """A run's model in Marian's terms."""

    shape: NetworkShape
    items: dict[str, Float32s]
    vocabularies: tuple[MarianVocabulary, ...]  # one, or source and target

    @classmethod
    def of(cls, predictor: Predictor) -> "MarianExport":
        """Return it. Raises RegardError for another model than Marian's, with the first setting that differs."""
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
