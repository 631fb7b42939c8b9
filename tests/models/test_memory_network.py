"""Memory networks against a loop over sentences and words, in each way of tying."""

import warnings

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.data.columns import learn_columns
from regard.data.examples import Example
from regard.errors import ConfigError
from regard.models import MODELS, AttentionSettings
from regard.models.memory_network import FREE, MemoryNetwork
from regard.registry import Choice
from regard.tasks.question_answering import QuestionAnsweringTask

DIM, HOPS, MEMORY = 4, 3, 5
STORIES = [
    ("Mary went to the hall. John got the milk.", "Where is Mary?", "hall"),
    ("John slept.", "Who slept?", "John"),
    ("Mary got the milk. Mary went. John went. John slept. Mary slept. John got it. Mary left.", "What is it?", "a,b"),
]
EXAMPLES = {name: [row[place] for row in STORIES] for place, name in enumerate(("passage", "question", "answer"))}
LINEAR = AttentionSettings(score=Choice("dot"), weighting=Choice("linear_start"))


def build(**settings) -> tuple[MemoryNetwork, QuestionAnsweringTask]:
    rows = [Example(line, dict(zip(EXAMPLES, row, strict=True))) for line, row in enumerate(STORIES, start=1)]
    columns = learn_columns(QuestionAnsweringTask.columns, [rows], Choice("words"), shared=True)
    given = {"dim": DIM, "num_hops": HOPS, "memory_size": MEMORY, **settings}
    model = MODELS.build(Choice("memory_network", given), columns).double().requires_grad_(False)
    return model.eval(), QuestionAnsweringTask(columns)


def batch_of(task: QuestionAnsweringTask):
    """The stories in their order."""
    return task.batch(task.encode([dict(zip(EXAMPLES, row, strict=True)) for row in STORIES]))


def embedded(table, ids: list[int], time: int | None) -> Tensor:
    """sum_j l_j · A x_j + T(t), feature by feature."""
    total = torch.zeros(DIM, dtype=torch.float64)
    for j, one in enumerate(ids, start=1):
        for k in range(1, DIM + 1):
            place = j / len(ids)
            total[k - 1] += ((1 - place) - (k / DIM) * (1 - 2 * place)) * table.words.weight[one, k - 1]
    return total if time is None else total + table.times.weight[time]


def by_loop(model: MemoryNetwork, task: QuestionAnsweringTask, story: str, question: str, linear: float = 0.0):
    """Log-probabilities of the answers; `linear` is the share of the scores themselves among the weights."""
    column, answers = task.vocabularies["passage"], task.vocabularies["answer"]
    sentences = [f"{one}." for one in story.rstrip(".").split(". ")]
    ids = [column.encode(one) for one in sentences][-MEMORY:]
    tables, layerwise = model.tables, len(model.tables) == 3 and isinstance(model.hop.mapping, torch.nn.Linear)
    state = embedded(tables[2 if layerwise else 0], column.encode(question), None)
    for hop in range(HOPS):
        compared, read = (tables[0], tables[1]) if layerwise else (tables[hop], tables[hop + 1])
        times = range(len(ids) - 1, -1, -1)
        m, c = (
            torch.stack([embedded(one, row, t) for row, t in zip(ids, times, strict=True)]) for one in (compared, read)
        )
        scores = m @ state
        weights = (1 - linear) * scores.softmax(dim=0) + linear * scores
        state = (model.hop.mapping.weight @ state if layerwise else state) + weights @ c
    rows = []
    for number, label in enumerate(answers.labels):
        pieces = column.encode(label)
        tied = len(pieces) == 1 and not layerwise
        rows.append(tables[-1].words.weight[pieces[0]] if tied else model.to_class.weight[number])
    return (torch.stack(rows) @ state).log_softmax(dim=0)


@pytest.mark.parametrize("tying", ["adjacent", "layerwise"])
def test_answers_equal_a_loop_over_the_sentences(tying, assert_agrees):
    model, task = build(tying=tying)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = model.log_probs(batch_of(task))
    for row, (story, question, _) in enumerate(STORIES):
        assert_agrees("D13", found[row], by_loop(model, task, story, question))


def test_linear_start_equals_a_loop_in_training_and_is_softmax_in_use(assert_agrees):
    model, task = build(attention=LINEAR, noise=0.0)
    batch = batch_of(task)
    model.hop.attention.weighting.softmax_weight = 0.25
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        training, use = model.train().log_probs(batch), model.eval().log_probs(batch)
    for row, (story, question, _) in enumerate(STORIES):
        assert_agrees("D13", training[row], by_loop(model, task, story, question, linear=0.75))
        assert_agrees("D13", use[row], by_loop(model, task, story, question))


