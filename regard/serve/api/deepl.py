"""DeepL's API, version 2: texts, languages and usage. https://developers.deepl.com/docs

It answers below /v2, and below / a client that sends DeepL's Authorization header.
"""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from fastapi import Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, BeforeValidator, Field
from starlette.datastructures import Headers

from regard.serve.api.access import DEEPL_SCHEME, admitted
from regard.serve.api.checking import MAX_QUOTED, check_sizes, check_translators
from regard.serve.api.deepl_glossaries import MESSAGE, DeepLFields, terms_of
from regard.serve.api.endpoint import USUAL, Endpoint, asking, queried, refusals
from regard.serve.api.request_body import FORM, JSON, read_fields
from regard.serve.errors import ApiError, bad
from regard.serve.languages import AUTO, name_of, outward, served_code
from regard.serve.service import Service
from regard.serve.translating import Translated, TranslationRequest, translate

UNLIMITED = 1_000_000_000_000  # characters, as DeepL has it for accounts without a limit
VARIANTS = {"en": ("EN-GB", "EN-US"), "pt": ("PT-BR", "PT-PT"), "zh": ("ZH", "ZH-HANS")}  # target codes of a language
IGNORED = {
    "formality": ("", "default"),
    "style_id": ("",),
    "custom_instructions": ("",),
    "translation_memory_id": ("",),
}
LISTS = ("text", "ignore_tags")


def _listed(value: Any) -> Any:
    """Return the names of a list with commas, as forms have them."""
    texts = value if isinstance(value, list) else [] if value is None else [value]
    return [name.strip() for text in texts for name in str(text).split(",") if name.strip()]


def _text(value: Any) -> Any:
    """Return a flag as DeepL writes it."""
    return str(int(value)) if isinstance(value, bool | int) else value


class DeepLQuestion(DeepLFields):
    """Texts and options; what cannot change a translation is ignored."""

    text: str | Annotated[list[str], Field(min_length=1, fail_fast=True)] = Field(
        examples=[["The old man reads a book."]]
    )
    target_lang: Annotated[str, Field(min_length=1, description="EN-US is en: regions are ignored", examples=["DE"])]
    source_lang: str | None = Field(None, description="detected if it is left out", examples=["EN"])
    tag_handling: Literal["xml", "html", ""] | None = None
    ignore_tags: Annotated[list[str], BeforeValidator(_listed)] = Field(default_factory=list)
    split_sentences: Annotated[Literal["0", "1", "nonewlines"] | None, BeforeValidator(_text)] = Field(
        None, description="0 and nonewlines: a line end does not end a sentence"
    )
    context: str | None = Field(None, description="text before, for models that read several sentences together")
    glossary_id: str | None = None
    show_billed_characters: bool = False
    auth_key: Any = Field(None, description="API key, as an alternative to the header")


class DeepLTranslation(BaseModel):
    """A translation."""

    detected_source_language: str
    text: str
    billed_characters: int | None = None


class DeepLAnswer(BaseModel):
    """The translations of all texts, and warnings: of ignored options, lost numbers and the like."""

    translations: list[DeepLTranslation]
    warnings: list[str] | None = None


async def deepl_translate(service: Service, request: Request) -> JSONResponse:
    """Translate texts; `glossary_id` and `context` are used, options of style are ignored with a warning."""
    values = await admitted(service, request, _read)
    question = DeepLQuestion.of(values)
    texts = [question.text] if isinstance(question.text, str) else question.text
    check_sizes(texts, service.settings)
    check_sizes([question.context or ""], service.settings)
    source, target = deepl_pair(service, question.source_lang, question.target_lang)
    request.state.asked.pair = f"{source}-{target}"
    kind = question.tag_handling or "text"
    over_lines = not question.tag_handling and question.split_sentences in {"0", "nonewlines"}
    joined = [" ".join(text.splitlines()) for text in texts] if over_lines else texts
    whole = TranslationRequest(
        joined, source, target, kind, untouched=question.ignore_tags, context=question.context or ""
    )
    terms = await terms_of(service, request, question.glossary_id, (source, target))
    found = await translate(service, whole, request.state.asked, terms)
    warnings = [*ignored(values), *(warning for one in found for warning in one.warnings)]
    answer = {"translations": [_answer(one, text, question) for one, text in zip(found, texts, strict=True)]}
    return JSONResponse({**answer, "warnings": warnings} if warnings else answer)


