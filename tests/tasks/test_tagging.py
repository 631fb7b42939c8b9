"""Tagging: probabilities, explanations and figures by hand, and the commands from a file of CoNLL columns."""

import json
import re
from itertools import pairwise, product
from random import Random

import pytest
import torch
from comparisons import Inside
from small_runs import regard as command
from small_runs import unsaid
from torch.testing import assert_close
from typer.testing import CliRunner

import regard
from regard.attention import recording
from regard.cli.app import app
from regard.data.columns import learn_columns
from regard.data.examples import Example
from regard.errors import DataError, RegardError
from regard.evaluation.span_f1 import spans
from regard.exchange import export_folder, format_named
from regard.models import MODELS
from regard.models.tagger import WORD_PIECES, tag_moves
from regard.records import PAD, TAGS, TEXT
from regard.registry import Choice
from regard.reports.compare import train
from regard.reports.evaluation import evaluate
from regard.tasks.tagging import TaggingTask

TEXTS = ["the cats don't sleep", "a dog", "sleep", "cats zzz sleep"]
LABELS = ["D N V V", "D N", "V", "N V V"]
EXAMPLES = {TEXT: TEXTS, TAGS: LABELS}
ROWS = [Example(line, {TEXT: text, TAGS: tags}) for line, (text, tags) in enumerate(zip(TEXTS, LABELS, strict=True), 1)]


@pytest.fixture(scope="module")
def task():
    return TaggingTask(learn_columns(TaggingTask.columns, [ROWS], Choice("characters", {"size": 290}), shared=True))


def build(task, **settings):
    torch.manual_seed(5)
    encoder = Choice("transformer", {"num_layers": 2, "feedforward_dim": 8})
    settings = {"dim": 8, "dropout": 0.0, "encoder": encoder, **settings}
    return MODELS.build(Choice("tagger", settings), task.vocabularies).double().eval()


@pytest.mark.parametrize("head", ["linear", "crf"])
def test_each_tag_has_its_probability(task, head):
    model, (batch,) = build(task, head=Choice(head)), task.held(EXAMPLES, 1000)
    states, mask = model.states(batch.sequences(TEXT))
    marginals, best = model.head.marginals(states, mask).exp().detach(), model.head.best(states, mask, model.moves)
    labels = task.vocabularies[TAGS].labels
    for row, found in enumerate(task.predict(model, batch)):
        text = TEXTS[batch.lines[row]]
        assert (found.source, found.text) == (text, " ".join(found.tags))
        assert found.tags == [labels[tag] for tag in best[row, : len(text.split())]]
        wanted = [float(marginals[row, word, tag]) for word, tag in enumerate(best[row, : len(text.split())])]
        assert found.probabilities == pytest.approx(wanted)


def test_maps_of_words_hold_those_of_their_pieces(task):
    """What pieces of a word look at is their mean, what is looked at their sum."""
    model, (batch,) = build(task, pool_pieces="after"), task.held(EXAMPLES, 1000)
    with recording(model) as records:
        model.tag(batch)
    sizes = [
        [len(task.vocabularies[TEXT].tokenizer.encode(word)) for word in TEXTS[line].split()] for line in batch.lines
    ]
    for row, found in enumerate(task.explain(model, batch)):
        assert len(found.maps) == len(records) == 2
        for one, (role, (attended,)) in zip(found.maps, records.values(), strict=True):
            assert (role.keys, one.keys, one.queries) == (WORD_PIECES, TEXT, TEXT)
            size = sum(sizes[row])
            asked = attended.weights[row][:, :size, :size].split(sizes[row], dim=1)
            words = [
                torch.stack([part.sum(dim=-1) for part in rows.mean(dim=1).split(sizes[row], dim=-1)], dim=-1)
                for rows in asked
            ]
            assert_close(torch.tensor(one.weights), torch.stack(words, dim=1), atol=1e-3, rtol=0, check_dtype=False)


