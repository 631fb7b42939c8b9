"""Folders of other programs' translators, read and written. One file a row."""

from pathlib import Path

from regard.errors import CheckpointError
from regard.exchange.card import model_card
from regard.exchange.certificate import Certificate
from regard.exchange.export_run import export_folder
from regard.exchange.format import Format
from regard.exchange.huggingface import HuggingFaceFormat
from regard.exchange.import_run import import_folder
from regard.exchange.marian.firefox import FirefoxFormat
from regard.exchange.marian.format import MarianFormat
from regard.registry import Choice, Registry

FORMATS: Registry[Format] = Registry(
    "format", {"firefox": FirefoxFormat, "huggingface": HuggingFaceFormat, "marian": MarianFormat}
)


def format_named(name: str) -> Format:
    """Return a format by its name or another one of it. Raises ConfigError for an unknown one."""
    return FORMATS.build(FORMATS.find(name) or Choice(name))


def format_of(folder: Path) -> Format:
    """Return the format of a folder. Raises CheckpointError where none has it."""
    if not folder.is_dir():
        raise CheckpointError(folder, "there is no such folder")
    rows = [FORMATS.build(Choice(one)) for one in FORMATS]
    found = next((row for row in rows if row.recognises(folder)), None)
    if found is None:
        raise CheckpointError(folder, f"is not a folder of {' or '.join(FORMATS)}", "--format NAME, if it is one")
    return found


__all__ = [
    "FORMATS",
    "Certificate",
    "Format",
    "export_folder",
    "format_named",
    "format_of",
    "import_folder",
    "model_card",
]
