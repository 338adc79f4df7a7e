"""Making a release, of one table, of several, or of records, as its spec says."""

from pathlib import Path
from typing import Any, overload

from holdfast.certificate.several.model import TablesCertificate
from holdfast.errors import ReleaseError
from holdfast.handover import Written, make
from holdfast.joint.prepare import prepare_tables, tables_of
from holdfast.mechanisms.topdown.mechanism import TopDown
from holdfast.release import make_release as make_one_release
from holdfast.spec.load import read_spec
from holdfast.spec.model import Spec
from holdfast.spec.tables import TablesSpec
from holdfast.swapping.release import make_records_release
from holdfast.topdown.release import make_topdown_release


@overload
def make_release(spec: Spec, out: str | Path, **options: Any) -> Written[Any]: ...
@overload
def make_release(spec: TablesSpec, out: str | Path, **options: Any) -> Written[TablesCertificate]: ...
@overload
def make_release(spec: str | Path, out: str | Path, **options: Any) -> Written[Any]: ...
def make_release(spec: Spec | TablesSpec | str | Path, out: str | Path, **options: Any) -> Written[Any]:
    """Prepare, charge, draw and write a release to a new folder, of one table, of several, or of records.

    The options are those of a release of one table: ``data``, ``parquet``, ``seed``, ``ledger``, ``resume``,
    ``key``, ``quote_formulas`` and ``accept_no_protection`` [holdfast, handover.py]; for records also
    ``engine`` and ``utility`` [holdfast, swapping/release.py], for top-down releases ``engine`` and
    ``microdata`` [holdfast, topdown/release.py].
    """
    several = tables_of(spec)
    if several is None:
        one = spec if isinstance(spec, Spec) else read_spec(spec)  # type: ignore[arg-type]
        if one.of_records:
            return make_records_release(one, out, **_of_records(options))
        if one.mechanism.name == TopDown.name:
            return make_topdown_release(one, out, **_without_utility(options))
        return make_one_release(one, out, **_of_tables(options))
    data = options.pop("data", None)
    return make(lambda: prepare_tables(several, data), out, **_of_tables(options))


def _of_tables(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a release of tables; raises ReleaseError where one is for another."""
    if options.pop("engine", "embedded") != "embedded":
        raise ReleaseError(
            "an engine is for records that are swapped and for top-down releases: leave it out."
        )
    return _of_records(_without_utility(options))


def _of_records(options: dict[str, Any]) -> dict[str, Any]:
    if options.pop("microdata", False):
        raise ReleaseError("--microdata is for top-down releases, whose counts are records: leave it out.")
    return options


def _without_utility(options: dict[str, Any]) -> dict[str, Any]:
    if options.pop("utility", None) is not None:
        raise ReleaseError("a report of utility is for records that are swapped: leave it out.")
    return options
