"""From files to batches: readers stream examples, a corpus keeps them memory-mapped, batches are cut from it.

Readers and the corpus need no torch; batches (`regard.data.batches`) do.
"""

from regard.data.corpus import Corpus
from regard.data.readers import READERS, Reader

__all__ = ["READERS", "Corpus", "Reader"]
