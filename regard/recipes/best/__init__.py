"""The best translator that texts and minutes allow: a table of steps, each of which must gain on the dev text."""

from regard.recipes.best.pairs import default_folder
from regard.recipes.best.program import BestRequest, advised_command, best_translator, phrases_advice

__all__ = ["BestRequest", "advised_command", "best_translator", "default_folder", "phrases_advice"]
