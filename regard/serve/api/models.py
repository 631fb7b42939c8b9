"""Requests and answers of /v1."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from regard.errors import nearest
from regard.serve.errors import ApiError, bad

MAX_N_BEST = 10
USE_MEMORY = "use the server's translation memory: exact matches are the answers"
GLOSSARY = Field(
    description="terms to keep, one a line: source, a tab, target or target|other target; a source alone is copied",
    examples=["dog\tHund|Köter"],
)


class Checked(BaseModel):
    """Fields of a request, all checked at once."""

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Return the question with these fields. Raises ApiError for the first that is wrong."""
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            fault = error.errors(include_url=False, include_input=False)[0]
            raise cls.refusal(str(fault["loc"][0]), fault) from error

    @classmethod
    def refusal(cls, field: str, fault: ErrorDetails) -> ApiError:
        """Return the error of a field; for an unknown one with the nearest right name."""
        if fault["type"] == "extra_forbidden":
            return bad(f"Invalid request: {field[:40]}: there is no such field ({nearest(field, cls.model_fields)})")
        return bad(f"Invalid request: {field}: {fault['msg']}")


class _Strict(Checked):
    model_config = ConfigDict(extra="forbid", strict=True)

    api_key: str | None = Field(None, description="API key, if the server requires one")


class _Asked(_Strict):
    source: str = Field("auto", description="code of the language, or auto", examples=["en"])
    target: str = Field("", description="code of the language to translate into", examples=["de"])
    model: str | None = Field(None, description="name of a model; by default the first of the pair")


class TranslateQuestion(_Asked):
    """A text or a list of texts, and optional outputs besides the translation."""

    q: str | Annotated[list[str], Field(fail_fast=True)] = Field(
        "", description="text to translate", examples=["The old man reads a book."]
    )
    n_best: int = Field(1, ge=1, le=MAX_N_BEST, description="number of translations of each sentence")
    explain: bool = Field(False, description="return the attention of each token")
    maps: bool = Field(False, description="also return the attention weights of every layer and head")
    format: Literal["text", "html"] = "text"
    glossary: Annotated[str, GLOSSARY] = ""
    target_prefix: str | Annotated[list[str], Field(fail_fast=True)] = Field(
        "", description="prefix of each translation; one for each text; the memory is not used then"
    )
    memory: bool = Field(True, description=USE_MEMORY)


class ConfirmQuestion(_Strict):
    """A text and its translation, to be stored in the translation memory of their languages."""

    source_text: str = Field("", examples=["The old man reads a book."])
    target_text: str = Field("", examples=["Der alte Mann liest ein Buch."])
    before: str = Field("", description="the sentence before the text in its document")
    source: str = Field("", description="code of the language", examples=["en"])
    target: str = Field("", description="code of the language", examples=["de"])


class ForcedQuestion(_Asked):
    """A text and a translation of any origin."""

    source_text: str = Field("", examples=["The old man reads a book."])
    target_text: str = Field("", examples=["Der alte Mann liest ein Buch."])
    document: str = Field(
        "",
        description="`details.document` of the translation: the sentences of its text, with tabs between; only models "
        "with document context read it",
    )
    memory: bool = Field(True, description="read similar segments of the memory, if the model was trained to")


class ExplainQuestion(ForcedQuestion):
    """Explanation of a given translation."""

    html: bool = Field(False, description="answer with a self-contained page")
    method: str = Field("", description="attribution method: lrp, gradient_times_input, saliency …")
    reasons: list[str] = Field([], description="further attribution methods")
    steps: bool = Field(False, description="return the hypotheses kept and dropped at each search step, in details")


class AlternativesQuestion(ForcedQuestion):
    """Other words in place of one of the translation."""

    word: int = Field(0, ge=0, description="index of the word in `target_words` of an explanation, from 0")
    count: int = Field(5, ge=1, le=MAX_N_BEST, description="maximum number of alternatives")


class PredictQuestion(_Strict):
    """Texts, or examples by column, and optional outputs besides the answers."""

    model: str | None = Field(None, description="name of a model; by default the first that is not a translator")
    texts: Annotated[list[str], Field(fail_fast=True)] = Field(
        [], description="texts to predict from; several columns are separated by tabs", examples=[["A fine film."]]
    )
    examples: Annotated[list[dict[str, str]], Field(fail_fast=True)] = Field(
        [], description="examples by column, in place of texts", examples=[[{"first": "A dog.", "second": "A cat."}]]
    )
    n_best: int = Field(1, ge=1, le=MAX_N_BEST, description="number of texts that a model generates, or of labels")
    explain: bool = Field(False, description="return how much each word is attended to")
    maps: bool = Field(False, description="also return the attention weights of every layer and head")


