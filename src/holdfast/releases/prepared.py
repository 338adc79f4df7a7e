"""All that is settled before a release is drawn, and what is drawn then."""

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.certificate.model import Certificate
from holdfast.certificate.page import render
from holdfast.certificate.protection import require_protection
from holdfast.certificate.sign import SigningKey
from holdfast.certificate.verdict import verdict
from holdfast.lattice.arrays import IntArray
from holdfast.mechanisms.mechanism import DrawArray, Making, Mechanism
from holdfast.outputs import Output
from holdfast.privacy.guarantee import Guarantee
from holdfast.public import Public
from holdfast.releases.expected import WhatIf, checked
from holdfast.releases.handover import Handover, Written
from holdfast.releases.part import Draw, PreparedPart, require_able
from holdfast.releases.plan import PlanReport
from holdfast.releases.release import Release
from holdfast.releases.repeatable import digest_of, is_repeatable, keyed
from holdfast.releases.resume import charged
from holdfast.releases.table import PreparedTable
from holdfast.sampling.entropy import Entropy, KeyedEntropy, SeededEntropy, SystemEntropy
from holdfast.spec.files import FilesSpec
from holdfast.spec.model import Spec
from holdfast.spec.privacy import Privacy
from holdfast.spec.tables import TablesSpec
from holdfast.system.errors import ReleaseError, SpecError
from holdfast.system.private import Private
from holdfast.system.shelf import Shelf

if TYPE_CHECKING:
    from holdfast.formats.beside import Beside
    from holdfast.ledger.account import Ledger
    from holdfast.ledger.rows import Charge
    from holdfast.privacy.pufferfish.guarantee import TPGuarantee
    from holdfast.releases.files import Files
    from holdfast.releases.several import Together


