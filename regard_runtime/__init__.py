"""Translate with an export of Regard, without torch: `regard export RUN --to runtime -o FOLDER`.

from regard_runtime import RuntimeTranslator
RuntimeTranslator("FOLDER").translate(["A sentence."])
"""

from regard_runtime.folder import FolderError
from regard_runtime.translator import Forced, RuntimeTranslator, Translation

__all__ = ["FolderError", "Forced", "RuntimeTranslator", "Translation"]
