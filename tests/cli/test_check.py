"""`regard check` as a shell calls it."""

import json

import pytest
from small_runs import SMALL, regard, unsaid, write_texts
from translation_servers import Libre, served
from typer.testing import CliRunner

from regard.cli.app import app

EN_DE = ("--languages", "en", "de")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("check")
    assert regard("train", *write_texts(folder), "--run", folder / "run", *SMALL, "--quiet").code == 0
    return folder / "run"


def test_a_run_and_a_server_stand_side_by_side(run, tmp_path):
    files = ["--badge", tmp_path / "b.svg", "--plot", tmp_path / "t.svg"]
    with served(Libre(), str) as url:
        words = ["check", run, url, *EN_DE, "--only", "empty", "--only", "tags", "--cases", 3, "--json", "-q", *files]
        done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    systems = json.loads(done.stdout)["systems"]
    assert [system["name"] for system in systems] == [str(run), url]
    assert [system["suites"]["empty"]["passed"] for system in systems] == [1.0, 1.0]
    assert all(path.read_text().startswith("<svg") for path in (tmp_path / "b.svg", tmp_path / "t.svg"))


@pytest.mark.parametrize(("least", "code"), [(50, 0), (99, 1)])
def test_the_exit_code_says_whether_enough_pass(least, code):
    with served(Libre(), str) as url:
        words = (url, *EN_DE, "--only", "empty", "--only", "negation", "--fail-under", least - 1, "-q")
        assert regard("check", *words).code == code


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["http://127.0.0.1:9"], ["--languages"]),
        (["http://127.0.0.1:9", *EN_DE], ["cannot be reached"]),
        (["nowhere"], ["nowhere", "http://"]),
        (["nowhere", "--badge", "b.png"], ["--badge", ".svg"]),
        (["nowhere", "--only", "negatoin"], ["negation"]),
        (["nowhere", "--suite", "none.yaml"], ["none.yaml"]),
    ],
)
def test_wrong_words_are_one_line(words, parts):
    assert unsaid(regard("check", *words), *parts) == []
