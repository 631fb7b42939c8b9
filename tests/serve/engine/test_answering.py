"""In the model's process: nobody's answer depends on what the others of a batch are."""

import io
from dataclasses import replace
from functools import partial

import pytest
import torch
from engines import pairs_of
from small_runs import PAIRS

from regard.attention import recording
from regard.errors import CheckpointError
from regard.predictor import load
from regard.registry import Choice
from regard.serve.engine.answering import Answering
from regard.serve.engine.lanes import lane_of
from regard.serve.engine.messages import (
    HEAD,
    Batch,
    Beat,
    CountTexts,
    Failure,
    Found,
    Job,
    Refused,
    TextCost,
    Warm,
    heard,
    packed,
    unpacked,
)
from regard.serve.engine.questions import Alternatives, Explain, Predict
from regard.serve.engine.worker import answer, count, serve

TEXTS = ["a dog runs", "", "two cats", "yes"]


def predictions(done):
    """Where every text has one: in the order of the texts."""
    assert not done.refused
    return [done.found[row] for row in sorted(done.found)]


def pieces(counted):
    """What each text costs; of others why there is no answer, or the answer."""
    return [getattr(one, "pieces", one) for one in counted]


def texts_of(done):
    return {row: one.text for row, one in done.found.items()}


def test_what_is_told_of_a_model(tiny_run):
    _, cards = Answering.load(tiny_run, batch_tokens=8192)
    info = cards[""]
    assert (info["languages"], info["search"], info["pieces"]) == (["en", "de"], "beam", 1023)
    assert info["layers"] == {"encoder": 1, "decoder": 1}
    assert (info["attention"], info["heads"], len(info["sha256"])) == ("scaled_dot", 4, 64)
    assert info["parameters"] == sum(one.numel() for one in load(tiny_run).model.parameters())


def test_it_answers_as_the_predictor_does(tiny_run, answering):
    predictor = load(tiny_run)
    done = answering.answer(Predict.lines(TEXTS, explain=True, maps=True))
    assert predictions(done) == predictor.predict(TEXTS, explain=True)
    assert done.out_of_memory == 0


def test_terms_that_a_search_cannot_keep_are_refused(tiny_run):
    """As a request that is wrong, not as a fault of the server."""
    answering, _ = Answering.load(tiny_run, batch_tokens=8192, changes=["decoding.search=sampling"])
    done = answering.answer(Predict.lines(["a dog runs"], glossary=("dog\tHund",)))
    assert done.refused == {0: Refused("wrong", "decoding.search: cannot keep terms and prefixes (--search beam)")}


def test_maps_go_along_only_when_they_are_wanted(answering):
    (plain,) = predictions(answering.answer(Predict.lines(["yes"])))
    (told,) = predictions(answering.answer(Predict.lines(["yes"], explain=True)))
    (whole,) = predictions(answering.answer(Predict.lines(["yes"], maps=True)))
    assert plain.explanation is None
    assert told.explanation.weights == whole.explanation.weights
    assert told.explanation.maps == []
    assert len(whole.explanation.maps) == 3


def test_maps_that_are_too_large_are_left_out(answering, monkeypatch):
    texts = ["yes", "a dog runs", "two cats"]
    whole = predictions(answering.answer(Predict.lines(texts, maps=True)))
    looking = answering.looking
    for one in whole:
        maps = sum(len(row) for each in one.explanation.maps for head in each.weights for row in head)
        assert looking.weights(one) >= maps > 0
    counts = [looking.weights(one) for one in whole]
    assert looking.heads == {("source", "source"): 4, ("target", "source"): 4, ("target", "target"): 4}
    monkeypatch.setattr("regard.serve.engine.explaining.MOST_SHOWN", sorted(counts)[1])
    shown = predictions(answering.answer(Predict.lines(texts, maps=True)))
    assert [bool(one.explanation.maps) for one in shown] == [count <= sorted(counts)[1] for count in counts]
    assert [one.explanation.weights for one in shown] == [one.explanation.weights for one in whole]
    monkeypatch.setattr("regard.serve.engine.explaining.MOST_WEIGHTS", sorted(counts)[1])
    held = predictions(answering.answer(Predict.lines(texts, maps=True)))
    assert [one.explanation is not None for one in held] == [count <= sorted(counts)[1] for count in counts]
    assert [one.text for one in held] == [one.text for one in whole]


