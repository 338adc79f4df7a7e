"""A model of a file of swapped records: the released file, and the law of the swap that made it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from holdfast.certificate.model import Certificate
from holdfast.certificate.read import read_certificate
from holdfast.data.files import Writing
from holdfast.data.microdata import level_texts, open_microdata
from holdfast.data.read import ordered_levels
from holdfast.data.schema import Attributes, Schema
from holdfast.derivation.records import mechanism_of_records
from holdfast.inference.posterior.model import CountModel
from holdfast.inference.posterior.model_spec import ModelSpec
from holdfast.inference.posterior.problem import ParameterLabels, coded, model_over, require_few, sizes_of
from holdfast.inference.posterior.unswapping import Unswapping
from holdfast.lattice.arrays import IntArray
from holdfast.spec.data import MISSING
from holdfast.system.checks import ViolatedError
from holdfast.system.errors import ReleaseError, SpecError
from holdfast.system.text import closest
from holdfast.system.ways import assigned, setting
from holdfast.verification.verify import verify


@dataclass(frozen=True, eq=False)
class SwappedProblem:
    """The posterior of the table of a file before it was swapped; names as in `Problem`."""

    model: CountModel
    mover: Unswapping
    released: IntArray
    cells: ParameterLabels
    groups: ParameterLabels
    pools: ParameterLabels
    mechanism: str
    digest: str
    seeded: bool

    def start(self, generator: np.random.Generator) -> IntArray:
        """Return a permutation to start from."""
        return self.mover.draw(generator)


def swapped_problem(spec: ModelSpec, folder: str | Path) -> SwappedProblem:
    """Return the posterior that a model and swapped records make together; raises where there is none."""
    folder = Path(folder)
    verification = verify(folder)
    if not verification.kept:
        raise ViolatedError(verification)
    certificate = read_certificate(folder)
    _require_plain(certificate, spec)
    mechanism = mechanism_of_records(certificate)
    columns, rate = mechanism.public.columns, mechanism.derangement_rate
    if rate is None:
        raise ReleaseError(f"the law of {mechanism.name} has no formula here: a posterior needs one.")
    frame, schema = _frame(spec, certificate, folder, columns.stratify)
    require_few(schema.size)
    names = schema.names
    moving = [name for name in names if name in columns.swap]
    resting = [name for name in names if name not in columns.swap]
    places = {
        name: frame[name]
        .cast(pl.Enum(schema.attribute(name).levels))
        .to_physical()
        .to_numpy()
        .astype(np.int64)
        for name in names
    }
    none = {name: np.zeros(len(frame), dtype=np.int64) for name in names}
    # the number of a cell is a sum over attributes, so it is one over held and swapped ones
    held = schema.grid.place({**none, **{name: places[name] for name in resting}})
    swapped = schema.grid.place({**none, **{name: places[name] for name in moving}})
    stratum = _strata(frame, columns.stratify)
    order = np.argsort(stratum, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(stratum))]).astype(np.int64)
    size = sizes_of(spec, schema)
    counts = np.bincount(held + swapped, minlength=schema.size)
    absent = size == 0
    if (absent & (counts > 0)).any():
        cell = schema.in_words(int(np.argmax(absent & (counts > 0))))
        raise SpecError(
            f"the prior has no probability for the released records: the cell {cell} has an exposure or a"
            " base of 0, so give it more, or a floor."
        )
    if absent.any():
        raise SpecError(
            "every cell of swapped records may have held some of them: give all of them an exposure, or a"
            " floor."
        )
    cells = np.arange(schema.size)
    totals = _totals(spec, schema, counts, set(columns.stratify), set(columns.swap))
    model, groups, pools = model_over(spec, schema, cells, size, totals)
    mover = Unswapping(model, starts, held[order], swapped[order], cells, rate)
    named = ParameterLabels(names, tuple(schema.cell(int(cell)) for cell in cells))
    secure = certificate.randomness.secure
    return SwappedProblem(
        model, mover, counts, named, groups, pools, mechanism.name, certificate.digest, not secure
    )


def _require_plain(certificate: Certificate, spec: ModelSpec) -> None:
    if certificate.records.records.id is not None:
        raise ReleaseError(
            "these records were swapped as households, whose rows follow each other: a posterior is offered"
            " for records that are swapped one by one."
        )
    if spec.model.level is not None:
        raise SpecError(
            f"{setting('model', 'level')} is for top-down releases, and these are swapped records: name the"
            " columns of areas in cells instead."
        )
    if spec.constraints.inequalities:
        raise SpecError(
            f"{setting('constraints')} bind tables with noise, and these are swapped records: leave them out."
        )
    if spec.sampler.name != "gibbs":
        raise SpecError(
            f"{setting('sampler', 'name')} = {spec.sampler.name!r} needs a law that can be weighed table by"
            f" table, and that of a swap is a sum over permutations: set {assigned('name', 'gibbs')}."
        )


def _frame(
    spec: ModelSpec, certificate: Certificate, folder: Path, key: Sequence[str]
) -> tuple[pl.DataFrame, Schema]:
    """Return the columns that count, as levels, and the cells."""
    records = certificate.records.records
    known = [column.name for column in records.columns]
    section = certificate.records.table
    names = spec.model.cells or (() if section is None else tuple(a.name for a in section.cells.attributes))
    if not names:
        raise SpecError(
            f"{setting('model', 'cells')} is missing: the release has no table, so name the columns of the"
            f" records to count by, as in {assigned('cells', ['county', 'tenure'])}."
        )
    for name in (*names, *spec.model.areas, *(spec.model.by or ())):
        if name not in known:
            raise SpecError(f"{setting('model')} names {name!r}, which is no column: {closest(name, known)}")
        if name not in names:
            raise SpecError(f"{setting('model')} names {name!r}, which is not among its cells: add it there.")
    writing = Writing(records.separator, records.encoding)
    source = open_microdata(folder / f"microdata.{records.kind}", writing)
    wanted = list(dict.fromkeys((*names, *key)))
    table = source.whole(wanted)
    frame = pl.DataFrame({name: level_texts(table.column(name)).fill_null(MISSING) for name in wanted})
    if section is not None and not spec.model.cells:
        return frame, section.cells.to_schema()
    levels = {name: ordered_levels(frame[name].unique().to_list()) for name in names}
    return frame, Schema(Attributes.of(levels))


def _strata(frame: pl.DataFrame, key: Sequence[str]) -> IntArray:
    """Return the stratum of each record; without a key they are all in one."""
    if not key:
        return np.zeros(len(frame), dtype=np.int64)
    ranks = frame.select(pl.struct(list(key)).rank("dense").alias("rank"))["rank"]
    return ranks.to_numpy().astype(np.int64) - 1


def _totals(spec: ModelSpec, schema: Schema, counts: IntArray, key: set[str], swap: set[str]) -> IntArray:
    """Return the records of each area, which the swap must keep [theory, 8]."""
    areas = spec.model.areas
    if spec.model.kind != "rates" and set(areas) & swap and set(areas) - swap - key:
        raise SpecError(
            f"{setting('model', 'areas')} mix swapped columns with held ones, so their totals are not known:"
            f" name areas of one kind, or set {assigned('kind', 'rates')}."
        )
    stratum, strata = coded(schema, areas, np.arange(schema.size))
    return np.bincount(stratum, weights=counts, minlength=len(strata)).astype(np.int64)
