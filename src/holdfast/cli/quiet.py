"""Whether a command is to print nothing but warnings, errors and what machines read."""

from contextvars import ContextVar

QUIET: ContextVar[bool] = ContextVar("quiet", default=False)


def be_quiet(wanted: bool) -> None:
    """Take the option --quiet."""
    QUIET.set(wanted)
