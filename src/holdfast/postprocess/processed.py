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

from holdfast.certificate.public import Published
from holdfast.certificate.text import digest
from holdfast.certificate.verify import verified
from holdfast.certificate.write import cannot_write, charged_draft, sha256
from holdfast.data.formulas import quoted
from holdfast.data.write import long_frame, quoted_schema, write_frame
from holdfast.drafts import Draft, drafted, require_new
from holdfast.errors import ReleaseError, SpecError
from holdfast.estimation.conforming import Conforming
from holdfast.estimation.fixed_point import FixedPoint
from holdfast.estimation.integers import integers_l1
from holdfast.estimation.stand_in import stand_in
from holdfast.postprocess.bias import Bias, bias
from holdfast.postprocess.methods import Method, method_of
from holdfast.version import VERSION

FORMAT = "holdfast-postprocess/1"
BIAS_DRAWS = 200
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
            "release": {"certificate_digest": self.published.certificate.digest},
            "method": {"name": self.method.name, "description": self.method.words},
            "solver": {"name": "HiGHS", "version": version("highspy")},
            "statement": STATEMENT,
            "invariants": {
                "kept": self.published.public.universe.rank,
                "check": "exact equality in integers",
            },
            "quoted_formulas": self.published.public.quoted_formulas,
            "bias": self._bias(),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return what the record says."""
        return self.record

    def write(self, folder: Path) -> Path:
        """Write the table and its record to a new folder, all or nothing."""
        with drafted(folder, charged_draft) as draft:
            with cannot_write(folder):
                self._fill(draft)
            draft.publish()
        return folder

    def _fill(self, draft: Draft) -> None:
        public = self.published.public
        schema, count = public.schema, public.count
        if public.quoted_formulas:
            schema, count = quoted_schema(schema), quoted(count)
        write_frame(long_frame(schema, pl.Series(count, self.table.texts())), draft.path / TABLE)
        body = {**self.record, "files": {TABLE: sha256(draft.path / TABLE)}}
        sealed = json.dumps({**body, "digest": digest(body)}, indent=2, ensure_ascii=False)
        (draft.path / RECORD).write_text(sealed + "\n", encoding="utf-8")
        draft.seal()

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


def postprocess_release(
    folder: str | Path, method: str, output: str | Path, *, bias_draws: int = BIAS_DRAWS
) -> Processed:
    """Process a verified release into a new folder."""
    chosen, target = method_of(method), Path(output)
    if bias_draws == 1:
        raise SpecError("--bias-draws is 1: ask for 2 or more, or for 0 to leave the bias out.")
    require_new(target)
    processed = process(verified(folder), chosen, bias_draws=bias_draws)
    processed.write(target)
    return processed


def process(published: Published, method: Method, *, bias_draws: int, seed: int = 0) -> Processed:
    """Process a release; the bias is simulated with a seeded source, from public values only."""
    public, universe = published.public, published.public.universe
    released = published.table.counts[public.possible]
    conforming = Conforming.of(universe.matrix, universe.values)
    found = method.run(released, conforming)
    if not conforming.times(found.scale).holds(found.numerators):
        raise ReleaseError(f"{method.name} did not keep the invariants: report it, and use another method.")
    numerators = np.zeros(public.schema.size, dtype=np.int64)
    numerators[public.possible] = found.numerators
    measured, rough, reason = None, None, "it was not asked for"
    if bias_draws:
        try:
            noise = published.noise
            even = stand_in(released, universe.matrix, universe.values, conforming)
            measured = bias(noise, even, conforming, method.run, draws=bias_draws, seed=seed)
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


def _rounded(mean: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, 4) for name, value in mean.items()}
