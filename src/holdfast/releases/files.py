"""Several files on one geography, released together: people and their units, each protected for itself.

Every table is prepared as if it were released alone, with a target of its own. Nothing of its measurements
depends on another table. What joins them acts on the released counts [holdfast, mechanisms/jointly.py].
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from itertools import combinations
from typing import Any, ClassVar

from holdfast.certificate.certify import certify_files
from holdfast.certificate.model import Certificate
from holdfast.data.across import AcrossTables
from holdfast.data.geography import Regions
from holdfast.data.places import on_one_geography
from holdfast.data.read import ReadTable, read_table
from holdfast.ledger.charge import files_charge
from holdfast.ledger.rows import Charge
from holdfast.mechanisms.jointly import JointTables, TableOnTree
from holdfast.mechanisms.mechanism import Making
from holdfast.outputs import Output
from holdfast.privacy.guarantee import Guarantee
from holdfast.privacy.units import apart
from holdfast.public import Public, publish
from holdfast.releases.before import with_published
from holdfast.releases.part import Draw
from holdfast.releases.table import PreparedTable, settle
from holdfast.sampling.entropy import Entropy
from holdfast.spec.files import FilesSpec
from holdfast.spec.model import Spec
from holdfast.system.errors import DataError, GuaranteeError, HoldfastError, InvariantError, SpecError
from holdfast.system.machine import require_room
from holdfast.system.ways import setting

BYTES_PER_CELL = 110
"""What tables that are estimated together hold for each cell, at their peak: measured at 50 million cells."""


@dataclass(frozen=True, eq=False)
class Files:
    """What joins tables of several files: their geography, and what the public knows across them."""

    spec: FilesSpec = field(repr=False)
    tables: Mapping[str, PreparedTable] = field(repr=False)
    across: tuple[AcrossTables, ...]

    drawn_together: ClassVar[bool] = True

    @cached_property
    def joint(self) -> JointTables:
        """The tables as they are estimated together."""
        return joint_tables(
            {name: (one.mechanism, one.public) for name, one in self.tables.items()}, self.across
        )

    @cached_property
    def guarantee(self) -> Guarantee:
        """What is proved of every release: for one unit of any table."""
        return apart({name: one.guarantee for name, one in self.tables.items()})

    @property
    def budget(self) -> None:
        """No budget is of all tables: each has its own."""

    @property
    def shares(self) -> dict[str, dict[str, Fraction]]:
        """The numbers of the guarantee of each table."""
        return {name: dict(one.guarantee.intensity.parameters()) for name, one in self.tables.items()}

    def certify(self, chapters: Mapping[str, Certificate]) -> Certificate:
        """Record a release, from what is recorded of each table."""
        return certify_files(
            {name: one.guarantee for name, one in self.tables.items()},
            self.guarantee,
            self.across,
            chapters,
            publication=next(iter(self.tables.values())).spec.publication,
        )

    def charge(self, charges: Mapping[str, Charge], certificate: Certificate) -> Charge:
        """Return what a ledger is told of the release: one charge that holds those of the tables."""
        return files_charge(
            charges,
            scope=certificate.guarantee.scope.digest,
            guarantee=self.guarantee,
            stated=certificate.guarantee.model_dump(mode="json"),
            certificate=certificate.settled,
        )

    @cached_property
    def identity(self) -> bytes:
        """What tells the data of all files from others."""
        return b"".join(sha256(one.identity).digest() for one in self.tables.values())

    def draw(self, source: Entropy) -> Draw:
        """Settle everything but the noise."""
        laws = {name: one.mechanism.law(one.counts) for name, one in self.tables.items()}

        def outputs(making: Making) -> Mapping[str, Output]:
            return self.joint.outputs(laws, source, making)

        return Draw(outputs)

    def restored(self, file: Any) -> Output:
        """Return what was measured, from where it was kept."""
        return self.joint.restored(file)


def joint_tables(tables: Mapping[str, tuple[Any, Public]], across: Sequence[AcrossTables]) -> JointTables:
    """Return tables as their one mechanism estimates them together."""
    kinds = {type(mechanism) for mechanism, _ in tables.values()}
    (kind,) = kinds
    made: JointTables = kind.jointly(
        {name: TableOnTree(mechanism, public) for name, (mechanism, public) in tables.items()}, tuple(across)
    )
    return made


def prepare_files(spec: FilesSpec, data: Any = None) -> Files:
    """Read all files, bring them to one geography, and settle each mechanism and what joins them."""
    specs = dict(zip(spec.names, spec.specs, strict=True))
    _require_units(specs)
    given = _data_of(specs, data)
    readings = {}
    for name, one in specs.items():
        with _named(name):
            readings[name] = read_table(one, given[name])
            require_room(readings[name].table.schema.size, BYTES_PER_CELL)
    _require_files_of_their_own(specs, readings)
    readings = on_one_geography(specs, readings)
    tables = {}
    for name, one in specs.items():
        with _named(name):
            public = with_published(one, publish(one, readings[name].table, readings[name].inferred))
            tables[name] = replace(settle(one, readings[name], public, None), name=name)
    across = across_of(spec, tables)
    found = Files(spec, tables, across)
    found.guarantee  # noqa: B018 - units that cannot stand beside each other are refused here
    found.joint.checked()
    return found


def _require_units(specs: Mapping[str, Spec]) -> None:
    """Raise where one file is of two units: its losses would be told apart, and add up."""
    seen: dict[Any, str] = {}
    for name, one in specs.items():
        source = one.data.database, one.data.table, one.data.query, one.data.path and one.data_path.resolve()
        other = seen.setdefault(source, name)
        if any(source) and specs[other].privacy.unit != one.privacy.unit:
            raise _of_two_units(specs, name, other)


def _require_files_of_their_own(specs: Mapping[str, Spec], readings: Mapping[str, ReadTable]) -> None:
    """Raise where the same rows were given under two names, or as two frames, and for two units.

    Files of unlike length are told apart without a look at what they hold.
    """
    for (name, one), (other, before) in combinations(readings.items(), 2):
        alike = specs[name].privacy.unit != specs[other].privacy.unit and _rows(one) == _rows(before)
        if alike and one.identity == before.identity:
            raise _of_two_units(specs, other, name)


def _rows(reading: ReadTable) -> int:
    return int(next(iter(reading.rows.values())).sum())


def _of_two_units(specs: Mapping[str, Spec], name: str, other: str) -> SpecError:
    units = f"{specs[name].privacy.unit!r} and {specs[other].privacy.unit!r}"
    return SpecError(
        f"{setting('tables')} {name!r} and {other!r} are of one file, and protect {units}: whose data stand"
        " in one file lose by both, so give them one unit."
    )


def across_of(spec: FilesSpec, tables: Mapping[str, PreparedTable]) -> tuple[AcrossTables, ...]:
    """Return the constraints across tables; raises InvariantError where the data do not keep one."""
    trees = {name: Regions.of(one.public.schema, one.public.geography) for name, one in tables.items()}
    sums = {name: trees[name].sums(one.reading.table.counts) for name, one in tables.items()}
    found: dict[str, AcrossTables] = {}
    for number, asked in enumerate(spec.across, start=1):
        one = AcrossTables.of(asked, number, trees)
        if one.name in found:
            raise SpecError(
                f"{setting('constraints.across', number)} has the name {one.name!r} of one before it: give it"
                " another name."
            )
        place = next(iter(trees.values())).levels.index(one.level)
        if one.broken(trees, {name: each[place] for name, each in sums.items()}):
            raise InvariantError(
                f"the constraint {one.name!r} does not hold in the data at every {one.level}, which is to be"
                " known without them: correct one of the two."
            )
        found[one.name] = one
    return tuple(found.values())


def _data_of(specs: Mapping[str, Spec], data: Any) -> dict[str, Any]:
    """Return what takes the place of each file."""
    if data is None:
        return dict.fromkeys(specs)
    if isinstance(data, Mapping) and set(data) <= set(specs):
        return {name: data.get(name) for name in specs}
    raise DataError(
        f"the spec is of several files, for {', '.join(specs)}: give a mapping with the data of each by its"
        " name, or let the spec name them."
    )


class _named:  # noqa: N801 - a context
    """Say of which table an error is."""

    def __init__(self, table: str) -> None:
        self._table = table

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, GuaranteeError | InvariantError | SpecError) and isinstance(
            error, HoldfastError
        ):
            raise type(error)(f"{setting('tables')} {self._table!r}: {error}") from None
