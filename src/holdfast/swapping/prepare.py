"""From a spec to a swap of which only the draw is missing.

All that can fail is looked at first: names, types, missing values, invariants that a swap would break, strata
that no swap could change, memory. What is settled then is public; nothing has been drawn or charged.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from holdfast.certificate.model import TableSection
from holdfast.certificate.records.model import RecordsCertificate
from holdfast.data.files import Writing
from holdfast.data.microdata import open_microdata
from holdfast.data.schema import Schema
from holdfast.engines.spark_session import require_installed
from holdfast.errors import GuaranteeError, ReleaseError, SpecError
from holdfast.mechanisms.catalogue import target_of
from holdfast.mechanisms.permutation_swapping import PermutationSwapping, SwappingOptions
from holdfast.privacy.guarantee import shown
from holdfast.private import Private
from holdfast.sampling.entropy import Entropy, SeededEntropy
from holdfast.spec.model import Spec
from holdfast.spec.part import spoken_of
from holdfast.swapping import embedded
from holdfast.swapping.asked import Asked, options_of, schema_of, table_of
from holdfast.swapping.certify import certify_records
from holdfast.swapping.design import Columns
from holdfast.swapping.doubts import giving_away
from holdfast.swapping.drawing import RecordsDrawing
from holdfast.swapping.facts import Facts
from holdfast.swapping.group import Swap, Swapped
from holdfast.swapping.renumber import require_numbers
from holdfast.swapping.survey import Survey, require_levels, survey
from holdfast.swapping.units import Units
from holdfast.swapping.utility import Watch, counted_before

Engine = Literal["embedded", "spark"]
ENGINES = ("embedded", "spark")


@dataclass(frozen=True, eq=False)
class PreparedRecords:
    """Confidential records, and everything that is settled before they are swapped."""

    spec: Spec
    units: Units = field(repr=False)
    survey: Survey = field(repr=False)
    facts: Facts = field(repr=False)
    mechanism: PermutationSwapping
    table: TableSection | None
    watch: Watch = field(repr=False)
    engine: Engine = "embedded"
    warnings: tuple[str, ...] = ()
    """What a curator should look at in the data."""

    @property
    def schema(self) -> Schema:
        """The cells of the table that was asked for; raises SpecError where none was."""
        if self.table is None:
            raise SpecError("[data] cells is missing: name the columns of a table to count.")
        return schema_of(self.table)

    def certify(self, *, secure: bool) -> RecordsCertificate:
        """Record a release; nothing in the record depends on the draw."""
        return certify_records(
            self.spec.privacy,
            self.facts,
            self.mechanism,
            secure=secure,
            table=self.table,
            publication=self.spec.publication,
        )

    def drawing(self, entropy: Entropy | None = None) -> RecordsDrawing:
        """Settle everything but the draw; a seeded source is for tests and studies."""
        seed = entropy.seed if isinstance(entropy, SeededEntropy) else None
        if entropy is not None and seed is None and not entropy.secure:
            raise ReleaseError("records are swapped from the system's randomness, or from a seed.")
        return RecordsDrawing(self, self.certify(secure=seed is None), seed)

    def groups(self, seed: int | None, folder: Private) -> Iterator[Swapped]:
        """Draw a swap, group after group; on Spark, what is on its way is in a folder."""
        units, swap = self.units, Swap(self.units.columns, self.mechanism.rate, seed)
        if self.engine == "spark":
            from holdfast.swapping.spark import spark_groups  # noqa: PLC0415 - an extra

            return spark_groups(units.records, self.survey, swap, folder)
        return embedded.swapped_groups(units.records, self.survey, swap)


def prepare_records(spec: Spec, data: Any = None, *, engine: Engine = "embedded") -> PreparedRecords:
    """Look through the records of a spec, and settle their swap and its guarantee."""
    with spoken_of(spec.file):
        try:
            return _prepared(spec, data, engine)
        except SpecError as error:
            raise SpecError(f"{spec.file}, {error}" if spec.file else str(error)) from None


def _prepared(spec: Spec, data: Any, engine: Engine) -> PreparedRecords:
    options, said = options_of(spec), spec.data
    if engine == "spark":
        require_installed()
    writing = Writing(said.separator, said.encoding)
    source = open_microdata(spec.data_path if data is None else data, writing)
    columns = Columns.of(options.stratify, options.swap, source.columns, source.name, options.renumber)
    require_levels(source.schema, columns.keys, source.name)
    asked = Asked.of(spec, columns, source)
    persons = None if said.persons is None else open_microdata(spec.resolve(said.persons), writing)
    units = Units.of(source, columns, said.id, persons)
    if units.persons is not None:
        units.persons.checked(source)
    require_numbers(units.records, units.columns)
    if units.of_rows:
        asked.require_of_units(units.columns)
    first = next(units.records.batches(), units.records.schema.empty_table())
    watch = Watch.of(units.columns, first, said.id)
    watched = replace(units.records, read=lambda names: counted_before(watch, units.records.read(names)))
    found = survey(watched, units.columns, asked.all, nulls=options.nulls == "level")
    facts = units.facts(found, found.counts[: len(asked.kept)])
    mechanism = PermutationSwapping.answer(
        facts.strata, facts.scope, units.columns.held, target_of(spec.privacy), options, spec.privacy.whom
    )
    _require_met(mechanism, spec, options)
    _require_engine(engine, units, found)
    table = None if asked.cells is None else table_of(spec, found.counts[-1])
    warnings = tuple(giving_away(first, units.columns))
    return PreparedRecords(spec, units, found, facts, mechanism, table, watch, engine, warnings)


def _require_met(mechanism: PermutationSwapping, spec: Spec, options: SwappingOptions) -> None:
    target = target_of(spec.privacy)
    if mechanism.guarantee.meets(target):
        return
    given = mechanism.guarantee.intensity.epsilon
    largest = f"{mechanism.strata.largest:,} {mechanism.whom.counted} in the largest stratum"
    asked = shown(spec.privacy.epsilon or given)
    raise GuaranteeError(
        f"[mechanism] {options.sets_intensity} gives epsilon {shown(given)} here, with {largest}, above the"
        f" target {asked} in [privacy]: leave the rate out and it is solved for, or ask for that much."
    )


def _require_engine(engine: Engine, units: Units, found: Survey) -> None:
    if engine == "spark":
        from holdfast.swapping.spark import require_spark  # noqa: PLC0415 - an extra

        require_spark(units.records, found)
    else:
        embedded.require_room(units.records, found)
