"""The user's folder for what can be made again: compiled code and measurements."""

import os
from pathlib import Path


def cache_folder() -> Path:
    """Return the folder, which may not exist yet. Raises RuntimeError for a user without a home."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "regard"
