"""What a test loses when it sees a projected release: of an example, or of a small table of one's own."""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

from holdfast.inference.projected_power import PowerReport, ProjectionDesign, projected_power
from holdfast.inference.projected_table import Matrix, TableReport, orthogonal, projected_table
from holdfast.releases.table import published
from holdfast.spec.model import Spec
from holdfast.system.errors import GuaranteeError, SpecError
from holdfast.system.files import special
from holdfast.system.text import closest
from holdfast.universe.tables import conforming_tables

TABLES = 500
"""Conforming tables that are listed at most."""

CHANGED = {"bounds": 1, "total": 2}
"""How many counts one person's answer changes."""


def projection(
    spec: Spec | str | Path | None = None,
    *,
    epsilon: Fraction,
    data: Any = None,
    matrix: str | Path = "l2",
    people: int | None = None,
    null: float | None = None,
    alternatives: Sequence[float] = (),
    design: str = "bounds",
    delta_z: Fraction = Fraction(1),
    level: float = 0.05,
    draws: int = 0,
    seed: int = 0,
) -> TableReport | PowerReport:
    """Return the powers of the best tests from a release and from its projection; noise is double geometric.

    With a spec: of any two tables that share its invariants. Every cell has noise with the loss epsilon for
    one record, two counts by one each. ``matrix`` is "l2", the orthogonal projection, or the name of a file
    with another one, a row for each possible cell.

    Without: of a share ``null`` of so many ``people`` against larger alternatives. A secret moves one count
    by delta_z, or two in opposite directions, as the design says [holdfast, inference/projected_power.py],
    and the loss is the rate times the sum of both.

    >>> asked = {"people": 20, "design": "total", "null": 0.3, "alternatives": (0.7,)}
    >>> found = hf.audit.projection(epsilon=Fraction(1, 5), **asked)
    >>> found.to_dict()["n"]
    20
    """
    asked = people is not None or null is not None or bool(alternatives)
    if spec is not None:
        if asked:
            raise SpecError(
                "people, null and alternatives are for a count of people, and a spec is given: leave out one"
                " of the two."
            )
        return _of_table(spec, data, float(epsilon / 2), matrix, level)
    if people is None or null is None or not alternatives:
        raise SpecError("give people, null and an alternative, or a spec: whose projection is looked at?")
    known: tuple[ProjectionDesign, ...] = get_args(ProjectionDesign)
    for name in known:
        if name == design:
            rate = float(epsilon / (CHANGED[name] * delta_z))
            return projected_power(
                people, rate, null, alternatives, level=level, design=name, draws=draws, seed=seed
            )
    raise SpecError(f"the design is {design!r}, which is not known: {closest(design, known)}")


def _of_table(
    spec: Spec | str | Path, data: Any, rate: float, matrix: str | Path, level: float
) -> TableReport:
    public, _ = published(spec, data)
    universe = public.universe
    try:
        tables = conforming_tables(universe, TABLES)
    except GuaranteeError as error:
        raise SpecError(
            f"the projection of a table is looked at over all tables with its invariants, {TABLES} at most:"
            f" {str(error).partition(':')[0]}."
        ) from None
    return projected_table(
        universe,
        orthogonal(universe) if matrix == "l2" else read_matrix(Path(matrix)),
        tables,
        rate=rate,
        level=level,
        distance=max(public.premises("semi").unit.distance, 1),
        name=Path(matrix).name,
    )


def read_matrix(path: Path) -> Matrix:
    """Read a matrix of whole numbers or fractions, separated by commas, a row a line."""
    try:
        kind = special(path)
        lines = [] if kind else path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        kind = "no file that can be read"
    if kind is not None:
        raise SpecError(f"the projection is {str(path)!r}, {kind}: give l2, or a file with a matrix.")
    rows = []
    for number, line in enumerate(lines, 1):
        try:
            rows.append(tuple(Fraction(entry.strip()) for entry in line.split(",")) if line.strip() else ())
        except (ValueError, ZeroDivisionError):
            raise SpecError(
                f"{path}, line {number}: give whole numbers or fractions such as 1/2, separated by commas."
            ) from None
    return tuple(row for row in rows if row)
