"""DeepL's glossaries: stored, listed, read, changed and deleted, and used by their id.

One of version 2 has terms of one pair of languages, one of version 3 of several.
"""

import csv
import io
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal

from fastapi import Request
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from pydantic import Field
from pydantic_core import ErrorDetails

from regard.documents.glossary import Glossary
from regard.serve.api.access import admitted
from regard.serve.api.endpoint import USUAL, Endpoint, asking, queried, refusals
from regard.serve.api.models import Checked
from regard.serve.api.request_body import FORM, JSON, read_fields
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
    pairs = dict.fromkeys((_code(source), _code(target)) for source, target in service.catalogue.pairs)
    return {"supported_languages": [{"source_lang": source, "target_lang": target} for source, target in pairs]}


async def create_glossary(service: Service, request: Request) -> Response:
    """Store a glossary for this client."""
    question = GlossaryQuestion.of(await admitted(service, request))
    pair = _pair(service, question.source_lang, question.target_lang)
    terms = await _checked_terms(service, question.entries, question.entries_format, pair)
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


async def _checked_terms(service: Service, entries: str, form: str, pair: tuple[str, str]) -> StoredTerms:
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


def _pair(service: Service, source: str, target: str) -> tuple[str, str]:
    """Return a pair of languages in normal form. Raises ApiError if it is not translated."""
    catalogue = service.catalogue
    pair = served_code(source, catalogue.languages), served_code(target, catalogue.languages)
    if pair not in catalogue.pairs:
        raise bad(f"Value for 'source_lang' and 'target_lang' not supported: {source[:20]}, {target[:20]}")
    return pair


async def _asked_glossary(service: Service, request: Request) -> StoredGlossary:
    """Return the glossary that a path names. Raises ApiError if this client has none of that id."""
    await admitted(service, request)
    return service.stored_glossaries.find(request.state.owner, request.path_params["glossary_id"])


async def _single_glossary(service: Service, request: Request) -> StoredGlossary:
    found = await _asked_glossary(service, request)
    if len(found.dictionaries) != 1:
        raise ApiError(404, "Glossary not found: it has several pairs of languages")
    return found


def _values(glossary: StoredGlossary) -> dict[str, Any]:
    [(pair, terms)] = glossary.dictionaries.items()
    return {**_head(glossary), "ready": True, **_dictionary(pair, terms)}


def _head(glossary: StoredGlossary) -> dict[str, Any]:
    return {"glossary_id": glossary.id, "name": glossary.name, "creation_time": glossary.created}


def _dictionary(pair: tuple[str, str], terms: StoredTerms) -> dict[str, Any]:
    source, target = map(_code, pair)
    return {"source_lang": source, "target_lang": target, "entry_count": terms.term_count}


def _code(code: str) -> str:
    """Return the code of a glossary's language, which has no region."""
    return outward(code).partition("-")[0].lower()


MOST_DICTIONARIES = 100  # of a glossary
Dictionaries = Annotated[list[TermsQuestion], Field(min_length=1, max_length=MOST_DICTIONARIES)]


class NewGlossary(DeepLFields):
    """A new glossary."""

    name: Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
    dictionaries: Dictionaries


class ChangedGlossary(DeepLFields):
    """Changes of a glossary; new terms take the place of those with the same source."""

    name: Annotated[str | None, Field(min_length=1, max_length=LONGEST_NAME)] = None
    dictionaries: Dictionaries | None = None


async def create_multilingual(service: Service, request: Request) -> Response:
    """Store a glossary of several pairs of languages for this client."""
    question = NewGlossary.of(await admitted(service, request))
    found = {pair: terms for pair, terms in [await _terms(service, one) for one in question.dictionaries]}
    made = await service.stored_glossaries.add(request.state.owner, question.name, found)
    return JSONResponse(_multilingual_values(made), 201)


async def list_multilingual(service: Service, request: Request) -> dict[str, Any]:
    """Return the glossaries of this client."""
    await admitted(service, request)
    return {"glossaries": [_multilingual_values(one) for one in service.stored_glossaries.of(request.state.owner)]}


async def show_multilingual(service: Service, request: Request) -> dict[str, Any]:
    """Return a glossary without its entries."""
    return _multilingual_values(await _asked_glossary(service, request))


async def change_multilingual(service: Service, request: Request) -> dict[str, Any]:
    """Change the name of a glossary, or add terms to it."""
    question = ChangedGlossary.of(await admitted(service, request))
    given = [await _terms(service, one) for one in question.dictionaries or ()]

    async def changed(found: StoredGlossary) -> StoredGlossary:
        kept = dict(found.dictionaries)
        for pair, terms in given:
            if pair in kept:
                size = len(kept[pair].entries) + len(terms.entries)
                merged = await service.glossaries.in_slot(size, _merged, kept[pair].entries, terms.entries)
                kept[pair] = await _checked_terms(service, merged, "tsv", pair)
            else:
                kept[pair] = terms
        return found._replace(name=question.name or found.name, dictionaries=kept)

    return _multilingual_values(await _change(service, request, changed))


async def replace_dictionary(service: Service, request: Request) -> dict[str, Any]:
    """Replace the terms of a pair of languages."""
    question = TermsQuestion.of(await admitted(service, request))
    pair, terms = await _terms(service, question)

    async def changed(found: StoredGlossary) -> StoredGlossary:
        return found._replace(dictionaries={**found.dictionaries, pair: terms})

    await _change(service, request, changed)
    return _dictionary(pair, terms)


