"""regard compare: what it tells of what it trained, and what it does not begin at all."""

import json
import re
import statistics
import sys
from itertools import pairwise
from pathlib import Path

import pytest
import sacrebleu
from comparisons import CONFIG, compare, table_of
from small_runs import PAIRS

import regard
from regard.training import checkpoint as files


def test_it_tells_what_it_will_do_and_how_far_it_is(done):
    _, said = done
    lines = [line for line in said.err.splitlines() if "other programs use the processor" not in line]
    assert said.code == 0, said.err
    assert lines[0] == "comparing 2 systems, seeds: 2, runs: 4, in runs/compare-dot"
    assert lines[1].startswith("to train: 4 runs of 2 updates; an estimate")
    assert [line.partition(":")[0] for line in lines[2:6]] == [
        "run 1 of 4, dot-seed1", "run 2 of 4, wide-seed1", "run 3 of 4, dot-seed2", "run 4 of 4, wide-seed2",
    ]  # fmt: skip
    assert re.fullmatch(
        r"run 1 of 4, dot-seed1: 2 updates in \d+ s, dev bleu \d+\.\d\d · all trained in about \d+ (s|min)", lines[2]
    )
    assert lines[-1] == "report: runs/compare-dot/report.html"


def test_one_table_with_all_that_was_asked_for(done):
    place, said = done
    head, *rows = table_of(said)
    assert " | ".join(head) == (
        "system | runs | BLEU | 95 % | p | Wilcoxon p | chrF | AER % | parameters | train tokens/core s | "
        "train words/core s | decode sentences/core s | core minutes"
    )
    assert [row[0] for row in rows] == ["dot", "wide"]
    assert said.out.startswith("# Comparison of dot, wide\n\n| system |")
    assert "\n## BLEU by words of the source (sentences)\n\n| words | 1-5 (12) |\n" in said.out
    assert (place / "table.md").read_text(encoding="utf-8") == said.out


def test_the_figures_are_those_of_the_runs(done):
    place, _ = done
    values = json.loads((place / "runs/compare-dot/compare.json").read_text(encoding="utf-8"))
    for system in values["systems"]:
        assert 0 <= system["alignment_error_rate"]["mean"] <= 100
        for number, run in enumerate(system["runs"], start=1):
            predictor = regard.load(place / "runs/compare-dot" / run["name"])
            written = [one.text for one in predictor.predict([pair[0] for pair in PAIRS], safeguards=False)]
            kept = json.loads((place / f"runs/compare-dot/results/{run['name']}.json").read_text(encoding="utf-8"))
            assert (kept["texts"], run["seed"], run["updates"]) == (written, number, 2)
            assert kept["tokens_per_word"] == 1.5  # 8 words in 4 sentences, each of which ends
            assert system["parameters"] == sum(one.numel() for one in predictor.model.parameters())
    assert values["differing"]["model.dim"] == {"dot": 16, "wide": 24}
    assert values["systems"][0]["scores"]["BLEU"]["p_value"] is None
    assert 0 < values["systems"][1]["scores"]["BLEU"]["p_value"] <= 1


def test_every_figure_can_be_found_in_the_run_itself(folder):
    """Of a model that has learnt something, and texts that are long enough for BLEU."""
    sources, targets = ([" ".join([one[side], other[side]]) for one, other in pairwise(PAIRS)] for side in (0, 1))
    for name, lines in (("a.en", sources), ("a.de", targets)):
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    learning = ["training.max_updates=50", "training.validate_every=25", "training.schedule=constant"]
    learning += ["training.learning_rate=0.01"]
    said = compare("dot.yaml", "--seeds", 1, "--json", *learning)
    (system,) = said.values["systems"]
    ((run,), path) = system["runs"], Path("runs/compare-dot/dot-seed1")
    written = [one.text for one in regard.load(path).predict(sources)]
    scores = [sacrebleu.corpus_bleu(written, [targets]).score, sacrebleu.corpus_chrf(written, [targets]).score]
    assert [system["scores"][name]["values"][0] for name in ("BLEU", "chrF")] == pytest.approx(scores)
    assert min(scores) > 0
    log = [json.loads(line) for line in (path / "metrics.jsonl").read_text().splitlines()]
    speeds = [event["tokens_per_second"] for event in log if event["event"] == "update"]
    assert run["tokens_per_second"] == statistics.median(speeds)
    curve = [[event["update"], event["seconds"], event["bleu"]] for event in log if event["event"] == "validation"]
    assert [point[:3] for point in run["curve"]] == curve
    state = files.latest_valid(path)[0].state
    assert [run[name] for name in ("seconds", "core_seconds")] == [state["seconds"], state["core_seconds"]]
    assert (run["updates"], len(curve)) == (50, 2)


