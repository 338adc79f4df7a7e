"""Handing a release over, of whatever kind: the one order in which nothing is lost or seen early.

All that can fail on public grounds comes first: the name of the folder, law, page, room on the disk. Then the
charge, the draw and the files. Before the folder appears the ledger binds its files to the row: a row that is
not complete was never seen by anyone. Where a mechanism can go on from a draw, a run that was ended after its
charge is not charged again, and one that had drawn draws nothing anew [holdfast, releases/checkpoint.py].

What a swap did to the data may be told in a report, outside of the release and for the curator's eyes alone.
"""

import json
import logging
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.certificate.model import Certificate
from holdfast.certificate.protection import release_warnings, require_protection
from holdfast.certificate.sign import SigningKey, risks_of, signing_key
from holdfast.certificate.text import CERTIFICATE, digest
from holdfast.certificate.write import cannot_write, write_outputs, write_page
from holdfast.mechanisms.mechanism import Mechanism
from holdfast.releases.checkpoint import Checkpoint, forget, sweep
from holdfast.releases.part import require_able
from holdfast.releases.release import section_of
from holdfast.releases.resume import charged, finish, give_name, reason_to_keep, request_of, require_same
from holdfast.sampling.entropy import Entropy, SeededEntropy
from holdfast.system.drafts import Draft, drafted, require_new
from holdfast.system.errors import HoldfastError, ReleaseError
from holdfast.system.files import write_new_text
from holdfast.system.ways import option

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.ledger.account import Ledger
    from holdfast.ledger.rows import Row
    from holdfast.releases.prepared import Drawing, Prepared

LOG = logging.getLogger(__name__)


def report_path(folder: Path, asked: str | Path | None) -> Path:
    """Return where the report on a new release goes: beside it unless told, and to a new file."""
    path = folder.with_name(f"{folder.name}-utility.json") if asked is None else Path(asked).absolute()
    if folder == path or folder in path.parents:
        raise ReleaseError(f"{path} is inside of the release: the curator's report must stay out of it.")
    if any((place / CERTIFICATE).exists() for place in path.parents):
        raise ReleaseError(
            f"{path} is inside of a release: name another place for the curator's report with"
            f" {option('utility')}."
        )
    if path.suffix.lower() != ".json":
        raise ReleaseError(f"{path} has a name for no report: end it with .json.")
    if path.exists() or path.is_symlink():
        raise ReleaseError(f"{path} exists already: name a new file with {option('utility')}.")
    if not path.parent.is_dir():
        raise ReleaseError(f"the folder of {path} does not exist: create it first.")
    return path


def write_report(path: Path, found: Mapping[str, Any], folder: Path) -> None:
    """Write the report on a release that is whole."""
    try:
        write_new_text(path, json.dumps(found, indent=2) + "\n", mode=0o600)
    except OSError as error:
        reason = (error.strerror or "the disk refuses").lower()
        raise ReleaseError(
            f"{folder} is written, but the curator's report cannot be, to {path} ({reason}): the release is"
            " whole without it."
        ) from None


