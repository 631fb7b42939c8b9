"""What can be wrong with a file."""

from regard.errors import RegardError


class FileError(RegardError):
    """A file cannot be read; one line for whoever sent it."""
