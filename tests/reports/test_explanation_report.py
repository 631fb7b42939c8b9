"""The report of explanations says where a model has none of its own."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from regard.reports.explanation_report import explained_report
from regard.results import Explanation, Prediction, TokenRole, Tokens


@pytest.mark.parametrize("attends", [False, True])
def test_a_model_without_attention_names_a_method(attends):
    columns = {"text": Tokens(["so", "good"], TokenRole.GIVEN), "label": Tokens(["1"], TokenRole.LABEL)}
    found = Explanation.of_text(["so"], ["gut"], [(0, 0)], [[1.0]]) if attends else Explanation(columns)
    predictor = SimpleNamespace(
        predict=lambda texts, **_: [Prediction(text, "1", -0.1, explanation=found) for text in texts],
        run=SimpleNamespace(path=Path("run")),
        explainer=None,
    )
    said = []
    explained_report(predictor, ["so good"], [], say=said.append)
    assert any("no attention: --method integrated_gradients" in line for line in said) is not attends
