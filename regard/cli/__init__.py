"""The command line: one short function a command. Nothing here loads torch before a command runs."""

from regard.cli.app import main

__all__ = ["main"]
