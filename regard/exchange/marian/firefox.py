"""Folders of Firefox Translations (Bergamot): 8-bit weights, and activations scaled by a calibration set."""

import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
import yaml
from torch import Tensor, nn

from regard.config import parse_json
from regard.decoding.shortlist import SHORTLIST_FILE, Shortlist
from regard.errors import RegardError
from regard.exchange.certificate import source_texts
from regard.exchange.format import Program, json_object
from regard.exchange.marian.files import EMBEDDINGS, QUANT_MULT, StoredTensor, is_product, quantised, write_bin
from regard.exchange.marian.folder import ModelFiles, find_files, model_files, ungzipped
from regard.exchange.marian.format import BinaryShortlist, MarianExport, MarianFormat, write_lexicon
from regard.exchange.marian.pieces import UNUSED
from regard.exchange.marian.shape import NetworkShape
from regard.exchange.marian.weights import tensor_rows
from regard.models import ROUTE
from regard.models.translator import Translator
from regard.predictor import Predictor
from regard.runs.assembly import vocabularies_key
from regard.text.vector_table import Float32s

_PACKAGE = Path("node_modules/@browsermt/bergamot-translator")
_SEARCH: Mapping[str, Any] = {"beam-size": 1, "normalize": 1.0, "max-length-factor": 2.5}
CALIBRATED = 200  # texts
_DEVIATIONS = 3.0  # above the mean of the largest: 1.1, as Bergamot has, clips what a few words need
_WITHOUT_NAME = "none"  # the output's product where a shortlist has chosen its words


class FirefoxFormat(MarianFormat):
    """A folder of Firefox Translations: 8-bit weights with the multipliers of activations, vocabulary and shortlist."""

    name = "firefox"
    aliases = "bergamot, mozilla, translate_locally"
    usage = (
        "Bergamot's engine opens the folder, in Node or in a browser: `config.intgemm8bitalpha.yml` names its files."
    )
    search = _SEARCH
    min_similarity = 0.9  # 8-bit activations: 97 of 100 texts of a small grammar are equal, 74 to 85 of captions
    program_hint = "npm install @browsermt/bergamot-translator, in this folder, installs it"

    def recognises(self, folder: Path) -> bool:
        return any(".intgemm" in file.name for file in model_files(folder))

    def program(self, folder: Path, predictor: Predictor) -> Program | None:
        """Return Bergamot's engine where Node and its package, in node_modules of the working folder, are installed."""
        node = shutil.which("node")
        return None if node is None or not _PACKAGE.is_dir() else BergamotProgram(node, _PACKAGE, find_files(folder))

    def write(self, predictor: Predictor, folder: Path) -> None:
        """Write a folder whose activations are scaled by the dev set of the run; with its shortlist, if it has one."""
        exported = MarianExport.of(predictor)
        pair = "".join(code or "xx" for code in predictor.setup.languages)
        items: dict[str, StoredTensor] = {
            name: quantised(item) if is_product(name) else item for name, item in exported.items.items()
        }
        items |= activation_multipliers(predictor, exported.shape, source_texts(predictor, CALIBRATED))
        model = f"model.{pair}.intgemm.alphas.bin"
        write_bin(folder / model, exported.shape.config(), items)
        names = [f"{name}vocab.{pair}.spm" for name in exported.sides("src", "trg")]
        exported.write_vocabularies(folder, names)
        config = {
            **self.search, "models": [model], "vocabs": [names[0], names[-1]], "mini-batch": 64,
            "max-length-break": 128, "gemm-precision": "int8shiftAlphaAll", "alignment": "soft", "skip-cost": True,
        }  # fmt: skip
        if (predictor.run.path / SHORTLIST_FILE).is_file():
            lexicon = f"lex.50.50.{pair}.s2t.bin"
            write_lexicon(folder / lexicon, _lexicon(exported, predictor))
            config["shortlist"] = [lexicon, False]
        (folder / "config.intgemm8bitalpha.yml").write_text(yaml.safe_dump(config), encoding="utf-8")


