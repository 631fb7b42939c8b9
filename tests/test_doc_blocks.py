"""Every fenced command and every Python block of the pages runs on small data, or is read by the real command line."""

import json
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import docx
import pytest
from doc_blocks import (
    ADDRESS,
    ROOT,
    SHELL,
    Block,
    ask,
    blocks,
    check_command,
    check_python,
    inline_commands,
    lines,
    pages,
    regard_commands,
    run_line,
    same_keys,
    unmatched,
)
from serving import Process
from small_runs import regard
from typer._click.exceptions import BadOptionUsage, ClickException, MissingParameter

from regard.errors import ConfigError
from regard.memory import TranslationMemory
from regard.ops.kernels.transformer import compiled_transformer

SMALL = (
    "model.dim=16",
    "model.encoder={name: transformer, num_layers: 1, feedforward_dim: 16}",
    "model.decoder={name: transformer, num_layers: 1, feedforward_dim: 16}",
    "text.tokenizer.size=300",
)
UPDATES = "training.max_updates=2", "training.validate_every=1", "training.average=1", "--quiet"
POOLING = ("model.pooling=attention",)
CONFIGS = "|".join(path.stem for path in (ROOT / "configs").rglob("*.yaml"))
OWN_TEST = {  # commands that do not run with the others of their page, by what they say: the test that runs them
    r"(127\.0\.0\.1|localhost):5000": "test_requests_are_answered",
    r"^regard serve ": "test_servers_start_and_end",
    rf"^regard train configs/|runs/({CONFIGS})(?![\w-])": "test_commands_of_configs_run",
}
NOT_RUN = {  # commands that are read and not run, by what they say: the reason
    r"regard demo|kill -HUP|--host 0\.0\.0\.0": "minutes, or a server that others reach: tests/serve",
    r"regard data get": "asks another machine",
    r"^(make|git|pip|cd|\.|python3 -m|docker|sudo|sbatch|mv|torchrun)\b": "sets up a machine",
    r"^\. ": "sets up a machine",
    r"^python benchmarks/": "minutes: tests/test_benchmarks.py",
    r"regard (best|distil|import|export|forecast|demo|pretrain-finetune)\b": "minutes: tests/recipes, tests/exchange",
    r"regard (teach|undo)\b|runs/taught": "needs 10 corrections, and minutes: tests/recipes",
    r"regard compare configs/": "hours: tests/reports compares small systems",
    r"--grade|bytenet": "a minute and more: tests/explain, tests/decoders",
    r"babi|runs/questions|reading\.yaml": "of a data set: tests/test_configs.py trains it",
    r"topics\.tsv|runs/topics": "labels of your own: tests/tasks/test_multi_label.py trains on such a table",
    r"dev-v[12]\.[01]\.json|runs/squad": "of a data set: tests/tasks judges readers with such files",
    r"\.parquet|news\.en\.gz": "bulk files: tests/recipes",
    r"decoding\.tuned|--abstain": "two updates leave nothing to tune or to calibrate: tests/predictor",
    r"--text-(source|target)": "rounds of back-translation: tests/recipes",
    r"--taught|corrections\.jsonl": "needs words that a trained model writes: tests/explain",
    r"regard words": "words that two updates have not learnt: tests/reports",
    r"--text \S+ --text|-start/|route=de-en|en-de-phrases/": "minutes: tests/recipes trains without pairs",
    r"tune runs/phrases .*runs/en-de": "as in docs/how-to/few-pairs.md",
    r"parts=|REGARD_PARTS|^regard (list score|help manhattan)": "tables of this process: tests/experiment",
    r"--on (slurm|ray)": "needs a cluster: tests/recipes",
    r"serve runs/(de-en-texts|multi30k-one-to-many)": "a server of a run of its page: tests/serve",
    r"cold-fusion": "needs the sizes of its language model: tests/test_configs.py trains it",
    r"--column document": "vectors of documents: tests/runs",
    r"bert-base": "a foreign model: tests/runs",
    r"firefox": "a foreign model: tests/exchange",
    r"translator\.(py|js)|^npm |--engine |predict en-de-runtime": "the programs of an export: tests/exchange",
    r"compare .*--folds": "a table without a test set: tests/cli/compare/test_folds.py",
    r"runs/spam": "a table of two labels of one's own: tests/tasks/test_classification.py",
    r"regard repair\b": "trains until repairs hold: tests/recipes",
    r"regard-runtime|regard_runtime": "the engine without torch: tests/runtime",
    r"regard check .*(--suite|exports/)": "files of one's own: tests/reports/behaviour",
    r"regard memory|--memory|nearest_segments": "files of translators: tests/cli",
}
if not compiled_transformer().multiplies_eight():
    NOT_RUN[r"precision=int8"] = "this processor has no 8-bit products"
