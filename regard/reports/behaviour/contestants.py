"""Systems under test: runs and exports of Regard, Argos packages, servers like LibreTranslate and DeepL."""

import json
import os
import re
import time
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from http.client import HTTPException
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import OpenerDirector, Request
from zipfile import BadZipFile, LargeZipFile, ZipFile, ZipInfo

import sentencepiece
import torch

from regard.config import parse_json
from regard.documents.sentences import sentences
from regard.errors import ConfigError, DataError, RegardError
from regard.http_body import KEY_VARIABLE, direct_opener, limited_body
from regard.predictor import Predictor, load
from regard.predictor.engines import EXPORT_FOLDER
from regard.reports.behaviour.suite import CodePair, base_code
from regard.runs import Run

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


_PATIENCE = 60.0  # seconds of silence, and of a whole answer
_TOGETHER = 20  # texts of a request
_TRIES, _LONGEST_WAIT = 4, 20.0  # requests of one text, and seconds between two of them
_MOST_BYTES = 4_000_000  # of an answer
_OK = 200
_UNFIT = (400, 413, 422)  # the fault of a text, not of the server
_BUSY = (429, 503)
_FORBIDDEN = (401, 403, 456)
_ADDRESS = "the address before /translate: http://127.0.0.1:5000, https://api-free.deepl.com/v2"
_FILES = {".argosmodel": ArgosTranslator}  # systems of one file, by its ending
_REGIONS = {"EN": "EN-US", "PT": "PT-PT"}  # DeepL writes these with a region


class Contestant(ABC):
    """A system that translates."""

    def __init__(self, name: str, pair: CodePair) -> None:
        self.name, self.pair = name, pair

    @abstractmethod
    def translate(self, texts: Sequence[str]) -> list[str | None]:
        """Return one answer a text; None where the system refuses a text."""


class RunContestant(Contestant):
    """A run, or an export with its engine: it translates as `regard predict` does."""

    def __init__(self, name: str, predictor: Predictor, pair: CodePair) -> None:
        super().__init__(name, pair)
        self.predictor = predictor

    def translate(self, texts: Sequence[str]) -> list[str | None]:
        return [one.text for one in self.predictor.translate(texts)]


class ArgosContestant(Contestant):
    """A package of Argos Translate."""

    def __init__(self, name: str, translator: ArgosTranslator, pair: CodePair) -> None:
        super().__init__(name, pair)
        self.translator = translator

    def translate(self, texts: Sequence[str]) -> list[str | None]:
        return self.translator.translate(texts)


class TranslationServer(Contestant):
    """A server; which program it is, its list of languages says."""

    def __init__(self, url: str, pair: CodePair, say: Callable[[str], None], key: str = "") -> None:
        """Ask the server for its languages. Raises DataError where it does not answer as either program does."""
        super().__init__(url, pair)
        self.url, self.say, self._key = url.rstrip("/").removesuffix("/translate"), say, key
        self._opener: OpenerDirector = direct_opener()
        languages = self._asked("/languages")
        rows = languages if isinstance(languages, list) else []
        fields = {key for one in rows if isinstance(one, dict) for key in one}
        if "code" not in fields and "language" not in fields:
            raise DataError(url, "does not list languages as LibreTranslate or DeepL do", hint=_ADDRESS)
        self.is_deepl = "code" not in fields

    def translate(self, texts: Sequence[str]) -> list[str | None]:
        found = dict[str, str | None]()
        blank = [text for text in texts if not text.strip()]  # a server may refuse these, and all that come with them
        rest = [text for text in texts if text.strip()]
        for first in range(0, len(rest), _TOGETHER):
            some = self._answers(rest[first : first + _TOGETHER])
            if not first and not any(one is not None for one in some.values()):
                hint = f"does it translate {self.pair}, and does it need a key (the variable {key_variable(self.url)})?"
                raise DataError(self.name, "refuses every text", hint=hint)
            found |= some
        for text in blank:
            found[text] = self._answers([text])[text] or ""  # a refusal is an empty answer, too
        return [found[text] for text in texts]

    def _answers(self, texts: Sequence[str]) -> Mapping[str, str | None]:
        """Return the answers of a request, one by one where the server refuses them together."""
        try:
            answer = self._asked("/translate", self._question(texts))
        except _Refused as refused:
            if len(texts) > 1:
                return {text: one for text in texts for one in self._answers([text]).values()}
            self.say(f"{self.name} refuses {texts[0]!r:.60}: {refused}")
            return {texts[0]: None}
        return dict(zip(texts, self._texts_of(answer, len(texts)), strict=True))

    def _question(self, texts: Sequence[str]) -> dict[str, Any]:
        source, target = self.pair
        if self.is_deepl:
            code = target.upper()
            return {"text": [*texts], "source_lang": source.upper(), "target_lang": _REGIONS.get(code, code)}
        key = {"api_key": self._key} if self._key else {}
        return {"q": [*texts], "source": source, "target": target, "format": "text"} | key

    def _texts_of(self, answer: Any, count: int) -> list[str]:
        """Return the texts of an answer. Raises DataError for one of another form."""
        found = answer.get("translations" if self.is_deepl else "translatedText") if isinstance(answer, dict) else None
        rows = [found] if isinstance(found, str) else found if isinstance(found, list) else []
        read = [one.get("text") if isinstance(one, dict) else one for one in rows]
        texts = [one for one in read if isinstance(one, str)]
        if len(texts) != count or len(rows) != count:
            raise DataError(self.name, f"answers {count} texts with {answer!r:.80}")
        return texts

    def _asked(self, path: str, question: Mapping[str, Any] | None = None) -> Any:
        """Return the JSON answer. Raises _Refused for a question that is unfit, DataError where there is no answer."""
        data = None if question is None else json.dumps(question).encode()
        for tries in range(1, _TRIES + 1):
            reply = self._sent(path, data)
            if reply.status == _OK:
                return self._parsed(reply.text)
            said = f"status {reply.status}: {reply.text:.120}"
            if reply.status in _UNFIT and question is not None:
                raise _Refused(said)
            if reply.status in _FORBIDDEN:
                hint = f"put the key of the server into the variable {key_variable(self.url)}"
                raise DataError(self.name, f"refuses with status {reply.status}", hint=hint)
            if reply.status not in _BUSY:
                raise DataError(self.name, f"answers with {said}", hint=_ADDRESS if question is None else "")
            if tries < _TRIES:
                time.sleep(min(_seconds(reply.retry_after), _LONGEST_WAIT))
        raise DataError(self.name, f"is busy, {said}", hint="test it later, or with fewer texts: --cases 5")

    def _sent(self, path: str, data: bytes | None) -> "_Reply":
        """Return the reply to a request. Raises DataError for a server that cannot be reached or does not end."""
        headers = {"User-Agent": "regard"} | ({} if data is None else {"Content-Type": "application/json"})
        if self._key:
            headers["Authorization"] = f"DeepL-Auth-Key {self._key}"
        try:
            try:
                answer = self._opener.open(Request(self.url + path, data, headers), timeout=_PATIENCE)
            except HTTPError as error:
                answer = error
            with answer:
                body = b"".join(limited_body(answer, most=_MOST_BYTES, seconds=_PATIENCE))
                return _Reply(answer.status, answer.headers.get("Retry-After"), body.decode("utf-8", "replace"))
        except (HTTPException, OSError) as error:
            problem = f"cannot be reached: {getattr(error, 'reason', error)}"
            raise DataError(self.name, problem, hint="is the server running?") from error

    def _parsed(self, text: str) -> Any:
        try:
            return parse_json(text)
        except ValueError as error:
            raise DataError(self.name, "does not answer with JSON") from error


