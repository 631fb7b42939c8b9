"""A translator of any architecture as graphs, with a search in Python and JavaScript beside them."""

import importlib.util
import json
import struct
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np
import sentencepiece
import torch
from torch import Tensor

import regard.runtime.folder
import regard.runtime.pieces
from regard.data.columns import TextColumn
from regard.data.sealed import file_digest
from regard.errors import RegardError
from regard.exchange.format import Format, Program, check_plain_translator, not_exportable
from regard.exchange.graphs.onnx_files import write_onnx
from regard.exchange.graphs.ports import GraphPort
from regard.exchange.graphs.programs import Graphs, graphs_of
from regard.exchange.marian.pieces import message_fields
from regard.models.translator import Translator
from regard.pieces import EOS, UNK
from regard.predictor import Predictor
from regard.predictor.engines import translator
from regard.predictor.engines.graphs import opened_graphs
from regard.predictor.engines.runtime import beam_rules
from regard.predictor.engines.translator import DECODER_GRAPH, ENCODER_GRAPH, present
from regard.runtime.folder import SETTINGS_NAME
from regard.scripts import CUT_APART
from regard.text import Tokenizer
from regard.text.counted import CountedTokenizer
from regard.text.sentencepiece import SentencePieceTokenizer, load_model_proto
from regard.text.subwords import SubwordTokenizer
from regard.text.vocabulary import FIRST_BYTE, FIRST_PIECE
from regard.text.words import PIECE_PATTERN

_SPACE = "\u2581"
# fields of a SentencePiece model, its trainer, its normaliser and a piece (sentencepiece_model.proto)
_PIECES, _TRAINER, _NORMALISER, _DENORMALISER = 1, 2, 3, 5
_KIND, _SUFFIX, _BYTE_FALLBACK = 3, 24, 35
_RULES, _PREFIX, _EXTRA_SPACES, _ESCAPES = 2, 3, 4, 5
_PIECE, _SCORE, _TYPE = 1, 2, 3
_NORMAL, _DEFINED, _UNUSED = 1, 4, 5  # types of pieces
_LONGEST_RULE, _MOST_STEPS = 64, 2_000_000  # bytes of a replaced text, places of the trie: a stranger's may go round
_ALGORITHMS = {1: "unigram", 2: "bpe"}


def pieces_of(tokenizer: Tokenizer | None, side: str) -> dict[str, Any]:
    """Return a tokenizer as plain values. Raises RegardError for one that the programs do not know."""
    match tokenizer:
        case SubwordTokenizer():
            return _subwords(tokenizer)
        case SentencePieceTokenizer():
            return _sentencepiece(tokenizer, side)
        case CountedTokenizer(kind="words" | "characters"):
            listed = tokenizer.pieces(range(len(tokenizer)))
            pattern = {"pattern": PIECE_PATTERN, "unicode_pattern": _unicode()} if tokenizer.kind == "words" else {}
            kept = {"kind": tokenizer.kind, "pieces": listed, "bytes": [*range(FIRST_BYTE, FIRST_PIECE)]}
            return {**kept, **pattern}
    kind = getattr(tokenizer, "kind", None)
    raise _refused(f"text.tokenizer of its {side} is {kind!r}", "subwords, sentencepiece_file, words or characters")


def _unicode() -> str:
    """The pattern of words as JavaScript has it, which knows neither the letters of all scripts nor the same spaces."""
    letters, spaces = r"\p{L}\p{N}_", r"\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
    words = rf"(?:(?![{CUT_APART}])[{letters}])+"
    return f" ?(?:[{CUT_APART}]|{words}|[^{letters}{spaces}])|[{spaces}]"