OF_A_TRAINED_MODEL = (  # lines that two updates without a time limit cannot print
    r"^planned: |^max_minutes=|^still improving|^no better|^   Did you|^¿Dónde|^Ein Mann spielt"
    r"|^\s+\d Ein |^\s+(held|dropped) |^\d+ of \d+ translations|^line \d"
    r"|^\s*(negative|positive)\b|^  ← |^  [░▒▓█ ]+$"
    r"|^  (Women|Frauen|A blond|Ein blonder)|^  (repeated|dropped): |^\$ echo"
)
ELSEWHERE = {"docs/tutorial.md": "tests/test_tutorial.py runs all of it, in turn"}
SLOW = [f"docs/how-to/{name}.md" for name in ("align", "architectures", "compare", "explain", "one-language", "tune")]
PAIRS = [("Good morning!", "Guten Morgen!"), ("The old man reads a book.", "Der alte Mann liest ein Buch.")]
WORDS = ("red", "black", "old", "small", "new", "green", "young", "tall")
SENTENCES = [f"the {one} man reads a {two} book {number}" for one in WORDS for two in WORDS for number in range(3)]
SYSTEM = """data:
  train: {source: train.en, target: train.de}
  test: {source: test.en, target: test.de}
model:
  dim: 16
  encoder: {name: transformer, num_layers: 1, feedforward_dim: 16}
  decoder: {name: transformer, num_layers: 1, feedforward_dim: 16}
text: {tokenizer: {name: subwords, size: 300}}
training: {validate_every: 1, average: 1}
"""
BEFORE = {  # further runs of a page
    "docs/how-to/fine-tune.md": ["regard train --source train.en --target train.fr --run runs/en-fr"],
    "docs/how-to/pretrain.md": ["regard train --text texts.txt task=masked_language_model --run runs/bert"],
    "docs/how-to/word-vectors.md": [
        command
        for language in ("en", "de")
        for command in (
            f"regard train --text more.{language} task=word_vectors --run runs/words-{language}",
            f"regard embeddings runs/words-{language} export {language}.vec",
        )
    ],
}
BEFORE_CONFIGS = {
    "docs/how-to/fine-tune.md": ["regard train configs/translation/multi30k-transformer.yaml"],
}
RUNS = {
    "en-de": "en-de en-de.new multi30k first a b c other large small",
    "en-es": "en-es quickstart",
    "de-en": "de-en",
    "reviews": "reviews attention",
}
ALL = [block for page in pages() for block in blocks(page) if block.language in (*SHELL, "python")]
DATA = ("train", "val", "dev", "test", "more", "news", "medicine", "a", "pairs", "questions", "captions")


def reason(command: str) -> str:
    """Why a command is not run, or nothing."""
    return next((why for said, why in NOT_RUN.items() if re.search(said, command)), "")


def own_test(command: str) -> str:
    """The test that runs a command, if it is not that of its page."""
    return next((test for said, test in OWN_TEST.items() if re.search(said, command)), "")


def commands(block: Block) -> list[str]:
    """The commands of a block that have no reason not to run; a block of Python is one."""
    if block.language not in (*SHELL, "python"):
        return []
    every = [block.text] if block.language == "python" else lines(block)
    return [command for command in every if not reason(command)]


def of_test(block: Block, test: str = "") -> list[str]:
    """The commands of a block that a test runs; without a name, those of the test of its page."""
    return [command for command in commands(block) if own_test(command) == test]


