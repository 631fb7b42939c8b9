"""regard schema"""

import json


def schema_command() -> None:
    """Print the JSON schema of a config file, for editors and checkers.

    For example: regard schema > regard.schema.json
    """
    from regard.experiment import schema

    print(json.dumps(schema(), indent=2, ensure_ascii=False))
