"""A batch is a pure function of (corpus, seed, epoch, index); an epoch holds every line once, within the budget."""

import itertools
import threading

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from streaming import assert_same_batch, assert_same_batches, batch_at, epoch_lines, take
from torch.testing import assert_close

from regard.data.batches import Batches
from regard.data.collate import collate
from regard.data.packing import chunks, packed_rows
from regard.errors import ConfigError, DataError
from regard.records import EOS, PAD

COLUMNS = ("source", "target")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory, corpus_of, sentences):
    return corpus_of(tmp_path_factory.mktemp("batches"), sentences)


@given(
    st.one_of(st.none(), st.integers(1, 300)),
    st.integers(1, 50),
    st.integers(1, 600),
    st.integers(0, 3),
    st.integers(0, 3),
)
def test_every_line_once_and_the_budget_is_kept(corpus, tokens, sentences, pool, seed, epoch):
    batches = Batches(corpus, COLUMNS, tokens=tokens, sentences=sentences, pool=pool, seed=seed)
    plan = epoch_lines(batches, epoch)
    assert sorted(line for lines in plan for line in lines.tolist()) == list(range(len(corpus)))
    for lines in plan:
        longest = max(corpus.lengths(column)[lines].max() + 1 for column in COLUMNS)
        assert len(lines) <= sentences
        assert tokens is None or len(lines) * longest <= tokens or len(lines) == 1


def test_budgets_by_sentences_and_by_tokens_differ(corpus):
    by_sentences = epoch_lines(Batches(corpus, COLUMNS, tokens=None, sentences=64), 0)
    assert sorted(len(lines) for lines in by_sentences) == [500 % 64] + [64] * 7
    by_tokens = epoch_lines(Batches(corpus, COLUMNS, tokens=256), 0)
    assert max(map(len, by_tokens)) > 2 * min(map(len, by_tokens))