def stage(place: Path) -> None:
    """Files with the names of the pages."""
    for side, language in ((0, "en"), (1, "de"), (1, "es"), (1, "fr")):
        text = "".join(f"{line}\n" for line in [*(pair[side] for pair in PAIRS), *SENTENCES])
        for part in DATA:
            (place / f"{part}.{language}").write_text(text, encoding="utf-8")
    for name in (
        "texts.txt",
        "letter.txt",
        "novel.txt",
        "both.txt",
        "reviews.txt",
        "texts.en",
        "texts.de",
        "secret.txt",
    ):
        (place / name).write_text("".join(f"{line}\n" for line in SENTENCES), encoding="utf-8")
    words = "house man king woman good great"
    (place / "corpus.txt").write_text(f"{words}\n" * 50, encoding="utf-8")
    rows = "".join(f"{('positive', 'negative')[number % 2]}\t{line}\n" for number, line in enumerate(SENTENCES))
    for name in ("reviews.tsv", "new-reviews.tsv"):
        (place / name).write_text(rows, encoding="utf-8")
    (place / "known.tsv").write_text("the\tthe\nman\tman\n", encoding="utf-8")
    (place / "terms.tsv").write_text("dog\tHund|Köter\nRegard\n", encoding="utf-8")
    (place / "begun.txt").write_text("\n" * len(SENTENCES), encoding="utf-8")
    stage_documents(place)
    for name in ("a", "b", "luong", "small"):
        (place / f"{name}.yaml").write_text(SYSTEM, encoding="utf-8")
    (place / "api-keys.txt").write_text("a-key-of-more-than-twenty-letters\n", encoding="utf-8")
    corrected = [(line, "en", "fr") for line in ("one man", "two men", "one man")]
    corrected += [("one man", "fr", "en"), ("one man", "en", "de")]
    rows = [
        json.dumps({"q": line, "s": f"better {line}", "source": source, "target": target, "time": "now"})
        for line, source, target in corrected
    ]
    (place / "better.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")


def stage_documents(place: Path) -> None:
    """Documents, tables of their sentences, pairs of texts, tags, and files of a word processor and of a film."""
    documents = ["\n".join(SENTENCES[first : first + 4]) for first in range(0, 96, 4)]
    (place / "documents.txt").write_text("\n\n".join(documents) + "\n", encoding="utf-8")
    rows = [f"{number // 4}\t{line}\t{line}\n" for number, line in enumerate(SENTENCES)]
    for name in ("train.tsv", "dev.tsv"):
        (place / name).write_text("".join(rows), encoding="utf-8")
    pairs = [f"{('yes', 'no')[number % 2]}\t{line}\t{line}\n" for number, line in enumerate(SENTENCES)]
    (place / "pairs.tsv").write_text("".join(pairs), encoding="utf-8")
    words = ["\n".join(f"{word}\t{'O' if len(word) > 3 else 'B-short'}" for word in line.split()) for line in SENTENCES]
    (place / "names.conll").write_text("\n\n".join(words) + "\n", encoding="utf-8")
    (place / "film.srt").write_text("1\n00:00:01,000 --> 00:00:02,000\nThe man reads.\n", encoding="utf-8")
    (place / "site.xlf").write_text(
        '<xliff version="1.2"><file source-language="en" target-language="de"><body><trans-unit id="1"><source>The <g '
        'id="1">old</g> man.</source></trans-unit></body></file></xliff>',
        encoding="utf-8",
    )
    (place / "readme.md").write_text("# The *old* man\n", encoding="utf-8")
    (place / "messages.pot").write_text('msgid "The old man reads %s."\nmsgstr ""\n', encoding="utf-8")
    letter = docx.Document()
    letter.add_paragraph("The old man reads a book.")
    letter.save(str(place / "letter.docx"))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small runs, to be copied to the names of the pages."""
    place = tmp_path_factory.mktemp("runs")
    stage(place)
    for name in ("en-de", "en-es", "de-en"):
        source, target = name.split("-")
        sides = ["--source", place / f"train.{source}", "--target", place / f"train.{target}"]
        done = regard("train", *sides, *SMALL, *UPDATES, "--run", place / name)
        assert done.code == 0, done.said
    done = regard(
        "train", "--text", place / "reviews.tsv", *UPDATES, "model.dim=16", *POOLING, "--run", place / "reviews"
    )
    assert done.code == 0, done.said
    return place


@pytest.fixture
def folder(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    stage(tmp_path)
    for kind, names in RUNS.items():
        for name in names.split():
            shutil.copytree(runs / kind, tmp_path / "runs" / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


PAGES = [
    pytest.param(page, marks=pytest.mark.slow) if page in SLOW else page for page in pages() if page not in ELSEWHERE
]


@pytest.mark.parametrize("page", PAGES)
def test_blocks_run_and_print_what_the_page_shows(page, folder, capsys):
    names: dict[str, object] = {}
    printed = ""
    for command in BEFORE.get(page, ()):
        run_line(command, SMALL)
    for block in blocks(page):
        if block.language == "text" and printed:
            shown = unmatched(printed, block.text)
            assert [line for line in shown if not re.search(OF_A_TRAINED_MODEL, line)] == [], printed
        ran = "".join(run(block, command, names, capsys) for command in of_test(block))
        printed = ran if block.language in SHELL else ""


def run(block: Block, command: str, names: dict[str, object], capsys) -> str:
    """What a command prints; a training takes the place of a run with its name."""
    for made in re.findall(r'\brun="(\S+)"', command):
        shutil.rmtree(made, ignore_errors=True)
    if block.language == "python":
        exec(compile(command, f"{block.page}:{block.number}", "exec"), names)
        out = capsys.readouterr().out
        assert "False" not in out, (block.page, out)
        return out
    for made in re.findall(r"^regard train .*?(?:--run |\brun=)(\S+)", command):
        if "--resume" not in command:
            shutil.rmtree(made, ignore_errors=True)
    return run_line(command, SMALL)


@pytest.fixture(scope="module")
def host(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Name and port of a server of all small runs."""
    folder = tmp_path_factory.mktemp("server")
    memory = TranslationMemory(folder / "de-en.memory", ("de", "en")).path
    kept = ("--suggestions", folder / "better.jsonl", "--memory", memory)
    served = Process(folder, *(runs / name for name in RUNS), "--port", 0, *kept)
    yield urlsplit(served.ready()).netloc
    assert served.end() == 0