class Link(BaseModel):
    """A detected language."""

    language: str
    confidence: float


class PredictionAnswer(BaseModel):
    """An answer, and the input that it belongs to."""

    answers: str  # its kind: text, label, tags, span or numbers
    source: str
    text: str
    score: float | None  # nats
    finished: bool
    log_probs: list[float | None]
    alternatives: list[dict[str, Any]]
    flags: list[dict[str, Any]]
    explanation: dict[str, Any] | None
    # confidence, and whether it is calibrated; probabilities of labels; tags of words, offsets, entities; a warning;
    # place of a span; terms; parts of a score; memory: the segments most like the text, {percent, source, target,
    # origin, author, created, differs: [[in the text, in the segment, place in the segment]]}; from 100 per cent on the
    # first is the answer; augmented: the text with the segments that the model read with it
    details: dict[str, Any] = {}


class SentenceAnswer(PredictionAnswer):
    """A sentence in the model's form, its prediction, its output text, and the text around it."""

    before: str
    after: str
    translation: str


class ExplainedSentence(SentenceAnswer):
    """A sentence with a given translation: its text."""

    translation: str = ""


class TextAnswer(BaseModel):
    """A translated text: its sentences in order."""

    translatedText: str  # noqa: N815  as LibreTranslate spells it
    score: float | None
    detectedLanguage: Link | None = None  # noqa: N815  as LibreTranslate spells it
    seems: Link | None = None  # the target language, if the text is already in it
    model: str | None
    version: str | None  # of the model: the start of the SHA-256 of its weights
    sentences: list[SentenceAnswer]


class CorrectionQuestion(_Strict):
    """A better translation of a text, and the answer that it corrects."""

    source_text: str = Field(min_length=1, examples=["The old man reads a book."])
    target_text: str = Field(min_length=1, description="the better translation", examples=["Der Alte liest ein Buch."])
    source: str = Field(description="code of the language", examples=["en"])
    target: str = Field(description="code of the language of the translation", examples=["de"])
    answer: str = Field("", description="the translation that the server gave")
    model: str = Field("", description="name of the model that gave it")
    version: str = Field(
        "", max_length=64, description="its version, as the answer names it; by default the present one"
    )
    author: str = Field("", max_length=100, description="name of the translator")


class CorrectionAnswer(BaseModel):
    """The correction is stored."""

    success: bool
    warnings: list[str] | None = None  # where the translation memory could not be written


class TranslateAnswer(BaseModel):
    """An answer per text."""

    model: str | None
    source: str
    target: str
    texts: list[TextAnswer]


class ExplainAnswer(BaseModel):
    """The given translation, scored and explained."""

    model: str
    source: str
    target: str
    sentence: ExplainedSentence


class Alternative(ExplainedSentence):
    """A translation with another word in one place, and the model's continuation."""

    word: str
    probability: float  # of the word, given those before it


class AlternativesAnswer(BaseModel):
    """Other words, likeliest first; none after the last word."""

    model: str
    source: str
    target: str
    alternatives: list[Alternative]


class ConfirmAnswer(BaseModel):
    """The number of segments that are stored: one for each sentence where both sides have as many."""

    segments: int


class PredictAnswer(BaseModel):
    """An answer per text, in the same order."""

    model: str
    task: str
    predictions: list[PredictionAnswer]


class ModelAnswer(BaseModel):
    """A model of the server."""

    name: str
    version: str  # the start of the SHA-256 of its weights
    source: str | None  # codes of languages; null if it is not a translator
    target: str | None
    ready: bool
    task: str | None
    given: list[str]  # input columns of an example
    predicted: str | None  # the output column
    answers: str | None  # its kind: text, label, tags or span
    parameters: int | None
    attention: str | None
    layers: Any
    heads: Any
    vocabulary: Any
    sha256: str | None
    pairs: int | None  # training examples
    bleu: float | None  # of the dev set
    scores: dict[str, float] | None  # metrics of the dev set, by name
    demo: bool | None  # trained on the grammar of `regard demo` alone
    explains: bool  # false: its engine has no attention weights, and `explain` and `maps` are refused
    methods: list[str] | None  # attribution methods
    grades: dict[str, Any] | None  # faithfulness of each, from `regard explain RUN --grade`
    calibration: dict[str, Any] | None  # calibration error, from `regard calibrate RUN`; null: not measured
    examples: list[str]  # to try; none if the server requires keys


class ModelsAnswer(BaseModel):
    """All models."""

    models: list[ModelAnswer]
