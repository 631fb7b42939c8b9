"""Next sentence prediction from the command line: documents parted by empty lines, trained and asked."""

from small_runs import regard

import regard as package

DOCUMENTS = [[f"a{number} runs {place}" for place in range(4)] for number in range(20)]
SMALL = ["model.dim=8", "model.encoder={num_layers: 1, feedforward_dim: 8}", "model.self_attention={num_heads: 2}"]
STEP = ["training.max_updates=2", "training.validate_every=1", "training.average=1", "text.tokenizer=words"]


def test_documents_parted_by_empty_lines_are_learnt_from(tmp_path):
    (tmp_path / "text").write_text("\n\n".join("\n".join(one) for one in DOCUMENTS))
    train, dev = (
        f"data.{part}={{name: next_sentence, file: '{tmp_path / 'text'}', part: {part}}}" for part in ("train", "dev")
    )
    done = regard("train", "task=next_sentence", train, dev, *SMALL, *STEP, "--run", tmp_path / "run")
    assert done.code == 0, done.said
    assert "accuracy" in done.said
    (prediction,) = package.load(tmp_path / "run").predict(["a1 runs 1\ta1 runs 2"], explain=True)
    assert prediction.text in {"next", "other"}
    assert {(each.queries, each.keys) for each in prediction.explanation.maps} >= {("first", "second")}
