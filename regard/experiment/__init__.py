"""The settings of a whole run: validation against every table, and their JSON schema."""

from regard.config import SETTINGS_FILE
from regard.experiment.catalogue import catalogue
from regard.experiment.complete_settings import (
    count_examples,
    load_experiment,
    plan_experiment,
    read_experiment,
    schema,
)
from regard.experiment.data import DataSettings
from regard.experiment.layouts import text_settings
from regard.experiment.own_parts import add_parts, environment_parts, load_parts, named_parts
from regard.experiment.settings import OPEN, ConsensusSettings, DecodingSettings, Experiment, RerankSettings
from regard.experiment.tables import MECHANISMS, PARTS, TABLES

__all__ = [
    "MECHANISMS",
    "OPEN",
    "PARTS",
    "SETTINGS_FILE",
    "TABLES",
    "ConsensusSettings",
    "DataSettings",
    "DecodingSettings",
    "Experiment",
    "RerankSettings",
    "add_parts",
    "catalogue",
    "count_examples",
    "load_experiment",
    "load_parts",
    "named_parts",
    "plan_experiment",
    "read_experiment",
    "schema",
    "text_settings",
]

load_parts(environment_parts())
