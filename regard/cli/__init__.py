"""The command line: one short function a command. Nothing here loads torch before a command runs."""

import sys


def main() -> None:
    """The console script."""
    try:
        from regard.cli.without_torch import answer_without_torch

        if answer_without_torch(sys.argv[1:]):
            return
        from regard.cli.app import main as run
    except KeyboardInterrupt:  # Ctrl-C while it is loaded
        sys.exit(130)
    run()
