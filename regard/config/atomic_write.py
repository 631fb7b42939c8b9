"""Small files that are there complete or not at all."""

import os
from pathlib import Path


def write_atomically(path: Path, text: str) -> None:
    """Write a text in place of what was there. A process killed meanwhile leaves the file as it was."""
    made = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        with made.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(made, path)
    finally:
        made.unlink(missing_ok=True)
