"""The settings of a whole run: validation against every table, and their JSON schema."""

from regard.config import SETTINGS_FILE
from regard.experiment.catalogue import catalogue
from regard.experiment.checks import too_long_sources
from regard.experiment.complete_settings import (
    PlannedExperiment,
    count_examples,
    empty_model,
    load_experiment,
    plan_experiment,
    read_changes,
    read_experiment,
    saved_experiment,
    schema,
)
from regard.experiment.data import DataSettings
from regard.experiment.layouts import text_settings
from regard.experiment.own_parts import add_parts, environment_parts, load_parts, named_parts
from regard.experiment.settings import OPEN, DecodingSettings, Experiment, InitialSettings, RerankSettings
from regard.experiment.tables import MECHANISMS, NETWORKS, PARTS, TABLES

__all__ = [
    "MECHANISMS",
    "NETWORKS",
    "OPEN",
    "PARTS",
    "SETTINGS_FILE",
    "TABLES",
    "DataSettings",
    "DecodingSettings",
    "Experiment",
    "InitialSettings",
    "PlannedExperiment",
    "RerankSettings",
    "add_parts",
    "catalogue",
    "count_examples",
    "empty_model",
    "load_experiment",
    "load_parts",
    "named_parts",
    "plan_experiment",
    "read_changes",
    "read_experiment",
    "saved_experiment",
    "schema",
    "text_settings",
    "too_long_sources",
]

load_parts(environment_parts())
