"""Checking a ledger from the file alone, trusting neither its triggers nor who kept it.

Verifying an account, with the releases that were charged to it.

A ledger that was replaced by an older copy of itself, and charged on, is a sound ledger. The releases tell:
each names its row, and the row and its completion name the release. A release that is not in the account, or
whose row is another's, was charged to a ledger that is not this one any more.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from holdfast.certificate.model import SEAL
from holdfast.certificate.quick import kept_checks, seal_checks
from holdfast.certificate.text import CERTIFICATE, digest, parse, read_text
from holdfast.ledger import store
from holdfast.ledger.chain import Judged, StoredLedger, exposed, judge, read_salt, salt_path
from holdfast.ledger.checkpoint import Replay, Spend
from holdfast.ledger.composition import spend
from holdfast.ledger.rows import OF_SECRETS, Completion, Row
from holdfast.system.errors import DamagedLedgerError, HoldfastError, LedgerError
from holdfast.system.text import canonical, rational
from holdfast.system.ways import option


@dataclass(frozen=True)
class LedgerCheck:
    """The verdict: ``sealed`` says whether the seals were checked, with the salt.

    Without it, only who did not recompute the chain is found out.
    """

    kept: bool
    problems: tuple[str, ...]
    rows: int
    sealed: bool
    completions: int = 0
    warnings: tuple[str, ...] = ()
    releases: tuple[Mapping[str, Any], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        lists = {name: list(getattr(self, name)) for name in ("problems", "warnings", "releases")}
        return {**asdict(self), **lists}


def examine(
    path: str | Path,
    *,
    known: Mapping[int, str] | None = None,
    spend: Spend | None = None,
    without_salt: bool = False,
) -> tuple[LedgerCheck, Judged | None]:
    """Verify a ledger, and return with the verdict what of it could be read."""
    path = Path(path)
    try:
        with store.connected(path) as connection:
            pages = () if store.pages_intact(connection) else ("SQLite finds its pages damaged",)
            with store.reading(connection):
                stored = store.read(connection)
    except DamagedLedgerError as error:
        return LedgerCheck(kept=False, problems=(str(error).rstrip("."),), rows=0, sealed=False), None
    salt = None if without_salt else _required_salt(path)
    judged = judge(stored, salt, known)
    again = () if spend is None or judged.problems else _composed_again(judged, stored, spend)
    problems = (*pages, *judged.problems, *again)
    return LedgerCheck(
        not problems,
        problems,
        len(stored.rows),
        salt is not None,
        len(stored.completions),
        tuple(exposed(path)),
    ), judged


def _required_salt(path: Path) -> bytes:
    if not os.path.lexists(salt_path(path)):
        raise LedgerError(
            f"{salt_path(path)} is missing, so that the seals of {path} cannot be checked: restore it, or"
            f" check the rest with {option('without_salt', True)}."
        )
    return read_salt(path)


def _composed_again(judged: Judged, stored: StoredLedger, spend: Spend) -> Iterator[str]:
    """Compose every total again: say which differ, and whether the rows leave another checkpoint."""
    if judged.opening is None or judged.head is None:
        return
    history, differ = Replay(judged.opening.standard), False
    for row in judged.rows:
        try:
            composed = spend(history, row.charge)
        except (HoldfastError, LookupError, TypeError, ValueError) as error:
            why = str(error).rstrip(".") if isinstance(error, HoldfastError) else "its detail cannot be read"
            yield f"row {row.index}: its total cannot be composed again ({why})"
            return
        if row.total != composed.total:
            again, differ = rational(composed.total), True
            yield f"row {row.index}: its total is {rational(row.total)}, and composed again it is {again}"
        history.add(row, composed)
    state = "" if history.state is None else canonical(history.state)
    entries = {key: canonical(entry) for key, entry in history.entries.items()}
    if not differ and (state, entries) != (judged.head.state, stored.entries):
        yield "the checkpoint is not what the rows come to"


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

    >>> _ = hf.Ledger.create("people.ledger", standard="pure", budget=2)
    >>> hf.verify_ledger("people.ledger").kept
    True

    """
    claims = [ReleaseClaim.of(Path(folder)) for folder in releases]
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
class ReleaseClaim:
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
    def of(cls, folder: Path) -> "ReleaseClaim":
        """Read a folder; all digests are recomputed from what it holds."""
        text = read_text(folder)
        content = parse(text, str(folder / CERTIFICATE))
        named, guarantee, secrets = (content.get(name) for name in ("ledger", "guarantee", "secrets"))
        ledger = named if isinstance(named, dict) else {}
        row = ledger.get("row")
        found = (*seal_checks(folder, text, content), *kept_checks(folder, content))
        checks = (check for check in found if not check.holds)
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


def _unmatched(claim: ReleaseClaim, judged: Judged | None) -> Iterator[str]:
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
        yield f"row {claim.row} has no completion, and here is its release"
        return
    if completion.certificate != claim.settled:
        yield f"row {claim.row} was completed with another certificate"
    if completion.release not in (None, claim.sealed):
        yield f"row {claim.row} was completed with another release, whose digest is {completion.release}"


def _shared(claim: ReleaseClaim, claims: Sequence[ReleaseClaim]) -> Iterator[str]:
    """Say which other releases claim the same row; a copy of a release is the same one."""
    for other in claims:
        same = claim.row is not None and (other.row, other.hash) == (claim.row, claim.hash)
        if same and other.sealed != claim.sealed:
            yield f"{other.folder} is another release that was charged as row {claim.row}"


def _notes(claim: ReleaseClaim, judged: Judged) -> Iterator[str]:
    row, completion = _of(claim, judged)
    if row is not None and completion is not None and completion.release is None:
        yield f"row {row.index} was handed over in memory: nothing tells which files it became"


def _of(claim: ReleaseClaim, judged: Judged | None) -> tuple[Row | None, Completion | None]:
    if judged is None:
        return None, None
    row = next((row for row in judged.rows if row.index == claim.row), None)
    return row, next((one for one in judged.completions if one.row == claim.row), None)
