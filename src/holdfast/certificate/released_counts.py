"""The counts of a released table, read as a release writes them and in no other way."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from holdfast.certificate.certified_cells import CertifiedCells, DamagedCertificateError
from holdfast.data.cell_status import STATUS, STATUSES
from holdfast.lattice.arrays import IntArray
from holdfast.system.files import special
from holdfast.system.machine import require_memory


def read_counts(path: Path, cells: CertifiedCells) -> IntArray:
    """Return the counts of a released table; raises where it is not as a release writes it."""
    try:
        parquet = path.suffix == ".parquet"
        counts = _parquet(path, cells) if parquet else _whole_counts(read_column(path, cells), path.name)
    except OSError as error:
        require_memory(error)
        raise DamagedCertificateError(f"{path.name} cannot be read") from None
    rough = sum(
        float(np.abs(part.astype(np.float64)).sum())
        for part in np.array_split(counts, 1 + counts.size // 10**7)
    )
    if rough >= 2**62 and sum(map(abs, counts.tolist())) >= 2**63:
        raise DamagedCertificateError(f"the counts of {path.name} sum to more than fits 64 bits")
    return counts


def read_column(path: Path, cells: CertifiedCells) -> list[str]:
    """Return the counts of a CSV file as they are written; where there is a status, it must be one."""
    rows = _rows(path, cells)
    if not cells.status:
        return rows
    parts = [row.rpartition(",") for row in rows]
    if wrong := [row for row, (_, _, status) in enumerate(parts, start=2) if status not in STATUSES]:
        raise DamagedCertificateError(f"{path.name}, row {wrong[0]} does not end in a status")
    return [count for count, _, _ in parts]


def read_status(path: Path, cells: CertifiedCells) -> list[str]:
    """Return the status of each cell as the file of a table, which was read before, says it."""
    if path.suffix != ".parquet":
        return [row.rpartition(",")[2] for row in _rows(path, cells)]
    import polars as pl  # noqa: PLC0415 - for Parquet alone

    return pl.read_parquet(path, columns=[STATUS])[STATUS].to_list()


def _rows(path: Path, cells: CertifiedCells) -> list[str]:
    """Return what stands for each cell of a CSV file, in its place: the row must begin with its levels."""
    try:
        text = bytes_of(path).decode("utf-8")
    except UnicodeDecodeError:
        raise DamagedCertificateError(f"{path.name} is not UTF-8 text") from None
    schema, header = cells.schema, _row(cells.columns) + "\n"
    if not text.startswith(header):
        raise DamagedCertificateError(f"{path.name} does not begin with the row {header[:-1]!r}")
    at, found = len(header), list[str]()
    fields = {each.name: np.array(list(map(_field, each.levels)), dtype=object) for each in schema.attributes}
    # a row has a line at least, so a certificate of more cells than lines costs no more than its file
    codes = schema.grid.cells(np.arange(min(schema.size, text.count("\n"))))
    columns = [own[codes[name]] for name, own in fields.items()]
    for levels in zip(*columns, strict=True):
        begin = ",".join(levels) + ","
        start = at + len(begin)
        end = text.find("\n", start)
        if end < 0 or not text.startswith(begin, at):
            raise DamagedCertificateError(
                f"{path.name}, row {len(found) + 2} is not that of {schema.in_words(len(found))}"
            )
        found.append(text[start:end])
        at = end + 1
    if at != len(text):
        raise DamagedCertificateError(f"{path.name} has more than the {schema.size:,} rows of its cells")
    return found


def _whole_counts(found: list[str], name: str) -> IntArray:
    for row, digits in enumerate(found, start=2):
        # one way to write a number: no sign but a minus, no leading zero, no space, no dot
        if len(digits) > 20 or not digits.removeprefix("-").isdecimal() or str(int(digits)) != digits:
            raise DamagedCertificateError(
                f"{name}, row {row} has {digits[:20]!r}, which is not a whole number as it is written"
            )
    try:
        return np.array([int(digits) for digits in found], dtype=np.int64)
    except OverflowError:
        raise DamagedCertificateError(f"{name} has a number that does not fit 64 bits") from None


def _parquet(path: Path, cells: CertifiedCells) -> IntArray:
    import polars as pl  # noqa: PLC0415 - for Parquet alone

    from holdfast.data.in_parts import cells_in_parts, released_parts, texts  # noqa: PLC0415

    schema = cells.schema
    kinds: dict[str, pl.DataType] = {**dict.fromkeys(schema.names, pl.String()), cells.count: pl.Int64()}
    if cells.status:
        kinds[STATUS] = pl.String()
    counts, done = np.empty(schema.size, dtype=np.int64), 0
    for part in released_parts(path, most_rows=schema.size):
        if list(part.schema.items()) != list(kinds.items()):
            raise DamagedCertificateError(
                f"{path.name} does not have the columns {_row(tuple(kinds))!r} of texts and whole numbers"
            )
        if any(part.null_count().row(0)):
            break
        for begin, expected in cells_in_parts(schema, done, done + part.height):
            own = part[begin - done : begin - done + expected.num_rows]
            for name, levels in texts(expected).to_dict().items():
                wrong = (own[name] != levels).arg_true()
                if wrong.len():
                    raise DamagedCertificateError(
                        f"{path.name}, row {begin + wrong[0] + 1}, column {name!r} is not that of its cell"
                    )
        if cells.status and not part[STATUS].is_in(STATUSES).all():
            raise DamagedCertificateError(f"{path.name} has a status that is none")
        counts[done : done + part.height] = part[cells.count].to_numpy()
        done += part.height
    if done != schema.size:
        raise DamagedCertificateError(f"{path.name} does not list each of the {schema.size:,} cells once")
    return counts


def _field(text: str) -> str:
    """Return a field of CSV, in quotes where it needs them."""
    if text and not any(sign in text for sign in ',"\n\r'):
        return text
    return '"' + text.replace('"', '""') + '"'


def _row(fields: Iterable[str]) -> str:
    return ",".join(map(_field, fields))


def bytes_of(path: Path) -> bytes:
    """Return the bytes of a plain file; anything else is not opened, and raises OSError."""
    if (kind := special(path, links=False)) is not None:
        raise OSError(f"it is {kind}")
    return path.read_bytes()
