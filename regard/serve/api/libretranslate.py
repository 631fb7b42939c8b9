"""Requests and answers of LibreTranslate's endpoints, with its error messages."""

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, InstanceOf, WithJsonSchema
from pydantic_core import ErrorDetails

from regard.serve.api.checking import missing
from regard.serve.api.endpoint import BINARY
from regard.serve.api.models import GLOSSARY, USE_MEMORY, Checked, Link
from regard.serve.api.request_body import File
from regard.serve.errors import ApiError, bad
from regard.serve.languages import inward

_NUMBER = re.compile(r"[+-]?[0-9]{1,9}")


def _whole_number(value: Any) -> int:
    """Return the number; 0 for none or a negative one. Raises ValueError."""
    if value is None:
        return 0
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
        raise ValueError
    return max(int(value), 0)


Text = Annotated[str, Field(min_length=1)]
_Texts = Text | Annotated[list[str], Field(min_length=1, fail_fast=True)]
Source = Annotated[Text, Field(description="Code of its language, or `auto`", examples=["en"]), AfterValidator(inward)]
Target = Annotated[
    Text, Field(description="Code of the language to translate into", examples=["de"]), AfterValidator(inward)
]


MEMORY_FIELD = Field(description=f"{USE_MEMORY}; true also returns the segments like each sentence")


class LibreQuestion(Checked):
    """Fields in the order of their checks; other fields are ignored."""

    api_key: Annotated[Any, WithJsonSchema({"type": "string"})] = Field(
        None, description="API key, if the server requires one"
    )

    @classmethod
    def refusal(cls, field: str, fault: ErrorDetails) -> ApiError:
        """Return the error in LibreTranslate's words, which have two cases."""
        if field == "alternatives":
            return bad("Invalid request: alternatives parameter is not a number")
        return missing(field)


class TextQuestion(LibreQuestion):
    """A text, or a list of texts; the memory is Regard's own field."""

    q: _Texts = Field(description="Text to translate", examples=["The old man reads a book."])
    source: Source
    target: Target
    alternatives: Annotated[int, Field(ge=0), BeforeValidator(_whole_number)] = 0
    format: Annotated[Any, WithJsonSchema({"type": "string", "enum": ["text", "html"]})] = (
        "text"  # checked after the languages
    )
    memory: Annotated[bool | None, MEMORY_FIELD] = None

    @classmethod
    def refusal(cls, field: str, fault: ErrorDetails) -> ApiError:
        """Return the error of a field that is Regard's own."""
        return bad(f"Invalid request: memory: {fault['msg']}") if field == "memory" else super().refusal(field, fault)


class DetectQuestion(LibreQuestion):
    """A text of unknown language."""

    q: _Texts = Field(description="A text", examples=["Guten Morgen!"])


class SuggestQuestion(LibreQuestion):
    """A text and a better translation."""

    q: Text = Field(description="The text")
    s: Text = Field(description="A better translation")
    source: Source
    target: Target


class FileQuestion(LibreQuestion):
    """A file to translate; glossary and memory are Regard's own fields."""

    file: Annotated[InstanceOf[File], WithJsonSchema(BINARY)]
    source: Source
    target: Target
    glossary: Annotated[str, GLOSSARY] = ""
    memory: Annotated[bool, Field(description=USE_MEMORY)] = True

    @classmethod
    def refusal(cls, field: str, fault: ErrorDetails) -> ApiError:
        """Return the error of a field that is Regard's own."""
        if field in {"glossary", "memory"}:
            return bad(f"Invalid request: {field}: {fault['msg']}")
        return super().refusal(field, fault)


class SegmentAnswer(BaseModel):
    """A segment of the translation memory; of 100 per cent or more it is the answer."""

    percent: int
    source: str
    target: str
    differs: list[tuple[str, str, int]]  # what differs in sentence and source, and its place in the source, in order


class LibreAnswer(BaseModel):
    """An answer; each field is a list if `q` was."""

    translatedText: str | list[str]  # noqa: N815  as LibreTranslate spells it
    detectedLanguage: Link | list[Link] | None = None  # noqa: N815  as LibreTranslate spells it
    alternatives: list[str] | list[list[str]] | None = None
    warnings: list[str] | list[list[str]] | None = None  # of sentences with a lost number or a repetition loop
    memory: list[SegmentAnswer] | list[list[SegmentAnswer]] | None = (
        None  # most like each sentence, if it was asked for
    )


class ReusedCount(BaseModel):
    """Sentences of a file, and those that the translation memory answered."""

    sentences: int
    reused: int


class TermCount(BaseModel):
    """A term of a glossary that occurs in a file."""

    source: str
    targets: list[str]  # allowed translations
    found: int  # occurrences in the source
    used: int  # occurrences in the translation


class FileAnswer(BaseModel):
    """Address of the translated file, valid for half an hour; warnings, and terms of the glossary."""

    translatedFileUrl: str  # noqa: N815  as LibreTranslate spells it
    terms: list[TermCount] | None = None
    # of sentences with missing terms or numbers, or badly fitting terms; of formatting without word alignments
    warnings: list[str] | None = None
    memory: ReusedCount | None = None  # None: there is no memory of these languages
