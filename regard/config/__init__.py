"""Settings: YAML files and `key=value` changes → checked, frozen values. Knows no table of parts by name."""

from regard.config.fields import Fields, read_settings, schema_of, spelled
from regard.config.markers import FieldsOf, OneOrMany, PartOf
from regard.config.merging import lay, merge, parse_changes
from regard.config.plain import plain
from regard.config.reading import SETTINGS_FILE, read_yaml, write_yaml
from regard.config.warned import warned_last
from regard.config.whole import write_whole

__all__ = [
    "SETTINGS_FILE",
    "Fields",
    "FieldsOf",
    "OneOrMany",
    "PartOf",
    "lay",
    "merge",
    "parse_changes",
    "plain",
    "read_settings",
    "read_yaml",
    "schema_of",
    "spelled",
    "warned_last",
    "write_whole",
    "write_yaml",
]
