"""A post-processed release: the table, its certificate and page, and the folder that holds them.

The folder stands alone: it holds a copy of the release's certificate, with the cells and the invariants that
the table must keep, and names it by its digest. The guarantee is that of the release, by reference.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any

import numpy as np
import polars as pl

from holdfast.certificate.public import Published
from holdfast.certificate.quick import warnings_of
from holdfast.certificate.text import CERTIFICATE, canonical, digest, parse, read_text
from holdfast.certificate.verify import verified
from holdfast.certificate.write import PAGE, cannot_write, charged_draft
from holdfast.data.formulas import quoted
from holdfast.data.write import long_frame, quoted_schema, write_frame
from holdfast.drafts import Draft, drafted, require_new
from holdfast.errors import ReleaseError, SpecError
from holdfast.estimation.conforming import Conforming
from holdfast.estimation.fixed_point import FixedPoint
from holdfast.estimation.integers import integers_l1
from holdfast.estimation.stand_in import stand_in
from holdfast.postprocess.bias import Bias, bias, possible_draws
from holdfast.postprocess.form import (
    EVEN,
    FORMAT,
    NOT_ASKED,
    NOT_SIMULATED,
    RELEASE,
    ROUGH,
    STATEMENT,
    TABLE,
    release_section,
)
from holdfast.postprocess.methods import Method, method_of
from holdfast.postprocess.page import render
from holdfast.version import VERSION


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
    release: str
    """The text of the release's certificate."""

    @property
    def record(self) -> dict[str, Any]:
        """What the certificate says, without the hashes of files and the digest."""
        content = parse(self.release, RELEASE)
        return {
            "format": FORMAT,
            "software": {"name": "holdfast", "version": VERSION},
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "release": release_section(content),
            "method": {"name": self.method.name, "description": self.method.words},
            "solver": {"name": "HiGHS", "version": version("highspy")},
            "statement": STATEMENT,
            "guarantee": content["guarantee"]["statement"],
            "places": self.table.places,
            "bias": self.bias_section(),
        }

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is to be told of the release, and so of this table: processing protects nobody further."""
        return warnings_of(parse(self.release, RELEASE))

    def to_dict(self) -> dict[str, Any]:
        """Return what the certificate says, and what is to be told."""
        return {**self.record, "warnings": list(self.warnings)}

    def write(self, folder: Path) -> Path:
        """Write table, page and certificates to a new folder, all or nothing."""
        with drafted(folder, charged_draft) as draft:
            with cannot_write(folder):
                self._fill(draft)
            draft.publish()
        return folder

    def write_table(self, file: IO[bytes]) -> None:
        """Write the table as CSV."""
        public = self.published.public
        schema, count = public.schema, public.count
        if public.quoted_formulas:
            schema, count = quoted_schema(schema), quoted(count)
        write_frame(long_frame(schema, pl.Series(count, self.table.texts())), TABLE, file)

    def bias_section(self) -> dict[str, Any]:
        """Return what is said of the bias."""
        if self.bias is None or self.rough is None:
            return {"measured": False, "reason": self.unmeasured}
        return {"measured": True, **_measured(self.bias, EVEN), "rough": _measured(self.rough, ROUGH)}

    def _fill(self, draft: Draft) -> None:
        inside = draft.inside
        with inside.create(TABLE) as file:
            self.write_table(file)
        inside.write(RELEASE, self.release.encode("utf-8"))
        record = self.record
        inside.write(PAGE, render(record).encode("utf-8"))
        body = {**record, "files": {name: inside.sha256(name) for name in (TABLE, RELEASE, PAGE)}}
        sealed = canonical({**body, "digest": digest(body)})
        inside.write(CERTIFICATE, sealed.encode("utf-8"))
        draft.seal()


def postprocess_release(
    folder: str | Path, method: str, output: str | Path, *, bias_draws: int | None = None
) -> Processed:
    """Process a verified release into a new folder; the bias is measured with as many draws as end soon."""
    chosen, target = method_of(method), Path(output)
    if bias_draws == 1:
        raise SpecError("--bias-draws is 1: ask for 2 or more, or for 0 to leave the bias out.")
    require_new(target)
    processed = process(folder, chosen, bias_draws=bias_draws)
    processed.write(target)
    return processed


def process(folder: str | Path, method: Method, *, bias_draws: int | None = None, seed: int = 0) -> Processed:
    """Process a release; the bias is simulated with a seeded source, from public values only."""
    published = verified(folder)
    if published.certificate.topdown is not None:
        raise ReleaseError(
            f"{folder} is a top-down release, which has no count below zero as it is: use its table, or its"
            " measurements with `holdfast intervals`."
        )
    public, universe = published.public, published.public.universe
    released = published.table.counts[public.possible]
    conforming = Conforming.of(universe.matrix, universe.values)
    found = method.run(released, conforming)
    if not conforming.times(found.scale).holds(found.numerators):
        raise ReleaseError(f"{method.name} did not keep the invariants: report it, and use another method.")
    numerators = np.zeros(public.schema.size, dtype=np.int64)
    numerators[public.possible] = found.numerators
    measured, rough, reason = None, None, NOT_ASKED
    if bias_draws != 0:
        try:
            noise = published.noise
            draws = possible_draws(noise, conforming) if bias_draws is None else bias_draws
            even = stand_in(released, universe.matrix, universe.values, conforming)
            measured = bias(noise, even, conforming, method.measure, draws=draws, seed=seed)
            nearest = integers_l1(released, conforming)
            rough = bias(noise, nearest, conforming, method.measure, draws=draws, seed=seed)
        except ReleaseError:
            reason = NOT_SIMULATED
    table = FixedPoint(numerators, found.places)
    why = None if rough is not None else reason
    return Processed(published, method, table, measured, rough, why, read_text(Path(folder)))


def _measured(found: Bias, stand_in: str) -> dict[str, Any]:
    return {
        "stand_in": stand_in,
        "draws": found.draws,
        "small_cells": _rounded(asdict(found.small)),
        "large_cells": _rounded(asdict(found.large)),
        "classes": [
            {"least": each.least, "most": each.most, **_rounded(asdict(each.mean))} for each in found.classes
        ],
    }


def _rounded(mean: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, 4) for name, value in mean.items()}
