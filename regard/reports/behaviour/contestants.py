"""Systems under test: runs of Regard, and servers that speak the language of LibreTranslate or DeepL."""

import json
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import HTTPRedirectHandler, OpenerDirector, Request, build_opener

from regard.config import parse_json
from regard.errors import ConfigError, DataError, RegardError
from regard.predictor import Predictor, load
from regard.reports.behaviour.suite import CodePair

KEY_VARIABLE = "REGARD_API_KEY"  # environment variable with the key of servers
_PATIENCE = 60.0  # seconds until an answer
_TOGETHER = 20  # texts of a request
_TRIES, _LONGEST_WAIT = 4, 20.0  # requests of one text, and seconds between two of them
_MOST_BYTES = 4_000_000  # of an answer
_BUSY = (429, 503)
_FORBIDDEN = (401, 403, 456)
_REGIONS = {"EN": "EN-US", "PT": "PT-PT"}  # DeepL writes these with a region


class Contestant(ABC):
    """A system that translates."""

    def __init__(self, name: str, pair: CodePair) -> None:
        self.name, self.pair = name, pair

    @abstractmethod
    def translate(self, texts: Sequence[str]) -> list[str]:
        """Return one answer a text; "" where the system refuses a text."""


class RunContestant(Contestant):
    """A run, which translates as `regard predict` does."""

    def __init__(self, name: str, predictor: Predictor, pair: CodePair) -> None:
        super().__init__(name, pair)
        self.predictor = predictor

    def translate(self, texts: Sequence[str]) -> list[str]:
        return [one.text for one in self.predictor.translate(texts)]


class _NoRedirects(HTTPRedirectHandler):
    """Refuses redirects, which would send the key to another server."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


class TranslationServer(Contestant):
    """A server; which program it is, its list of languages says."""

    def __init__(self, url: str, pair: CodePair, say: Callable[[str], None]) -> None:
        """Ask the server for its languages. Raises DataError where it does not answer as either program does."""
        super().__init__(url, pair)
        self.url, self.say = url.rstrip("/").removesuffix("/translate"), say
        self._opener: OpenerDirector = build_opener(_NoRedirects)
        languages = self._asked("/languages")
        rows = languages if isinstance(languages, list) else []
        fields = {key for one in rows if isinstance(one, dict) for key in one}
        if "code" not in fields and "language" not in fields:
            hint = "the address before /translate: http://127.0.0.1:5000, https://api-free.deepl.com/v2"
            raise DataError(url, "does not list languages as LibreTranslate or DeepL do", hint=hint)
        self.is_deepl = "code" not in fields

    def translate(self, texts: Sequence[str]) -> list[str]:
        found = dict[str, str]()
        blank = [text for text in texts if not text.strip()]  # a server may refuse these, and all that come with them
        rest = [text for text in texts if text.strip()]
        for first in range(0, len(rest), _TOGETHER):
            found |= self._answers(rest[first : first + _TOGETHER])
        for text in blank:
            found |= self._answers([text])
        return [found[text] for text in texts]

    def _answers(self, texts: Sequence[str]) -> Mapping[str, str]:
        """Return the answers of a request, one by one where the server refuses them together."""
        try:
            answer = self._asked("/translate", self._question(texts))
        except _Refused as refused:
            if len(texts) > 1:
                return {text: one for text in texts for one in self._answers([text]).values()}
            self.say(f"{self.name} refuses {texts[0]!r:.60}: {refused}")
            return {texts[0]: ""}
        return dict(zip(texts, self._texts_of(answer, len(texts)), strict=True))

    def _question(self, texts: Sequence[str]) -> dict[str, Any]:
        source, target = self.pair
        if self.is_deepl:
            code = target.upper()
            return {"text": [*texts], "source_lang": source.upper(), "target_lang": _REGIONS.get(code, code)}
        key = os.environ.get(KEY_VARIABLE)
        return {"q": [*texts], "source": source, "target": target, "format": "text"} | ({"api_key": key} if key else {})

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
        """Return the JSON answer. Raises _Refused for status 400 and the like, DataError where there is no answer."""
        headers = {"User-Agent": "regard", "Content-Type": "application/json"}
        if key := os.environ.get(KEY_VARIABLE):
            headers["Authorization"] = f"DeepL-Auth-Key {key}"
        data = None if question is None else json.dumps(question).encode()
        for tries in range(1, _TRIES + 1):
            try:
                request = Request(self.url + path, data, headers)
                with self._opener.open(request, timeout=_PATIENCE) as answer:
                    return parse_json(answer.read(_MOST_BYTES).decode("utf-8", "replace"))
            except HTTPError as error:
                with error:
                    said = error.read(_MOST_BYTES).decode("utf-8", "replace")
                if error.code in _FORBIDDEN:
                    hint = f"put the key of the server into the variable {KEY_VARIABLE}"
                    raise DataError(self.name, f"refuses with status {error.code}", hint=hint) from error
                if error.code not in _BUSY or tries == _TRIES:
                    raise _Refused(f"status {error.code}: {said:.120}") from error
                time.sleep(min(_seconds(error.headers.get("Retry-After")), _LONGEST_WAIT))
            except (URLError, HTTPException, TimeoutError, ConnectionError) as error:
                problem = f"cannot be reached: {getattr(error, 'reason', error)}"
                raise DataError(self.name, problem, hint="is the server running?") from error
            except ValueError as error:
                raise DataError(self.name, "does not answer with JSON") from error
        raise AssertionError


class _Refused(RegardError):
    """A request that the server does not answer."""


def _seconds(header: str | None) -> float:
    """Return the seconds of a Retry-After header; 1 without one, or for a date."""
    return float(header) if header is not None and header.isdecimal() else 1.0


def contestant(
    word: str, changes: Sequence[str], languages: tuple[str, str] | None, say: Callable[[str], None]
) -> Contestant:
    """Open a run or a server. Raises ConfigError where its languages are not known."""
    if is_url(word):
        if languages is None:
            raise ConfigError("--languages", f"must be given for {word}", "--languages en de")
        return TranslationServer(word, CodePair(*map(_base, languages)), say)
    path = Path(word)
    if not path.is_dir():
        raise ConfigError(word, "is neither a run folder nor an address", "an address begins with http:// or https://")
    predictor = load(path, changes)
    source, target = languages or predictor.setup.languages
    if source is None or target is None:
        raise ConfigError("--languages", f"must be given, as {word} does not name its own", "--languages en de")
    return RunContestant(word, predictor, CodePair(_base(source), _base(target)))


def is_url(word: str) -> bool:
    """Return whether a word of the command line is the address of a server."""
    return word.startswith(("http://", "https://"))


def _base(code: str) -> str:
    """Return a language code without its region, in small letters."""
    return code.replace("_", "-").partition("-")[0].lower()