def _subwords(tokenizer: SubwordTokenizer) -> dict[str, Any]:
    processor = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.model)
    count = range(len(tokenizer))
    listed, scores = tokenizer.pieces(count), [processor.get_score(number) for number in count]
    bytes_ = [number for number in count if processor.is_byte(number)]
    kind = "bpe" if tokenizer.ranked else "unigram"
    reserved = [*range(EOS + 2, min(bytes_))]
    return {"kind": kind, "pieces": listed, "bytes": bytes_, "scores": scores, "reserved": reserved}


def _sentencepiece(tokenizer: SentencePieceTokenizer, side: str) -> dict[str, Any]:
    """The model that cuts texts, the list that numbers pieces, and which of them the model that joins leaves out."""
    listed, model = tokenizer.listed, list(message_fields(tokenizer.model))
    trainer, normaliser = (
        {one.number: one.value for part in model if part.number == field for one in message_fields(part.content())}
        for field in (_TRAINER, _NORMALISER)
    )
    scores, defined = dict[str, float](), list[str]()
    for part in model:
        if part.number == _PIECES:
            piece, score, kind = _piece(part.content())
            if kind == _NORMAL:
                scores[piece] = score
            elif kind == _DEFINED:
                defined.append(piece)
            elif kind == _UNUSED:
                raise _refused(f"the SentencePiece model of its {side} has unused pieces", "one without")
    algorithm = _ALGORITHMS.get(int(trainer.get(_KIND, 1)))
    if algorithm is None:
        raise _refused(f"the SentencePiece model of its {side} has words or characters", "unigrams or BPE")
    if any(_SPACE in piece.lstrip(_SPACE) for piece in (*scores, *defined)):
        raise _refused(f"the SentencePiece model of its {side} has pieces of several words", "pieces within words")
    if trainer.get(_SUFFIX) or not normaliser.get(_ESCAPES, 1):
        raise _refused(f"the SentencePiece model of its {side} marks spaces in another way", f"{_SPACE} before words")
    if any(part.number == _DENORMALISER and part.content() for part in model):
        raise _refused(f"the SentencePiece model of its {side} has rules for what it joins", "one without")
    writes = load_model_proto(tokenizer.model if tokenizer.writer is None else tokenizer.writer)
    known = [writes.piece_to_id(piece) for piece in listed.pieces]
    return {
        "kind": "sentencepiece",
        "algorithm": algorithm,
        "pieces": list(listed.pieces),
        "scores": scores,
        "defined": defined,
        "byte_fallback": bool(trainer.get(_BYTE_FALLBACK)),
        "rules": _read_rules(bytes(normaliser.get(_RULES, b"")), side),
        "prefix": bool(normaliser.get(_PREFIX, 1)),
        "extra_spaces": not normaliser.get(_EXTRA_SPACES, 1),
        "before": list(tokenizer.first),
        "codes": listed.codes,
        "unwritten": [
            number
            for number, (piece, one) in enumerate(zip(listed.pieces, known, strict=True))
            if number <= UNK or piece in listed.unwritten or writes.is_control(one)
        ],
        "bytes": {
            str(number): int(listed.pieces[number][3:5], 16) for number, one in enumerate(known) if writes.is_byte(one)
        },
    }


def _piece(message: bytes) -> tuple[str, float, int]:
    """Text, score and type of a piece."""
    found = {one.number: one.value for one in message_fields(message)}
    score = found.get(_SCORE, bytes(4))
    return bytes(found[_PIECE]).decode(), struct.unpack("<f", bytes(score))[0], int(found.get(_TYPE, _NORMAL))


def _read_rules(compiled: bytes, side: str) -> tuple[str, str]:
    """Return the replacements of a compiled normaliser: texts, sorted, and what replaces each, with zeros behind them.

    Raises RegardError for a damaged one.
    """
    try:
        return _rules(compiled)
    except (IndexError, ValueError, struct.error) as error:
        problem = f"the normalisation of the SentencePiece model of its {side} cannot be read ({error})"
        raise _refused(problem, "a sound model") from error


