"""What LibreTranslate's endpoints are asked, and its words for what is wrong."""

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, InstanceOf, WithJsonSchema
from pydantic_core import ErrorDetails

from regard.serve.api.checking import missing
from regard.serve.api.endpoint import BINARY
from regard.serve.api.models import GLOSSARY, Checked, Link
from regard.serve.api.request_body import File
from regard.serve.errors import ApiError, bad
from regard.serve.languages import inward

_NUMBER = re.compile(r"[+-]?[0-9]{1,9}")


def _whole_number(value: Any) -> int:
    """0 for none, and for one below it. Raises ValueError."""
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


class LibreQuestion(Checked):
    """Fields in the order in which they are checked; others are left alone."""

    api_key: Annotated[Any, WithJsonSchema({"type": "string"})] = Field(
        None, description="An API key, where the server needs one"
    )

    @classmethod
    def refusal(cls, field: str, fault: ErrorDetails) -> ApiError:
        """In LibreTranslate's words, which knows two faults."""
        if field == "alternatives":
            return bad("Invalid request: alternatives parameter is not a number")
        return missing(field)


class TextQuestion(LibreQuestion):
    """A text, or a list of them."""

    q: _Texts = Field(description="What to translate", examples=["The old man reads a book."])
    source: Source
    target: Target
    alternatives: Annotated[int, Field(ge=0), BeforeValidator(_whole_number)] = 0
    format: Annotated[Any, WithJsonSchema({"type": "string", "enum": ["text", "html"]})] = (
        "text"  # checked after the languages
    )


class DetectQuestion(LibreQuestion):
    """A text whose language is asked for."""

    q: _Texts = Field(description="A text", examples=["Guten Morgen!"])


class SuggestQuestion(LibreQuestion):
    """A text and a better translation of it."""

    q: Text = Field(description="The text")
    s: Text = Field(description="A better translation")
    source: Source
    target: Target


class FileQuestion(LibreQuestion):
    """A file to translate; LibreTranslate knows no glossary."""

    file: Annotated[InstanceOf[File], WithJsonSchema(BINARY)]
    source: Source
    target: Target
    glossary: Annotated[str, GLOSSARY] = ""

    @classmethod
    def refusal(cls, field: str, fault: ErrorDetails) -> ApiError:
        """Of the glossary what is wrong."""
        if field == "glossary":
            return bad(f"Invalid request: glossary: {fault['msg']}")
        return super().refusal(field, fault)


class LibreAnswer(BaseModel):
    """Each field is a list where `q` was."""

    translatedText: str | list[str]  # noqa: N815  as LibreTranslate spells it
    detectedLanguage: Link | list[Link] | None = None  # noqa: N815  as LibreTranslate spells it
    alternatives: list[str] | list[list[str]] | None = None
    warnings: list[str] | list[list[str]] | None = None  # of sentences that lost a number, or went round in a loop


class SuggestAnswer(BaseModel):
    """Return whether it is kept."""

    success: bool


class TermCount(BaseModel):
    """A term of a glossary that stands in a file."""

    source: str
    targets: list[str]  # that are allowed
    found: int  # times that it stands there
    used: int  # times that the translation has it


class FileAnswer(BaseModel):
    """Where the translated file is for half an hour, and what became of its sentences and of terms of a glossary."""

    translatedFileUrl: str  # noqa: N815  as LibreTranslate spells it
    terms: list[TermCount] | None = None
    warnings: list[str] | None = None  # of sentences that lack terms or numbers, or that terms fit badly
