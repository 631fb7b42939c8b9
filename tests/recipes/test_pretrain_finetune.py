"""Pre-training and fine-tuning in small: the cut of the labels, the table, and that a second call goes on."""

import json

import pytest
from comparisons import Inside
from small_runs import regard, unsaid

from regard.errors import ConfigError
from regard.recipes import pretrain_finetune as module
from regard.reports.compare import train
from regard.runs import Run
from regard.training.interrupt import Interrupted

TEXTS = [f"{'good' if number % 2 else 'bad'} film number {number}" for number in range(160)]
SMALL = ("model.dim=16", "training.max_updates=2", "training.validate_every=1", "text.tokenizer.size=300")
BLOCKS = "{name: transformer, num_layers: 1, feedforward_dim: 16}"
SHORT = ["training.max_updates=1", "training.validate_every=1"]


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A corpus and a table of labels; networks are small, and trained in this process."""
    monkeypatch.setattr(train, "Child", Inside)
    small = {
        "language_model": [*SMALL, f"model.decoder={BLOCKS}", "task.window=16"],
        "masked_language_model": [*SMALL, f"model.encoder={BLOCKS}"],
        "next_sentence": [*SMALL, f"model.encoder={BLOCKS}"],
    }
    methods = {name: one._replace(changes=small[name]) for name, one in module.PRETRAININGS.items()}
    monkeypatch.setattr(module, "PRETRAININGS", methods)
    documents = ["".join(f"{text}\n" for text in TEXTS[first : first + 8]) for first in range(0, len(TEXTS), 8)]
    (tmp_path / "corpus.txt").write_text("\n".join(documents))
    (tmp_path / "a.tsv").write_text("".join(f"{text.split()[0][0]}\t{text}\n" for text in TEXTS))
    return tmp_path


def run_of(files, *words):
    given = [files / "a.tsv", "--run", files / "run", "--labels", "40,all", "--seeds", "1", *SHORT, *words]
    return regard("pretrain-finetune", *given)


@pytest.mark.parametrize("method", module.PRETRAININGS)
def test_it_tells_both_ways_for_each_number_of_labels(method, files):
    done = run_of(files, "--text", files / "corpus.txt", "--method", method)
    assert done.code == 0, done.said
    head, _, *rows = (files / "run" / module.REPORT).read_text().splitlines()[:4]
    assert head.startswith("| labels | from scratch: accuracy | 95 % | pre-trained |")
    assert [row.split(" | ")[0] for row in rows] == ["| 40", "| 128"]
    found = json.loads((files / "run" / module.MARK).read_text())["labels"]
    for name in ("40", "all"):
        systems = {one["name"]: one for one in found[name]["systems"]}
        assert set(systems) == {"scratch", "pretrained"}
        started = Run.open(files / "run" / f"labels-{name}" / "pretrained-seed1").experiment
        assert started.init.run == files / "run" / "pretrained"
        learnt = Run.open(files / "run" / "pretrained").experiment.model.settings
        part = "decoder" if method == "language_model" else "encoder"
        assert started.model.settings[part] == learnt[part] and learnt[part].settings["num_layers"] == 1
        assert (started.objective.name == "with_language_model") == (method == "language_model")
    assert "32 texts of them also occur in corpus.txt" in (files / "run" / module.REPORT).read_text()


def test_a_second_call_goes_on_and_trains_nothing_again(files, monkeypatch):
    words, real, asked = ["--text", files / "corpus.txt", "--quiet"], module.compare_configs, []

    def stopped(request, **settings):
        asked.append(request)
        if len(asked) == 2:
            raise Interrupted("stopped")
        return real(request, **settings)

    monkeypatch.setattr(module, "compare_configs", stopped)
    first = run_of(files, *words)
    assert first.code == 75 and "stopped; go on with the same command" in first.said
    before = {path: path.stat().st_mtime_ns for path in (files / "run").rglob("model.safetensors")}
    assert before and not (files / "run" / module.REPORT).exists()
    assert run_of(files, *words).code == 0
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert (files / "run" / module.REPORT).exists()


def test_another_text_or_method_needs_another_folder(files):
    text = ["--text", files / "corpus.txt"]
    assert run_of(files, *text).code == 0
    (files / "other.txt").write_text("".join(f"another {text}\n" for text in TEXTS))
    other = run_of(files, "--text", files / "other.txt")
    assert unsaid(other, "data.train.text: cannot change", "choose another folder: --run FOLDER") == []
    masked = run_of(files, *text, "--method", "masked_language_model")
    assert masked.code == 2 and "task: cannot change in a run that has begun" in masked.said


def test_parts_have_no_text_in_common_and_fewer_labels_are_among_more():
    examples = [{"text": f"text {number // 2}", "label": "ab"[number % 2]} for number in range(400)]
    parts = module.cut(examples, ["50", "100", "all"])
    assert len(parts["test"]) == 80 and len(parts["50"]) == 50
    assert parts["100"][:50] == parts["50"] and parts["all"][:100] == parts["100"]
    assert not {one["text"] for one in parts["test"]} & {one["text"] for one in parts["all"]}
    assert list(module.cut(examples, ["50", "5000"])) == ["test", "50"]


@pytest.mark.parametrize(
    ("labels", "told"),
    [("5000", "there are 320 labels beside"), ("ten", "'ten' is not a number"), ("5", "32 at least")],
)
def test_numbers_of_labels_that_cannot_be_are_refused(labels, told):
    with pytest.raises(ConfigError, match=told):
        module.cut([{"text": f"text {number}", "label": "a"} for number in range(400)], [labels])


def test_what_is_wrong_is_told_before_anything_is_trained(files):
    (files / "few.tsv").write_text("a\tx y\nb\tz\n" * 20)
    (files / "other").mkdir()
    (files / "other" / "mine").touch()
    text = ["--text", files / "corpus.txt"]
    assert unsaid(run_of(files), "--text: must be given, or --from") == []
    assert unsaid(run_of(files, *text, "--run", files / "other"), "was not made by this recipe") == []
    assert unsaid(run_of(files, *text, "--method", "languagemodel"), "--method: there is no", "language_model") == []
    few = regard("pretrain-finetune", files / "few.tsv", *text, "--run", files / "run")
    assert unsaid(few, "LABELLED: has 40 examples", "100 at least") == []
    (files / "pairs.tsv").write_text("".join(f"{text[0]}\t{text}\tand {text}\n" for text in TEXTS))
    pairs = regard("pretrain-finetune", files / "pairs.tsv", *text, "--run", files / "run", "--labels", "all")
    assert unsaid(pairs, "--method: 'language_model' does not become a model of 'pairs'", "masked_language_model") == []
    plain = regard("pretrain-finetune", files / "corpus.txt", *text, "--run", files / "run")
    assert unsaid(plain, "corpus.txt: holds no labels of texts") == []