@lru_cache(maxsize=1)  # both sides of a translator mostly have the same
def _rules(compiled: bytes) -> tuple[str, str]:
    """Read a double-array trie over bytes, and texts that end with a zero.

    The child of a base by a byte is the unit at base ^ byte, and it holds that byte: so each unit names its one base.
    """
    if not compiled:
        return "", ""
    (size,) = struct.unpack_from("<I", compiled)
    units, texts = np.frombuffer(compiled, "<u4", size // 4, 4), compiled[4 + size :]
    labels = units & 0x800000FF
    places = np.flatnonzero((labels > 0) & (labels < 256))
    children = defaultdict[int, list[tuple[int, int]]](list)
    for place, label, unit in zip(places.tolist(), labels[places].tolist(), units[places].tolist(), strict=True):
        children[place ^ label].append((place, unit))

    def offset(unit: int) -> int:
        return (unit >> 10) << ((unit & 512) >> 6)

    waiting, steps, rules = [(b"", offset(int(units[0])))], 0, list[tuple[str, str]]()
    while waiting:
        before, base = waiting.pop()
        steps += 1
        if len(before) > _LONGEST_RULE or steps > _MOST_STEPS:
            raise ValueError("its rules do not end")
        for place, unit in children.get(base, ()):
            key, child = before + bytes([unit & 255]), place ^ offset(unit)
            if unit >> 8 & 1:
                start = int(units[child]) & 0x7FFFFFFF
                rules.append((key.decode(), texts[start : texts.index(b"\0", start)].decode()))
            waiting.append((key, child))
    rules.sort()
    return "".join(f"{before}\0" for before, _ in rules), "".join(f"{after}\0" for _, after in rules)


def _refused(problem: str, needed: str) -> RegardError:
    return not_exportable(problem, needed, "an export with its own search")


class GraphFormat(Format):
    """Graphs, settings of the search, pieces, and programs that read them."""

    reads = False
    packages: ClassVar[tuple[str, ...]]  # that write it
    extra = ""  # of the package's own that installs them
    scripts: ClassVar[tuple[str, ...]] = ()  # beside those in Python

    @abstractmethod
    def write_graphs(self, graphs: Graphs, folder: Path) -> dict[str, Any]:
        """Write the graphs, and return settings that reading them needs."""

    def write(self, predictor: Predictor, folder: Path) -> None:
        missing = [name for name in self.packages if importlib.util.find_spec(name) is None]
        if missing:
            problem = f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed"
            raise RegardError(f"{self.name}: {problem} (pip install -e '.[{self.extra}]')")
        search = search_settings(predictor, self.name)
        named = write_pieces(predictor, folder)
        most, model = predictor.encoder.max_source, cast(Translator, predictor.model)
        longest = int(np.float32(most) * np.float32(search["max_ratio"])) + search["max_extra"]
        written = model.longest(predictor.task.batch([{"source": [EOS + 2], "target": []}]))
        longest = longest if written is None else max(1, min(longest, written))
        graphs = graphs_of(model, len(predictor.task.vocabularies["source"]), max(longest, most) + 1)
        settings = {
            "program": self.name, "search": search, "max_source": most, "max_target": longest,
            "fixed": [one.name for one in graphs.states.fixed], "moving": [one.name for one in graphs.states.moving],
            **named, **self.write_graphs(graphs, folder),
        }  # fmt: skip
        write_settings(settings, folder)
        copied = [Path(str(module.__file__)) for module in (regard.runtime.folder, regard.runtime.pieces, translator)]
        for file in (*copied, *(copied[-1].with_name(name) for name in self.scripts)):
            text = file.read_text(encoding="utf-8").replace("from regard.runtime.", "from ")
            (folder / file.name).write_text(text, encoding="utf-8")

    def program(self, folder: Path, predictor: Predictor) -> Program | None:
        return GraphProgram(folder, self.name)


class OnnxFormat(GraphFormat):
    """encoder_model.onnx and decoder_model_merged.onnx, with the names of Hugging Face's optimum where it has one."""

    name = "onnx"
    aliases = "onnxruntime, onnx_runtime, optimum, ort"
    library = "onnx"
    usage = "```bash\npython FOLDER/translator.py < texts\nnode FOLDER/translator.js < texts\n```"
    packages = ("onnx", "onnxscript", "onnxruntime")
    extra = "onnx"
    scripts = ("translator.js",)

    def write_graphs(self, graphs: Graphs, folder: Path) -> dict[str, Any]:
        write_onnx(graphs, folder)
        ports = {one.name: one for one in (*graphs.first.inputs, *graphs.later.inputs)}
        return {"inputs": {name: _empty(one) for name, one in ports.items()}}


class TorchFormat(GraphFormat):
    """Programs of torch.export: the encoder, the first step, and later steps."""

    name = "torch"
    aliases = "exported_program, pt2, torch_export"
    usage = "```bash\npython FOLDER/translator.py < texts\n```"
    packages = ("torch",)

    def write_graphs(self, graphs: Graphs, folder: Path) -> dict[str, Any]:
        named = {ENCODER_GRAPH: graphs.encoder, DECODER_GRAPH: graphs.first, f"{DECODER_GRAPH}_with_past": graphs.later}
        ports = {}
        for name, graph in named.items():
            torch.export.save(graph.program, folder / f"{name}.pt2")
            outputs = [present(one.name) if graph is not graphs.encoder else one.name for one in graph.outputs]
            ports[name] = [[one.name for one in graph.inputs], outputs]
        return {"programs": ports}


class GraphProgram(Program):
    """The search in numpy over the graphs of a folder."""

    def __init__(self, folder: Path, program: str) -> None:
        self._translator = opened_graphs(folder, program)
        self.name = self._translator.graphs.name

    def translate(self, texts: Sequence[str]) -> list[str]:
        return self._translator.translate(texts)

    def log_probs(self, texts: Sequence[str], targets: Sequence[Sequence[int]]) -> list[Tensor]:
        rows = [[*self._translator.source.encode(text), EOS] for text in texts]
        pairs = zip(rows, targets, strict=True)
        return [torch.from_numpy(self._translator.forced(source, target)) for source, target in pairs]


def search_settings(predictor: Predictor, program: str) -> dict[str, Any]:
    """Return the settings of a run's search. Raises RegardError for a run with parts that a program does not have."""
    experiment = predictor.run.experiment
    check_plain_translator(experiment, program)
    found = beam_rules(predictor.setup.search)
    if found is None:
        raise not_exportable(f"decoding.search is {experiment.decoding.search.name!r}", "beam or greedy", program)
    return found


def write_pieces(predictor: Predictor, folder: Path) -> dict[str, str]:
    """Write the pieces of both sides, once where they are equal; return the name of each side's file."""
    columns = {name: cast(TextColumn, predictor.task.vocabularies[name]) for name in ("source", "target")}
    kept = {name: pieces_of(column.tokenizer, name) for name, column in columns.items()}
    shared = kept["source"] == kept["target"]
    named = {name: "pieces.json" if shared else f"{name}_pieces.json" for name in kept}
    for name, file in named.items():
        (folder / file).write_text(json.dumps(kept[name], ensure_ascii=False), encoding="utf-8")
    return named


def write_settings(settings: Mapping[str, Any], folder: Path) -> None:
    """Write translator.json, with a digest of each file that is there."""
    digests = {file.name: file_digest(file) for file in sorted(folder.iterdir())}
    (folder / SETTINGS_NAME).write_text(json.dumps({**settings, "files": digests}, indent=1), encoding="utf-8")


def _empty(port: GraphPort) -> tuple[str, list[int]]:
    """Return the type and the shape of an empty tensor, which the branch that does not run reads."""
    shape = [size if isinstance(size, int) else 0 for size in port.shape]
    return str(port.example.dtype).removeprefix("torch."), shape
