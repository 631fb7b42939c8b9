"""Translate with an export of Regard, without torch: `regard export RUN --to runtime -o FOLDER`.

from regard.runtime import RuntimeTranslator
RuntimeTranslator("FOLDER").translate(["A sentence."])
"""

from .folder import FolderError
from .translator import Forced, RuntimeTranslator, Translation

__all__ = ["FolderError", "Forced", "RuntimeTranslator", "Translation"]
