"""Verifying what is said of published tables: all of it is worked out again from their files alone."""

from pathlib import Path

from holdfast.system.checks import Verification

KIND = "publication"


def verify_facts(path: Path) -> Verification:
    """Check the facts in a file against the published tables that they name."""
    from holdfast.publication.checking import checks, read_facts  # noqa: PLC0415 - loaded late

    claimed = read_facts(path)
    found = tuple(checks(path, claimed))
    derived = tuple(one.name for one in found if one.holds)
    return Verification(path, found, derived=derived, kind=KIND)