def test_equal_values_share_a_batch(tmp_path, corpus_of):
    """Forty texts of three lines each, which are shorter and longer: a batch of nine lines has three whole texts."""
    pairs = [(chr(97 + text % 26) * (2 + text // 26), "x" * (1 + 7 * line)) for line in range(3) for text in range(40)]
    batches = Batches(corpus_of(tmp_path, pairs), COLUMNS, tokens=None, sentences=9, together="source")
    plan = epoch_lines(batches, 0)
    assert sorted(line for lines in plan for line in lines.tolist()) == list(range(len(pairs)))
    assert all(len({pairs[line][0] for line in lines.tolist()}) == len(lines) // 3 for lines in plan)


def test_a_batch_knows_how_many_pieces_are_read(corpus):
    for names in ((), ("source",), COLUMNS):
        _, batch = take(Batches(corpus, COLUMNS, tokens=200, read=names), 1)[0]
        pieces = sum(len(corpus.ids(name, line)) + 1 for name in names for line in batch.lines.tolist())
        assert batch.read == (pieces if names else None)


def test_a_batch_holds_the_ids_of_its_lines(corpus):
    batches = Batches(corpus, COLUMNS, tokens=200, route="letters")
    for _, batch in take(batches, len(epoch_lines(batches, 0))):
        assert batch.route == "letters"
        for column in COLUMNS:
            rows = [[*corpus.ids(column, line).tolist(), EOS] for line in batch.lines.tolist()]
            longest = max(map(len, rows))
            assert batch.columns[column].items.tolist() == [row + [PAD] * (longest - len(row)) for row in rows]
            assert_close(batch.columns[column].mask, batch.columns[column].items != PAD)
        assert batch.count == int((batch.columns["target"].items != PAD).sum())
        assert batch.columns["source"].items.dtype == batch.lines.dtype == torch.int64


def test_order_depends_on_seed_and_epoch_alone(corpus):
    def lines(seed, epoch):
        return [batch.tolist() for batch in epoch_lines(Batches(corpus, COLUMNS, tokens=200, seed=seed), epoch)]

    plans = [lines(seed, epoch) for seed in (0, 1) for epoch in (0, 1)]
    assert plans == [lines(seed, epoch) for seed in (0, 1) for epoch in (0, 1)]
    for one, other in itertools.combinations(plans, 2):
        assert one != other
        assert {frozenset(batch) for batch in one} != {frozenset(batch) for batch in other}


def test_long_and_short_batches_come_mixed(corpus):
    batches = Batches(corpus, COLUMNS, tokens=200)
    longest = [int(corpus.lengths("target")[lines].max()) for lines in epoch_lines(batches, 0)]
    rises = sum(later > earlier for earlier, later in itertools.pairwise(longest))
    assert 0.3 < rises / len(longest) < 0.7


def test_there_is_little_padding(corpus):
    batches = Batches(corpus, COLUMNS, tokens=400)
    padded, real = dict.fromkeys(COLUMNS, 0), dict.fromkeys(COLUMNS, 0)
    for _, batch in take(batches, len(epoch_lines(batches, 0))):
        for column in COLUMNS:
            padded[column] += batch.columns[column].mask.numel()
            real[column] += int(batch.columns[column].mask.sum())
    assert real["target"] / padded["target"] > 0.9
    assert real["source"] / padded["source"] > 0.75


@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("sampling", [False, True])
def test_workers_change_neither_content_nor_order(corpus, letters, workers, sampling):
    tokenizers = dict.fromkeys(COLUMNS, letters(samples=sampling))
    batches = Batches(corpus, COLUMNS, tokenizers, tokens=300)
    count = 2 * len(epoch_lines(batches, 0)) + 3
    assert_same_batches(take(batches, count, workers=workers), take(batches, count))


@pytest.mark.parametrize("workers", [0, 2])
def test_going_on_from_any_place_equals_never_stopping(corpus, letters, workers):
    def batches():
        return Batches(corpus, COLUMNS, {"source": letters(samples=True)}, tokens=600, seed=5)

    count = 2 * len(epoch_lines(batches(), 0)) + 1
    whole = take(batches(), count)
    for stop in range(1, count):
        assert_same_batches(take(batches(), count - stop, whole[stop - 1][0], workers=workers), whole[stop:])


def at(epoch, index):
    return {"epoch": epoch, "index": index}


def test_a_place_stands_after_its_batch(corpus):
    batches = Batches(corpus, COLUMNS, tokens=None, sentences=200)
    places = [place for place, _ in take(batches, 7)]
    assert places == [at(0, 1), at(0, 2), at(1, 0), at(1, 1), at(1, 2), at(2, 0), at(2, 1)]
    for place, (_, batch) in zip([at(0, 0), *places], take(batches, 7), strict=False):
        assert_same_batch(batch_at(batches, **place), batch)
    assert_same_batch(
        take(batches, 1, at(0, 3))[0][1], batch_at(batches, 1, 0)
    )  # the end of an epoch is the next one's start


def test_a_place_of_other_data_is_refused(corpus):
    batches = Batches(corpus, COLUMNS, tokens=None, sentences=200)
    with pytest.raises(DataError, match=r"epoch 2 has no batch 4, .* \(the data or settings have changed"):
        next(batches.stream(at(2, 4)))
    with pytest.raises(DataError, match=r"epoch 2 has no such place, .* \(the data or settings have changed"):
        next(batches.stream({"epoch": 2, "number": 4, "parts": {}}))


def test_sampled_ids_are_new_in_each_epoch_and_differ_between_columns(tmp_path, corpus_of, letters):
    corpus = corpus_of(tmp_path, [(text, text) for text in ("abcdefghijklmnopqrst", "uvwxyzabcdefghijklmn")])
    batches = Batches(corpus, COLUMNS, dict.fromkeys(COLUMNS, letters(samples=True)))
    seen = set()
    for epoch in range(10):
        batch = batch_at(batches, epoch, 0)
        for column in COLUMNS:
            rows = dict(zip(batch.lines.tolist(), batch.columns[column].items.tolist(), strict=True))
            seen |= {(line, tuple(token for token in row if token != PAD)) for line, row in rows.items()}
        assert all(row[-1] == EOS for row in map(list, {ids for _, ids in seen}))
    assert len(seen) == 40
    without = [{line: ids for line, ids in seen if line == 0}, {}]
    assert len(without[0]) == 1
    letters_of = {(line, tuple(key for key, _ in itertools.groupby(ids))) for line, ids in seen}
    assert len(letters_of) == 2


def test_a_draw_over_the_limit_is_not_taken(tmp_path, corpus_of, letters):
    corpus = corpus_of(tmp_path, [("a" * 20, "b" * 20)], max_tokens=20)
    batches = Batches(corpus, COLUMNS, {"source": letters(samples=True, slack=1.0)})
    assert batch_at(batches, 0, 0).columns["source"].items.shape == (1, 21)


def test_tokenizers_that_do_not_sample_change_nothing(corpus, letters):
    plain, given = (Batches(corpus, COLUMNS, tokenizers) for tokenizers in (None, {"source": letters()}))
    assert_same_batch(batch_at(plain, 0, 0), batch_at(given, 0, 0))


class Broken(Exception):
    pass


@pytest.mark.parametrize("workers", [0, 1, 4])
def test_a_fault_of_a_worker_is_raised_where_its_batch_would_come(corpus, letters, workers):
    plan = epoch_lines(Batches(corpus, COLUMNS, pool=60, sentences=10), 0)
    bad = corpus.text("source", int(plan[9][0]))  # in the second pool, and cut when that is planned

    class Sampler(letters):
        def sample(self, text, seed):
            if text == bad:
                raise Broken(text)
            return super().sample(text, seed)

    batches = Batches(corpus, COLUMNS, {"source": Sampler(samples=True)}, pool=60, sentences=10)
    stream = batches.stream(workers=workers)
    first = [line for _, batch in itertools.islice(stream, 6) for line in batch.lines.tolist()]
    assert sorted(first) == sorted(line for lines in plan[:6] for line in lines.tolist())
    with pytest.raises(Broken):
        next(stream)
    assert [thread for thread in threading.enumerate() if thread.name.startswith("regard-data")] == []


def test_closing_a_stream_ends_its_threads(corpus):
    stream = Batches(corpus, COLUMNS).stream(workers=3)
    next(stream)
    assert any(thread.name.startswith("regard-data") for thread in threading.enumerate())
    stream.close()
    assert [thread for thread in threading.enumerate() if thread.name.startswith("regard-data")] == []


def test_one_column_is_enough(corpus):
    batches = Batches(corpus, ("target",), route="write", tokens=300)
    batch = batch_at(batches, 0, 0)
    assert set(batch.columns) == {"target"}
    assert batch.count == int(batch.columns["target"].mask.sum())


@pytest.mark.parametrize("settings", [{"tokens": None}, {"tokens": 0}, {"sentences": 0}, {"pool": 0}])
def test_impossible_limits_are_refused(corpus, settings):
    (name,) = settings
    with pytest.raises(ConfigError, match=f"^{name}: "):
        Batches(corpus, COLUMNS, **settings)


@given(st.lists(st.integers(1, 60), max_size=80), st.integers(1, 200))
def test_chunks_cover_all_within_the_budget_longest_first(lengths, tokens):
    found = chunks(lengths, tokens)
    assert sorted(place for rows in found for place in rows.tolist()) == list(range(len(lengths)))
    sizes = [lengths[place] for rows in found for place in rows]
    assert sizes == sorted(lengths, reverse=True)
    for rows in found:
        assert len(rows) == 1 or len(rows) * max(lengths[place] for place in rows) <= tokens


@given(st.lists(st.integers(1, 30), min_size=1, max_size=60), st.integers(1, 100), st.integers(1, 9))
def test_packing_equals_adding_one_by_one(lengths, tokens, sentences):
    wanted = [[0]]
    for place in range(1, len(lengths)):
        grown = [*wanted[-1], place]
        fits = len(grown) * max(lengths[one] for one in grown) <= tokens and len(grown) <= sentences
        wanted[-1:] = [grown] if fits else [wanted[-1], [place]]
    order = np.arange(len(lengths))
    found = packed_rows(np.array(lengths, np.int32), order, tokens=tokens, sentences=sentences)
    assert [rows.tolist() for rows in found] == wanted


@given(st.lists(st.lists(st.integers(1, 9), max_size=7), max_size=9))
def test_collate_pads_on_the_right(rows):
    ids, mask = collate(rows)
    longest = max(map(len, rows), default=0)
    assert ids.tolist() == [row + [0] * (longest - len(row)) for row in rows]
    assert mask.tolist() == [[True] * len(row) + [False] * (longest - len(row)) for row in rows]
    assert ids.shape == mask.shape == (len(rows), longest)
