"""The list of formats in which a release leaves."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from holdfast.certificate.model import Certificate
from holdfast.formats import registry, statistical, tabular
from holdfast.formats.assessment import assessment
from holdfast.formats.cells import PublishedCells
from holdfast.system.errors import ReleaseError


@dataclass(frozen=True)
class Format:
    """How the files of a format end, and what they are made of: the cells, or the whole folder."""

    ending: str
    words: str
    of_cells: Callable[[PublishedCells, Path], bytes] | None = None
    of_release: Callable[[Certificate, Path], bytes] | None = None
    signed: bool = False


def _registered(certificate: Certificate, out: Path) -> bytes:
    if not all(letter.islower() or letter.isdigit() or letter == "_" for letter in out.stem):
        raise ReleaseError(
            f"{out} has a name that the registry does not take: use a to z, 0 to 9 and _ before .yaml."
        )
    return registry.yaml(registry.registry_record(certificate, out.stem))


FORMATS = {
    "csv": Format(
        ".csv", "CSV with a status of each cell", lambda cells, _: tabular.plain(cells.in_csv, ".csv")
    ),
    "parquet": Format(
        ".parquet", "Parquet with a status of each cell", lambda cells, _: tabular.plain(cells, ".parquet")
    ),
    "xlsx": Format(".xlsx", "Excel with notes, exact numbers in bold", lambda cells, _: tabular.excel(cells)),
    "csvw": Format(
        ".csv", "CSV with its description for the web", lambda cells, _: tabular.plain(cells.in_csv, ".csv")
    ),
    "json-stat": Format(".json", "JSON-stat 2.0", lambda cells, _: statistical.json_stat(cells)),
    "sdmx-csv": Format(".csv", "SDMX-CSV 2.0", lambda cells, _: statistical.sdmx_csv(cells)),
    "rocrate": Format("", "RO-Crate: a copy of the folder with metadata for archives"),
    "registry": Format(".yaml", "a record for the registry of deployments", of_release=_registered),
    "in-toto": Format(".json", "a signed in-toto statement on the files", signed=True),
    "assessment": Format(
        ".md",
        "answers for evaluations by SP 800-226 and ISO/IEC 27559",
        of_release=lambda certificate, _: assessment(certificate),
    ),
}