@pytest.mark.parametrize("search", [None, "greedy", "sampling"])
def test_several_answers_of_every_search(tiny_run, search):
    changes = [f"decoding.search={search}"] if search else []
    predictor = load(tiny_run, changes)
    choice = {"greedy": "greedy", "sampling": "sampling", None: "beam"}[search]
    (found,) = predictions(Answering(predictor, Choice(choice)).answer(Predict.lines(["a dog runs"], n_best=3)))
    assert len(found.alternatives) == 2
    (alone,) = predictor.predict(["a dog runs"])
    assert alone.alternatives == []


def test_given_targets_are_scored_and_explained(tiny_run, answering):
    sources, targets = ["a dog runs", ""], ["ein Hund", ""]
    answers = predictions(answering.answer(Explain(pairs_of(sources, targets))))
    scored = load(tiny_run).score(sources, targets)
    assert [(one.source, one.text) for one in answers] == list(zip(sources, targets, strict=True))
    assert [one.score for one in answers] == [one.score for one in scored]
    assert all(len(one.explanation.weights) == len(one.log_probs) for one in answers)


def test_given_targets_are_explained_by_a_method(answering):
    (found,) = predictions(answering.answer(Explain(pairs_of(["a dog runs"], ["ein Hund"]), method="lrp")))
    (wanted,) = answering.predictor.explainer.with_relevance(
        answering.predictor.score(["a dog runs"], ["ein Hund"]), "lrp"
    )
    assert found.explanation == wanted.explanation
    assert found.explanation.method == "lrp"


def test_given_targets_have_the_steps_of_a_search(answering):
    (plain,) = predictions(answering.answer(Explain(pairs_of(["a dog runs"], ["ein Hund"]))))
    (found,) = predictions(answering.answer(Explain(pairs_of(["a dog runs"], ["ein Hund"]), steps=True)))
    assert plain.search is None
    assert replace(found, search=None) == plain
    (alone,) = answering.predictor.explainer.with_search_tree([plain])
    assert found.search == alone.search


def test_an_explanation_goes_on_step_by_step_and_is_given_up(answering):
    """Between two passes through the model `unwanted` is asked; who has gone gets no more than the score."""
    asked, options = [], {"method": "lrp", "reasons": ("saliency", "gradient_times_input"), "steps": True}
    texts = ["a dog runs"], ["ein Hund"]
    (whole,) = predictions(
        answering.answer(Explain(pairs_of(*texts), **options), unwanted=lambda: asked.append(1) or frozenset())
    )
    assert len(asked) >= 6
    assert {*whole.explanation.reasons} == {"saliency", "gradient_times_input"}
    for steps in (0, 2, 4):
        unwanted = [frozenset[int]()] * steps
        (gone,) = predictions(
            answering.answer(
                Explain(pairs_of(*texts), **options), unwanted=partial(next, iter(unwanted), frozenset({0}))
            )
        )
        assert gone.explanation is None
        assert gone.log_probs == whole.log_probs


def test_what_has_to_be_kept_and_explained_is_counted(answering):
    plain, prefix, target = (
        answering.count(Predict.lines(["yes"]))[0].pieces,
        "ein Hund",
        answering.predictor.task.target,
    )
    assert pieces(answering.count(Predict.lines(["yes"], prefix=prefix))) == [plain + len(target.encode(prefix))]
    (costly,) = answering.count(Predict.lines(["yes"], prefix=prefix * 600))
    assert (costly.kind, "target_prefix" in costly.details) == ("wrong", True)
    assert pieces(answering.count(Explain(pairs_of(["yes"], ["ja"]), method="lrp"))) == [
        5 * (plain + len(target.encode("ja")))
    ]
    assert lane_of(answering.count(Predict.lines(["a dog"], glossary=("dog\t" + "Hund " * 40,)))[0].pieces) > 0


def test_pieces_are_counted_by_the_tokenizer(answering):
    """Those of the longer side; of what is too long it is told, and what is only copied is answered."""
    source, target = answering.predictor.task.source, answering.predictor.task.target
    long = "yes " * 20
    count = len(source.encode(long))
    (copied,) = answering.predictor.predict(["汉" * 400])
    assert pieces(answering.count(Predict.lines(TEXTS))) == [len(source.encode(text)) for text in TEXTS]
    assert pieces(answering.count(Explain(pairs_of(["yes", ""], ["ein Hund", ""])))) == [
        len(target.encode("ein Hund")),
        0,
    ]
    answering.predictor.encoder.max_source = 12
    assert pieces(answering.count(Predict.lines(["yes", long]))) == [
        len(source.encode("yes")),
        Refused("long", [count, 11]),
    ]
    assert pieces(answering.count(Explain(pairs_of(["yes"], [long])))) == [
        Refused("long", [len(target.encode(long)), 11])
    ]
    assert pieces(answering.count(Predict.lines(["汉" * 400]))) == [copied]
    assert copied.text == "汉" * 400


