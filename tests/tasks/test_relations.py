"""Relations between two marked words: which word has which mark decides on the direction."""

import pytest
from small_runs import regard as command

import regard
from regard.reports.evaluation import evaluate

NOUNS = ["cat", "dog", "old house", "tree", "car"]
ROWS = [
    (f"{relation}({'e1,e2' if one == 'e1' else 'e2,e1'})", f"<{one}>{noun}</{one}> {verb} <{two}>{other}</{two}>")
    for relation, verb in (("Sees", "sees"), ("Part-Of", "belongs to"))
    for one, two in (("e1", "e2"), ("e2", "e1"))
    for noun in NOUNS
    for other in NOUNS
] + [("Other", f"a <e1>{noun}</e1> or <e2>{other}</e2>") for noun in NOUNS for other in NOUNS]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("relations")
    (folder / "train.tsv").write_text(
        "".join(f"{number}\t{label}\t{text}\n" for number, (label, text) in enumerate(ROWS))
    )
    part = f"{{name: tsv, file: '{folder / 'train.tsv'}', fields: {{label: 2, text: 3}}}}"
    (folder / "config.yaml").write_text(
        f"task: classification\ndata: {{train: {part}, dev: {part}, test: {part}}}\ntext: {{tokenizer: words}}\n"
        "model:\n  dim: 16\n  dropout: 0.0\n  position: null\n  embedder: {name: words, scale: false}\n"
        "  encoder: {name: recurrent, cell: lstm, hidden_dim: 16, bidirectional: true, merge: add}\n"
        "  pooling: tanh_attention\n"
        "training: {max_updates: 120, batch_sentences: 25, learning_rate: 0.02, validate_every: 60, workers: 0,"
        " metric: relation_f1}\n"
        "evaluation: {metrics: [relation_f1, accuracy]}\n"
    )
    done = command("train", folder / "config.yaml", "--run", folder / "run", "--quiet")
    assert done.code == 0, done.said
    return folder / "run"


def test_marks_tell_the_direction(run):
    f1, accuracy = evaluate([run]).systems[0].scores
    assert (f1.name, f1.signature) == ("relation F1", "average:macro|relations:2|left out:Other")
    assert min(f1.value, accuracy.value) > 95


def test_marked_words_at_both_ends_are_kept(run):
    one, other = regard.load(run).predict(
        ["<e1>tree</e1> sees <e2>car</e2>", "<e2>tree</e2> sees <e1>car</e1>"], explain=True
    )
    assert (one.text, other.text) == ("Sees(e1,e2)", "Sees(e2,e1)")
    assert "".join(one.explanation.source_tokens[:-1]).strip() == "<e1>tree</e1> sees <e2>car</e2>"
    assert sum(one.explanation.weights[0]) == pytest.approx(1.0, abs=1e-3)
