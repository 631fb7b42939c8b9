"""What a command loads: no more than it uses. Each is asked in a process of its own."""

import subprocess
import sys

import pytest
from small_runs import SMALL, regard, write_texts

HEAVY = {  # what only drawing, judging, training, serving, compiling or other kinds of files need
    "matplotlib", "rich", "jinja2", "sacrebleu", "markdown_it", "pysubs2", "babel", "fastapi", "uvicorn", "pytest",
    "transformers", "numpy.testing", "tensorboard", "torch._dynamo", "torch._inductor",
    "torch.nn.attention.flex_attention", "regard.training.trainer", "regard.training.progress", "regard.runs.training",
    "regard.explain.pictures", "regard.answers.terminal",
    "regard.documents.files.markdown", "regard.documents.files.srt",
}  # fmt: skip
LOADED = """
import sys
from regard.cli import main
sys.argv = ["regard", *sys.argv[1:]]
try:
    main()
except SystemExit as end:
    code = end.code
print(code, *sys.modules, file=sys.stderr)
"""


def modules_after(*words, given=""):
    """The modules that `regard WORDS` has loaded when it ends without a fault."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *map(str, words)], input=given, capture_output=True, text=True, check=True
    )
    code, *found = done.stderr.split()
    assert code == "0", done.stderr
    return set(found)


@pytest.mark.parametrize("command", ["train", "predict", "explain", "compare", "data", "serve"])
def test_help_of_a_command_needs_no_torch(command):
    assert sorted(modules_after(command, "--help") & {"torch", "numpy", "yaml", "sentencepiece"}) == []


@pytest.mark.parametrize("words", ["predict nowhere Hi", "distil nowhere --text a.en", "train a.tsv --from nowhere"])
def test_a_run_that_is_missing_is_refused_before_torch_is_loaded(words):
    done = subprocess.run([sys.executable, "-c", LOADED, *words.split()], capture_output=True, text=True, check=True)
    message, loaded = done.stderr.splitlines()
    assert message.startswith("error: nowhere: there is no such folder")
    assert loaded.split()[0] == "2" and "torch" not in loaded.split()


def test_predict_loads_nothing_heavy_that_it_does_not_use(tmp_path):
    run = tmp_path / "run"
    assert regard("train", *write_texts(tmp_path), "--run", run, *SMALL).code == 0
    assert sorted(modules_after("predict", run, given="a dog runs\n") & HEAVY) == []


def test_names_of_a_package_are_loaded_at_first_use():
    probe = (
        "import sys, regard.answers as one; print('rich' in sys.modules, one.show.__module__, 'rich' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "regard.answers.terminal", "True"]
    with pytest.raises(ImportError, match="'shown'"):
        from regard.answers import shown  # noqa: F401  there is none
