"""Verifying tables: what follows of each alone, and where there are several, what joins them."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from holdfast.certificate.certify import certify_files, certify_tables
from holdfast.certificate.model import Certificate, JoinedSection
from holdfast.certificate.public import Published
from holdfast.certificate.quick import kept_checks
from holdfast.data.geography import Regions
from holdfast.derivation.derive import FAILURES, HEAD, SAME_BUDGET, Derivation, making_flaw
from holdfast.derivation.verifying import Verifying
from holdfast.mechanisms.catalogue import NAMED, target_of
from holdfast.mechanisms.details import ReleasedFiles
from holdfast.privacy.units import apart
from holdfast.releases.division import fractions, table_privacy
from holdfast.releases.files import joint_tables
from holdfast.releases.joint import JointPremises, joint_guarantee, joint_intensity
from holdfast.releases.shared import shared_margins
from holdfast.spec.privacy import Privacy
from holdfast.system.checks import Check, ViolatedError
from holdfast.system.errors import HoldfastError, ReleaseError
from holdfast.system.machine import require_memory
from holdfast.system.text import closest
from holdfast.system.ways import option

JOINT = (*HEAD, "joined")
"""The sections of all tables together that must equal what follows."""
_INSTEAD = {
    "records": "swapped records, whose law depends on the data: read its files as they are",
    "processed": "a processed table, whose law depends on the data: take the release that it was made of",
}


class TablesVerifier:
    """How tables of counts are verified, and what is released in their place."""

    def kept(self, verifying: Verifying, claimed: Certificate) -> Iterator[Check]:
        """Count again in plain integers."""
        del claimed
        return kept_checks(verifying.folder, verifying.content)

    def follows(self, verifying: Verifying, claimed: Certificate, *, whole: bool) -> Iterator[Check]:
        """Derive every part again, what stands beside it, and what joins them."""
        joined, checks = claimed.joined, list[Check]()
        for part in claimed.parts:
            shares = joined is not None and joined.units is None
            derivation = Derivation(claimed.alone(part.name), None if joined is None else part.name, shares)
            verifying.derivations[part.name] = derivation
            verifying.derived += (name for name in derivation.derived if name not in verifying.derived)
            found = [*derivation.checks(simulate=whole)]
            if all(check.holds for check in found):
                found += _beside(verifying, derivation, joined, whole=whole)
                found += _status(verifying, derivation)
            checks += (
                [replace(check, name=f"{part.name}: {check.name}") for check in found] if joined else found
            )
        if joined is not None and all(check.holds for check in checks):
            checks += _joined(claimed, joined, verifying.derivations)
            checks += _no_more(verifying.derivations) if whole and joined.units is None else ()
            if joined.units is not None and all(check.holds for check in checks):
                checks += estimated_together(verifying, claimed, joined, whole=whole)
            verifying.derived += (name for name in JOINT if name not in verifying.derived)
        verifying.derived += ["expected error"] if whole else []
        yield from checks


def _beside(
    verifying: Verifying, derivation: Derivation, joined: JoinedSection | None, *, whole: bool
) -> Iterator[Check]:
    """Let the mechanism check what stands beside its table, but for estimates that others share."""
    mechanism, part = derivation.mechanism, derivation.part
    if len(part.outputs) == 1:
        return
    alone = joined is None or joined.units is None
    yield from mechanism.check(
        derivation.public, released_files(verifying, derivation), whole=whole and alone
    )


def _status(verifying: Verifying, derivation: Derivation) -> Iterator[Check]:
    """Check the status of each cell, where the table says it."""
    public = derivation.public
    if public.status:
        told = Published(verifying.folder, derivation.claimed, public).status
        follows = public.cell_status(estimated=bool(derivation.mechanism.estimated)).to_list()
        yield Check.that("status", told == follows, "a cell is said to have another status than follows")


def released_files(verifying: Verifying, derivation: Derivation) -> ReleasedFiles:
    """Return the files of a part by what they are."""
    claimed, name = derivation.claimed, derivation.name
    published = Published(verifying.folder, claimed, derivation.public)
    files = {role: published.files[output] for role, output in derivation.part.roles(name).items()}
    return ReleasedFiles(
        verifying.folder, files, published.table, claimed.measured, claimed.quoted_formulas, name is not None
    )


def estimated_together(
    verifying: Verifying, claimed: Certificate, joined: JoinedSection, *, whole: bool
) -> Iterator[Check]:
    """Check what was measured of all tables, and that their counts follow together."""
    derivations = verifying.derivations
    tables = {name: (one.mechanism, one.public) for name, one in derivations.items()}
    files = {name: released_files(verifying, one) for name, one in derivations.items()}
    across = [each.value for each in joined.across or ()]
    regions = {name: Regions.of(one.public.schema, one.public.geography) for name, one in derivations.items()}
    try:
        plain = all(each.plain(regions) for each in across)
        yield Check.that("across tables", plain, "a constraint is not written as certificates write it")
        if plain:
            yield from joint_tables(tables, across).check(files, claimed.measured, whole=whole)
    except FAILURES as error:
        require_memory(error)
        detail = str(error).rstrip(".") if isinstance(error, HoldfastError) else "it cannot be derived"
        yield Check("across tables", holds=False, detail=detail)


def _files_follow(
    claimed: Certificate, joined: JoinedSection, derivations: Mapping[str, Derivation]
) -> Certificate:
    """Return the certificate that follows from parts and constraints across them; raises where none does."""
    kinds = {type(one.mechanism) for one in derivations.values()}
    if len(kinds) > 1 or not next(iter(kinds)).estimated:
        raise ReleaseError("the parts are not estimated together.")
    guarantees = {name: one.mechanism.guarantee for name, one in derivations.items()}
    return certify_files(
        guarantees,
        apart(guarantees),
        [each.value for each in joined.across or ()],
        {name: one.claimed for name, one in derivations.items()},
        created=claimed.created,
    )


def _joined(
    claimed: Certificate, joined: JoinedSection, derivations: Mapping[str, Derivation]
) -> Iterator[Check]:
    """Derive what holds of all tables together, and compare every section of it."""
    try:
        told = _follows if joined.units is None else _files_follow
        follows = told(claimed, joined, derivations)
    except FAILURES as error:
        require_memory(error)
        detail = str(error).rstrip(".") if isinstance(error, HoldfastError) else "it cannot be derived"
        yield Check("joint guarantee", holds=False, detail=detail)
        return
    wrong = making_flaw(claimed)
    yield Check.that("certificate", not wrong, wrong)
    mine, theirs = follows.to_dict(), claimed.to_dict()
    for name in JOINT:
        same = mine.get(name) == theirs.get(name)
        yield Check.that(f"all tables: {name}", same, f"the certificate claims another {name} than follows")


def _no_more(derivations: Mapping[str, Derivation]) -> Iterator[Check]:
    """Check that a budget of several tables, which follows from targets, is that of one that binds."""
    beyond = [more for one in derivations.values() for more in one.beyond]
    if beyond:
        said = "a smaller budget is enough for the targets of all tables"
        yield Check.that("all tables: accuracy", min(beyond) < SAME_BUDGET, said)


def _follows(
    claimed: Certificate, joined: JoinedSection, derivations: Mapping[str, Derivation]
) -> Certificate:
    """Return the certificate that follows from parts, target and weights; raises where none does."""
    privacy = Privacy(**dict(claimed.target))
    publics = {name: one.public for name, one in derivations.items()}
    if any(NAMED[one.part.mechanism.name].published() != ("table",) for one in derivations.values()):
        raise ReleaseError("a part is not released among others.")
    scope = JointPremises(publics, privacy.adjacency, privacy.distance).checked()
    budget = joined.budget
    if budget is None:
        raise ReleaseError("nothing says how the budget was divided.")
    weights = [share.weight for share in budget.shares]
    if len(weights) != len(publics) or not all(weight > 0 for weight in weights):
        raise ReleaseError("the shares of the budget are not those of the tables.")
    if budget.division == "equal" and set(weights) != {1}:
        raise ReleaseError("an equal division has no weights.")
    premises = [public.premises(scope.adjacency, scope.distance) for public in publics.values()]
    parts = fractions(budget.division, privacy.standard, weights, premises)
    asked = []
    for part, (name, derivation) in zip(parts, derivations.items(), strict=True):
        target = table_privacy(privacy, part, scope)
        if target != derivation.privacy:
            raise ReleaseError(f"{name} was not asked for its part of the budget.")
        intensity = target_of(target).intensity
        if intensity is None:
            raise ReleaseError("nothing was asked for.")
        asked.append(intensity)
    guarantees = {name: one.mechanism.guarantee for name, one in derivations.items()}
    return certify_tables(
        privacy,
        budget.division,
        weights,
        parts,
        shared_margins(publics),
        joint_guarantee(scope, guarantees, joint_intensity(list(guarantees.values()), asked)),
        {name: one.claimed for name, one in derivations.items()},
        created=claimed.created,
    )


def verified(folder: str | Path, table: str | None = None) -> Published:
    """Return a released table that was verified, of several tables the one that is named.

    What is worked out from a release rests on its table and the law of its noise: its expected error is not
    simulated again, nor its page drawn, which may be missing. Raises ViolatedError where it is not kept.
    """
    found = Verifying.of(Path(folder))
    if found.kind not in ("table", ""):
        raise ReleaseError(
            f"{folder} holds {_INSTEAD[found.kind]}, as intervals and processed tables are made of tables"
            " with noise of a public law."
        )
    verification = found.run({"table": TablesVerifier()}, whole=False)
    if not verification.kept:
        raise ViolatedError(verification)
    names = list(found.derivations)
    if table is None and len(names) > 1:
        raise ReleaseError(
            f"{folder} holds several tables: name one with {option('table')}, of {', '.join(names)}."
        )
    if table is not None and found.derivations[names[0]].name is None:
        raise ReleaseError(f"{folder} holds one table: leave out {option('table')}.")
    if table is not None and table not in names:
        raise ReleaseError(f"{folder} has no table {table!r}: {closest(table, names)}")
    chosen = found.derivations[table or names[0]]
    return Published(Path(folder), chosen.claimed, chosen.public)
