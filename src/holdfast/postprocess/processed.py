"""A post-processed release: the table, its record, and the folder that holds both."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from holdfast.certificate.noise import noise_of
from holdfast.certificate.published import Published
from holdfast.certificate.record import digest
from holdfast.certificate.write import new_folder, sha256
from holdfast.errors import ReleaseError
from holdfast.postprocess.bias import Bias, bias
from holdfast.postprocess.conforming import Conforming
from holdfast.postprocess.fixed_point import FixedPoint
from holdfast.postprocess.integers import integers_l1
from holdfast.postprocess.methods import Method
from holdfast.postprocess.stand_in import stand_in
from holdfast.tables.schema import Schema
from holdfast.version import VERSION

FORMAT = "holdfast-postprocess/1"
TABLE, RECORD = "table.csv", "postprocess.json"
STATEMENT = (
    "This table was computed from the release and its invariants alone, so it has the guarantee of the"
    " release, among tables with the same invariants, and costs no budget [semi-dp, Proposition 23]. It is"
    " biased, which the release is not: taking negative counts away tends to push small counts up, and so"
    " others down."
)


@dataclass(frozen=True, eq=False)
class Processed:
    """A processed table over all cells, and what was measured of the method."""

    published: Published
    method: Method
    table: FixedPoint
    bias: Bias | None
    """Measured on an even stand-in, fitted to the invariants."""
    rough: Bias | None
    """Measured on a rough one, the whole table nearest to the release."""
    unmeasured: str | None
    """Why there is no bias, if there is none."""

    @property
    def record(self) -> dict[str, Any]:
        """What `postprocess.json` says, without the hash of the table and the digest."""
        return {
            "format": FORMAT,
            "software": {"name": "holdfast", "version": VERSION},
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "release": {"certificate_digest": self.published.content["digest"]},
            "method": {"name": self.method.name, "description": self.method.words},
            "solver": {"name": "HiGHS", "version": version("highspy")},
            "statement": STATEMENT,
            "invariants": {"kept": self.published.universe.rank, "check": "exact equality in integers"},
            "bias": self._bias(),
        }

    def write(self, folder: Path) -> Path:
        """Write the table and its record to a new folder, all or nothing."""
        with new_folder(folder) as draft:
            _write_table(self.published.schema, self.table, draft / TABLE, self.published.count)
            body = {**self.record, "files": {TABLE: sha256(draft / TABLE)}}
            sealed = json.dumps({**body, "digest": digest(body)}, indent=2, ensure_ascii=False)
            (draft / RECORD).write_text(sealed + "\n", encoding="utf-8")
        return folder

    def _bias(self) -> dict[str, Any]:
        if self.bias is None or self.rough is None:
            return {"measured": False, "reason": self.unmeasured}
        even, rough = (
            "a public table fitted to the invariants; the confidential table was not used",
            "the whole table nearest to the release; the confidential table was not used",
        )
        return {
            "measured": True,
            **_measured(self.bias, even),
            "rough": _measured(self.rough, rough),
        }


def process(published: Published, method: Method, *, bias_draws: int, seed: int = 0) -> Processed:
    """Process a release; the bias is simulated with a seeded source, from public values only."""
    schema, universe = published.schema, published.universe
    possible = np.flatnonzero(schema.possible)
    released = published.table.counts[possible]
    conforming = Conforming.of(universe.matrix, universe.values)
    found = method.run(released, conforming)
    if not conforming.times(found.scale).holds(found.numerators):
        raise ReleaseError(f"{method.name} did not keep the invariants: report it, and use another method.")
    numerators = np.zeros(schema.size, dtype=np.int64)
    numerators[possible] = found.numerators
    measured, rough, reason = None, None, "it was not asked for"
    if bias_draws:
        try:
            noise = noise_of(published.content)
            public = stand_in(released, universe.matrix, universe.values, conforming)
            measured = bias(noise, public, conforming, method.run, draws=bias_draws, seed=seed)
            nearest = integers_l1(released, conforming)
            rough = bias(noise, nearest, conforming, method.run, draws=bias_draws, seed=seed)
        except ReleaseError as error:
            reason = str(error)
    table = FixedPoint(numerators, found.places)
    return Processed(published, method, table, measured, rough, None if rough is not None else reason)


def _measured(found: Bias, stand_in: str) -> dict[str, Any]:
    return {
        "stand_in": stand_in,
        "draws": found.draws,
        "small_cells": _rounded(asdict(found.small)),
        "large_cells": _rounded(asdict(found.large)),
        "cells": {
            "stand_in": found.stand_in.tolist(),
            "bias": np.round(found.mean, 4).tolist(),
            "standard_error": np.round(found.standard_error, 4).tolist(),
        },
    }


def _write_table(schema: Schema, table: FixedPoint, path: Path, count: str) -> None:
    """Write all cells as `tables/write.py` does, with counts that may have decimals."""
    columns = {
        attribute.name: pl.Series(attribute.levels, dtype=pl.String).gather(schema.codes(attribute.name))
        for attribute in schema.attributes
    }
    frame = pl.DataFrame({**columns, count: table.texts()})
    frame.write_csv(path, line_terminator="\n", quote_style="necessary")


def _rounded(mean: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, 4) for name, value in mean.items()}
