"""Verifying an account, with the releases that were charged to it.

A ledger that was replaced by an older copy of itself, and charged on, is a sound ledger. The releases tell:
each names its row, and the row and its completion name the release. A release that is not in the account, or
whose row is another's, was charged to a ledger that is not this one any more.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from holdfast.account.spending import spend
from holdfast.certificate.checks import Check
from holdfast.certificate.quick import file_check
from holdfast.certificate.sealed import SEAL
from holdfast.certificate.several.quick import verify_quick
from holdfast.certificate.text import CERTIFICATE, digest, flaw, parsed, read_text
from holdfast.plain import plain_name
from holdfast.privacy.ledger.chain import Judged
from holdfast.privacy.ledger.entry import OF_SECRETS, Completion, Row
from holdfast.privacy.ledger.verify import LedgerCheck, examine

RECORDS = "holdfast-records-certificate/"
"""What the forms of certificates of swapped records begin with."""
STATED = ("intensity", "standard", "scope", "unit", "framework")
"""What a certificate and its row must say alike of the guarantee."""


def verify_ledger(
    path: str | Path,
    *,
    releases: Sequence[str | Path] = (),
    known: Mapping[int, str] | None = None,
    without_salt: bool = False,
) -> LedgerCheck:
    """Recompute an account from its first row, and hold releases against their rows.

    Args:
        path: the ledger; its salt is beside it.
        releases: folders of releases that must be in it.
        known: hashes of rows that were seen before, by index.
        without_salt: leave the seals unchecked, where the salt is not at hand.

    LedgerError where there is no ledger or no salt, ReleaseError where a folder holds no release.

    """
    claims = [Claim.of(Path(folder)) for folder in releases]
    check, judged = examine(path, known=known, spend=spend, without_salt=without_salt)
    problems = list(check.problems)
    outcomes = []
    for claim in claims:
        wrong = [*claim.broken, *_unmatched(claim, judged), *_shared(claim, claims)]
        problems += [f"{claim.folder}: {problem}" for problem in wrong]
        notes = [] if judged is None else list(_notes(claim, judged))
        told = {"folder": str(claim.folder), "row": claim.row, "kept": not wrong}
        outcomes.append({**told, "problems": wrong, "notes": notes})
    return replace(check, kept=not problems, problems=tuple(problems), releases=tuple(outcomes))


@dataclass(frozen=True)
class Claim:
    """What a release says of itself, and what is wrong with it by itself."""

    folder: Path
    row: int | None
    hash: str
    settled: str
    sealed: str
    guarantee: Mapping[str, Any]
    secrets: Mapping[str, Any]
    broken: tuple[str, ...]

    @classmethod
    def of(cls, folder: Path) -> "Claim":
        """Read a folder; all digests are recomputed from what it holds."""
        text = read_text(folder)
        content = parsed(text, str(folder / CERTIFICATE))
        named, guarantee, secrets = (content.get(name) for name in ("ledger", "guarantee", "secrets"))
        ledger = named if isinstance(named, dict) else {}
        row = ledger.get("row")
        checks = (check for check in _checks(folder, text, content) if not check.holds)
        return cls(
            folder=folder,
            row=row if type(row) is int else None,
            hash=str(ledger.get("hash")),
            settled=digest({name: value for name, value in content.items() if name not in SEAL}),
            sealed=digest({name: value for name, value in content.items() if name != "digest"}),
            guarantee=guarantee if isinstance(guarantee, dict) else {},
            secrets=secrets if isinstance(secrets, dict) else {},
            broken=tuple(f"{check.name}: {check.detail}" if check.detail else check.name for check in checks),
        )


def _checks(folder: Path, text: str, content: Mapping[str, Any]) -> Iterable[Check]:
    """Check a release by itself; of swapped records the seal and the hash of every file."""
    if str(content.get("format")).startswith(RECORDS):
        return _sealed(folder, text, content)
    return verify_quick(folder).checks


def _sealed(folder: Path, text: str, content: Mapping[str, Any]) -> Iterator[Check]:
    body = {name: value for name, value in content.items() if name != "digest"}
    yield Check.that("certificate unchanged", digest(body) == content.get("digest"), "its digest differs")
    wrong = flaw(text, content)
    yield Check.that("certificate text", not wrong, wrong)
    files = content.get("files")
    if not isinstance(files, dict) or not files:
        yield Check("files", holds=False, detail="the certificate names none")
        return
    within = tuple(filter(plain_name, files))
    yield from (file_check(folder, name, expected, within) for name, expected in files.items())


def _unmatched(claim: Claim, judged: Judged | None) -> Iterator[str]:
    """Say how a release and its row differ."""
    if claim.row is None:
        yield "its certificate names no row of a ledger"
        return
    row, completion = _of(claim, judged)
    if row is None or judged is None:
        yield f"there is no row {claim.row}, which it was charged as"
        return
    if row.hash != claim.hash:
        yield f"row {claim.row} is not the one that it was charged as, whose hash was {claim.hash}"
        return
    said = claim.secrets if row.charge.standard in OF_SECRETS else claim.guarantee
    for name in STATED:
        if name in row.charge.guarantee and said.get(name) != row.charge.guarantee[name]:
            yield f"the {name} of its guarantee is not that of row {claim.row}"
    if completion is None:
        if row.index > (judged.head.unknown if judged.head else 0):
            yield f"row {claim.row} has no completion, and here is its release"
        elif row.charge.certificate != claim.settled:
            yield f"row {claim.row} was charged for another certificate"
        return
    if completion.certificate != claim.settled:
        yield f"row {claim.row} was completed with another certificate"
    if completion.release not in (None, claim.sealed):
        yield f"row {claim.row} was completed with another release, whose digest is {completion.release}"


def _shared(claim: Claim, claims: Sequence[Claim]) -> Iterator[str]:
    """Say which other releases claim the same row; a copy of a release is the same one."""
    for other in claims:
        same = claim.row is not None and (other.row, other.hash) == (claim.row, claim.hash)
        if same and other.sealed != claim.sealed:
            yield f"{other.folder} is another release that was charged as row {claim.row}"


def _notes(claim: Claim, judged: Judged) -> Iterator[str]:
    row, completion = _of(claim, judged)
    if row is None:
        return
    if completion is not None and completion.release is None:
        yield f"row {row.index} was handed over in memory: nothing tells which files it became"
    if completion is None and judged.head is not None and row.index <= judged.head.unknown:
        yield f"row {row.index} was charged before completions were kept"


def _of(claim: Claim, judged: Judged | None) -> tuple[Row | None, Completion | None]:
    if judged is None:
        return None, None
    row = next((row for row in judged.rows if row.index == claim.row), None)
    return row, next((one for one in judged.completions if one.row == claim.row), None)