async def deepl_languages(service: Service, request: Request) -> list[dict[str, Any]]:
    """Return the languages of a `type`: source or target."""
    kind = (await admitted(service, request)).get("type") or "source"
    if kind not in {"source", "target"}:
        raise bad("Value for 'type' not supported.")
    codes = sorted({pair[kind == "target"] for pair in service.catalogue.pairs})
    if kind == "source":
        return [{"language": name, "name": name_of(name.lower())} for name in dict.fromkeys(map(deepl_code, codes))]
    names = dict.fromkeys(name for code in codes for name in VARIANTS.get(code, (outward(code).upper(),)))
    return [{"language": name, "name": name_of(name), "supports_formality": False} for name in names]


async def deepl_usage(service: Service, request: Request) -> dict[str, int]:
    """Return the characters that were translated with this key since the start of the server."""
    await admitted(service, request)
    return {"character_count": service.metrics.used[request.state.asked.key], "character_limit": UNLIMITED}


def deepl_code(code: str) -> str:
    """Return DeepL's code of a source language: `zh` and `zt` → ZH."""
    return outward(code).partition("-")[0].upper()


def deepl_error(error: ApiError) -> tuple[int, dict[str, Any]]:
    """Return an error in DeepL's form; a missing key is refused as a wrong one."""
    return 403 if error.unauthorized else error.status, {"message": error.message}


async def _read(request: Request) -> Mapping[str, Any]:
    return await read_fields(request, LISTS)


def deepl_pair(service: Service, source: str | None, target: str) -> tuple[str, str]:
    """Return source (may be auto) and target in normal form. Raises ApiError, with those that are, if not served."""
    catalogue = service.catalogue
    read, written = served_code(source or AUTO, catalogue.languages), served_code(target, catalogue.languages)
    check_translators(catalogue)
    _check_language("source_lang", read, [AUTO, *catalogue.languages])
    _check_language("target_lang", written, [to for _, to in catalogue.pairs])
    if read not in {AUTO, written}:
        targets = [to for source, to in catalogue.pairs if source == read]
        _check_language("target_lang", written, targets, f" from {deepl_code(read)}")
    return read, written


def _check_language(field: str, code: str, served: Iterable[str], origin: str = "") -> None:
    """Raise ApiError, with the languages that are served, for another one."""
    known = {*served}
    if code not in known:
        names = ", ".join(sorted({outward(one).upper() for one in known - {AUTO}})) or "none"
        raise bad(f"Value for '{field}' not supported{origin}: {code[:MAX_QUOTED].upper()}; served: {names}")


def _answer(one: Translated, text: str, question: DeepLQuestion) -> dict[str, Any]:
    answer: dict[str, Any] = {"detected_source_language": deepl_code(one.source), "text": one.text}
    return {**answer, "billed_characters": len(text)} if question.show_billed_characters else answer


def ignored(values: Mapping[str, Any]) -> list[str]:
    """Return a warning for each option that would change the style, and is not supported."""
    return [f"{name} is ignored" for name, plain in IGNORED.items() if (values.get(name) or "") not in plain]


def deepl_path(method: str, path: str, headers: Headers) -> str | None:
    """Return the path of DeepL's endpoint for a request; None for a request of another API."""
    if path.startswith(("/v2/", "/v3/")):
        return path
    return f"/v2{path}" if headers.get("authorization", "").lower().startswith(f"{DEEPL_SCHEME} ") else None


_REFUSED = refusals(*USUAL, 404, error=MESSAGE)
DEEPL_ENDPOINTS = (
    ("/v2/translate", asking(deepl_translate, DeepLQuestion, DeepLAnswer, JSON, FORM, tag="DeepL", refused=_REFUSED)),
    (
        "/v2/languages",
        Endpoint(deepl_languages, "DeepL", list[dict[str, Any]], queried({"type": "source or target"}, error=MESSAGE)),
    ),
    ("/v2/usage", Endpoint(deepl_usage, "DeepL", dict[str, int], queried({}, error=MESSAGE))),
)
