"""Taggers: pooling of pieces against loops, losses against torch, and padding that changes nothing."""

import pytest
import torch
from torch.testing import assert_close

from regard.data.columns import learn_columns
from regard.data.examples import Example
from regard.encoders import ENCODERS
from regard.errors import ConfigError
from regard.models import MODELS
from regard.records import PAD, TAGS, TEXT, Sequences
from regard.registry import Choice
from regard.tasks.tagging import TaggingTask

TEXTS = ["the cats don't sleep", "a dog", "sleep", "cats zzz sleep"]
LABELS = ["D N V V", "D N", "V", "N V V"]
EXAMPLES = {TEXT: TEXTS, TAGS: LABELS}
ROWS = [Example(line, {TEXT: text, TAGS: tags}) for line, (text, tags) in enumerate(zip(TEXTS, LABELS, strict=True), 1)]
KINDS = TaggingTask.columns
RECURRENT = Choice("recurrent", {"hidden_dim": 6})
TRANSFORMER = Choice("transformer", {"num_layers": 1, "feedforward_dim": 8})


@pytest.fixture(scope="module")
def task():
    return TaggingTask(learn_columns(KINDS, [ROWS], Choice("characters", {"size": 290}), shared=True))


def build(task, **settings):
    torch.manual_seed(5)
    settings = {"dim": 8, "dropout": 0.0, "encoder": RECURRENT, **settings}
    return MODELS.build(Choice("tagger", settings), task.vocabularies).double().eval()


def together(task):
    return task.batch(task.encode([row.texts for row in ROWS]))


def cut(task, text):
    return [task.vocabularies[TEXT].tokenizer.encode(word) for word in text.split()]


def encoded(model, vectors):
    """What the encoder makes of one text (place, dim)."""
    return model.encoder(Sequences(vectors.unsqueeze(0), torch.ones(1, len(vectors)).bool())).states[0]


@pytest.mark.parametrize("encoder", [RECURRENT, TRANSFORMER], ids=["recurrent", "transformer"])
def test_pieces_are_pooled_before_the_encoder(task, encoder):
    """Against a loop over words: the mean of the vectors of the pieces, of which each text is read by itself."""
    model = build(task, encoder=encoder, position=None)
    found, mask = model.states(together(task).sequences(TEXT))
    for row, text in enumerate(TEXTS):
        vectors = [model.embedder(torch.tensor([word]))[0][0].mean(dim=0) for word in cut(task, text)]
        with torch.no_grad():
            assert_close(found[row][mask[row]], encoded(model, torch.stack(vectors)))


@pytest.mark.parametrize("encoder", [RECURRENT, TRANSFORMER], ids=["recurrent", "transformer"])
def test_pieces_are_pooled_after_the_encoder(task, encoder):
    """Against a loop over words: the mean of the states of the pieces, which are read in a row."""
    model = build(task, encoder=encoder, pool_pieces="after", position=Choice("sinusoidal"))
    found, mask = model.states(together(task).sequences(TEXT))
    for row, text in enumerate(TEXTS):
        words = cut(task, text)
        vectors, _ = model.embedder(torch.tensor([[piece for word in words for piece in word]]))
        states = encoded(model, vectors[0]).split(list(map(len, words)))
        with torch.no_grad():
            assert_close(found[row][mask[row]], torch.stack([one.mean(dim=0) for one in states]))


def test_positions_are_those_of_words_where_pieces_are_pooled_before(task):
    model = build(task, encoder=Choice("embeddings"), position=Choice("sinusoidal"))
    found, _ = model.states(together(task).sequences(TEXT))
    for place, word in enumerate(cut(task, TEXTS[0])):
        rows = torch.full((len(word), place + 1), PAD)
        rows[:, place] = torch.tensor(word)
        assert_close(found[0, place], model.embedder(rows)[0][:, place].mean(dim=0))


@pytest.mark.parametrize("head", ["linear", "crf"])
@pytest.mark.parametrize("pool_pieces", ["before", "after"])
def test_texts_beside_it_change_no_text(task, head, pool_pieces):
    model, batch = build(task, head=Choice(head), pool_pieces=pool_pieces), together(task)
    for parameter in model.head.parameters():
        torch.nn.init.normal_(parameter)
    found, losses = model.tag(batch), model.nll(batch)
    for row, example in enumerate(ROWS):
        alone = task.batch(task.encode([example.texts]))
        one, count = model.tag(alone), len(example.texts[TEXT].split())
        assert found.tags[row, :count].tolist() == one.tags[0].tolist()
        assert_close(found.log_probs[row, :count], one.log_probs[0])
        assert_close(found.scores[row], one.scores[0])
        assert_close(losses[row, :count], model.nll(alone)[0])
        assert not losses[row, count:].any()


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_losses_of_a_softmax_are_those_of_torch(task, smoothing):
    model, batch = build(task), together(task)
    states, mask = model.states(batch.sequences(TEXT))
    tags = batch.sequences(TAGS).items - PAD - 1
    wanted = torch.nn.functional.cross_entropy(
        model.head.to_tag(states)[mask], tags[mask], reduction="none", label_smoothing=smoothing
    )
    assert_close(model.nll(batch, smoothing=smoothing)[mask], wanted)
    assert batch.count == int(model.counted(batch).sum()) == sum(len(tags.split()) for tags in LABELS)


@pytest.mark.parametrize("head", ["linear", "crf"])
def test_scores_are_log_probabilities_of_all_tags(task, head):
    """The loss of the tags that were chosen, were they given."""
    model, batch = build(task, head=Choice(head)), together(task)
    found = model.tag(batch)
    tags = batch.sequences(TAGS)._replace(items=torch.where(found.mask, found.tags + PAD + 1, PAD))
    answered = batch._replace(columns={**batch.columns, TAGS: tags})
    assert_close(found.scores, -model.nll(answered).sum(dim=-1))


@pytest.mark.parametrize("pool_pieces", ["before", "after"])
def test_a_text_without_words_is_finite(task, pool_pieces):
    model = build(task, pool_pieces=pool_pieces)
    batch = task.batch(task.encode([{TEXT: "", TAGS: ""}, {TEXT: "a", TAGS: "D"}]))
    assert model.nll(batch)[0].tolist() == [0.0]
    assert model.tag(batch).scores.isfinite().all()


STRETCHING = {"bytenet", "unfolded"}  # encoders that make more states than there are words, unless told otherwise


def small(name):
    wanted = {"hidden_dim": 8, "feedforward_dim": 8, "num_layers": 1}
    return {key: value for key, value in wanted.items() if key in ENCODERS.settings(name)}


@pytest.mark.parametrize("name", sorted(set(ENCODERS) - STRETCHING))
def test_every_encoder_of_a_state_each_word_tags(task, name):
    model = build(task, encoder=Choice(name, small(name)))
    model.nll(together(task)).sum().backward()
    assert model.tag(together(task)).scores.isfinite().all()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters() if parameter.grad is not None)


@pytest.mark.parametrize("name", sorted(STRETCHING))
def test_an_encoder_of_more_states_than_words_is_told(task, name):
    with pytest.raises(ConfigError, match=r"model\.encoder: makes 5 states of 4 words.*ratio: 1, extra: 0"):
        build(task, encoder=Choice(name, small(name))).nll(together(task))
    exact = build(task, encoder=Choice("bytenet", {**small("bytenet"), "ratio": 1, "extra": 0}))
    assert exact.nll(together(task)).isfinite().all()