def test_the_report_is_a_page(done):
    html = (done[0] / "runs/compare-dot/report.html").read_text(encoding="utf-8")
    assert "<title>Comparison of dot, wide</title>" in html


def test_what_is_done_is_not_done_again(done, trained, monkeypatch):
    place, before = done
    monkeypatch.chdir(place)
    results = {path: path.stat().st_mtime_ns for path in Path("runs/compare-dot/results").iterdir()}
    said = compare("dot.yaml", "wide.yaml", "--seeds", 2, "--gold", "gold", "a.en", "a.de", "--baseline", "wide")
    assert (trained, said.code) == ([], 0), said.err
    assert {path: path.stat().st_mtime_ns for path in results} == results
    _, first, second = table_of(said)
    assert (first[4] != "–", second[4]) == (True, "–")
    assert first[2:4] == table_of(before)[1][2:4]


def test_a_log_that_was_cut_off_is_read_as_far_as_it_goes():
    before = compare("dot.yaml", "--seeds", 1, "--json").values["systems"][0]["runs"][0]
    with Path("runs/compare-dot/dot-seed1/metrics.jsonl").open("a") as log:
        log.write('{"event": "upd')
    again = compare("dot.yaml", "--seeds", 1, "--json")
    assert (again.code, again.values["systems"][0]["runs"][0]["curve"]) == (0, before["curve"]), again.err


def test_all_are_judged_by_the_same_metrics(folder, trained):
    (folder / "ter.yaml").write_text(CONFIG.replace("metrics: [bleu, chrf]", "metrics: ter"))
    said = compare("dot.yaml", "ter.yaml", "--seeds", 1)
    assert (said.code, trained, said.err.splitlines()[-1]) == (2, [], (
        "error: evaluation.metrics: 'ter' would be evaluated by [ter], 'dot' by [bleu, chrf] "
        "(the same for all: evaluation.metrics=[bleu, chrf])"
    )), said.err  # fmt: skip
    assert compare("dot.yaml", "ter.yaml", "--seeds", 1, "evaluation.metrics=[bleu, ter]").code == 0


def test_where_different_scores_steer_the_curves_are_of_one_that_all_have():
    said = compare("dot.yaml", "--grid", "training.metric=chrf,loss", "--seeds", 1, "--json")
    curves = [system["runs"][0]["curve"] for system in said.values["systems"]]
    logs = [Path(f"runs/compare-dot/{name}-seed1/metrics.jsonl").read_text() for name in ("chrf", "loss")]
    scores = [[json.loads(line).get("bleu") for line in log.splitlines() if '"validation"' in line] for log in logs]
    assert [[point[2] for point in curve] for curve in curves] == scores


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["model.dim=8"], "CONFIG: must be given (regard compare a.yaml b.yaml)"),
        (["no.yaml"], "no.yaml: there is no such file"),
        (["dot.yaml", "--baseline", "dto"], "--baseline: there is no 'dto' (did you mean 'dot'?)"),
        (["dot.yaml", "--run", "."], "--run: '.' exists and holds no comparison"),
        (["dot.yaml", "--gold", "gold", "a.en", "none"], "none: there is no such file"),
        (["dot.yaml", "--grid", "model.attention.score=dot,dott"], "dott: model.attention.score: there is no 'dott'"),
        (["dot.yaml", "data.test=null", "data.test_fraction=0"], "data.test.source: must be given"),
    ],
)
def test_what_is_wrong_is_told_on_one_line_before_anything_is_trained(words, told, trained):
    said = compare(*words)
    assert (said.code, said.err.count("error:"), trained) == (2, 1, []), said.err
    assert told in said.err
    assert not Path("runs").exists()


def test_the_command_is_told_as_it_was_typed(monkeypatch, trained):
    words = [
        "dot.yaml",
        "--seeds",
        "1",
        "--json",
        "training.max_updates=1",
        "--grid",
        "model.attention={name: dot, dropout: 0.1}",
    ]
    monkeypatch.setattr(sys, "argv", ["/somewhere/regard", "compare", *words])
    values = compare(*words).values
    assert values["command"] == (
        "regard compare dot.yaml --seeds 1 --json training.max_updates=1 "
        "--grid 'model.attention={name: dot, dropout: 0.1}'"
    )
