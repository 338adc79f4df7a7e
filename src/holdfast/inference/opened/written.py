"""The measurements of a release as files in the layout of the 2020 census products."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.certificate.public import mechanism_of
from holdfast.data.nmf.folder import CODEBOOK
from holdfast.derivation.several import verified
from holdfast.system.drafts import drafted
from holdfast.system.errors import ReleaseError


@dataclass(frozen=True)
class WrittenFiles:
    """The files of a folder."""

    folder: str
    files: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        return {"folder": self.folder, "files": list(self.files)}


def write_measurements(folder: str | Path, out: str | Path, *, table: str | None = None) -> WrittenFiles:
    """Write the measurements of a top-down release to a new folder in the layout of the 2020 products.

    Invariants, bounds and structural zeros are written as constraints. Raises ReleaseError where there are no
    measurements, or where a constraint has no place in this layout.

    >>> counts = pl.DataFrame({"block": ["11", "12", "21"], "people": [4, 9, 6]})
    >>> places = {"column": "block", "prefixes": {"all": 0, "county": 1, "block": 2}}
    >>> data = {"cells": [], "count": "people", "geography": places}
    >>> privacy = {"standard": "zcdp", "rho": "1/2", "adjacency": "unit"}
    >>> asked = hf.Spec.of({"data": data, "privacy": privacy, "mechanism": {"name": "topdown"}})
    >>> hf.release(asked, "release", data=counts).folder.name
    'release'
    >>> hf.write_measurements("release", "files").files[-1]
    'county.parquet/DPQuery/part-0.parquet'
    """
    found = verified(folder, table)
    mechanism = mechanism_of(found.certificate, found.public)
    files = mechanism.measurement_files(Path(folder), found.public, table)
    if files is None:
        raise ReleaseError(f"{folder} has no measurements of a geography: name a top-down release that has.")
    with drafted(out) as draft:
        files.write(draft.inside.named(""))
        draft.inside.write(CODEBOOK, files.codebook.text().encode("utf-8"))
        draft.publish()  # folders in a folder are not forced to the disk: all of it can be written again
    written = (path.relative_to(out).as_posix() for path in Path(out).rglob("*") if path.is_file())
    return WrittenFiles(str(out), tuple(sorted(written)))
