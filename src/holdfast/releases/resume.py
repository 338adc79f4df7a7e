"""What happens to a charge whose release fails: it is told, and its row can be drawn for again.

A row of a ledger is complete once something was drawn for it that anyone may see: the completion binds the
digest of the released files, and is committed before their folder appears. So a row that is not complete can
be drawn for again at no cost, as nothing of it was ever seen; one that is complete cannot. Between the
completion and the name of the folder a crash leaves the whole release in its draft: it is given its name.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.certificate.model import SEAL, Certificate
from holdfast.certificate.parts import RecordsPart
from holdfast.certificate.read import read_certificate
from holdfast.certificate.sign import SIGNATURE, SigningKey, sign
from holdfast.certificate.text import CERTIFICATE
from holdfast.certificate.write import PAGE, cannot_write, charged_draft, sha256
from holdfast.system.drafts import Draft, destroy, publish
from holdfast.system.errors import HoldfastError, ReleaseError
from holdfast.system.files import sync_folder
from holdfast.system.private import Private
from holdfast.system.ways import option

if TYPE_CHECKING:
    from holdfast.ledger.account import Ledger
    from holdfast.ledger.rows import Row


class ChargedError(ReleaseError):
    """A release failed after its charge."""


@contextmanager
def charged(ledger: "Ledger", row: "Row", draft: Draft | None = None) -> Iterator[None]:
    """Say what was charged, and the way out, whatever fails inside."""
    try:
        yield
    except BaseException as error:
        reason = _reason(error)
        place = f"row {row.index} of {ledger.path} is charged"
        if draft is not None and draft.named:
            raise ChargedError(f"{place}, and {reason}.") from error
        if draft is not None and draft.holds is not None and _complete(ledger, row.index, draft.holds):
            raise ChargedError(
                f"{place}, and its release is whole in {draft.path}, but was not given its name ({reason}):"
                f" do the same again with {option('resume', row.index)}, which charges nothing more."
            ) from error
        if draft is not None:
            draft.holds = None
        if _complete(ledger, row.index):
            raise ChargedError(
                f"row {row.index} of {ledger.path} was released by another run meanwhile, and nothing by this"
                " one: use that release."
            ) from error
        raise ChargedError(
            f"{place}, and nothing was released by this run ({reason}): when that is mended, do the"
            f" same again with {option('resume', row.index)}, which charges nothing more."
        ) from error


def _reason(error: BaseException) -> str:
    """Say what went wrong, in words that hold nothing confidential."""
    if isinstance(error, HoldfastError):
        return str(error).rstrip(".")
    if isinstance(error, KeyboardInterrupt):
        return "it was stopped"
    if isinstance(error, MemoryError):
        return "there was not enough memory"
    return getattr(error, "strerror", None) or f"unexpected: {type(error).__name__}"


def _complete(ledger: "Ledger", row: int, digest: str | None = None) -> bool:
    """Whether a row is complete, with a release if one is given.

    Where that cannot be told, the release must not be lost, and the row is taken as open.
    """
    try:
        completion = ledger.completion(row)
    except HoldfastError:
        return digest is not None
    return completion is not None and digest in (None, completion.release)


def finish(ledger: "Ledger", row: int) -> Certificate | None:
    """Make a row ready to be drawn for again; return the certificate of a release that was drawn whole.

    Raises ReleaseError where the row was released, or is being drawn.
    """
    ledger.row(row)
    completion, left = ledger.completion(row), ledger.draft(row)
    if completion is None:
        # a draft has the name of its folder, so it may be that of another row by now
        if left is not None and reason_to_keep(left, ledger) is None and not destroy(left):
            raise _being_drawn(ledger, row)
        return None
    if left is None or completion.release is None or (whole := _whole(left, completion.release)) is None:
        raise ReleaseError(
            f"row {row} of {ledger.path} was released on {completion.time[:19].replace('T', ' ')}: a row is"
            f" released once, so charge a new release, without {option('resume')}."
        )
    return whole


def give_name(ledger: "Ledger", row: int, folder: Path, key: SigningKey | None) -> None:
    """Give its name to a release that `finish` found whole, signed if there is a key."""
    left, completion = ledger.draft(row), ledger.completion(row)
    if left is None or completion is None or completion.release is None:
        raise _being_drawn(ledger, row)
    with cannot_write(folder):
        inside = Private.opened(left)
    with inside:
        if not inside.hold() or _whole(inside.named(""), completion.release) is None:
            raise _being_drawn(ledger, row)
        with cannot_write(folder):
            if key is not None:
                with inside.open(CERTIFICATE) as file:
                    text = file.read()
                inside.remove(SIGNATURE)
                inside.write(SIGNATURE, sign(text, key))
            mode = inside.usual_mode()
            inside.sync()
            publish(inside, folder, mode)
            sync_folder(folder.parent)
            sync_folder(left.parent)


def _being_drawn(ledger: "Ledger", row: int) -> ReleaseError:
    return ReleaseError(
        f"row {row} of {ledger.path} is being drawn by another run: wait for it, or end it first."
    )


def _whole(draft: Path, digest: str) -> Certificate | None:
    """Return the certificate in a draft whose files are those of a completion."""
    try:
        certificate = read_certificate(draft)
        same = all(sha256(draft / name) == known for name, known in certificate.files.items())
    except (OSError, ReleaseError):
        return None
    sealed = certificate.sealed(
        certificate.files,
        certificate.ledger,
        quoted_formulas=certificate.quoted_formulas,
        measured=certificate.measured,
        exports=certificate.exports,
    ).digest
    return certificate if same and sealed == certificate.digest == digest else None


def reason_to_keep(draft: Path, ledger: "Ledger | None") -> str | None:
    """Say why a draft that nobody holds must stay: its release may be complete."""
    why = charged_draft(draft)
    if why is None or ledger is None:
        return why
    row = read_certificate(draft).ledger
    try:
        ours = row is not None and ledger.row(row.row).hash == row.hash
        return why if not ours or row is None or ledger.completion(row.row) is not None else None
    except HoldfastError:
        return why


WRITTEN = ("created", "software", *SEAL)
"""What a certificate says of its making: the rest is what was asked for, and what follows."""


def require_same(asked: Certificate, whole: Certificate, *, parquet: bool, quote_formulas: bool) -> None:
    """Raise ReleaseError where a release that was drawn whole before is not the one that is asked for."""
    files = _in_parquet(whole) in (None, parquet)
    quoted = (quote_formulas and not parquet) == whole.quoted_formulas
    if not (request_of(asked) == request_of(whole) and files and quoted):
        raise ReleaseError(
            "the release of this row was drawn whole before, and not as is asked now: ask for what was"
            f" charged, with {option('resume')}."
        )


def _in_parquet(whole: Certificate) -> bool | None:
    """Return whether tables are in Parquet; None where there are none, as records are what they came as."""
    names = set(whole.files) - {PAGE, "statistic.csv", "estimate.csv", *whole.exports}
    names = {name for name in names if not name.endswith("measurements.parquet")}
    if isinstance(whole.parts[0], RecordsPart):
        names &= {"table.csv", "table.parquet"}
    return any(name.endswith(".parquet") for name in names) if names else None


def request_of(certificate: Certificate) -> dict[str, Any]:
    """Return what a certificate says beside its making: what was asked for, and what follows."""
    return {name: value for name, value in certificate.to_dict().items() if name not in WRITTEN}