class Left:
    """Texts that are left after so many questions."""

    def __init__(self, after, *texts):
        self.after, self.texts, self.asked = after, frozenset(texts), 0

    def __call__(self):
        self.asked += 1
        return self.texts if self.asked > self.after else frozenset()


def test_what_nobody_waits_for_is_given_up(answering):
    """Text by text, in whichever halves of a batch they are; they are not explained either."""
    texts = ["a dog runs", "two cats", "he reads"]
    whole = predictions(answering.answer(Predict.lines(texts, explain=True)))
    left = Left(1, 1)
    found = predictions(answering.answer(Predict.lines(texts, explain=True), unwanted=left))
    assert left.asked > 2
    assert [found[place].text for place in (0, 2)] == [whole[place].text for place in (0, 2)]
    assert [one.explanation is None for one in found] == [False, True, False]
    assert len(found[1].log_probs) == 2 < len(whole[1].log_probs)
    asked = Left(0, 0, 1, 2)
    answering.answer(Predict.lines(texts), unwanted=asked)
    assert asked.asked == 1


def test_another_word_that_nobody_waits_for_is_given_up(answering):
    left = Left(0, 0)
    answering.answer(Alternatives(pairs_of(["a dog runs"], ["ein Hund läuft"]), word=0, count=3), unwanted=left)
    asked, left.after = left.asked, 10**6
    answering.answer(Alternatives(pairs_of(["a dog runs"], ["ein Hund läuft"]), word=0, count=3), unwanted=left)
    assert asked < left.asked - asked


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        torch.OutOfMemoryError("CUDA out of memory"),
        RuntimeError("DefaultCPUAllocator: can't allocate memory"),
    ],
    ids=["python", "cuda", "cpu"],
)
def test_a_text_that_does_not_fit_into_memory_fails_alone(answering, monkeypatch, error):
    texts = [source for source, _ in PAIRS]
    expected = texts_of(answering.answer(Predict.lines(texts)))
    predict, failures = answering.predictor.predict, []

    def short(some, **options):
        if "two cats" in some:
            failures.append(some)
            raise error
        return predict(some, **options)

    monkeypatch.setattr(answering.predictor, "predict", short)
    done = answering.answer(Predict.lines(texts))
    assert done.refused == {row: Refused("memory") for row, text in enumerate(texts) if text == "two cats"}
    assert done.out_of_memory == len(failures)
    assert texts_of(done) == {row: text for row, text in expected.items() if row not in done.refused}


def test_a_batch_that_is_too_large_is_split_until_it_fits(answering, monkeypatch):
    texts = [source for source, _ in PAIRS]
    expected = texts_of(answering.answer(Predict.lines(texts)))
    predict = answering.predictor.predict

    def short(some, **options):
        if len(some) > 3:
            raise MemoryError
        return predict(some, **options)

    monkeypatch.setattr(answering.predictor, "predict", short)
    done = answering.answer(Predict.lines(texts))
    assert (texts_of(done), done.out_of_memory) == (expected, 3)  # 12 → 6, 6 → 3, 3, 3, 3


def test_a_fault_of_the_model_tells_nothing_of_it(answering, monkeypatch):
    def fault(some, **options):
        raise KeyError("a secret path")

    monkeypatch.setattr(answering.predictor, "predict", fault)
    assert answering.answer(Predict.lines(["yes"])).refused == {0: Refused("failed", "KeyError")}


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_text_that_cannot_be_read_fails_alone(answering, monkeypatch, side, caplog):
    """Nor do its mates, the client is told nothing of the inside, and whoever runs the server all of it."""
    texts, given = ["yes", "two cats", "a dog runs"], ["ja", "zwei Katzen", "ein Hund"]
    bad = {"source": texts, "target": given}[side][1]
    tokenizer = getattr(answering.predictor.task, side)
    wanted = predictions(answering.answer(Explain(pairs_of([texts[0], texts[2]], [given[0], given[2]]))))
    encode = tokenizer.encode_batch

    def fault(some):
        if bad in some:
            raise KeyError("/secret/path")
        return encode(some)

    monkeypatch.setattr(tokenizer, "encode_batch", fault)
    question = Explain(pairs_of(texts, given))
    counts = count(answering, CountTexts(question=question))
    told = answer(answering, Batch(name="0", lane=0, question=question))
    assert [type(size) for size in counts.outcomes] == [TextCost, Refused, TextCost]
    first, second, third = told.outcomes
    assert second == counts.outcomes[1] == Refused("failed", "KeyError")
    assert [one.prediction.prediction.score for one in (first, third)] == pytest.approx([w.score for w in wanted])
    assert "secret" not in repr([told, counts])
    assert "/secret/path" in caplog.text


