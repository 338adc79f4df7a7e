"""Releases in other formats, from their folders: one function for every format."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from shutil import copyfileobj
from typing import Any

from holdfast.certificate.certified_cells import CertifiedCells
from holdfast.certificate.model import Certificate
from holdfast.certificate.parts import ProcessedPart, RecordsPart
from holdfast.certificate.public import public_of
from holdfast.certificate.read import certificate_of, read_certificate
from holdfast.certificate.released_counts import read_column
from holdfast.certificate.sign import SIGNATURE, SigningKey, signing_key
from holdfast.certificate.text import CERTIFICATE, parse
from holdfast.certificate.write import cannot_write
from holdfast.derivation.several import verified
from holdfast.formats import tabular
from holdfast.formats.attestation import envelope
from holdfast.formats.catalogue import FORMATS
from holdfast.formats.cells import PublishedCells
from holdfast.formats.crate import CRATE, crate
from holdfast.mechanisms.catalogue import NAMED, named
from holdfast.processing.processed import RELEASE, TABLE
from holdfast.system.checks import ViolatedError
from holdfast.system.drafts import drafted
from holdfast.system.errors import ReleaseError
from holdfast.system.files import write_new_bytes
from holdfast.system.private import Private
from holdfast.system.text import closest
from holdfast.system.ways import option
from holdfast.verification.verify import verify


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

    >>> hf.export(folder, "csv", "counts.csv").to_dict()["to"]
    'csv'
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
        _require_table(source, to)
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
        content = form.of_release(certificate, target)
    else:
        secret = signing_key(key)
        assert secret is not None  # noqa: S101 - asked for above
        content = envelope(certificate, (source / CERTIFICATE).read_bytes(), secret)
    write_new_bytes(target, content)
    return ExportReport(to, (target,))


def cells_of(folder: str | Path, table: str | None = None) -> PublishedCells:
    """Return the table of a folder that was verified; raises ViolatedError where it is not as certified."""
    path = Path(folder)
    whole = read_certificate(path)
    if whole.parts[0].kind == "processed":
        return _processed(path, whole)
    published = verified(path, table)
    estimated = bool(NAMED[published.certificate.table.mechanism.name].estimated)
    return PublishedCells(
        published.certificate,
        published.public.schema,
        published.public.count,
        tuple(map(str, published.table.counts.tolist())),
        published.public.cell_status(estimated=estimated),
    )


def _require_table(source: Path, to: str) -> None:
    """Raise ReleaseError where a folder has no table: its records or statistics leave as they are."""
    part = read_certificate(source).parts[0]
    if isinstance(part, ProcessedPart):
        return
    if isinstance(part, RecordsPart) or "table" not in named(part.mechanism.name).published():
        *others, last = (name for name, form in FORMATS.items() if form.of_cells is None)
        what = "swapped records" if isinstance(part, RecordsPart) else "a statistic"
        raise ReleaseError(
            f"{source} holds {what} and no table, and {to} is of tables: take its files as they are, or"
            f" export {', '.join(others)} or {last}."
        )


def _processed(folder: Path, certificate: Certificate) -> PublishedCells:
    found = verify(folder, quick=True)
    if not found.kept:
        raise ViolatedError(found)
    public = public_of(
        certificate_of(parse((folder / RELEASE).read_text(encoding="utf-8"), RELEASE), RELEASE)
    )
    cells = CertifiedCells(public.schema, public.count, public.status)
    column = read_column(folder / TABLE, cells.quoted if public.quoted_formulas else cells)
    status = public.cell_status(estimated=True)
    return PublishedCells(certificate, public.schema, public.count, tuple(column), status)


def _write_cells(
    form: Callable[[PublishedCells, Path], bytes], cells: PublishedCells, target: Path, *, csvw: bool
) -> tuple[Path, ...]:
    write_new_bytes(target, form(cells, target))
    if not csvw:
        return (target,)
    beside = tabular.described_csv(target)
    write_new_bytes(beside, tabular.csvw(cells.in_csv, target.name))
    return (target, beside)


def _write_crate(certificate: Certificate, source: Path, target: Path) -> tuple[Path, ...]:
    """Copy the files of a folder that its certificate names, and add what archives read, all or nothing."""
    if CRATE in certificate.files:
        raise ReleaseError(f"{source} is an RO-Crate already, written as one: copy the folder as it is.")
    names = [name for name in (*certificate.files, CERTIFICATE, SIGNATURE) if (source / name).exists()]
    with drafted(target) as draft:
        with cannot_write(target):
            sizes = {name: _copied(source / name, draft.inside, name) for name in names}
            draft.inside.write(CRATE, crate(certificate, sizes))
            draft.seal()
        draft.publish()
    return tuple(target / name for name in (*names, CRATE))


def _copied(source: Path, inside: Private, name: str) -> int:
    with source.open("rb") as read, inside.create(name) as written:
        copyfileobj(read, written)
        return written.tell()