class _Reply(NamedTuple):
    status: int
    retry_after: str | None
    text: str


class _Refused(RegardError):
    """A request that the server does not answer."""


def _seconds(header: str | None) -> float:
    """Return the seconds of a Retry-After header; 1 without one, or for a date."""
    return float(header) if header is not None and header.isdecimal() else 1.0


def open_contestants(
    words: Sequence[str], changes: Sequence[str], languages: tuple[str, str] | None, say: Callable[[str], None]
) -> list[Contestant]:
    """Open runs, exports, packages and servers. Raises ConfigError where their languages are not known.

    A key is sent to one server alone: that of `key_variable`, or REGARD_API_KEY to the first.
    """
    hosts = [_host(word) for word in words if is_url(word)]
    found = list[Contestant]()
    for word in words:
        if not is_url(word):
            found.append(_local(word, changes, languages))
            continue
        if languages is None:
            raise ConfigError("--languages", f"must be given for {word}", "--languages en de")
        key = os.environ.get(KEY_VARIABLE, "") if _host(word) == hosts[0] else ""
        key = os.environ.get(key_variable(word), key)
        found.append(TranslationServer(word, CodePair(*map(base_code, languages)), say, key))
    return found


def _local(word: str, changes: Sequence[str], languages: tuple[str, str] | None) -> Contestant:
    """Open a run, an export or a package, recognised by its files."""
    path = Path(word)
    if path.suffix in _FILES and path.is_file():
        translator = _FILES[path.suffix](path)
        return ArgosContestant(word, translator, _pair(word, languages or translator.languages))
    if not path.is_dir():
        hint = "an address begins with http:// or https://"
        raise ConfigError(word, "is not a folder of a run or export, a .argosmodel or an address", hint)
    exported = Run.open(path / EXPORT_FOLDER).exported if (path / EXPORT_FOLDER).is_dir() else None
    predictor = load(path, changes, engine=None if exported is None else exported["format"])
    experiment = predictor.run.experiment
    if not {"source", "target"} <= {*experiment.columns}:
        problem = f"has task {experiment.task.name}, and behaviour tests are for translators"
        raise ConfigError(word, problem, f"regard evaluate {word}")
    pair, own = _pair(word, languages or predictor.setup.languages), predictor.setup.languages
    if any(one and base_code(one) != wanted for one, wanted in zip(own, pair, strict=True)):
        problem = f"{' '.join(pair)}, and {word} translates {' → '.join(one or '?' for one in own)}"
        raise ConfigError("--languages", problem, "leave it out")
    return RunContestant(word, predictor, pair)


def _pair(word: str, languages: tuple[str | None, str | None]) -> CodePair:
    """Return base codes. Raises ConfigError where one is not known."""
    source, target = languages
    if source is None or target is None:
        raise ConfigError("--languages", f"must be given, as {word} does not name its own", "--languages en de")
    return CodePair(base_code(source), base_code(target))


def key_variable(url: str) -> str:
    """Return the environment variable with the key of a server alone.

    >>> key_variable("http://127.0.0.1:5000")
    'REGARD_API_KEY_127_0_0_1_5000'
    """
    return f"{KEY_VARIABLE}_{re.sub('[^0-9A-Z]', '_', _host(url).upper())}"


def _host(url: str) -> str:
    """Return host and port of an address. Raises ConfigError for an address without a host."""
    try:
        host = urlsplit(url).netloc.rpartition("@")[2].lower()
    except ValueError:
        host = ""
    if not host:
        raise ConfigError(url, "is not an address", "http://127.0.0.1:5000")
    return host


def is_url(word: str) -> bool:
    """Return whether a word of the command line is the address of a server."""
    return word.startswith(("http://", "https://"))
