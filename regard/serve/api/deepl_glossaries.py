"""DeepL's glossaries, version 2: stored, listed, read and deleted, and used by their id."""

import csv
import io
from typing import Annotated, Any, Literal

from fastapi import Request
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from pydantic import Field
from pydantic_core import ErrorDetails

from regard.documents.glossary import Glossary
from regard.serve.api.access import admitted
from regard.serve.api.endpoint import USUAL, Endpoint, asking, queried, refusals
from regard.serve.api.models import Checked
from regard.serve.api.request_body import FORM, JSON
from regard.serve.errors import ApiError, bad
from regard.serve.glossary_store import FULL, LONGEST_NAME, StoredGlossary, StoredTerms
from regard.serve.languages import AUTO, outward, served_code
from regard.serve.service import Service

TSV = "text/tab-separated-values"


class DeepLFields(Checked):
    """Fields of a request, refused in DeepL's words."""

    @classmethod
    def refusal(cls, field: str, fault: ErrorDetails) -> ApiError:
        """Return the error of a missing or wrong field."""
        problem = "not specified" if fault["type"] == "missing" else f"not supported: {fault['msg']}"
        return bad(f"Value for '{field}' {problem}")


class TermsQuestion(DeepLFields):
    """Terms between two languages."""

    source_lang: Annotated[str, Field(min_length=1, examples=["en"])]
    target_lang: Annotated[str, Field(min_length=1, examples=["de"])]
    entries: Annotated[str, Field(min_length=1, examples=["dog\tHund"])]
    entries_format: Literal["tsv", "csv"] = "tsv"


class GlossaryQuestion(TermsQuestion):
    """A new glossary."""

    name: Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]


async def glossary_pairs(service: Service, request: Request) -> dict[str, Any]:
    """Return the pairs of languages that a glossary may have: those that are translated."""
    await admitted(service, request)
    pairs = dict.fromkeys((glossary_code(source), glossary_code(target)) for source, target in service.catalogue.pairs)
    return {"supported_languages": [{"source_lang": source, "target_lang": target} for source, target in pairs]}


async def create_glossary(service: Service, request: Request) -> Response:
    """Store a glossary for this client."""
    question = GlossaryQuestion.of(await admitted(service, request))
    pair = glossary_pair(service, question.source_lang, question.target_lang)
    terms = await checked_terms(service, question.entries, question.entries_format, pair)
    found = await service.stored_glossaries.add(request.state.owner, question.name, {pair: terms})
    return JSONResponse(_values(found), 201)


async def list_glossaries(service: Service, request: Request) -> dict[str, Any]:
    """Return the glossaries of this client."""
    await admitted(service, request)
    stored = service.stored_glossaries.of(request.state.owner)
    return {"glossaries": [_values(one) for one in stored if len(one.dictionaries) == 1]}


async def show_glossary(service: Service, request: Request) -> dict[str, Any]:
    """Return a glossary without its entries."""
    return _values(await _single_glossary(service, request))


async def glossary_entries(service: Service, request: Request) -> Response:
    """Return the entries of a glossary: source, tab, target, one a line."""
    [terms] = (await _single_glossary(service, request)).dictionaries.values()
    return PlainTextResponse(terms.entries, media_type=TSV)


async def delete_glossary(service: Service, request: Request) -> Response:
    """Delete a glossary."""
    found = await _single_glossary(service, request)
    await service.stored_glossaries.delete(found.owner, found.id)
    return Response(status_code=204)


async def terms_of(service: Service, request: Request, name: str | None, pair: tuple[str, str]) -> Glossary | None:
    """Return the terms of a stored glossary; None without one.

    Raises ApiError for an unknown one, for one of other languages, and without a source language.
    """
    if not name:
        return None
    if pair[0] == AUTO:
        raise bad("Parameter 'source_lang' not specified; a glossary needs it.")
    found = service.stored_glossaries.find(request.state.owner, name)
    if pair not in found.dictionaries:
        raise bad(f"The glossary has no terms from {outward(pair[0])} into {outward(pair[1])}.")
    return await service.glossaries.read(found.dictionaries[pair].entries, pair)