@pytest.mark.parametrize("pool_pieces", ["before", "after"])
def test_an_explanation_names_words_and_tags(task, pool_pieces):
    model, (batch,) = build(task, pool_pieces=pool_pieces), task.held(EXAMPLES, 1000)
    for line, found in zip(batch.lines, task.explain(model, batch), strict=True):
        words, tags = TEXTS[line].split(), LABELS[line].split()
        assert (found.source_tokens, found.target_tokens) == (words, tags)
        assert {name: one.texts for name, one in found.columns.items()} == {TEXT: words, TAGS: tags}
        assert found.alignment == [(place, place) for place in range(len(words))]
        assert all(sum(row) == pytest.approx(1.0, abs=1e-3) for row in found.weights)
        assert len(found.weights) == len(words)
        assert found.array(found.maps[0]).values.shape == (4, len(words), len(words))


def test_a_tagger_without_attention_shows_none(task):
    model, (batch,) = build(task, encoder=Choice("recurrent", {"hidden_dim": 6})), task.held(EXAMPLES, 1000)
    assert all((found.maps, found.weights) == ([], []) for found in task.explain(model, batch))


@pytest.mark.parametrize(
    ("tags", "problem"),
    [
        ("D", "has 1 labels for 2 words .*one for each word"),
        ("D N N", "has 3 labels for 2 words"),
        ("D Q", "there is no 'Q', which word 2 has .*D, N, V"),
    ],
)
def test_tags_that_do_not_fit_are_told(task, tags, problem):
    with pytest.raises(DataError, match=problem):
        task.filter.check({TEXT: "a dog", TAGS: tags})


def test_losses_are_summed_over_words(task):
    model, batches = build(task), task.held(EXAMPLES, 8)
    assert len(batches) > 1
    with torch.inference_mode():
        losses = task.losses(model, batches, EXAMPLES)
    assert losses[:, 1].tolist() == [len(tags.split()) for tags in LABELS]
    for row, example in enumerate(ROWS):
        alone = task.batch(task.encode([example.texts]))
        assert losses[row, 0] == pytest.approx(float(model.nll(alone).detach().sum()))
        assert (alone.sequences(TAGS).items != PAD).all()


# the commands

