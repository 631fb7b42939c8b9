"""The names of `regard`: train, evaluate and compare return records that print and show themselves."""

from html.parser import HTMLParser
from pathlib import Path

import pytest
from comparisons import Inside, texts

import regard
from regard.reports.compare import train as compare_train

SMALL = ["training.max_updates=2", "training.validate_every=1", "training.average=1", "model.dim=16"]


class Cells(HTMLParser):
    """The texts of an HTML fragment, and its tags."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.tags: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data.strip())


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> regard.TrainedRun:
    place = texts(tmp_path_factory.mktemp("api"))
    changes = [*SMALL, "text.tokenizer.size=300"]
    return regard.train(None, changes, source=place / "a.en", target=place / "a.de", run=place / "run", quiet=True)


def test_a_trained_run_names_its_score_and_stands_for_its_folder(trained):
    assert (trained.updates, trained.metric) == (2, "bleu")
    assert trained.seconds > 0
    assert trained.score is not None
    assert all(part in repr(trained) for part in (str(trained.folder), f"{trained.score:.2f}", "2 updates"))
    assert Path(trained) == trained.folder
    assert regard.load(trained).run.path == trained.folder


def test_an_evaluation_prints_scores_with_intervals(trained, tmp_path):
    reference, answers = trained.folder.parent / "a.de", tmp_path / "<b>answers"
    answers.write_text(reference.read_text("utf-8"), "utf-8")
    found = regard.evaluate([answers, trained], source=trained.folder.parent / "a.en", target=reference)
    exact, run = found.systems
    (chrf,) = (test for _, test in found.comparisons if test.a.name.lower().startswith("chrf"))
    assert (chrf.a.value, chrf.difference < 0) == (pytest.approx(100.0), True)
    assert exact.scores[1].value == chrf.a.value
    low, high = run.intervals[0]
    assert f"[{low:.2f}, {high:.2f}]" in repr(found)
    html = Cells(found._repr_html_())
    assert (str(answers) in html.texts, html.tags & {"b", "script"}) == (True, set())
    assert f"{chrf.difference:+.2f}" in html.texts


def test_one_file_is_evaluated_by_a_column(trained):
    reference = trained.folder.parent / "a.de"
    found = regard.evaluate(str(reference), files={"target": reference})
    assert found.systems[0].scores[1].value == pytest.approx(100.0)


def test_a_comparison_shows_its_table_and_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(texts(tmp_path))
    monkeypatch.setattr(compare_train, "Child", Inside)
    found = regard.compare(["dot.yaml", "wide.yaml"], ["text.tokenizer.size=300"], run="both", seeds=1, quiet=True)
    assert [row.name for row in found.found.rows] == ["dot", "wide"]
    assert all(part in repr(found) for part in ("dot", "wide", str(found.folder / "report.html")))
    assert (found.folder / "report.html").is_file()
    assert {"dot", "wide"} <= set(Cells(found._repr_html_()).texts)
    assert [one["name"] for one in found.values()["systems"]] == ["dot", "wide"]


def test_a_comparison_needs_configs():
    with pytest.raises(regard.ConfigError, match="configs: must be given"):
        regard.compare([])


def test_a_prediction_shows_itself_escaped():
    html = Cells(regard.Prediction("<b>a</b>", "<script>", -1.0)._repr_html_())
    assert html.tags == {"p", "br", "strong", "small"}
    assert {"<b>a</b>", "<script>"} <= set(html.texts)


def test_errors_are_one_family():
    kinds = (
        regard.CheckpointError, regard.ConfigError, regard.DataError, regard.TooLongError, regard.TrainingError
    )  # fmt: skip
    assert all(issubclass(kind, regard.RegardError) for kind in kinds)