class BergamotProgram(Program):
    """The engine of Firefox Translations in Node: 8-bit products, so that some of its texts differ."""

    def __init__(self, node: str, package: Path, files: ModelFiles) -> None:
        version = json_object(package / "package.json").get("version", "")
        self.name, self._files = f"bergamot-translator {version}", files
        self._command = [node, str(Path(__file__).with_name("bergamot.mjs")), str(package)]

    def translate(self, texts: Sequence[str]) -> list[str]:
        """Translate lines. Raises RegardError where the engine ends with an error."""
        files = self._files
        gemm = "int8shiftAlphaAll" if ".alphas." in files.model.name else "int8shiftAll"
        with ExitStack() as stack:
            model, *vocabularies = (
                str(stack.enter_context(ungzipped(file))) for file in (files.model, *files.vocabularies)
            )
            lists = "-" if files.shortlist is None else str(stack.enter_context(ungzipped(files.shortlist)))
            lines = "".join(f"{' '.join(text.split())}\n" for text in texts)
            command = [*self._command, model, lists, gemm, *vocabularies]
            done = subprocess.run(command, check=False, input=lines, capture_output=True, encoding="utf-8")
        if done.returncode or not done.stdout:
            messages = [line.strip() for line in done.stderr.splitlines() if line.strip()]
            problem = next((line for line in messages if "Error" in line), messages[-1] if messages else "no message")
            raise RegardError(f"{files.model}: {self.name} ended with an error: {problem:.200}")
        found: list[str] = parse_json(done.stdout)["texts"]
        return found


def _lexicon(exported: MarianExport, predictor: Predictor) -> BinaryShortlist:
    """Return the shortlist of a run. What may stand in every target is listed with the end of each source."""
    columns = predictor.task.vocabularies
    sizes = len(columns["source"]), len(columns["target"])
    known = Shortlist.load(predictor.run.path / SHORTLIST_FILE, *sizes, vocabularies_key(columns))
    source, target = exported.vocabularies[0].order, exported.vocabularies[-1].order
    there = np.full(sizes[1], UNUSED, np.int64)
    for number, ours in enumerate(target):
        if ours != UNUSED:
            there[ours] = number
    always = np.unique(there[known.common.numpy()])
    likely = there[known.likely.numpy()]
    lists = [np.unique(likely[ours]) if ours != UNUSED else always[:0] for ours in source]
    lists[0] = np.union1d(lists[0], always)
    ended = [one[one >= 0] if (one >= 0).any() else np.zeros(1, np.int64) for one in lists]
    return BinaryShortlist(2, [one.astype(np.uint32) for one in ended])


def activation_multipliers(predictor: Predictor, shape: NetworkShape, texts: Sequence[str]) -> dict[str, Float32s]:
    """Return 127 / (mean + 3 · deviation) of the largest absolute inputs of each product, by Marian's names.

    A largest input is that of one word of one text. Raises RegardError for texts that are too long.
    """
    products = {row.module: row.theirs for row in tensor_rows(shape) if row.shape[0] > 1}
    largest: dict[str, list[float]] = defaultdict(list)
    decoder = f"decoders.{ROUTE}"
    with _watched(predictor.model, {*products, decoder}, largest):
        for text in texts:
            _read_again(predictor, text)
    found = dict[str, Float32s]()
    for module, names in products.items():
        found |= {name + QUANT_MULT: _multiplier(largest[module]) for name in names}
    output = _multiplier(largest[decoder])
    table = EMBEDDINGS if shape.tied == "all" else f"decoder_{EMBEDDINGS}"
    tables = [f"{table}{QUANT_MULT}"] if shape.tied != "none" else [f"decoder_ff_logit_out_Wt{QUANT_MULT}"]
    return found | dict.fromkeys([*tables, f"{_WITHOUT_NAME}{QUANT_MULT}"], output)


@torch.no_grad()
def _read_again(predictor: Predictor, text: str) -> None:
    """Translate a text, and read it with its translation in one pass of modules."""
    task, model = predictor.task, cast(Translator, predictor.model)
    (prediction,) = predictor.predict([text], safeguards=False)
    ids: Any = getattr(prediction, "ids", None) or []
    (source,) = task.vocabularies["source"].encode_batch([text])
    model.decode(task.batch([{"source": source, "target": list(ids)}]).to(model.device), need_weights=True)


@contextmanager
def _watched(model: nn.Module, names: set[str], largest: Mapping[str, list[float]]) -> Iterator[None]:
    """Note the largest absolute value of each word that modules read, and of the states that a decoder returns."""
    with ExitStack() as stack:
        for name, module in model.named_modules():
            if name in names:
                hook = _hook(largest[name], of_output=name.startswith("decoders") and name.count(".") == 1)
                stack.callback(module.register_forward_hook(hook).remove)
        yield


def _hook(found: list[float], *, of_output: bool) -> Any:
    def note(module: nn.Module, given: tuple[Any, ...], answer: Any) -> None:
        states: Tensor = answer[0].states if of_output else given[0]
        found.extend(states.abs().flatten(0, -2).amax(dim=-1).tolist())

    return note


def _multiplier(largest: Sequence[float]) -> Float32s:
    kept = np.asarray([one for one in largest if one > 0] or [1.0])
    return np.asarray([127.0 / (kept.mean() + _DEVIATIONS * kept.std())], np.float32)
