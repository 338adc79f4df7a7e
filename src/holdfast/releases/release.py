"""What is drawn: outputs that may be published, with their certificate."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import polars as pl

from holdfast.certificate.head import LedgerSection
from holdfast.certificate.model import Certificate
from holdfast.certificate.page import render
from holdfast.certificate.sign import SigningKey, signing_key
from holdfast.certificate.write import cannot_write, charged_draft, write_outputs, write_page
from holdfast.data.table import PublicTable
from holdfast.outputs import EstimateOutput, Output, StatisticOutput, TableOutput
from holdfast.system.drafts import drafted
from holdfast.system.errors import ReleaseError

if TYPE_CHECKING:
    from holdfast.formats.beside import Beside
    from holdfast.ledger.rows import Row

OutputT = TypeVar("OutputT", bound=Output)


@dataclass(frozen=True, eq=False)
class Release:
    """What may be published: outputs with their certificate. Nothing leads from here to confidential data.

    >>> release = hf.prepare(spec, people).release()
    >>> release.table.to_frame().height
    4
    """

    certificate: Certificate
    outputs: Mapping[str, Output]
    row: "Row | None" = None
    size: str = field(default="", repr=False)
    """How much of what is released, and by which mechanism."""
    beside: "Beside | None" = field(default=None, repr=False)
    """The other formats that are written with it."""

    def __repr__(self) -> str:
        return f"<release: {', '.join(self.outputs)} of {self.size}>"

    @property
    def table(self) -> PublicTable:
        """The released table."""
        return self._output("table", TableOutput, "table").table

    @property
    def tables(self) -> dict[str, PublicTable]:
        """All released tables by name."""
        found = {name: each.table for name, each in self.outputs.items() if isinstance(each, TableOutput)}
        return found or {"table": self.table}

    @property
    def measurements(self) -> pl.DataFrame:
        """The released measurements, a row for each."""
        return self._named("measurements", "measurements").to_frame()

    @property
    def microdata(self) -> pl.DataFrame:
        """The released records, a row for each."""
        return self._named("microdata", "records").to_frame()

    @property
    def statistics(self) -> tuple[float, ...]:
        """The released statistics."""
        return self._output("statistic", StatisticOutput, "statistics").values

    @property
    def estimates(self) -> dict[str, float]:
        """The released estimates, by name."""
        output = self._output("estimate", EstimateOutput, "estimates")
        return dict(zip(output.names, output.values, strict=True))

    def _output(self, name: str, kind: type[OutputT], what: str) -> OutputT:
        output = self._named(name, what)
        if not isinstance(output, kind):
            raise ReleaseError(f"the {name} of this release is a file: write it, and read that.")
        return output

    def _named(self, name: str, what: str) -> Output:
        if name not in self.outputs:
            raise ReleaseError(f"this release has no {what}: it has {', '.join(self.outputs)}.")
        return self.outputs[name]

    def write(
        self,
        folder: str | Path,
        *,
        parquet: bool = False,
        key: SigningKey | str | Path | None = None,
        quote_formulas: bool = False,
    ) -> Path:
        """Write the outputs and their certificate to a new folder, all or nothing.

        In CSV, names that a spreadsheet would run as formulas can be quoted; the certificate says so.
        """
        folder, secret = Path(folder), signing_key(key)
        with drafted(folder, charged_draft) as draft:
            with cannot_write(folder):
                write_page(render(self.certificate, parquet=parquet), draft)
                write_outputs(
                    self.outputs,
                    self.certificate,
                    draft,
                    parquet=parquet,
                    ledger=section_of(self.row),
                    key=secret,
                    quote_formulas=quote_formulas,
                    beside=self.beside,
                )
            draft.publish()
        return folder


def section_of(row: "Row | None") -> LedgerSection | None:
    """Return what a certificate says of its row."""
    return None if row is None else LedgerSection(row=row.index, hash=row.hash)
