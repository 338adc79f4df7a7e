"""From a spec of any kind to what is settled before its draw; and from there to a plan, or to a folder."""

import logging
from contextlib import suppress
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, Any

from holdfast.certificate.sign import SigningKey
from holdfast.mechanisms.catalogue import named
from holdfast.mechanisms.mechanism import Mechanism
from holdfast.releases.expected import WhatIf
from holdfast.releases.handover import Handover, Written
from holdfast.releases.part import PreparedPart
from holdfast.releases.plan import PlanReport
from holdfast.releases.prepared import Prepared
from holdfast.releases.table import prepare_table
from holdfast.sampling.entropy import SeededEntropy
from holdfast.spec.files import FilesSpec
from holdfast.spec.load import read_any_spec
from holdfast.spec.model import Spec
from holdfast.spec.tables import TablesSpec
from holdfast.system.errors import DataError
from holdfast.system.ways import about

if TYPE_CHECKING:
    from holdfast.ledger.account import Ledger

LOG = logging.getLogger(__name__)
AnySpec = Spec | TablesSpec | FilesSpec | str | Path
"""A spec of one table, of several or of records, or its file."""


def prepare(spec: AnySpec, data: Any = None) -> Prepared:
    """Read a spec and its data, and settle the mechanism and its guarantee.

    ``data`` takes the place of the file that the spec names: another path, or a frame in memory.

    >>> prepared = hf.prepare(spec, people)
    >>> prepared.guarantee.unit.distance
    2
    """
    begun, spec = process_time(), _read(spec)
    with about(spec.file):
        if isinstance(spec, FilesSpec):
            from holdfast.releases.files import prepare_files  # noqa: PLC0415 - what one need not load

            files = prepare_files(spec, data)
            prepared = Prepared(spec, files.tables, files, process_time() - begun)
        elif isinstance(spec, TablesSpec):
            from holdfast.releases.several import prepare_tables  # noqa: PLC0415 - what one need not load

            together = prepare_tables(spec, data)
            prepared = Prepared(together.spec, together.tables, together, process_time() - begun)
        else:
            part = _records(spec, data) if spec.of_records else prepare_table(spec, data)
            prepared = Prepared(part.spec, {part.name: part}, seconds=process_time() - begun)
        for name, part in prepared.parts.items():
            LOG.info("prepared %s: %s", name, part.mechanism.name)
        return prepared


def _records(spec: Spec, data: Any) -> PreparedPart:
    from holdfast.releases.records import prepare_records  # noqa: PLC0415 - what tables need not load

    return prepare_records(spec, data)


def plan(
    spec: AnySpec, data: Any = None, *, what_if: WhatIf | None = None, strict: bool = False
) -> PlanReport:
    """Return how the release of a spec would be drawn, what that takes, and how far counts are off.

    Nothing is drawn of the data. ``what_if`` has other budgets to look at, by the name of the spec's own, as
    in {"epsilon": ["1/2", 1, 2]}. Doubts about the data are errors where they are ``strict``.

    >>> hf.plan(spec, people).to_dict()["epsilon_per_unit"]
    '1/4'
    """
    return _free_of_doubts(prepare(spec, data), strict=strict).plan(what_if=what_if)


def _free_of_doubts(prepared: Prepared, *, strict: bool) -> Prepared:
    """Return what was prepared; raises DataError where there are doubts about its data and none may be."""
    said = prepared.warnings
    if strict and said:
        more = f" There are {len(said) - 1} more such doubts." if len(said) > 1 else ""
        raise DataError(f"{said[0]}{more}")
    return prepared


def release(
    spec: AnySpec,
    out: str | Path,
    *,
    data: Any = None,
    parquet: bool = False,
    seed: int | None = None,
    ledger: "str | Path | Ledger | None" = None,
    resume: int | None = None,
    key: SigningKey | str | Path | None = None,
    quote_formulas: bool = False,
    accept_no_protection: bool = False,
    engine: str = "embedded",
    jobs: int | None = None,
    microdata: bool = False,
    utility: str | Path | None = None,
    strict: bool = False,
) -> Written:
    """Prepare, charge, draw and write a release to a new folder [holdfast, releases/handover.py].

    Args:
        spec: what is released, of one table, of several, or of records.
        out: the new folder.
        data: takes the place of the file that the spec names: another path, or a frame in memory.
        parquet: whether tables are written as Parquet, and not as CSV.
        seed: for tests and studies only, as such a release is not private.
        ledger: is charged before anything is drawn; a release over its budget is refused.
        resume: a row of the ledger that was charged for this release before, and never released.
        key: a private key or its file, which signs the certificate.
        quote_formulas: whether names that a spreadsheet would run are quoted in CSV.
        accept_no_protection: releases even where the guarantee is no protection to speak of.
        engine: where records are swapped and top-down estimates are made, "embedded" or "spark".
        jobs: how many processes of this machine make a top-down release; by default one for each core.
        microdata: whether a top-down release has a record for each count, too.
        utility: the file of the curator's report on swapped records, beside the folder unless it is given.
        strict: whether doubts about the data, which are warnings otherwise, are errors: nothing is charged.

    >>> hf.release(spec, "out", data=people).certificate.to_dict()["target"]["epsilon"]
    '1'

    """
    asked = _read(spec)

    def prepared() -> Prepared:
        if isinstance(asked, Spec) and asked.of_records:
            from holdfast.releases.records import require_hope_of  # noqa: PLC0415 - what tables need not load

            require_hope_of(asked, accepted=accept_no_protection)
        return _free_of_doubts(prepare(asked, data), strict=strict)

    return Handover(
        out=out,
        parquet=parquet,
        entropy=None if seed is None else SeededEntropy(seed),
        ledger=ledger,
        resume=resume,
        key=key,
        quote_formulas=quote_formulas,
        accept_no_protection=accept_no_protection,
        engine=engine,
        jobs=jobs,
        microdata=microdata,
        utility=utility,
    ).of(prepared, kinds_of(asked))


def kinds_of(spec: Spec | TablesSpec | FilesSpec) -> tuple[type[Mechanism[Any, Any]], ...]:
    """Return the mechanisms that a spec names; one that is not known is refused where it is prepared."""
    each = (spec,) if isinstance(spec, Spec) else spec.specs
    with suppress(ValueError):
        return tuple(named(name) for name in dict.fromkeys(one.mechanism.name for one in each))
    return ()


def _read(spec: AnySpec) -> Spec | TablesSpec | FilesSpec:
    return spec if isinstance(spec, Spec | TablesSpec | FilesSpec) else read_any_spec(spec)