async def checked_terms(service: Service, entries: str, form: str, pair: tuple[str, str]) -> StoredTerms:
    """Return the terms as lines with tabs. Raises ApiError for an invalid or too large glossary."""
    text = await service.glossaries.in_slot(len(entries), _tab_lines, entries, form)
    count = len(await service.glossaries.read(text, pair))
    if not count:
        raise bad("Value for 'entries' not supported: there is no term")
    return StoredTerms(text, count)


def _tab_lines(entries: str, form: str) -> str:
    """Return entries as lines with tabs; a line end within a cell of CSV is a space."""
    if form == "tsv":
        return entries.replace("\r\n", "\n").replace("\r", "\n")
    try:
        rows = csv.reader(io.StringIO(entries, newline=""), strict=True)
        return "\n".join("\t".join(" ".join(cell.split()) for cell in row[:2]) for row in rows)
    except csv.Error as error:
        raise bad(f"Value for 'entries' not supported: {error}") from error


def glossary_pair(service: Service, source: str, target: str) -> tuple[str, str]:
    """Return a pair of languages in normal form. Raises ApiError if it is not translated."""
    catalogue = service.catalogue
    pair = served_code(source, catalogue.languages), served_code(target, catalogue.languages)
    if pair not in catalogue.pairs:
        raise bad(f"Value for 'source_lang' and 'target_lang' not supported: {source[:20]}, {target[:20]}")
    return pair


async def asked_glossary(service: Service, request: Request) -> StoredGlossary:
    """Return the glossary that a path names. Raises ApiError if this client has none of that id."""
    await admitted(service, request)
    return service.stored_glossaries.find(request.state.owner, request.path_params["glossary_id"])


async def _single_glossary(service: Service, request: Request) -> StoredGlossary:
    found = await asked_glossary(service, request)
    if len(found.dictionaries) != 1:
        raise ApiError(404, "Glossary not found: it has several pairs of languages")
    return found


def _values(glossary: StoredGlossary) -> dict[str, Any]:
    [(pair, terms)] = glossary.dictionaries.items()
    return {**glossary_values(glossary), "ready": True, **dictionary_values(pair, terms)}


def glossary_values(glossary: StoredGlossary) -> dict[str, Any]:
    """Return what is answered of a glossary, apart from its pairs of languages."""
    return {"glossary_id": glossary.id, "name": glossary.name, "creation_time": glossary.created}


def dictionary_values(pair: tuple[str, str], terms: StoredTerms) -> dict[str, Any]:
    """Return what is answered of a pair of languages of a glossary."""
    source, target = map(glossary_code, pair)
    return {"source_lang": source, "target_lang": target, "entry_count": terms.term_count}


def glossary_code(code: str) -> str:
    """Return the code of a glossary's language, which has no region."""
    return outward(code).partition("-")[0].lower()


_ONE = "/v2/glossaries/{glossary_id}"
MESSAGE = ("message",)  # text of an error
_REFUSED, _FOUND = queried({}, error=MESSAGE), queried({}, path=("glossary_id",), error=MESSAGE)
STORED: dict[str, Any] = {
    "tag": "DeepL", "needs_model": False, "refused": refusals(*USUAL, 404, FULL, error=MESSAGE)
}  # fmt: skip
GONE = {"status_code": 204, "response_class": Response}
GLOSSARY_ENDPOINTS = (
    ("/v2/glossary-language-pairs", Endpoint(glossary_pairs, "DeepL", dict[str, Any], _REFUSED)),
    ("/v2/glossaries", asking(create_glossary, GlossaryQuestion, None, JSON, FORM, **STORED, status_code=201)),
    ("/v2/glossaries", Endpoint(list_glossaries, "DeepL", dict[str, Any], _REFUSED)),
    (_ONE, Endpoint(show_glossary, "DeepL", dict[str, Any], _FOUND)),
    (_ONE, Endpoint(delete_glossary, "DeepL", None, {**_FOUND, **GONE}, method="DELETE")),
    (f"{_ONE}/entries", Endpoint(glossary_entries, "DeepL", None, {**_FOUND, "response_class": PlainTextResponse})),
)
