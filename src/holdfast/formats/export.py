"""One function for every format in which a release leaves."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.certificate.model import Certificate
from holdfast.certificate.read import read_certificate
from holdfast.certificate.sign import SigningKey, signing_key
from holdfast.certificate.text import CERTIFICATE
from holdfast.formats import registry, statistical, tabular
from holdfast.formats.assessment import assessment
from holdfast.formats.attestation import envelope
from holdfast.formats.cells import PublishedCells, cells_of
from holdfast.formats.crate import CRATE, crate
from holdfast.system.checks import ViolatedError
from holdfast.system.errors import ReleaseError
from holdfast.system.files import write_new
from holdfast.system.text import closest
from holdfast.system.ways import option
from holdfast.verification.verify import verify


@dataclass(frozen=True)
class Format:
    """How the files of a format end, and what they are made of: the cells, or the whole folder."""

    ending: str
    words: str
    of_cells: Callable[[PublishedCells, Path], bytes] | None = None
    of_release: Callable[[Certificate, Path, Path], bytes] | None = None
    signed: bool = False


def _registered(certificate: Certificate, folder: Path, out: Path) -> bytes:
    del folder
    if not all(letter.islower() or letter.isdigit() or letter == "_" for letter in out.stem):
        raise ReleaseError(
            f"{out} has a name that the registry does not take: use a to z, 0 to 9 and _ before .yaml."
        )
    return registry.yaml(registry.registry_record(certificate, out.stem))


FORMATS = {
    "csv": Format(".csv", "CSV with a status of each cell", lambda cells, _: tabular.plain(cells, ".csv")),
    "parquet": Format(
        ".parquet", "Parquet with a status of each cell", lambda cells, _: tabular.plain(cells, ".parquet")
    ),
    "xlsx": Format(".xlsx", "Excel with notes, exact numbers in bold", lambda cells, _: tabular.excel(cells)),
    "csvw": Format(
        ".csv", "CSV with its description for the web", lambda cells, _: tabular.plain(cells, ".csv")
    ),
    "json-stat": Format(".json", "JSON-stat 2.0", lambda cells, _: statistical.json_stat(cells)),
    "sdmx-csv": Format(".csv", "SDMX-CSV 2.0", lambda cells, _: statistical.sdmx_csv(cells)),
    "rocrate": Format("", "RO-Crate: a copy of the folder with metadata for archives"),
    "registry": Format(".yaml", "a record for the registry of deployments", of_release=_registered),
    "in-toto": Format(".json", "a signed in-toto statement on the files", signed=True),
    "assessment": Format(
        ".md",
        "answers for evaluations by SP 800-226 and ISO/IEC 27559",
        of_release=lambda c, *_: assessment(c),
    ),
}


@dataclass(frozen=True)
class ExportReport:
    """What was written."""

    to: str
    files: tuple[Path, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        return {"to": self.to, "files": [str(file) for file in self.files]}


def export(
    folder: str | Path,
    to: str,
    out: str | Path,
    *,
    table: str | None = None,
    key: SigningKey | str | Path | None = None,
) -> ExportReport:
    """Write a release that was verified in another format, to a new file or folder.

    ``table`` names one of several tables; ``key`` signs an in-toto statement. Raises ViolatedError where the
    release is not as it was certified.
    """
    source, target = Path(folder), Path(out)
    if to not in FORMATS:
        raise ReleaseError(f"there is no format {to!r}: {closest(to, list(FORMATS))}")
    form = FORMATS[to]
    if form.ending and target.suffix.lower() != form.ending:
        raise ReleaseError(f"{target} has a name for another format: end it with {form.ending}.")
    if form.signed != (key is not None):
        wanted = f"give {option('sign')}" if form.signed else f"leave out {option('sign')}"
        raise ReleaseError(f"{to} is {'signed' if form.signed else 'not signed'}: {wanted}.")
    if form.of_cells is not None:
        return ExportReport(
            to, _write_cells(form.of_cells, cells_of(source, table), target, csvw=to == "csvw")
        )
    if table is not None:
        raise ReleaseError(f"{to} is of a whole folder: leave out {option('table')}.")
    found = verify(source, quick=True)
    if not found.kept:
        raise ViolatedError(found)
    certificate = read_certificate(source)
    if to == "rocrate":
        return ExportReport(to, _write_crate(certificate, source, target))
    if form.of_release is not None:
        content = form.of_release(certificate, source, target)
    else:
        secret = signing_key(key)
        assert secret is not None  # noqa: S101 - asked for above
        content = envelope(certificate, (source / CERTIFICATE).read_bytes(), secret)
    _write(target, content)
    return ExportReport(to, (target,))


def _write_cells(
    form: Callable[[PublishedCells, Path], bytes], cells: PublishedCells, target: Path, *, csvw: bool
) -> tuple[Path, ...]:
    _write(target, form(cells, target))
    if not csvw:
        return (target,)
    beside = tabular.described_csv(target)
    _write(beside, tabular.csvw(cells, target.name))
    return (target, beside)


def _write_crate(certificate: Certificate, source: Path, target: Path) -> tuple[Path, ...]:
    """Copy the files of a folder that its certificate names, and add what archives read."""
    if target.exists():
        raise ReleaseError(f"{target} exists already: name a new folder.")
    names = [
        name for name in (*certificate.files, CERTIFICATE, "certificate.sig") if (source / name).exists()
    ]
    try:
        target.mkdir()
        for name in names:
            shutil.copyfile(source / name, target / name)
        sizes = {name: (target / name).stat().st_size for name in names}
        (target / CRATE).write_bytes(crate(certificate, sizes))
    except OSError as error:
        raise ReleaseError(f"{target} cannot be written ({error.strerror}): name another place.") from None
    return tuple(target / name for name in (*names, CRATE))


def _write(target: Path, content: bytes) -> None:
    def fill(draft: Path) -> None:
        draft.write_bytes(content)

    try:
        write_new(target, fill)
    except FileExistsError:
        raise ReleaseError(f"{target} exists already: name a new file.") from None
    except OSError as error:
        raise ReleaseError(f"{target} cannot be written ({error.strerror}): name another place.") from None