def test_requests_are_answered(folder, host, capsys):
    for page in pages():
        printed = ""
        for block in blocks(page):
            if block.language == "json" and printed:
                assert same_keys(printed, block.text), printed
            asked = of_test(block, "test_requests_are_answered")
            if block.language == "python":
                for text in asked:
                    exec(compile(ADDRESS.sub(host, text), f"{page}:{block.number}", "exec"), {})
                printed = capsys.readouterr().out
            else:
                printed = "".join(ask(command, host) for command in asked)


SERVED = [command for block in ALL for command in of_test(block, "test_servers_start_and_end")]
OF_CONFIGS = {block.page for block in ALL if of_test(block, "test_commands_of_configs_run")}


@pytest.mark.slow
@pytest.mark.parametrize("command", sorted(set(SERVED)))
def test_servers_start_and_end(command, folder, tmp_path):
    served = Process(tmp_path, *shlex.split(command)[2:], "--port", 0)
    served.ready()
    assert served.end() == 0


@pytest.mark.slow
@pytest.mark.parametrize("page", sorted(OF_CONFIGS))
def test_commands_of_configs_run(page, folder):
    before = BEFORE_CONFIGS.get(page, ())
    own = [one for block in blocks(page) for one in of_test(block, "test_commands_of_configs_run")]
    for command in (*before, *own):
        run_line(command, SMALL)
    trained = re.findall(r"^regard train configs/\w+/(\S+)\.yaml(?!.* run=)", "\n".join([*before, *own]), re.MULTILINE)
    assert [name for name in trained if not (Path("runs") / name / "experiment.yaml").is_file()] == []


@pytest.mark.parametrize("page", sorted({block.page for block in ALL}))
def test_blocks_are_read_by_the_real_command_line(page):
    for block in ALL:
        if block.page == page and block.language == "python":
            check_python(block.text)
        elif block.page == page:
            for words in (words for line in lines(block) for words in regard_commands(line)):
                check_command(words)


@pytest.mark.parametrize("page", [*pages(), "docs/data.md", "docs/faq.md", "docs/install.md"])
def test_commands_within_sentences_are_read_by_the_real_command_line(page):
    for text in inline_commands(page):
        for words in regard_commands(text.replace("\\|", "|")):
            try:
                check_command(words)
            except MissingParameter:
                pass  # the sentence names a command or an option alone
            except BadOptionUsage as error:
                assert "requires" in error.message, text


def test_most_blocks_run(record_property):
    """Blocks by whether all, some or none of their commands run; the reasons stand in `NOT_RUN`."""
    found = {"run": 0, "in part": 0, "read": 0}
    for block in ALL:
        every = 1 if block.language == "python" else len(lines(block))
        done = every * (block.language == "bash") if block.page in ELSEWHERE else len(commands(block))
        found["run" if done == every else "in part" if done else "read"] += 1
    for name, number in found.items():
        record_property(name, number)
    assert found["run"] >= 100, found


@pytest.mark.parametrize(
    "command", ["train --sauce a", "train training.max_minuts=1", "predict RUN decoding.search.sise=2", "trian"]
)
def test_a_wrong_command_is_found(command):
    with pytest.raises((ConfigError, ClickException)):
        check_command(command.split())


def test_a_changed_output_is_found():
    printed = "BLEU = 3.25 [1.5, 4] (nrefs:1)\n  a ← b 20%\nwrote page.html\n"
    assert unmatched(printed, "BLEU = 20.03 [18.51, 21.57] …\n…\nwrote page.html\n  x ← y 51%, z 4%") == []
    assert unmatched(printed, "BLUE = 20.03 …\nwrote a page") == ["BLUE = 20.03 …", "wrote a page"]
