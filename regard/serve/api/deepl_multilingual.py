"""DeepL's glossaries, version 3: one glossary has the terms of several pairs of languages."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from fastapi import Request
from fastapi.responses import JSONResponse, Response
from pydantic import Field

from regard.serve.api.access import admitted
from regard.serve.api.deepl_glossaries import (
    GONE,
    MESSAGE,
    STORED,
    DeepLFields,
    TermsQuestion,
    asked_glossary,
    checked_terms,
    dictionary_values,
    glossary_code,
    glossary_pair,
    glossary_values,
)
from regard.serve.api.endpoint import Endpoint, asking, queried
from regard.serve.api.request_body import JSON, read_fields
from regard.serve.errors import ApiError
from regard.serve.glossary_store import LONGEST_NAME, StoredGlossary, StoredTerms
from regard.serve.service import Service

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
    return JSONResponse(_told(made), 201)


async def list_multilingual(service: Service, request: Request) -> dict[str, Any]:
    """Return the glossaries of this client."""
    await admitted(service, request)
    return {"glossaries": [_told(one) for one in service.stored_glossaries.of(request.state.owner)]}


async def show_multilingual(service: Service, request: Request) -> dict[str, Any]:
    """Return a glossary without its entries."""
    return _told(await asked_glossary(service, request))


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
                kept[pair] = await checked_terms(service, merged, "tsv", pair)
            else:
                kept[pair] = terms
        return found._replace(name=question.name or found.name, dictionaries=kept)

    return _told(await _change(service, request, changed))


async def replace_dictionary(service: Service, request: Request) -> dict[str, Any]:
    """Replace the terms of a pair of languages."""
    question = TermsQuestion.of(await admitted(service, request))
    pair, terms = await _terms(service, question)

    async def changed(found: StoredGlossary) -> StoredGlossary:
        return found._replace(dictionaries={**found.dictionaries, pair: terms})

    await _change(service, request, changed)
    return dictionary_values(pair, terms)


async def multilingual_entries(service: Service, request: Request) -> dict[str, Any]:
    """Return the entries of a pair of languages."""
    found = await asked_glossary(service, request)
    pair = await _asked_pair(service, request, found)
    languages = {"source_lang": glossary_code(pair[0]), "target_lang": glossary_code(pair[1])}
    return {"dictionaries": [{**languages, "entries": found.dictionaries[pair].entries, "entries_format": "tsv"}]}


async def delete_dictionary(service: Service, request: Request) -> Response:
    """Delete the terms of a pair of languages."""
    found = await asked_glossary(service, request)
    pair = await _asked_pair(service, request, found)

    async def changed(found: StoredGlossary) -> StoredGlossary:
        return found._replace(dictionaries={one: terms for one, terms in found.dictionaries.items() if one != pair})

    await _change(service, request, changed)
    return Response(status_code=204)


async def delete_multilingual(service: Service, request: Request) -> Response:
    """Delete a glossary."""
    found = await asked_glossary(service, request)
    await service.stored_glossaries.delete(found.owner, found.id)
    return Response(status_code=204)


async def _terms(service: Service, question: TermsQuestion) -> tuple[tuple[str, str], StoredTerms]:
    pair = glossary_pair(service, question.source_lang, question.target_lang)
    return pair, await checked_terms(service, question.entries, question.entries_format, pair)


async def _change(
    service: Service, request: Request, changed: Callable[[StoredGlossary], Awaitable[StoredGlossary]]
) -> StoredGlossary:
    """Store what `changed` returns for the glossary that the path names, as it is then."""
    return await service.stored_glossaries.change(request.state.owner, request.path_params["glossary_id"], changed)


async def _asked_pair(service: Service, request: Request, glossary: StoredGlossary) -> tuple[str, str]:
    values = await read_fields(request)
    pair = glossary_pair(service, str(values.get("source_lang", "")), str(values.get("target_lang", "")))
    if pair not in glossary.dictionaries:
        raise ApiError(404, "The glossary has no terms of these languages")
    return pair


def _merged(old: str, new: str) -> str:
    """Return the lines of both; of one source those that are new."""
    changed = {line.partition("\t")[0].strip() for line in new.split("\n")}
    return "\n".join([*(line for line in old.split("\n") if line.partition("\t")[0].strip() not in changed), new])


def _told(glossary: StoredGlossary) -> dict[str, Any]:
    found = [dictionary_values(pair, terms) for pair, terms in glossary.dictionaries.items()]
    return {**glossary_values(glossary), "dictionaries": found}


_ALL, _ONE = "/v3/glossaries", "/v3/glossaries/{glossary_id}"
_PLAIN, _FOUND = queried({}, error=MESSAGE), queried({}, path=("glossary_id",), error=MESSAGE)
_PAIR = queried(
    {"source_lang": "en", "target_lang": "de"}, "source_lang", "target_lang", path=("glossary_id",), error=MESSAGE
)
_CHANGE: dict[str, Any] = {**STORED, "path": ("glossary_id",)}
MULTILINGUAL_ENDPOINTS = (
    (_ALL, asking(create_multilingual, NewGlossary, None, JSON, **STORED, status_code=201)),
    (_ALL, Endpoint(list_multilingual, "DeepL", dict[str, Any], _PLAIN)),
    (_ONE, Endpoint(show_multilingual, "DeepL", dict[str, Any], _FOUND)),
    (_ONE, asking(change_multilingual, ChangedGlossary, dict[str, Any], JSON, **_CHANGE, method="PATCH")),
    (_ONE, Endpoint(delete_multilingual, "DeepL", None, {**_FOUND, **GONE}, method="DELETE")),
    (f"{_ONE}/entries", Endpoint(multilingual_entries, "DeepL", dict[str, Any], _PAIR)),
    (f"{_ONE}/dictionaries", asking(replace_dictionary, TermsQuestion, dict[str, Any], JSON, **_CHANGE, method="PUT")),
    (f"{_ONE}/dictionaries", Endpoint(delete_dictionary, "DeepL", None, {**_PAIR, **GONE}, method="DELETE")),
)
