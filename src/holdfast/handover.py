"""Handing a release over, of one table or of several: the one order in which nothing is lost or seen early.

All that can fail on public grounds comes first: law, page, room on the disk. Then the charge, the draw and
the files. Before the folder appears the ledger binds its files to the row: a row that is not complete was
never seen by anyone.
"""

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from holdfast.account import spend
from holdfast.certificate.model import Certificate, LedgerSection
from holdfast.certificate.read import AnyCertificate
from holdfast.certificate.records.model import RecordsCertificate
from holdfast.certificate.sealed import SEAL
from holdfast.certificate.several.model import TablesCertificate
from holdfast.certificate.sign import SigningKey, risks_of, signing_key
from holdfast.certificate.told import require_protection, told
from holdfast.certificate.write import PAGE, cannot_write, write_outputs, write_page
from holdfast.drafts import Draft, drafted, require_new
from holdfast.errors import HoldfastError, ReleaseError
from holdfast.outputs import Output
from holdfast.privacy.ledger.account import Ledger
from holdfast.privacy.ledger.entry import Charge, Row
from holdfast.resume import charged, finish, give_name, worth_keeping
from holdfast.sampling.entropy import Entropy, SeededEntropy

RecordT = TypeVar("RecordT", Certificate, TablesCertificate, RecordsCertificate)
RecordT_co = TypeVar("RecordT_co", Certificate, TablesCertificate, RecordsCertificate, covariant=True)
WRITTEN = ("created", "software", *SEAL)
"""What a certificate says of its making: the rest is what was asked for, and what follows."""


class Drawing(Protocol[RecordT_co]):
    """A release of which only the noise is missing."""

    @property
    def certificate(self) -> RecordT_co:
        """Its record, which does not depend on the draw."""
        ...

    def page(self, *, parquet: bool) -> str:
        """Return the page of the record, beside tables in Parquet or in CSV."""
        ...

    @property
    def size(self) -> int:
        """No fewer bytes than its files take beside the page."""
        ...

    def charge(self, ledger: Ledger) -> Charge:
        """Return what a ledger is told of it."""
        ...

    def draw(self) -> Mapping[str, Output]:
        """Draw what is published, by the names of the files."""
        ...


class Drawable(Protocol[RecordT_co]):
    """All that is settled before a release is drawn."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a curator should look at in the data."""
        ...

    def certify(self, *, secure: bool) -> RecordT_co:
        """Record a release; nothing in the record depends on the draw."""
        ...

    def drawing(self, entropy: Entropy | None = None) -> Drawing[RecordT_co]:
        """Settle everything but the noise; what no source of noise could draw is refused here."""
        ...


@dataclass(frozen=True, eq=False)
class HandedOver(Generic[RecordT]):
    """A release that has its name."""

    certificate: RecordT
    outputs: Mapping[str, Output]
    row: Row | None


