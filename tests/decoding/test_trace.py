"""What a beam held and dropped, against a search that writes down every continuation."""

import pytest

from regard.decoding import BeamSearch, GreedySearch, SamplingSearch
from regard.decoding.trace import SearchTrace
from regard.errors import ConfigError
from regard.records import EOS, UNK

VOCAB, LIMIT = 6, 5
HUGE = 3 ** (LIMIT + 1)  # more than can be unfinished at once
SHORT = {"max_ratio": 0.0, "max_extra": LIMIT}
WORDS = [EOS, *range(UNK, VOCAB)]


def traced(search, writer, batch, **more):
    """The answers of a search, and the tree of each sentence."""
    trace = SearchTrace(str, **more)
    found = search.traced(trace).run(writer, batch)
    return found, [trace.trees[place] for place in range(len(found))]


def steps_of(tree):
    """By step, from the best on: what was written up to a node, its sum, and what became of it."""
    paths = []
    for node in tree.nodes:
        before = paths[node.parent][0] if node.parent >= 0 else ()
        paths.append(((*before, int(node.token)), node.score, node.fate, node.log_prob))
    longest = max(len(path) for path, *_ in paths)
    return [[one for one in paths if len(one[0]) == length] for length in range(1, longest + 1)]


def enumerated(tree, source, size, steps):
    """The same by hand: all continuations of all that is held, sorted; `size` go on, the next `size` are told."""
    held, best, told = [()], -float("inf"), []
    sums = {(): 0.0}
    for length in range(1, steps + 1):
        words = [EOS] if length == LIMIT else WORDS
        logs = {(*path, word): tree.log_probs(tuple(source), path)[word] for path in held for word in words}
        sums |= {path: sums[path[:-1]] + log for path, log in logs.items()}
        order = sorted(logs, key=lambda path: -sums[path])
        ends = {path for path in order[:size] if path[-1] == EOS and sums[path] / length > best}
        best = max([best, *(sums[path] / length for path in ends)])
        kept = [path for path in order if path[-1] != EOS][:size]
        near = [path for path in order if path not in kept][:size]
        told.append([])
        for path in (path for path in order if path in kept or path in near):
            fate = "ended" if path in ends else "kept" if path in kept else "dropped"
            told[-1].append((path, sums[path] / (length if path in ends else 1), fate, logs[path]))
        held = kept
    return told


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_each_step_is_what_enumeration_finds(writers, size):
    tree, sources = writers.drawn(VOCAB, 3), writers.sources_of(12, VOCAB, 6)
    _, trees = traced(BeamSearch(size=size, **SHORT), tree, writers.batch_of(sources))
    for source, grown in zip(sources, trees, strict=True):
        steps = steps_of(grown)
        for step, wanted in zip(steps, enumerated(tree, source, size, len(steps)), strict=True):
            assert [(path, fate) for path, _, fate, _ in step] == [(path, fate) for path, _, fate, _ in wanted]
            assert [one[1::2] for one in step] == [pytest.approx(one[1::2], abs=1e-12) for one in wanted]
    assert any(len(steps_of(grown)) == LIMIT for grown in trees)


def test_a_beam_wide_enough_holds_every_target(writers):
    tree, source = writers.drawn(VOCAB, 4), [UNK, EOS]
    _, [grown] = traced(BeamSearch(size=HUGE, n_best=HUGE, **SHORT), tree, writers.batch_of([source]))
    paths = {path: (fate, score) for step in steps_of(grown) for path, score, fate, _ in step}
    finished = [one for one in writers.every(tree, source, LIMIT, VOCAB) if one.finished]
    ends = {path: score for path, (fate, score) in paths.items() if fate == "ended"}
    assert ends == {(*one.ids, EOS): pytest.approx(one.score / len(one.log_probs)) for one in finished}


def test_a_trace_changes_no_answer(writers):
    sources = writers.sources_of(30, VOCAB, 8)
    for search in (BeamSearch(size=3, n_best=2), GreedySearch(min_length=1)):
        tree, batch = writers.drawn(VOCAB, 5, 0.5), writers.batch_of(sources)
        found, trees = traced(search, tree, batch)
        for one, plain in zip(found, search.run(tree, batch), strict=True):
            assert [each.ids for each in one] == [each.ids for each in plain]
            assert [each.score for each in one] == pytest.approx([each.score for each in plain], abs=1e-12)
        alone = [traced(search, tree, writers.batch_of([source]))[1][0] for source in sources]
        assert trees == alone


def test_a_translator_answers_the_same_when_it_is_traced(writers):
    model = writers.translator("transformer", "transformer", vocab=12)
    batch = writers.batch_of(writers.sources_of(5, 12, 6))
    search = BeamSearch(size=4)
    found, trees = traced(search, model, batch)
    for [one], [plain], grown in zip(found, search.run(model, batch), trees, strict=True):
        assert one.ids == plain.ids
        assert answer_of(grown) == [*one.ids, EOS][: len(one.log_probs)]


def answer_of(tree) -> list[int]:
    """The words up to the node of the answer."""
    words, node = [], tree.answer
    while node is not None and node >= 0:
        words.insert(0, int(tree.nodes[node].token))
        node = tree.nodes[node].parent
    return words


def test_greedy_search_holds_one_and_tells_what_it_left(writers):
    tree, source = writers.drawn(VOCAB, 6, 1.0), [4, EOS]
    [[found]], [grown] = traced(GreedySearch(), tree, writers.batch_of([source]))
    for place, step in enumerate(steps_of(grown)):
        logs = sorted(tree.log_probs(tuple(source), tuple(found.ids[:place]))[word] for word in WORDS)
        assert [one[3] for one in step if len(one[0]) == place + 1][:2] == [logs[-1], logs[-2]]
    assert answer_of(grown) == [*found.ids, EOS]


def test_a_large_tree_is_cut_and_says_so(writers):
    tree, batch = writers.drawn(VOCAB, 7, -4.0), writers.batch_of([[UNK, 4, 5, EOS]])
    _, [whole] = traced(BeamSearch(size=3, **SHORT), tree, batch)
    _, [cut] = traced(BeamSearch(size=3, **SHORT), tree, batch, most=10)
    assert whole.whole and not cut.whole
    assert len(cut.nodes) < 10 + 2 * 3 and cut.answer is None
    assert [node[:4] for node in cut.nodes] == [node[:4] for node in whole.nodes[: len(cut.nodes)]]


def test_the_last_of_two_passes_is_told(writers):
    tree, trace = writers.drawn(VOCAB, 5), SearchTrace(str)
    search = BeamSearch(size=2, **SHORT).traced(trace)
    for source in ([UNK, EOS], [4, 5, EOS]):
        search.run(tree, writers.batch_of([source]))
    _, [alone] = traced(BeamSearch(size=2, **SHORT), tree, writers.batch_of([[4, 5, EOS]]))
    assert trace.trees == {0: alone}


def test_a_search_without_steps_says_so(writers):
    with pytest.raises(ConfigError, match="records no steps"):
        SamplingSearch().traced(SearchTrace(str))
