"""A part that never learns is taken from a run; without one nothing is trained above it."""

import pytest
from small_runs import PAIRS, SMALL, regard, unsaid, write_texts


@pytest.mark.parametrize("given", [[], ["init.parts=[encoder,embedder]"]], ids=["nothing", "an encoder"])
def test_a_first_pass_that_nobody_taught_is_refused(tmp_path, given):
    """It would stay as it was drawn, since it learns nothing here."""
    small = [*SMALL, "text.tokenizer=characters"]
    small.remove("text.tokenizer.size=300")
    if given:
        done = regard("train", *write_texts(tmp_path), *small, "--run", tmp_path / "first", "--quiet")
        assert done.code == 0, done.said
        given = [*given, f"init.run={tmp_path / 'first'}"]
    talk = [f"talk\t{source}.\t{target}.\n" for source, target in PAIRS]
    (tmp_path / "talks.tsv").write_text("".join(talk), encoding="utf-8")
    reader = f"{{name: document_sentences, file: '{tmp_path / 'talks.tsv'}', window: 2}}"
    words = ["task={name: deliberation, window: 2}", f"data.train={reader}", f"data.dev={reader}", *small, *given]
    done = regard("train", *words, "--run", tmp_path / "run", "--quiet")
    assert not unsaid(done, "model: 'deliberation' needs init.run", "decoder", "translator")
    assert not (tmp_path / "run").exists()


def test_a_first_pass_that_learns_needs_no_run(tmp_path):
    """With the loss of both passes nothing stays as it was drawn."""
    talk = [f"talk\t{source}.\t{target}.\n" for source, target in PAIRS]
    (tmp_path / "talks.tsv").write_text("".join(talk), encoding="utf-8")
    reader = f"{{name: document_sentences, file: '{tmp_path / 'talks.tsv'}', window: 2}}"
    words = ["task={name: deliberation, window: 2}", f"data.train={reader}", f"data.dev={reader}", *SMALL]
    done = regard("train", *words, "model.joint=0.5", "--run", tmp_path / "run")
    assert done.code == 0, done.said
    assert "best dev " in done.said