@dataclass(frozen=True, eq=False)
class Written(Generic[RecordT]):
    """A release as it was written; ``left`` is the budget of its ledger, if it was charged."""

    certificate: RecordT = field(repr=False)
    folder: Path
    row: Row | None = None
    left: Fraction | None = None
    warnings: tuple[str, ...] = ()
    """What is to be told of it: how little it protects, names that would run, doubts about the data."""
    report: Path | None = None
    """A file beside the release that is for the curator's eyes only, if there is one."""
    continued: bool = False
    """Whether it goes on from what a run before it had measured."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        row = self.row
        return {
            "folder": str(self.folder),
            "files": sorted(path.name for path in self.folder.iterdir()),
            "charged": None if row is None else {"row": row.index, "total": str(row.total)},
            "left": None if self.left is None else str(self.left),
            "warnings": list(self.warnings),
            **({} if self.report is None else {"utility": str(self.report)}),
            **({"continued": True} if self.continued else {}),
            "certificate": self.certificate.to_dict(),
        }


def hand_over(
    drawing: Drawing[RecordT],
    draft: Draft,
    *,
    parquet: bool = False,
    ledger: Ledger | None = None,
    resume: int | None = None,
    key: SigningKey | None = None,
    quote_formulas: bool = False,
    accept_no_protection: bool = False,
) -> HandedOver[RecordT]:
    """Draw one release into a draft, and give that its name.

    ``resume`` draws for a row that was charged and of which nothing was ever released.
    """
    require_protection(drawing.certificate, accepted=accept_no_protection)
    with cannot_write(draft.folder):
        write_page(drawing.page(parquet=parquet), draft)
    draft.reserve(drawing.size)
    row = None
    if ledger is not None and resume is None:
        row = ledger.charge(drawing.charge(ledger), spend, draft=draft.path)
    elif ledger is not None and resume is not None:
        row = ledger.resume(resume, drawing.charge(ledger), draft=draft.path)
    with nullcontext() if ledger is None or row is None else charged(ledger, row, draft):
        outputs = drawing.draw()
        with cannot_write(draft.folder):
            draft.free()
            sealed = write_outputs(
                outputs,
                drawing.certificate,
                draft,
                parquet=parquet,
                ledger=section_of(row),
                key=key,
                quote_formulas=quote_formulas,
            )
        if ledger is not None and row is not None:
            draft.holds = sealed.digest
            ledger.complete(row.index, certificate=sealed.settled, release=sealed.digest)
        draft.publish()
    return HandedOver(sealed, outputs, row)


def make(
    prepared: Callable[[], Drawable[RecordT]],
    out: str | Path,
    *,
    parquet: bool = False,
    seed: int | None = None,
    ledger: str | Path | Ledger | None = None,
    resume: int | None = None,
    key: SigningKey | str | Path | None = None,
    quote_formulas: bool = False,
    accept_no_protection: bool = False,
) -> Written[RecordT]:
    """Prepare, charge, draw and write a release to a new folder; a seed is for tests and studies only.

    ``resume`` is a row of the ledger that was charged for this release before, and never released: it is not
    charged again. ``key``, a private key or its file, signs the certificate. A guarantee that is no
    protection to speak of is refused unless it is accepted.
    """
    secret = signing_key(key)
    risks = risks_of(key)
    account = Ledger.open(ledger) if isinstance(ledger, str | Path) else ledger
    folder = require_new(out)
    if resume is not None:
        if account is None:
            raise ReleaseError("a row to resume is one of a ledger: name the ledger too.")
        if seed is not None:
            raise ReleaseError("a row is resumed without a seed: that is for tests and studies alone.")
        if (whole := finish(account, resume)) is not None:
            found = _same(prepared(), whole, parquet=parquet, quote_formulas=quote_formulas)
            row = account.row(resume)
            require_protection(found, accepted=accept_no_protection)
            give_name(account, resume, folder, secret)
            return Written(found, Path(out), row, _left(account), risks + told(found))
    with drafted(out, lambda draft: worth_keeping(draft, account)) as draft:
        settled = prepared()
        drawn = hand_over(
            settled.drawing(None if seed is None else SeededEntropy(seed)),
            draft,
            parquet=parquet,
            ledger=account,
            resume=resume,
            key=secret,
            quote_formulas=quote_formulas,
            accept_no_protection=accept_no_protection,
        )
    left = None
    if account is not None and drawn.row is not None:  # others may have charged since a row that is resumed
        left = account.budget - drawn.row.total if resume is None else _left(account)
    warnings = risks + told(drawn.certificate) + settled.warnings
    return Written(drawn.certificate, Path(out), drawn.row, left, warnings)


def section_of(row: Row | None) -> LedgerSection | None:
    """Return what a certificate says of its row."""
    return None if row is None else LedgerSection(row=row.index, hash=row.hash)


def _left(account: Ledger) -> Fraction | None:
    """Return what is left of a budget; None where the ledger cannot be read: the release is there already."""
    try:
        return account.left()
    except HoldfastError:
        return None


def _same(
    prepared: Drawable[RecordT],
    whole: AnyCertificate,
    *,
    parquet: bool,
    quote_formulas: bool,
) -> RecordT:
    """Return a release that was drawn before, if it is the one that is asked for; raises where it is not."""
    asked = prepared.certify(secure=whole.randomness.secure)
    same = isinstance(whole, type(asked)) and asked_of(asked) == asked_of(whole)
    files = _in_parquet(whole) in (None, parquet)
    quoted = (quote_formulas and not parquet) == whole.quoted_formulas
    if not (same and files and quoted and isinstance(whole, type(asked))):
        raise ReleaseError(
            "the release of this row was drawn whole before, and not as this command asks: run the command"
            " that was charged, with --resume."
        )
    return whole


def _in_parquet(whole: AnyCertificate) -> bool | None:
    """Return whether tables are in Parquet; None where there are none, as records are what they came as."""
    names = set(whole.files) - {PAGE, "statistic.csv", "measurements.parquet"}
    if isinstance(whole, RecordsCertificate):
        names &= {"table.csv", "table.parquet"}
    return any(name.endswith(".parquet") for name in names) if names else None


def asked_of(certificate: AnyCertificate) -> dict[str, Any]:
    """Return what a certificate says beside its making: what was asked for, and what follows."""
    return _asked(certificate.to_dict())


def _asked(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record, and its chapters, without what is said of the making."""
    kept = {name: value for name, value in content.items() if name not in WRITTEN}
    if isinstance(chapters := kept.get("tables"), list):
        kept["tables"] = [{**one, "certificate": _asked(one["certificate"])} for one in chapters]
    return kept
