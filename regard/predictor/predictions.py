"""A list of predictions that prints well."""

from regard.explain import fragment, to_json
from regard.results import Prediction


class Predictions(list[Prediction]):
    """A prediction for each text, in order. A notebook shows the page, a terminal the texts and their words."""

    def __str__(self) -> str:
        from rich.console import Console

        from regard.answers import show  # loaded with what prints, and only then

        console = Console(no_color=True, width=120)
        with console.capture() as captured:
            show(self, console)
        return captured.get().rstrip()

    def _repr_html_(self) -> str:
        """The page, in a frame that can reach nothing around it."""
        return fragment(to_json(self))