ANIMALS, VERBS = ("cat", "dog", "bird", "horse", "mouse"), ("sees", "hears", "meets", "likes", "knows", "helps")
SENTENCES = [
    (f"a {one} {verb} the big {other}", "O B-A O O B-A I-A") for one in ANIMALS for verb in VERBS for other in ANIMALS
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Names of animals, learnt from a file."""
    folder = tmp_path_factory.mktemp("tags")
    rows = [
        "".join(f"{word}\tX\t{tag}\n" for word, tag in zip(*map(str.split, pair), strict=True)) for pair in SENTENCES
    ]
    (folder / "names.conll").write_text("# animals\n" + "\n".join(rows))
    tiny = ["model.dim=16", "model.encoder.hidden_dim=16", "model.head=crf", "training.learning_rate=0.02"]
    shares = ["data.dev_fraction=0.1", "data.test_fraction=0.2"]
    metrics = ["evaluation.metrics=[span_f1,tag_accuracy]", "training.max_updates=80", "training.schedule=constant"]
    done = command("train", "--text", folder / "names.conll", "--run", folder / "run", *tiny, *metrics, *shares)
    assert done.code == 0, done.said
    assert "names.conll: tags in field 3 (3: B-A, I-A, O), text in field 1\n" in done.said
    return folder


def test_figures_have_intervals(folder):
    report = evaluate([folder / "run", folder / "run"])
    f1, accuracy = report.systems[0].scores
    assert (f1.name, accuracy.name) == ("span f1", "tag accuracy")
    assert min(f1.value, accuracy.value) > 95
    assert all(low <= score.value <= high for score, (low, high) in zip(*report.systems[0][1:3], strict=True))
    assert report.comparisons[0][1].p_value == 1.0


def said(*words, given=None):
    done = CliRunner().invoke(app, list(map(str, words)), input=given)
    assert done.exit_code == 0, done.stderr
    return done.stdout


def test_predictions_are_words_with_tags(folder):
    lines = said("predict", folder / "run", given="a  cat sees the big dog\n\n  \na dog likes the big mouse\n")
    assert lines == "a/O cat/B-A sees/O the/O big/B-A dog/I-A\n\n\na/O dog/B-A likes/O the/O big/B-A mouse/I-A\n"


def test_json_tells_where_words_stand(folder):
    text = "  thé\tbig dog "
    (found,) = map(json.loads, said("predict", folder / "run", "--json", given=f"{text}\n").splitlines())
    assert [text[start:end] for start, end in found["offsets"]] == found["words"] == ["thé", "big", "dog"]
    assert found["text"].split() == found["tags"]
    assert all(0 < one <= 1 for one in found["probabilities"])


def test_answers_kept_by_evaluate_are_tags(folder):
    said("evaluate", folder / "run", "--output", folder / "kept.txt")
    assert set((folder / "kept.txt").read_text().split()) <= {"O", "B-A", "I-A"}


def test_texts_without_words_are_explained_by_nothing(folder):
    (found,) = regard.load(folder / "run").predict([" "], explain=True)
    assert (found.tags, found.explanation.maps, str(found)) == ([], [], "")


def test_another_file_is_read_like_the_first(folder, tmp_path):
    rows = [
        f"{word}\tX\t{tag}\n" for word, tag in zip(["a", "cat", "sees", "the", "big", "dog"], "OOOOOO", strict=True)
    ]
    (tmp_path / "one.conll").write_text("".join(rows))
    report = evaluate([folder / "run"], changes=[f"data.test={tmp_path / 'one.conll'}"])
    assert report.examples == 1
    assert report.systems[0].scores[1].value == pytest.approx(50.0)  # three of six words are in names


def test_conllu_trains_without_settings(tmp_path):
    row = "{0}\t{1}\t_\tT{2}\t_\t_\t_\t_\t_\t_\n"
    rows = [
        [row.format(number, word, number % 2) for number, word in enumerate(text.split(), 1)] for text, _ in SENTENCES
    ]
    (tmp_path / "a.conllu").write_text("# text\n" + "\n".join(map("".join, rows)))
    done = command("train", "--text", tmp_path / "a.conllu", "--run", tmp_path / "run", "training.max_updates=2")
    assert done.code == 0, done.said
    (found,) = regard.load(tmp_path / "run").predict(["the cat"])
    assert set(found.tags) <= {"T0", "T1"}


@pytest.mark.parametrize(
    ("dev", "parts"),
    [
        ("a\tX\tO\ncat\tX\n", ("dev.conll:2: fields: 2; 'tags' is field 3",)),
        ("", ("dev.conll: the file is empty",)),
    ],
)
def test_faults_of_a_part_are_told_before_training(folder, tmp_path, dev, parts):
    (tmp_path / "dev.conll").write_text(dev)
    names = folder / "names.conll"
    done = command("train", "--text", names, f"data.dev={tmp_path / 'dev.conll'}", "--run", tmp_path / "run", "--quiet")
    assert unsaid(done, *parts) == []


def test_more_words_than_tags_are_told_with_their_line(tmp_path):
    (tmp_path / "a.text").write_text("a dog\nthe cat sees\n" * 9)
    (tmp_path / "a.tags").write_text("D N\nD N\n" * 9)
    files = [f"data.train.{column}={tmp_path / f'a.{column}'}" for column in (TEXT, TAGS)]
    done = command("train", "task=tagging", *files, "--run", tmp_path / "run", "--quiet")
    assert unsaid(done, "a.text:2: column tags: has 2 labels for 3 words") == []


def test_a_text_too_long_is_told_with_its_line(folder):
    done = command("predict", folder / "run", given="a dog\n" + "dog " * 2000)
    assert done.code == 0
    assert "warning: stdin:2: 2000 pieces are more than this model takes" in done.said


def test_two_taggers_are_compared(folder, monkeypatch):
    monkeypatch.setattr(train, "Child", Inside)
    configs = []
    for head in ("linear", "crf"):
        configs.append(folder / f"{head}.yaml")
        part = f"{{name: conll, file: {folder / 'names.conll'}, fields: {{text: 1, tags: 3}}}}"
        configs[-1].write_text(
            f"task: tagging\ndata: {{train: {part}, dev: {part}, test: {part}}}\n"
            f"model: {{dim: 8, encoder: {{name: recurrent, hidden_dim: 8}}, head: {head}}}\n"
            "evaluation: {metrics: [span_f1]}\n"
        )
    done = command("compare", *configs, "--seeds", 1, "--updates", 2, "--quiet", "--run", folder / "compared")
    assert done.code == 0, done.said
    told = json.loads((folder / "compared" / "compare.json").read_text())
    assert [metric["name"] for metric in told["metrics"]] == ["span f1"]
    assert told["systems"][1]["scores"]["span f1"]["p_value"] is not None


def test_figures_of_each_type_of_span_are_told(folder):
    table = said("evaluate", folder / "run").splitlines()
    assert [line.split()[0] for line in table if "100.00" in line and "=" not in line][:1] == ["A"]


def test_every_word_of_any_text_has_a_tag(folder):
    """Spaces of all kinds, letters that are put together, halves of characters."""
    draws = Random(3)
    some = [*" \t\x1c\x85\u2028\xa0\u3000\0\ud800\u0301\u200b\ufeff▁\ue0fe猫🙂/", "e\u0301", "dog"]
    texts = ["".join(draws.choices(some, k=draws.randint(0, 12))) for _ in range(200)]
    for text, found in zip(texts, regard.load(folder / "run").predict(texts, explain=True), strict=True):
        assert len(found.tags) == len(found.probabilities) == len(found.words) == len(text.split())
        assert found.explanation.target_tokens == found.tags
        assert all(found.source[start:end].split() == [found.source[start:end]] for start, end in found.words)


# spans

NAMES = ["B-A", "B-B", "I-A", "I-B", "O"]


@pytest.fixture(scope="module")
def names():
    rows = [Example(1, {TEXT: "a b c d e", TAGS: " ".join(NAMES)})]
    return TaggingTask(learn_columns(TaggingTask.columns, [rows], Choice("characters", {"size": 290}), shared=True))


def drawn(task, **settings):
    model = build(task, encoder=Choice("recurrent", {"hidden_dim": 6}), **settings)
    for parameter in model.head.parameters():
        torch.nn.init.normal_(parameter)
    return model


@pytest.mark.parametrize(
    ("tags", "wrong", "right"),
    [
        (NAMES, ["O I-A", "I-A", "B-A I-B"], ["O B-A I-A", "B-A I-A I-A O", "B-A B-A"]),
        (
            ["B-A", "I-A", "E-A", "S-A", "O"],
            ["B-A", "B-A O", "I-A E-A", "O E-A", "S-A I-A"],
            ["B-A I-A E-A S-A", "B-A E-A O"],
        ),
        (["B-A", "I-A", "L-A", "U-A", "O"], ["B-A U-A", "O L-A"], ["U-A B-A L-A"]),
        (["I-A", "B-B", "I-B", "O"], [], ["I-A", "O I-B"]),  # IOB1: an A has no B
        (["DET", "NOUN"], [], ["NOUN DET"]),
        (["B-A", "I-A"], [], ["I-A"]),  # without O
    ],
)
def test_moves_are_those_of_the_scheme(tags, wrong, right):
    moves = tag_moves(tags)
    for texts, wanted in ((wrong, False), (right, True)):
        for text in texts:
            path = [-1, *map(tags.index, text.split()), -1]
            assert all(moves[one, two] == 0 for one, two in pairwise(path)) == wanted, text


@pytest.mark.parametrize("head", ["linear", "crf"])
def test_only_valid_spans_are_written(names, head):
    texts = [" ".join("abcde"[place:] + "edcba"[:place]) for place in range(5)] * 8
    broken = re.compile(r"(^|O |-B )I-A|(^|O |-A )I-B")
    written = {}
    for valid in (True, False):
        model = drawn(names, head=Choice(head), valid_spans=valid)
        batch = names.batch([names.encode([{TEXT: text, TAGS: text_tags}])[0] for text, text_tags in _with_tags(texts)])
        written[valid] = [found.text for found in names.predict(model, batch)]
    assert not any(map(broken.search, written[True]))
    assert any(map(broken.search, written[False]))


def _with_tags(texts):
    return [(text, " ".join(["O"] * len(text.split()))) for text in texts]


@pytest.mark.parametrize("head", ["linear", "crf"])
def test_an_entity_has_the_probability_of_its_tags(names, head):
    """Against a sum over all sequences of tags in which its words have them."""
    text, paths = "a b c d", torch.tensor(list(product(range(5), repeat=4)))
    model = drawn(names, head=Choice(head))
    batch = names.batch(names.encode([{TEXT: text, TAGS: "O O O O"}]))
    (found,) = names.predict(model, batch)
    states, mask = model.states(batch.sequences(TEXT))
    rows = model.head.log_probs(states.expand(625, -1, -1), mask.expand(625, -1), paths)
    joint = rows.gather(-1, paths.unsqueeze(-1)).squeeze(-1).sum(dim=-1).exp().detach()
    ids = [NAMES.index(tag) for tag in found.tags]
    assert found.entities
    for (span, probability), told in zip(found.spans, found.entities, strict=True):
        same = (paths[:, span.start : span.end] == torch.tensor(ids[span.start : span.end])).all(dim=-1)
        assert probability == pytest.approx(float(joint[same].sum()))
        assert (told["label"], told["text"]) == (span.type, text[told["start"] : told["end"]])
        assert len(told["text"].split()) == span.end - span.start


def test_json_has_the_entities(folder):
    text = "  a  cat sees the big  dog "
    (found,) = map(json.loads, said("predict", folder / "run", "--json", given=f"{text}\n").splitlines())
    assert [(one["label"], one["text"]) for one in found["entities"]] == [("A", "cat"), ("A", "big  dog")]
    assert all(
        text[one["start"] : one["end"]] == one["text"] and 0 < one["probability"] <= 1 for one in found["entities"]
    )


def test_tags_that_mark_no_spans_have_no_entities(task):
    (batch,) = task.held(EXAMPLES, 1000)
    assert all("entities" not in found.details() for found in task.predict(build(task), batch))


def test_raw_text_is_cut_into_words(folder):
    """Places are those of the text as it was given; explanations and the command read the same words."""
    text = '  the "big dog", cafe\u0301 (a cat).'
    words = ["the", '"', "big", "dog", '"', ",", "cafe\u0301", "(", "a", "cat", ")", "."]
    predictor = regard.load(folder / "run", ["decoding.raw_text=true"])
    (found,) = predictor.predict([text], explain=True)
    (told,) = map(
        json.loads, said("predict", folder / "run", "--json", "decoding.raw_text=true", given=f"{text}\n").splitlines()
    )
    assert found.source == told["source"] == text
    assert [text[start:end] for start, end in found.words] == told["words"] == words
    assert [text[start:end] for start, end in told["offsets"]] == words
    assert len(found.tags) == len(found.explanation.target_tokens) == len(words)
    places = [(found.words[one.start][0], found.words[one.end - 1][1]) for one in spans(found.tags)]
    assert [(one["start"], one["end"]) for one in told["entities"]] == places != []
    assert all(text[one["start"] : one["end"]] == one["text"] for one in told["entities"])
    (given,) = predictor.predict([{TEXT: "big dog, U.S.A"}])  # an example has its words
    assert len(given.tags) == 3
    assert len(predictor.explain([{TEXT: "Monday. (dog) Ann"}])[0].items) == 3
    assert predictor.predict([" "])[0].tags == []


def test_a_tagger_is_not_exported(folder, tmp_path):
    with pytest.raises(RegardError, match="it is a 'tagger'"):
        export_folder(format_named("runtime"), regard.load(folder / "run"), tmp_path / "out")