async def multilingual_entries(service: Service, request: Request) -> dict[str, Any]:
    """Return the entries of a pair of languages."""
    found = await _asked_glossary(service, request)
    pair = await _asked_pair(service, request, found)
    languages = {"source_lang": _code(pair[0]), "target_lang": _code(pair[1])}
    return {"dictionaries": [{**languages, "entries": found.dictionaries[pair].entries, "entries_format": "tsv"}]}


async def delete_dictionary(service: Service, request: Request) -> Response:
    """Delete the terms of a pair of languages."""
    found = await _asked_glossary(service, request)
    pair = await _asked_pair(service, request, found)

    async def changed(found: StoredGlossary) -> StoredGlossary:
        return found._replace(dictionaries={one: terms for one, terms in found.dictionaries.items() if one != pair})

    await _change(service, request, changed)
    return Response(status_code=204)


async def delete_multilingual(service: Service, request: Request) -> Response:
    """Delete a glossary."""
    found = await _asked_glossary(service, request)
    await service.stored_glossaries.delete(found.owner, found.id)
    return Response(status_code=204)


async def _terms(service: Service, question: TermsQuestion) -> tuple[tuple[str, str], StoredTerms]:
    pair = _pair(service, question.source_lang, question.target_lang)
    return pair, await _checked_terms(service, question.entries, question.entries_format, pair)


async def _change(
    service: Service, request: Request, changed: Callable[[StoredGlossary], Awaitable[StoredGlossary]]
) -> StoredGlossary:
    """Store what `changed` returns for the glossary that the path names, as it is then."""
    return await service.stored_glossaries.change(request.state.owner, request.path_params["glossary_id"], changed)


async def _asked_pair(service: Service, request: Request, glossary: StoredGlossary) -> tuple[str, str]:
    values = await read_fields(request)
    pair = _pair(service, str(values.get("source_lang", "")), str(values.get("target_lang", "")))
    if pair not in glossary.dictionaries:
        raise ApiError(404, "The glossary has no terms of these languages")
    return pair


def _merged(old: str, new: str) -> str:
    """Return the lines of both; of one source those that are new."""
    changed = {line.partition("\t")[0].strip() for line in new.split("\n")}
    return "\n".join([*(line for line in old.split("\n") if line.partition("\t")[0].strip() not in changed), new])


def _multilingual_values(glossary: StoredGlossary) -> dict[str, Any]:
    return {**_head(glossary), "dictionaries": [_dictionary(*one) for one in glossary.dictionaries.items()]}


_ONE = "/v2/glossaries/{glossary_id}"
MESSAGE = ("message",)  # text of an error
_REFUSED, _FOUND = queried({}, error=MESSAGE), queried({}, path=("glossary_id",), error=MESSAGE)
_STORED: dict[str, Any] = {
    "tag": "DeepL", "needs_model": False, "refused": refusals(*USUAL, 404, FULL, error=MESSAGE)
}  # fmt: skip
_DELETED = {"status_code": 204, "response_class": Response}
_MANY, _ONE_OF_MANY = "/v3/glossaries", "/v3/glossaries/{glossary_id}"
_PAIR = queried(
    {"source_lang": "en", "target_lang": "de"}, "source_lang", "target_lang", path=("glossary_id",), error=MESSAGE
)
_CHANGE: dict[str, Any] = {**_STORED, "path": ("glossary_id",)}
GLOSSARY_ENDPOINTS = (
    ("/v2/glossary-language-pairs", Endpoint(glossary_pairs, "DeepL", dict[str, Any], _REFUSED)),
    ("/v2/glossaries", asking(create_glossary, GlossaryQuestion, None, JSON, FORM, **_STORED, status_code=201)),
    ("/v2/glossaries", Endpoint(list_glossaries, "DeepL", dict[str, Any], _REFUSED)),
    (_ONE, Endpoint(show_glossary, "DeepL", dict[str, Any], _FOUND)),
    (_ONE, Endpoint(delete_glossary, "DeepL", None, {**_FOUND, **_DELETED}, method="DELETE")),
    (f"{_ONE}/entries", Endpoint(glossary_entries, "DeepL", None, {**_FOUND, "response_class": PlainTextResponse})),
    (_MANY, asking(create_multilingual, NewGlossary, None, JSON, **_STORED, status_code=201)),
    (_MANY, Endpoint(list_multilingual, "DeepL", dict[str, Any], _REFUSED)),
    (_ONE_OF_MANY, Endpoint(show_multilingual, "DeepL", dict[str, Any], _FOUND)),
    (_ONE_OF_MANY, asking(change_multilingual, ChangedGlossary, dict[str, Any], JSON, **_CHANGE, method="PATCH")),
    (_ONE_OF_MANY, Endpoint(delete_multilingual, "DeepL", None, {**_FOUND, **_DELETED}, method="DELETE")),
    (f"{_ONE_OF_MANY}/entries", Endpoint(multilingual_entries, "DeepL", dict[str, Any], _PAIR)),
    (
        f"{_ONE_OF_MANY}/dictionaries",
        asking(replace_dictionary, TermsQuestion, dict[str, Any], JSON, **_CHANGE, method="PUT"),
    ),
    (
        f"{_ONE_OF_MANY}/dictionaries",
        Endpoint(delete_dictionary, "DeepL", None, {**_PAIR, **_DELETED}, method="DELETE"),
    ),
)