@dataclass(frozen=True, eq=False)
class Written:
    """A release as it was written; ``left`` is the budget of its ledger, if it was charged."""

    certificate: Certificate = field(repr=False)
    folder: Path
    row: "Row | None" = None
    left: Fraction | None = None
    warnings: tuple[str, ...] = ()
    """What is to be told of it: how little it protects, names that would run, doubts about the data."""
    report: Path | None = None
    """A file beside the release that is for the curator's eyes only, if there is one."""
    continued: bool = False
    """Whether it goes on from what a run before it had measured."""
    repeats: int | None = None
    """The row whose noise it has once more, at no further cost."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        row = self.row
        return {
            "folder": str(self.folder),
            "files": sorted(path.name for path in self.folder.iterdir()),
            "charged": None if row is None else {"row": row.index, "total": str(row.total)},
            **({} if self.repeats is None else {"repeats": self.repeats}),
            "left": None if self.left is None else str(self.left),
            "warnings": list(self.warnings),
            **({} if self.report is None else {"utility": str(self.report)}),
            **({"continued": True} if self.continued else {}),
            "certificate": self.certificate.to_dict(),
        }


@dataclass(frozen=True, eq=False, kw_only=True)
class Handover:
    """Where a release is to be, and how it is charged, drawn and written [holdfast, releases/prepare.py]."""

    out: str | Path
    parquet: bool = False
    entropy: Entropy | None = None
    ledger: "str | Path | Ledger | None" = None
    resume: int | None = None
    key: SigningKey | str | Path | None = field(default=None, repr=False)
    quote_formulas: bool = False
    accept_no_protection: bool = False
    engine: str = "embedded"
    jobs: int | None = None
    microdata: bool = False
    utility: str | Path | None = None
    ready: "Callable[[], None]" = field(default=lambda: None, repr=False)
    """Called when all is settled and nothing is charged or drawn yet: what it raises ends the release at no
    cost."""

    def of(self, prepare: "Callable[[], Prepared]", kinds: tuple[type[Mechanism[Any, Any]], ...]) -> Written:
        """Try the name of the folder, prepare what mechanisms of these kinds release, and hand it over."""
        require_able(
            kinds,
            engine=self.engine,
            jobs=self.jobs,
            microdata=self.microdata,
            utility=self.utility is not None,
            quoted=self.quote_formulas,
        )
        sweep(Path(self.out).absolute().parent)
        secret, risks = signing_key(self.key), risks_of(self.key)
        account = opened(self.ledger) if isinstance(self.ledger, str | Path) else self.ledger
        folder = require_new(self.out)
        report = report_path(folder, self.utility) if any(kind.reports for kind in kinds) else None
        if self.resume is not None:
            if account is None:
                raise ReleaseError("a row to resume is one of a ledger: name the ledger too.")
            if isinstance(self.entropy, SeededEntropy):
                raise ReleaseError("a row is resumed without a seed: that is for tests and studies alone.")
            if (whole := finish(account, self.resume)) is not None:
                asked = prepare().certify(secure=whole.randomness.secure, microdata=self.microdata)
                require_same(asked, whole, parquet=self.parquet, quote_formulas=self.quote_formulas)
                row = account.row(self.resume)
                require_protection(whole, accepted=self.accept_no_protection)
                give_name(account, self.resume, folder, secret)
                forget(folder)
                return Written(whole, Path(self.out), row, _left(account), risks + release_warnings(whole))
        with drafted(self.out, lambda draft: reason_to_keep(draft, account)) as draft:
            prepared = prepare()
            drawing = prepared.drawing(
                self.entropy,
                engine=self.engine,
                jobs=self.jobs,
                microdata=self.microdata,
                ledger=account,
            )
            written = self._drawn(drawing, draft, account, secret)
        forget(folder)
        if report is not None and (found := drawing.report()) is not None:
            write_report(report, found, folder)
            written = replace(written, report=report)
        return replace(written, warnings=risks + release_warnings(written.certificate) + prepared.warnings)

    def _drawn(
        self, drawing: "Drawing", draft: Draft, account: "Ledger | None", secret: SigningKey | None
    ) -> Written:
        """Draw one release into a draft, and give that its name.

        A row to resume was charged, and nothing of it was ever released.
        """
        checkpoint = self._checkpoint(drawing, draft.folder)
        before = None if checkpoint is None else checkpoint.restore(drawing.prepared.restored)
        if checkpoint is not None:
            name = drawing.prepared.kinds[0].output
            drawing = drawing.going_on(before, lambda drawn: checkpoint.keep(name, drawn), checkpoint)
        require_protection(drawing.certificate, accepted=self.accept_no_protection)
        with cannot_write(draft.folder):
            write_page(drawing.page(parquet=self.parquet), draft)
        beside = drawing.prepared.beside
        room = 0 if beside is None else beside.rehearse(drawing.certificate)
        draft.reserve(drawing.size + room)
        self.ready()
        row, resume = None, self.resume
        if account is not None:
            from holdfast.ledger.composition import spend  # noqa: PLC0415 - where there is a ledger

            charge = drawing.charge(account)
            if resume is None and checkpoint is not None and drawing.certificate.randomness.secure:
                resume = account.open_row(charge, draft.path)
            if resume is None:
                row = account.charge(charge, spend, draft=draft.path)
            else:
                row = account.resume(resume, charge, draft=draft.path)
            LOG.info("row %d of %s is charged", row.index, account.path)
        with nullcontext() if account is None or row is None else charged(account, row, draft):
            outputs = drawing.draw()
            with cannot_write(draft.folder):
                draft.free()
                sealed = write_outputs(
                    outputs,
                    drawing.certificate,
                    draft,
                    parquet=self.parquet,
                    ledger=section_of(row),
                    key=secret,
                    quote_formulas=self.quote_formulas,
                    beside=beside,
                )
            if account is not None and row is not None:
                draft.holds = sealed.digest
                account.complete(
                    row.index,
                    certificate=sealed.settled,
                    release=sealed.digest,
                    drawn=drawing.drawn(outputs),
                )
            draft.publish()
        LOG.info("released to %s", self.out)
        left = repeats = None
        if account is not None and row is not None:  # others may have charged since a row that is resumed
            left = account.budget - row.total if resume is None else _left(account)
            repeats = account.repeats(row)
        return Written(sealed, Path(self.out), row, left, continued=before is not None, repeats=repeats)

    def _checkpoint(self, drawing: "Drawing", folder: Path) -> Checkpoint | None:
        """Return where a draw is kept until its release is whole; None where its mechanism cannot go on."""
        if not drawing.prepared.resumable:
            return None
        seed = self.entropy.seed if isinstance(self.entropy, SeededEntropy) else None
        told_of = digest({"request": request_of(drawing.certificate), "seed": seed})
        return Checkpoint(folder, told_of, drawing.prepared.identity)


def opened(path: str | Path) -> "Ledger":
    """Return the ledger of a file."""
    from holdfast.ledger.account import Ledger  # noqa: PLC0415 - where there is a ledger

    return Ledger.open(path)


def _left(account: "Ledger") -> Fraction | None:
    """Return what is left of a budget; None where the ledger cannot be read: the release is there already."""
    try:
        return account.left()
    except HoldfastError:
        return None
