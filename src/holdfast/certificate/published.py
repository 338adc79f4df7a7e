"""A release as its readers have it: the released counts, and the universe that the certificate describes."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack

from holdfast.certificate.record import read_certificate
from holdfast.certificate.write import CERTIFICATE
from holdfast.errors import HoldfastError, ReleaseError
from holdfast.tables.invariants import InvariantBlock
from holdfast.tables.read import read_release
from holdfast.tables.schema import Schema
from holdfast.tables.table import Table
from holdfast.universe.universe import Universe


@dataclass(frozen=True, eq=False)
class Published:
    """A release folder that was read: everything in it is public.

    ``universe`` is over the cells that can occur; ``table`` is over all cells.
    """

    content: Mapping[str, Any]
    table: Table
    universe: Universe

    @property
    def schema(self) -> Schema:
        """The cells of the table."""
        return self.table.schema

    @property
    def count(self) -> str:
        """The name of the column of counts."""
        return str(self.content["table"]["count"])


def read_published(folder: str | Path) -> Published:
    """Read a release that was verified before [holdfast, certificate/verify.py]."""
    folder = Path(folder)
    path = folder / CERTIFICATE
    try:
        content = read_certificate(path.read_text(encoding="utf-8"), str(path))
        schema, universe = universe_of(content)
        name = next(name for name in content["files"] if name.startswith("table."))
        table = read_release(folder / name, schema, str(content["table"]["count"]))
    except (LookupError, TypeError, ValueError, OSError, StopIteration):
        raise ReleaseError(
            f"{folder} is not a whole release: restore it, and check it with `holdfast verify`."
        ) from None
    return Published(content, table, universe)


def universe_of(content: Mapping[str, Any]) -> tuple[Schema, Universe]:
    """Return the schema of a certificate, and the universe of its invariants over the possible cells."""
    try:
        schema = Schema.from_dict(content["table"]["schema"])
        blocks = [InvariantBlock.from_dict(item, schema) for item in content["invariants"]]
        values = [np.array(item["values"], dtype=np.int64) for item in content["invariants"]]
    except HoldfastError:
        raise
    except (LookupError, TypeError, ValueError, OverflowError):
        raise ReleaseError(
            "the invariants of the certificate are damaged: restore it from the release."
        ) from None
    possible = np.flatnonzero(schema.possible)
    rows = [block.matrix[:, possible] for block in blocks] or [csr_array((0, possible.size), dtype=np.int64)]
    stacked = csr_array(vstack(rows, format="csr"))
    return schema, Universe.of(stacked, np.concatenate([np.zeros(0, dtype=np.int64), *values]))
