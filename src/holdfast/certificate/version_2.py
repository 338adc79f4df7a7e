"""Certificates of the second form: those of today without a publication and a verdict, in other words."""

import re
from collections.abc import Mapping
from typing import Any

FORMAT = "holdfast-certificate/2"
LEVELS = "The levels of "
ADVICE = " Declare them in the spec to leave the data out of it."
"""What the second form said to curators in the caveat about levels that were taken from the data."""

_CELL_BY_CELL = re.compile(
    r"(one block|[\d,]+ blocks) of (one cell|[\d,]+ cells):"
    r" (crossing invariants, cell by cell|one total, by halving|independent cells)( \(acceptance [\d.e-]+\))?"
)


def upgraded(content: Mapping[str, Any], form: str) -> dict[str, Any]:
    """Return the content of a certificate of the second form in the form of today."""
    return {**content, "format": form, "verdict": None}


def as_written(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was upgraded as it stood in a file."""
    return {**{name: value for name, value in content.items() if name != "verdict"}, "format": FORMAT}


def reworded(derived: dict[str, Any], claimed: Mapping[str, Any]) -> dict[str, Any]:
    """Return what follows, as the second form said it.

    Margins that cross were drawn cell by cell then; what is claimed of a law does not depend on how it is
    drawn.
    """
    caveats = [f"{one}{ADVICE}" if one.startswith(LEVELS) else one for one in derived["caveats"]]
    told = claimed["mechanism"]["sampling"]
    if told and all(_CELL_BY_CELL.fullmatch(line) for line in told):
        derived = {**derived, "mechanism": {**derived["mechanism"], "sampling": told}}
    return {**derived, "caveats": caveats}
