"""Settings: YAML files and `key=value` changes → checked, frozen values. Knows no table of parts by name."""

from regard.config.atomic_write import parse_json, read_checked, staged, write_atomically, write_checked
from regard.config.descriptions import Before, Doc, Fixed, Taken, marked
from regard.config.markers import FieldsOf, OneOrMany, PartOf, read_settings, spelled
from regard.config.merging import NumberOfName, lay, merge, parse_changes
from regard.config.models import SharedSettings
from regard.config.reading import (
    SETTINGS_FILE,
    own_folder,
    quoted,
    read_yaml,
    settings_file,
    settings_folder,
    write_yaml,
)
from regard.config.values import Choice, as_values
from regard.config.warnings import collected_notes, deferred_warnings, note, notes_at

__all__ = [
    "SETTINGS_FILE",
    "Before",
    "Choice",
    "Doc",
    "FieldsOf",
    "Fixed",
    "NumberOfName",
    "OneOrMany",
    "PartOf",
    "SharedSettings",
    "Taken",
    "as_values",
    "collected_notes",
    "deferred_warnings",
    "lay",
    "marked",
    "merge",
    "note",
    "notes_at",
    "own_folder",
    "parse_changes",
    "parse_json",
    "quoted",
    "read_checked",
    "read_settings",
    "read_yaml",
    "settings_file",
    "settings_folder",
    "spelled",
    "staged",
    "write_atomically",
    "write_checked",
    "write_yaml",
]
