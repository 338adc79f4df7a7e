"""What a test loses when it sees a projected release: of an example, or of a small table of one's own."""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

from holdfast.errors import GuaranteeError, SpecError
from holdfast.inference.projected_power import Design, PowerReport, projected_power
from holdfast.inference.projected_table import Matrix, TableReport, orthogonal, projected_table
from holdfast.plain import special
from holdfast.release import published_with_warnings
from holdfast.spec.closest import closest
from holdfast.spec.model import Spec
from holdfast.universe.enumerate import conforming_tables

TABLES = 500
"""Conforming tables that are listed at most."""

CHANGED = {"bounds": 1, "total": 2}
"""How many counts one person's answer changes."""


def audit_projection(
    n: int,
    epsilon: Fraction,
    null: float,
    alternatives: Sequence[float],
    *,
    design: str = "bounds",
    delta_z: Fraction = Fraction(1),
    level: float = 0.05,
    draws: int = 0,
    seed: int = 0,
) -> PowerReport:
    """Return the powers of the best tests from a release and from its projection.

    The noise is double geometric. A secret moves one count by delta_z, or two in opposite directions, and the
    loss is the rate times the sum of both.
    """
    known: tuple[Design, ...] = get_args(Design)
    for name in known:
        if name == design:
            rate = epsilon / (CHANGED[name] * delta_z)
            return projected_power(
                n, float(rate), null, alternatives, level=level, design=name, draws=draws, seed=seed
            )
    raise SpecError(f"--design is {design!r}, which is not known: {closest(design, known)}")


def audit_table_projection(
    spec: Spec | str | Path,
    epsilon: Fraction,
    *,
    projection: str = "l2",
    level: float = 0.05,
    data: Any = None,
) -> TableReport:
    """Return the powers of the best tests of any two tables that share the invariants of a spec.

    The noise is double geometric in every cell, with the loss epsilon for one record: two counts by one
    each. ``projection`` is "l2", the orthogonal one, or the name of a file with its matrix, a row for each
    possible cell.
    """
    public, _ = published_with_warnings(spec, data)
    universe = public.universe
    try:
        tables = conforming_tables(universe, TABLES)
    except GuaranteeError as error:
        raise SpecError(
            f"the projection of a table is looked at over all tables with its invariants, {TABLES} at most:"
            f" {str(error).partition(':')[0]}."
        ) from None
    matrix = orthogonal(universe) if projection == "l2" else read_matrix(Path(projection))
    return projected_table(
        universe,
        matrix,
        tables,
        rate=float(epsilon / 2),
        level=level,
        distance=max(public.premises("semi").unit.distance, 1),
        name="l2" if projection == "l2" else Path(projection).name,
    )


def read_matrix(path: Path) -> Matrix:
    """Read a matrix of whole numbers or fractions, separated by commas, a row a line."""
    try:
        kind = special(path)
        lines = [] if kind else path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        kind = "no file that can be read"
    if kind is not None:
        raise SpecError(f"--projection is {str(path)!r}, {kind}: give l2, or a file with a matrix.")
    rows = []
    for number, line in enumerate(lines, 1):
        try:
            rows.append(tuple(Fraction(entry.strip()) for entry in line.split(",")) if line.strip() else ())
        except (ValueError, ZeroDivisionError):
            raise SpecError(
                f"{path}, line {number}: give whole numbers or fractions such as 1/2, separated by commas."
            ) from None
    return tuple(row for row in rows if row)
