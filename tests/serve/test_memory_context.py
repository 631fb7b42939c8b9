"""A served model that reads similar segments in its source: the answers of the predictor, whatever the batch mates."""

from dataclasses import replace
from functools import partial

import pytest
from known_engine import KnownEngine, served
from questions import ask
from small_runs import SMALL, regard

import regard as package
from regard.augmentations.fuzzy_matches import FuzzyMatches
from regard.documents.glossary import Glossary
from regard.memory import TranslationMemory, TranslationUnit
from regard.predictor.source_context import SourceContext
from regard.predictor.whole_texts import recalled_sentences
from regard.results import MemoryMatch
from regard.serve.engine.answering import Answering
from regard.serve.engine.messages import HEAD, Batch, packed, unpacked
from regard.serve.engine.questions import MAX_EXPLAINED, Alternatives, Explain, GivenText, Predict, context_of
from regard.serve.settings import Settings

NOUNS = {"dog": "Hund", "cat": "Kater", "man": "Mann"}
PAIRS = [(f"the {one} sees a {two}", f"der {NOUNS[one]} sieht {NOUNS[two]}") for one in NOUNS for two in NOUNS] * 2
BOTH = "data.source_augmentations=[{name: fuzzy_matches, fraction: 0.4}, terms]"
TEXTS = ["the dog sees a cat", "a man", "the cat sees a cat", "the dog sees a man"]
SEGMENT = "the dog sees a man"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    (folder / "a.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in PAIRS), encoding="utf-8")
    done = regard("train", folder / "a.tsv", "--run", folder / "run", "data.languages=[en, de]", BOTH, *SMALL)
    assert done.code == 0, done.said
    return folder / "run"


@pytest.fixture(scope="module")
def loaded(run):
    return Answering.load(run, batch_tokens=8192)


@pytest.fixture(scope="module")
def memory(tmp_path_factory):
    path = tmp_path_factory.mktemp("memory") / "en-de.memory"
    found = TranslationMemory(path, ("en", "de"))
    found.add([TranslationUnit(SEGMENT, "der Hund sieht Mann"), TranslationUnit("the cat sees", "der Kater sieht")])
    found.close()
    return path


class RealEngine(KnownEngine):
    """A loaded run; questions come over the wire. It answers all texts of a request in one batch, or each alone."""

    def __init__(self, answering, card, *, together=True):
        super().__init__("en", "de")
        self.answering, self.together = answering, together
        self.info |= card | {"languages": ["en", "de"]}

    async def ask(self, question, *, seconds):
        question = unpacked(packed(Batch(name="0", lane=0, question=question))[HEAD:]).question
        self.asked.append(question)
        parts = [question] if self.together else [question.of([text]) for text in question.texts]
        answers = [self.answering.answer(part) for part in parts]
        return [found for one in answers for found in one.found.values()]


def answers(engine, place, texts, **body):
    body = {"q": texts, "source": "en", "target": "de", **body}
    with served([engine], Settings(memories=(place,))) as client:
        return ask(client, "/v1/translate", body, "json").json()["texts"]


def test_answers_are_those_of_the_predictor(run, loaded, memory):
    engine = RealEngine(loaded[0], loaded[1][""])
    found = answers(engine, memory, TEXTS)
    predicted = package.load(run).translate(TEXTS, memory=TranslationMemory(memory))
    assert [one["translatedText"] for one in found] == [one.text for one in predicted]
    sources = [one["sentences"][0]["details"].get("augmented", "") for one in found]
    assert sources == [one.augmented for one in predicted]
    assert sources[0] == "the dog sees a cat ⟦match⟧ der Hund sieht Mann" and sources[1] == ""
    assert found[3]["sentences"][0]["details"]["memory"][0]["percent"] == 100


def test_batch_mates_change_no_answer(loaded, memory):
    together, alone = (
        answers(RealEngine(loaded[0], loaded[1][""], together=one), memory, TEXTS * 3) for one in (True, False)
    )
    assert [one["translatedText"] for one in together] == [one["translatedText"] for one in alone]
    for one, other in zip(together, alone, strict=True):
        assert one["score"] == pytest.approx(other["score"], abs=2e-3)


@pytest.mark.parametrize(
    ("path", "body"), [("/translate", {}), ("/v2/translate", {"text": TEXTS[:1], "target_lang": "DE"})]
)
def test_programs_send_context_without_a_field(loaded, memory, path, body):
    engine, body = RealEngine(loaded[0], loaded[1][""]), body or {"q": TEXTS[0], "source": "en", "target": "de"}
    with served([engine], Settings(memories=(memory,))) as client:
        assert ask(client, path, body, "json").status_code == 200
    ((text,),) = [one.texts for one in engine.asked]
    assert (text.source, [one.source for one in text.similar]) == (TEXTS[0], [SEGMENT])


def test_without_its_memory_a_model_reads_the_text_alone(loaded, memory):
    engine = RealEngine(loaded[0], loaded[1][""])
    (found,) = answers(engine, memory, [TEXTS[0]], memory=False)
    assert engine.asked == [Predict.lines((TEXTS[0],))] and "augmented" not in found["sentences"][0]["details"]
    answers(other := KnownEngine("en", "de"), memory, [TEXTS[0]])
    assert other.asked == [Predict.lines((TEXTS[0],))]


def test_a_file_is_translated_with_context(loaded, memory):
    engine = RealEngine(loaded[0], loaded[1][""])
    with served([engine], Settings(memories=(memory,))) as client:
        body = {"source": "en", "target": "de"}
        done = client.post("/translate_file", data=body, files={"file": ("a.txt", f"{TEXTS[0]}\n".encode())})
    assert done.status_code == 200, done.text
    assert engine.asked[0].texts[0].source == TEXTS[0] and len(engine.asked[0].texts[0].similar) == 1


@pytest.mark.parametrize(("path", "more"), [("/v1/explain", {}), ("/v1/alternatives", {"word": 0})])
def test_given_translations_are_read_with_context(loaded, memory, path, more):
    engine = RealEngine(loaded[0], loaded[1][""])
    body = {"source_text": TEXTS[0], "target_text": "der Hund", "source": "en", "target": "de", **more}
    with served([engine], Settings(memories=(memory,))) as client:
        for given in ({}, {"memory": False}, {"source_text": SEGMENT}):
            assert ask(client, path, body | given, "json").status_code == 200
    assert [len(one.texts[0].similar) for one in engine.asked] == [1, 0, 0]


def test_a_search_that_takes_too_long_is_a_warning(loaded, memory, monkeypatch):
    monkeypatch.setattr("regard.serve.memories._READ_PATIENCE", 0)
    engine = RealEngine(loaded[0], loaded[1][""])
    found = answers(engine, memory, [TEXTS[0], SEGMENT])
    assert ["in time" in (one["sentences"][0]["details"].get("warning") or "") for one in found] == [True, False]
    assert engine.asked == [Predict.lines((TEXTS[0],))] and found[1]["translatedText"] == "der Hund sieht Mann"


@pytest.mark.parametrize("path", ["/v1/explain", "/v1/alternatives"])
@pytest.mark.parametrize(("patience", "said"), [({"_READ_PATIENCE": 0}, "in time"), ({}, "")])
def test_context_that_is_missing_is_a_warning_of_an_explanation(loaded, memory, monkeypatch, path, patience, said):
    for name, value in patience.items():
        monkeypatch.setattr(f"regard.serve.memories.{name}", value)
    body = {"source_text": TEXTS[0], "target_text": "der Hund", "source": "en", "target": "de"}
    with served([RealEngine(loaded[0], loaded[1][""])], Settings(memories=(memory,))) as client:
        found = ask(client, path, body | ({"word": 0} if "alternatives" in path else {}), "json").json()
    sentences = found["alternatives"] if "alternatives" in path else [found["sentence"]]
    warnings = [one["details"].get("warning") or "" for one in sentences]
    assert warnings and all(said in one and bool(one) == bool(said) for one in warnings)


@pytest.mark.parametrize("question", [Explain, partial(Alternatives, word=0)])
def test_context_counts_where_a_target_is_explained(loaded, question):
    similar = (match("Hund " * (MAX_EXPLAINED // 3)), match("Kater " * (MAX_EXPLAINED // 3)))
    plain, known = loaded[0].count(question((GivenText(SEGMENT, "der Hund"), GivenText(SEGMENT, "der Hund", similar))))
    source, target = loaded[0].predictor.task.source, loaded[0].predictor.task.target
    size = len(source.encode(SEGMENT)) + len(target.encode("der Hund")) + context_of(similar)
    assert plain.pieces < MAX_EXPLAINED and (known.kind, *known.details[1:3]) == ("costly", size, MAX_EXPLAINED)


def test_context_counts_as_pieces(loaded):
    similar = (match("Hund " * 40),)
    texts = GivenText(TEXTS[0]), GivenText(TEXTS[0], similar=similar)
    plain, known = (loaded[0].count(Predict((one,)))[0].pieces for one in texts)
    assert known == plain + context_of(similar) and context_of(similar) >= 40
    assert Predict((GivenText("yes", similar=similar),)).guess is None and Predict.lines(("yes",)).guess is not None


def match(target, percent=80):
    return MemoryMatch(percent, 1, SEGMENT, target, "", "", "")


def test_given_targets_are_scored_and_rewritten_with_context(run, loaded):
    pair = GivenText(TEXTS[0], "der Hund", (match("der Hund sieht Mann"),))
    (found,) = loaded[0].answer(Explain((pair,))).found.values()
    (scored,) = package.load(run).score([pair.source], [pair.target], matches=[pair.similar])
    assert found.augmented == scored.augmented == f"{TEXTS[0]} ⟦match⟧ der Hund sieht Mann"
    assert found.score == pytest.approx(scored.score, abs=1e-4)
    assert {"source", "context", "target"} <= found.explanation.columns.keys()
    plain = replace(loaded[0].answer(Explain((pair._replace(similar=()),))).found[0], explanation=None)
    assert plain.score != pytest.approx(found.score, abs=1e-4)


def test_a_reranker_scores_what_its_run_reads(run):
    """A reranker of the same run doubles the model's own score, with the context as without."""
    predictor = package.load(run, [f"decoding.rerank={{run: {run}, weight: 1.0, n_best: 2}}"])
    for matches in ([()], [(match("der Hund sieht Mann"),)]):
        (found,) = predictor.predict([TEXTS[0]], matches=matches, safeguards=False)
        assert bool(found.augmented) == bool(matches[0])
        (plain,) = package.load(run).score([TEXTS[0]], [found.text], matches=matches)
        assert found.shares["network"] == pytest.approx(sum(plain.log_probs), abs=1e-3)


def test_a_model_that_reads_five_segments_gets_five(tmp_path):
    memory = TranslationMemory(tmp_path / "m.memory", ("en", "de"))
    memory.add(TranslationUnit(f"the dog sees a man {word}", f"Satz {word}") for word in "abcdef")
    for count in (1, 5):
        context = SourceContext({"fuzzy_matches": FuzzyMatches(matches=count)})
        (matches,) = recalled_sentences(memory, ["the dog sees a man x"], context)
        (hints,) = context.hints(["the dog sees a man x"], [matches], [Glossary([])])
        assert context.augmented({"source": "the dog sees a man x"}, hints)["source"].count("⟦match⟧") == count
