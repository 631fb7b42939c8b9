"""What /v1 is asked, and what it answers."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from regard.errors import nearest
from regard.serve.errors import ApiError, bad

MAX_N_BEST = 10
GLOSSARY = Field(
    description="terms to keep, one a line: source, a tab, target or target|other target; a source alone is copied",
    examples=["dog\tHund|Köter"],
)


class Checked(BaseModel):
    """What a client asks, checked all at once."""

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """The question with these fields. Raises ApiError for the first that is wrong."""
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            fault = error.errors(include_url=False, include_input=False)[0]
            raise cls.refusal(str(fault["loc"][0]), fault) from error

    @classmethod
    def refusal(cls, field: str, fault: ErrorDetails) -> ApiError:
        """What is wrong with a field, with the nearest right name for one that there is not."""
        if fault["type"] == "extra_forbidden":
            return bad(f"Invalid request: {field[:40]}: there is no such field ({nearest(field, cls.model_fields)})")
        return bad(f"Invalid request: {field}: {fault['msg']}")


class _Strict(Checked):
    model_config = ConfigDict(extra="forbid", strict=True)

    api_key: str | None = Field(None, description="an API key, where the server needs one")


class _Asked(_Strict):
    source: str = Field("auto", description="code of the language, or auto", examples=["en"])
    target: str = Field("", description="code of the language to translate into", examples=["de"])
    model: str | None = Field(None, description="name of a model; by default the first of the pair")


class TranslateQuestion(_Asked):
    """A text, or a list of them, and what is wanted besides the translation."""

    q: str | Annotated[list[str], Field(fail_fast=True)] = Field(
        "", description="what to translate", examples=["The old man reads a book."]
    )
    n_best: int = Field(1, ge=1, le=MAX_N_BEST, description="how many translations of each sentence")
    explain: bool = Field(False, description="tell what each piece looked at")
    maps: bool = Field(False, description="and all that every attention looked at, by layer and head")
    format: Literal["text", "html"] = "text"
    glossary: Annotated[str, GLOSSARY] = ""
    target_prefix: str | Annotated[list[str], Field(fail_fast=True)] = Field(
        "", description="what the translation of each text begins with; as many as there are texts"
    )


class ForcedQuestion(_Asked):
    """A text and its translation, whoever made it."""

    source_text: str = Field("", examples=["The old man reads a book."])
    target_text: str = Field("", examples=["Der alte Mann liest ein Buch."])
    document: str = Field(
        "",
        description="`details.document` of the translation: the sentences of its text, with tabs between; only models "
        "that translate sentences with their text read it",
    )


class ExplainQuestion(ForcedQuestion):
    """What the translation looked at."""

    html: bool = Field(False, description="answer with a page that stands for itself")
    by: str = Field("", description="tell which words speak for each word: lrp, gradient_times_input, saliency …")
    reasons: list[str] = Field([], description="tell the same by each of these methods, beside that")
    steps: bool = Field(False, description="tell what a search of the source held and dropped at each step, in details")


class AlternativesQuestion(ForcedQuestion):
    """Other words in place of one of the translation."""

    word: int = Field(0, ge=0, description="which word, from 0, as `target_words` of an explanation counts them")
    count: int = Field(5, ge=1, le=MAX_N_BEST, description="how many at most")


class PredictQuestion(_Strict):
    """Texts, or examples by column, and what is wanted besides the answers."""

    model: str | None = Field(None, description="name of a model; by default the first that is no translator")
    texts: Annotated[list[str], Field(fail_fast=True)] = Field(
        [], description="what to predict from; of several columns, with tabs between them", examples=[["A fine film."]]
    )
    examples: Annotated[list[dict[str, str]], Field(fail_fast=True)] = Field(
        [], description="the same by column, in place of texts", examples=[[{"first": "A dog.", "second": "A cat."}]]
    )
    n_best: int = Field(1, ge=1, le=MAX_N_BEST, description="how many texts, of a model that writes")
    explain: bool = Field(False, description="tell how much each word was looked at")
    maps: bool = Field(False, description="and all that every attention looked at, by layer and head")


class Link(BaseModel):
    """A language that a text was taken for."""

    language: str
    confidence: float


class PredictionAnswer(BaseModel):
    """An answer, and what was given."""

    answers: str  # what it is: text, label, tags, span or numbers
    source: str
    text: str
    score: float | None  # nats
    finished: bool
    log_probs: list[float | None]
    alternatives: list[dict[str, Any]]
    flags: list[dict[str, Any]]
    explanation: dict[str, Any] | None
    # confidence, and whether it is calibrated; probabilities of labels; tags of words and their offsets; a warning;
    # place of a span; terms; shares of a score
    details: dict[str, Any] = {}


class SentenceAnswer(PredictionAnswer):
    """A sentence as the model was asked it, its prediction, what is written for it, and what stands around it."""

    before: str
    after: str
    translation: str


class ExplainedSentence(SentenceAnswer):
    """A sentence whose translation was given: its text."""

    translation: str = ""


class TextAnswer(BaseModel):
    """A translated text: its sentences one after the other."""

    translatedText: str  # noqa: N815  as LibreTranslate spells it
    score: float | None
    detectedLanguage: Link | None = None  # noqa: N815  as LibreTranslate spells it
    seems: Link | None = None  # the language of the target, where the text is in that one although another was named
    model: str | None
    sentences: list[SentenceAnswer]


class TranslateAnswer(BaseModel):
    """An answer per text."""

    model: str | None
    source: str
    target: str
    texts: list[TextAnswer]


class ExplainAnswer(BaseModel):
    """The given target, scored and explained."""

    model: str
    source: str
    target: str
    sentence: ExplainedSentence


class Alternative(ExplainedSentence):
    """A translation with another word in one place, and what the model wrote after it."""

    word: str
    probability: float  # of the word, after those before it


class AlternativesAnswer(BaseModel):
    """Other words, likeliest first; none behind the last word."""

    model: str
    source: str
    target: str
    alternatives: list[Alternative]


class PredictAnswer(BaseModel):
    """An answer per text, in their order."""

    model: str
    task: str
    predictions: list[PredictionAnswer]


class ModelAnswer(BaseModel):
    """A model that is served."""

    name: str
    source: str | None  # codes of languages; null where nothing is translated
    target: str | None
    ready: bool
    task: str | None
    given: list[str]  # columns of an example
    predicted: str | None  # the column that is answered
    answers: str | None  # what it is: text, label, tags or span
    parameters: int | None
    attention: str | None
    layers: Any
    heads: Any
    vocabulary: Any
    sha256: str | None
    pairs: int | None  # examples that it has learnt from
    bleu: float | None  # of the texts it was chosen by
    scores: dict[str, float] | None  # all that were measured on them, by name
    demo: bool | None  # whether it knows nothing but the grammar of `regard demo`
    methods: list[str] | None  # by which words can be weighed
    grades: dict[str, Any] | None  # how far each can be trusted, as `regard explain RUN --grade` measured it
    calibration: dict[str, Any] | None  # how far confidence was off, as `regard calibrate RUN` found; null: not asked
    examples: list[str]  # to try; none where the server asks for keys


class ModelsAnswer(BaseModel):
    """All models."""

    models: list[ModelAnswer]