def test_a_fault_of_a_whole_batch_tells_nothing_of_it(answering, monkeypatch, caplog):
    def fault(*_):
        raise KeyError("/secret/path")

    monkeypatch.setattr(answering, "predict", fault)
    told = answer(answering, Batch(name="0", lane=0, question=Predict.lines(["yes"])))
    assert (told, "/secret/path" in caplog.text) == (Failure(reason="KeyError"), True)


def test_another_slot_has_the_same_weights_in_modules_of_its_own(answering):
    other = answering.beside()
    ours, theirs = (list(one.predictor.model.parameters()) for one in (answering, other))
    assert all(one is two for one, two in zip(ours, theirs, strict=True))
    with recording(answering.predictor.model) as records:
        other.answer(Predict.lines(["yes"]))
    assert records and not any(seen.answers for seen in records.values())
    assert other.answer(Predict.lines(TEXTS)) == answering.answer(Predict.lines(TEXTS))


@pytest.mark.parametrize("question", [Predict((1,)), Explain(("a",)), Predict.lines(("a",), route="xx")])
def test_what_is_no_question_is_told(answering, question):
    """One that is none at all does not come over the wire."""
    message = packed(Batch(name="0", lane=0, question=question))[HEAD:]
    if question.route:
        assert isinstance(answer(answering, unpacked(message)), Failure)
    else:
        with pytest.raises(ValueError):
            unpacked(message)


def test_a_lone_surrogate_and_a_null_are_texts(answering):
    told = answer(answering, Batch(name="0", lane=0, question=Predict.lines(["\ud800", "\0", "a\u2028b"])))
    assert [type(one) for one in heard(packed(told)[HEAD:]).outcomes] == [Found] * 3


def test_the_warm_up_tells_how_fast_it_is(answering):
    assert answer(answering, Warm()).speed > 0


def test_a_conversation(tiny_run):
    """Loading, a request, bytes that are no message, an end in the middle of one."""
    job = Job(number=0, run=str(tiny_run), threads=2, batch_tokens=100)
    request = Batch(number=1, name="0.0", lane=0, question=Predict.lines(("yes",)))
    nonsense = (3).to_bytes(HEAD, "big") + b"\xff{]"
    given = io.BytesIO(packed(job) + nonsense + packed(request) + packed(request)[:-1])
    said = []
    assert serve(given, said.append) == 0
    assert said[0].number == 0 and said[0].cards[""]["languages"] == ["en", "de"]
    told = {one.number: one for one in said[1:] if not isinstance(one, Beat)}
    assert isinstance(told[None], Failure)
    assert told[1].outcomes[0].prediction.prediction == load(tiny_run).predict(["yes"])[0]


def test_a_folder_that_is_no_run_is_told_in_one_line(tmp_path):
    said = []
    job = Job(number=0, run=str(tmp_path), threads=1, batch_tokens=100)
    assert serve(io.BytesIO(packed(job)), said.append) == 2
    assert "is not a run folder" in said[0].reason
    with pytest.raises(CheckpointError):
        Answering.load(tmp_path, batch_tokens=100)
    assert heard(packed(said[0])[HEAD:]) == said[0]


@pytest.mark.filterwarnings("ignore:decoding.precision")  # a processor may know no such products
def test_a_server_may_multiply_in_eight_bits(tiny_run):
    answering, _ = Answering.load(tiny_run, batch_tokens=8192, changes=["decoding.precision=int8"])
    wanted = load(tiny_run, ["decoding.precision=int8"]).predict(["yes", "no"])
    assert answering.answer(Predict.lines(["yes", "no"])).found == dict(enumerate(wanted))


@pytest.mark.parametrize(
    "question, fewer",
    [
        (Explain(pairs_of(["a dog runs"], ["ein Hund"])), 2),
        (Alternatives(pairs_of(["a dog runs"], ["ein Hund"]), word=1, count=2), 1),
    ],
)
def test_a_text_that_comes_with_its_pieces_is_not_encoded_again_to_be_scored(answering, monkeypatch, question, fewer):
    (cost,) = answering.count(question)
    task, calls = answering.predictor.task, []
    encode = task.encode
    monkeypatch.setattr(task, "encode", lambda examples: calls.append(len(examples)) or encode(examples))
    wanted = predictions(answering.answer(question))
    before = len(calls)
    assert predictions(answering.answer(question, encoded=[cost.encoded])) == wanted
    assert len(calls) == 2 * before - fewer