def test_adjacent_tying_shares_tables_and_layerwise_maps_the_question():
    adjacent, _ = build(tying="adjacent")
    layerwise, _ = build(tying="layerwise")
    assert len(adjacent.tables) == HOPS + 1
    assert adjacent.which.memory[1:] == adjacent.which.read[:-1]  # A of a hop is C of the one before
    assert adjacent.which.question == adjacent.which.memory[0]
    assert len(layerwise.tables) == 3
    assert {*layerwise.which.memory} == {0} and {*layerwise.which.read} == {1}
    assert layerwise.hop.mapping.weight.shape == (DIM, DIM)


def test_answers_of_one_piece_have_its_vector():
    model, task = build()
    labels, column = task.vocabularies["answer"].labels, task.vocabularies["passage"]
    wanted = {"hall": column.encode("hall")[0], "John": column.encode("John")[0], "a,b": FREE}
    assert model.pieces.tolist() == [wanted[label] for label in labels]


def test_labels_never_share_a_vector():
    """Of words in lower case: labels that the text lacks are unknown words, and "John" and "john" are one."""
    answers = ("yes", "no", "John", "john", "hall")
    rows = [
        Example(line, {"passage": STORIES[0][0], "question": STORIES[0][1], "answer": one})
        for line, one in enumerate(answers, start=1)
    ]
    kinds = {"passage": "text", "question": "text", "answer": "label"}
    columns = learn_columns(kinds, [rows], Choice("uncased_words"), shared=True)
    model = MODELS.build(Choice("memory_network", {"dim": DIM}), columns)
    labels, column = columns["answer"].labels, columns["passage"]
    assert column.encode("yes") == column.encode("no") and column.encode("John") == column.encode("john")
    tied = dict(zip(labels, model.pieces.tolist(), strict=True))
    assert tied == {"yes": FREE, "no": FREE, "John": FREE, "john": FREE, "hall": column.encode("hall")[0]}
    vectors = model._class_vectors()
    assert len({tuple(one.tolist()) for one in vectors}) == len(labels)


def test_more_hops_change_the_answer():
    torch.manual_seed(1)
    found = []
    for hops in (1, 2):
        model, task = build(num_hops=hops, tying="layerwise", memory_size=10)
        torch.manual_seed(2)
        for parameter in model.parameters():
            torch.nn.init.normal_(parameter)
        found.append(model.log_probs(batch_of(task)))
    assert not torch.allclose(*found)


def test_noise_moves_times_in_training_alone():
    model, _ = build(noise=0.1)
    model.noise = 1.0  # always
    shown = torch.tensor([[True, True, True], [True, False, False]])
    assert model._times(shown).tolist() == [[2, 1, 0], [0, 0, 0]]
    model.train()
    assert model._times(shown).tolist() == [[5, 3, 1], [1, 0, 0]]  # an empty sentence behind each


def test_noise_is_drawn_as_often_as_it_says():
    model, _ = build(noise=0.25)
    torch.manual_seed(0)
    behind = model.train()._times(torch.ones(4000, 1, dtype=torch.bool))
    assert float(behind.double().mean()) == pytest.approx(0.25, abs=0.03)
    assert bool((behind <= 1).all())


def test_padding_and_batch_mates_change_nothing():
    model, task = build(memory_size=10)
    together = model.log_probs(batch_of(task))
    for row, one in enumerate(STORIES):
        alone = model.log_probs(task.batch(task.encode([dict(zip(EXAMPLES, one, strict=True))])))
        assert_close(together[row], alone[0])


def test_a_longer_story_is_told_with_its_size():
    model, task = build()
    with pytest.warns(UserWarning, match=r"model.memory_size: .*5 sentences.*the latest are kept"):
        model.log_probs(batch_of(task))
    model, task = build(memory_size=7)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = model.log_probs(batch_of(task))
    assert_close(found.exp().sum(dim=-1), torch.ones(len(STORIES), dtype=torch.float64))


def test_a_story_of_nothing_answers_with_finite_gradients():
    model, task = build()
    model.requires_grad_(True).train()
    batch = task.batch(task.encode([{"passage": "", "question": "Where?", "answer": "hall"}]))
    model.nll(batch).sum().backward()
    assert all(bool(one.grad.isfinite().all()) for one in model.parameters() if one.grad is not None)


def test_two_vocabularies_are_refused():
    rows = [Example(line, dict(zip(EXAMPLES, row, strict=True))) for line, row in enumerate(STORIES, start=1)]
    columns = learn_columns(QuestionAnsweringTask.columns, [rows], Choice("words"), shared=False)
    with pytest.raises(ConfigError, match="one vocabulary"):
        MODELS.build(Choice("memory_network", {}), columns)