@dataclass(frozen=True, eq=False, repr=False)
class Prepared:
    """Confidential data, and everything that is settled before their release is drawn.

    One table is one part, and so is a file of records; several tables are a part each, and ``together`` says
    what joins them.

    >>> hf.prepare(spec, people).sample(hf.SeededEntropy(7), size=1000).shape
    (1000, 4)
    """

    spec: Spec | TablesSpec | FilesSpec
    parts: Mapping[str, PreparedPart]
    together: "Together | Files | None" = None
    seconds: float = 0.0
    """Of computing that it took to prepare."""

    def __repr__(self) -> str:
        return f"<prepared: {', '.join(self.parts)} of {self.size}>"

    @property
    def size(self) -> str:
        """How much is released of each part, and by which mechanism."""
        return "; ".join(f"{part.size}, by {part.mechanism.name}" for part in self.parts.values())

    @property
    def part(self) -> PreparedPart:
        """The one part; raises ReleaseError where there are several."""
        if self.together is not None:
            raise ReleaseError(f"this is of several tables, {', '.join(self.parts)}: take one of the parts.")
        return next(iter(self.parts.values()))

    @property
    def table(self) -> PreparedTable:
        """The one table; raises ReleaseError where there are several, or records."""
        part = self.part
        if not isinstance(part, PreparedTable):
            raise ReleaseError(f"{part.mechanism.name} releases {part.name}, and no table of its own.")
        return part

    @property
    def mechanism(self) -> Any:
        """The calibrated mechanism of the one part."""
        return self.part.mechanism

    @property
    def guarantee(self) -> Guarantee:
        """What is proved of every release: of the one part, or of several tables together."""
        return self.part.guarantee if self.together is None else self.together.guarantee

    @property
    def secrets(self) -> "TPGuarantee | None":
        """The same in terms of secrets, where the spec says which laws the data may follow [theory, 7]."""
        return self.table.secrets

    @property
    def public(self) -> Public:
        """All that is public of the one table before a draw."""
        return self.table.public

    @property
    def counts(self) -> IntArray:
        """The confidential counts of the possible cells of the one table."""
        return self.table.counts

    @cached_property
    def beside(self) -> "Beside | None":
        """The other formats that are written with the release; None where none are."""
        publication = next(iter(self.parts.values())).spec.publication
        if not publication.formats:
            return None
        from holdfast.formats.beside import Beside, PublicCells  # noqa: PLC0415 - where it is asked for

        tables = {
            name: PublicCells(
                part.public.schema,
                part.public.count,
                part.public.cell_status(estimated=bool(part.mechanism.estimated)),
            )
            for name, part in self.parts.items()
            if isinstance(part, PreparedTable)
        }
        return Beside(publication.formats, tables)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a curator should look at in the data, each once."""
        return tuple(dict.fromkeys(said for part in self.parts.values() for said in part.warnings))

    @property
    def kinds(self) -> tuple[type[Mechanism[Any, Any]], ...]:
        """The mechanisms of all parts."""
        return tuple(type(part.mechanism) for part in self.parts.values())

    @property
    def resumable(self) -> bool:
        """Whether a run that was ended after its draw can go on from there."""
        apart = self.together is not None and not self.together.drawn_together
        return not apart and all(kind.resumable for kind in self.kinds)

    @property
    def identity(self) -> bytes:
        """What tells the data from others; confidential."""
        return self.part.identity if self.together is None else self.together.identity

    def restored(self, file: Path) -> Output:
        """Return what was drawn, from where it was kept."""
        return self.mechanism.restored(file) if self.together is None else self.together.restored(file)

    def sample(self, entropy: Entropy | None = None, size: int = 1) -> DrawArray:
        """Draw ``size`` independent releases of the one table [holdfast, releases/table.py]."""
        return self.table.sample(entropy, size)

    def plan(self, *, what_if: WhatIf | None = None) -> PlanReport:
        """Return how a release would be drawn, what that takes, and how far counts are expected to be off.

        ``what_if`` has other budgets to look at, by the name of the spec's own: {"epsilon": ["1/2", 1, 2]}.
        """
        asked = None if what_if is None else checked(what_if, self._target)
        each = self.seconds / len(self.parts)
        if self.together is None:
            plans = {name: part.plan(each, asked) for name, part in self.parts.items()}
            return PlanReport(plans, plans[self.part.name].verdict)
        plans = {name: part.plan(each, asked) for name, part in self.parts.items()}
        told = verdict(self.together.guarantee)
        return PlanReport(plans, told, self.together.shares, self.together.budget)

    @property
    def _target(self) -> Privacy:
        """What the budgets to look at are in the place of; raises SpecError where every table has its own."""
        if isinstance(self.spec, FilesSpec):
            raise SpecError(
                "every table of this spec has a budget of its own, for a unit of its own: look at"
                " other budgets"
                " of one table in a spec of its own."
            )
        return self.spec.privacy

    def certify(self, *, secure: bool, microdata: bool = False) -> Certificate:
        """Record a release; nothing in the record depends on the draw."""
        return self._certified(secure=secure, microdata=microdata)[0]

    def _certified(self, *, secure: bool, microdata: bool) -> tuple[Certificate, Mapping[str, Certificate]]:
        """Return the record, and that which each part would have alone."""
        chapters = {
            name: part.certify(secure=secure, microdata=microdata) for name, part in self.parts.items()
        }
        whole = chapters[self.part.name] if self.together is None else self.together.certify(chapters)
        return whole, chapters

    def drawing(
        self,
        entropy: Entropy | None = None,
        *,
        engine: str = "embedded",
        jobs: int | None = None,
        microdata: bool = False,
        ledger: "Ledger | None" = None,
    ) -> "Drawing":
        """Settle everything but the noise; one source serves all parts, so that they are independent.

        What no source of noise could draw is refused here. Noise that is to be the same each time is of the
        words that the salt of a ``ledger`` makes.
        """
        source = entropy or SystemEntropy()
        if is_repeatable(self.parts) and source.secure:  # a seed is of a study
            source = keyed(self.part, ledger)
        if self.together is not None and self.together.drawn_together:
            draws = {"all": self.together.draw(source)}
        else:
            draws = {name: part.draw(source, engine) for name, part in self.parts.items()}
        certificate, chapters = self._certified(secure=source.secure, microdata=microdata)
        return Drawing(self, certificate, chapters, draws, Making(engine, microdata, jobs=jobs), source)

    def release(
        self,
        entropy: Entropy | None = None,
        *,
        ledger: "Ledger | None" = None,
        accept_no_protection: bool = False,
        engine: str = "embedded",
        microdata: bool = False,
    ) -> Release:
        """Draw one release; without an entropy source, from the operating system's.

        With a ledger the cost is committed before anything is drawn, and a release over budget is refused; so
        is one whose guarantee is no protection to speak of, unless that is accepted.
        """
        require_able(self.kinds, engine=engine, microdata=microdata, utility=False, quoted=False)
        drawing = self.drawing(entropy, engine=engine, microdata=microdata, ledger=ledger)
        require_protection(drawing.certificate, accepted=accept_no_protection)
        if self.beside is not None:
            self.beside.rehearse(drawing.certificate)
        if ledger is None:
            return Release(drawing.certificate, drawing.held(), size=self.size, beside=self.beside)
        from holdfast.ledger.composition import spend  # noqa: PLC0415 - where there is a ledger

        row = ledger.charge(drawing.charge(ledger), spend)
        with charged(ledger, row):
            outputs = drawing.held()
            # whoever calls this sees what was drawn, so the row is complete
            settled, drawn = drawing.certificate.settled, drawing.drawn(outputs)
            ledger.complete(row.index, certificate=settled, release=None, drawn=drawn)
        return Release(drawing.certificate, outputs, row, self.size, self.beside)

    def publish(
        self,
        out: str | Path,
        *,
        parquet: bool = False,
        seed: int | None = None,
        ledger: "str | Path | Ledger | None" = None,
        resume: int | None = None,
        key: SigningKey | str | Path | None = None,
        quote_formulas: bool = False,
        accept_no_protection: bool = False,
        engine: str = "embedded",
        jobs: int | None = None,
        microdata: bool = False,
        utility: str | Path | None = None,
    ) -> Written:
        """Charge, draw and write a release to a new folder, as `holdfast.release` does."""
        return Handover(
            out=out,
            parquet=parquet,
            entropy=None if seed is None else SeededEntropy(seed),
            ledger=ledger,
            resume=resume,
            key=key,
            quote_formulas=quote_formulas,
            accept_no_protection=accept_no_protection,
            engine=engine,
            jobs=jobs,
            microdata=microdata,
            utility=utility,
        ).of(lambda: self, self.kinds)


@dataclass(frozen=True, eq=False)
class Drawing:
    """A release of which only the noise is missing."""

    prepared: Prepared = field(repr=False)
    certificate: Certificate
    chapters: Mapping[str, Certificate] = field(repr=False)
    """The record that each part would have alone."""
    draws: Mapping[str, Draw] = field(repr=False)
    making: Making
    source: Entropy = field(repr=False)

    def page(self, *, parquet: bool) -> str:
        """Return the page of the certificate, beside tables in Parquet or in CSV."""
        return render(self.certificate, parquet=parquet)

    @property
    def size(self) -> int:
        """No fewer bytes than the files of the release take beside the page."""
        parts = self.prepared.parts.values()
        files = sum(part.room(microdata=self.making.microdata) for part in parts)
        return files + 2 * sum(map(len, self.certificate.in_parts()))

    def charge(self, ledger: "Ledger") -> "Charge":
        """Return what a ledger is told of the release."""
        parts, together = self.prepared.parts, self.prepared.together
        each = {name: part.charge(ledger, self.chapters[name]) for name, part in parts.items()}
        if together is not None:
            return together.charge(each, self.certificate)
        charge = each[self.prepared.part.name]
        if isinstance(self.source, KeyedEntropy):
            return replace(charge, detail={**charge.detail, "repeatable": self.source.mark})
        return charge

    def drawn(self, outputs: Mapping[str, Output]) -> str | None:
        """Return the digest of what was drawn, where it is to be the same each time."""
        return digest_of(outputs) if isinstance(self.source, KeyedEntropy) else None

    def draw(self) -> Mapping[str, Output]:
        """Draw what is published, by the names of the files."""
        if len(self.draws) == 1:
            (one,) = self.draws.values()
            return one.outputs(self.making)
        drawn = {name: draw.outputs(self.making) for name, draw in self.draws.items()}
        return {name: output for name, outputs in drawn.items() for output in outputs.values()}

    def held(self) -> Mapping[str, Output]:
        """Draw what is published, all of it into memory."""
        with tempfile.TemporaryDirectory() as place, Private.made(Path(place) / "drawn") as folder:
            return {name: output.held(folder, name) for name, output in self.draw().items()}

    def going_on(self, drawn: Output | None, keep: Callable[[Output], None], shelf: Shelf) -> "Drawing":
        """Return it for what a run before had drawn, if it had, with a place to keep what is drawn now.

        What is made of that goes to a ``shelf``, piece by piece.
        """
        return replace(self, making=replace(self.making, drawn=drawn, keep=keep, shelf=shelf))

    def report(self) -> Mapping[str, Any] | None:
        """Return what the draw that was written did, for the curator, where there is something to tell."""
        return next((told for draw in self.draws.values() if (told := draw.report()) is not None), None)
