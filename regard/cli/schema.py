"""regard schema"""

from regard.cli.emit import print_json


def schema_command() -> None:
    """Print the JSON schema of configs, for editors.

    regard schema > regard.schema.json
    """
    from regard.experiment import schema

    print_json(schema(), indent=2)
