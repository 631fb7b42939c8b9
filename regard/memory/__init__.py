"""Translation memory: segments that were translated before, found again by equal and similar text."""

from regard.memory.files import read_units, write_units
from regard.memory.similarity import EXACT, differences
from regard.memory.store import TranslationMemory, TranslationUnit

__all__ = ["EXACT", "TranslationMemory", "TranslationUnit", "differences", "read_units", "write_units"]
