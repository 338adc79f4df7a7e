"""Making a release, of one table or of several, as its spec says."""

from pathlib import Path
from typing import Any, overload

from holdfast.certificate.model import Certificate
from holdfast.certificate.several.model import TablesCertificate
from holdfast.handover import Written, make
from holdfast.joint.prepare import prepare_tables, tables_of
from holdfast.release import make_release as make_one_release
from holdfast.spec.model import Spec
from holdfast.spec.tables import TablesSpec


@overload
def make_release(spec: Spec, out: str | Path, **options: Any) -> Written[Certificate]: ...
@overload
def make_release(spec: TablesSpec, out: str | Path, **options: Any) -> Written[TablesCertificate]: ...
@overload
def make_release(spec: str | Path, out: str | Path, **options: Any) -> Written[Any]: ...
def make_release(spec: Spec | TablesSpec | str | Path, out: str | Path, **options: Any) -> Written[Any]:
    """Prepare, charge, draw and write a release to a new folder, of one table or of several.

    The options are those of a release of one table: ``data``, ``parquet``, ``seed``, ``ledger``, ``resume``,
    ``key`` and ``quote_formulas`` [holdfast, release.py].
    """
    several = tables_of(spec)
    if several is None:
        return make_one_release(spec, out, **options)  # type: ignore[arg-type]
    data = options.pop("data", None)
    return make(lambda: prepare_tables(several, data), out, **options)
