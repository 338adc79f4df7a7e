"""Several releases with one set of public facts [partially-private-data, Lemmas 5 to 7; theory, 7].

**Post-processing** with what is public costs nothing: h(Y, z) is as private as Y, since z is given.

**In sequence.** Lemma 6 adds up the epsilons of releases that are independent given the data. As printed it
is false. With two fair bits X_1, X_2 and X_1 the secret, X_1 xor X_2 tells nothing of X_1, nor does X_2, and
both together tell it: each release is 0-TP under this law. What its proof uses is independence given a
*secret*. Two conditions are enough:

* every release is ``pointwise`` in one statistic: it depends on the data through T, and loses at most
  epsilon_i, or rho_i, between any two values of T within Delta_z. The losses then add up between such values,
  and one coupling of the two laws of T serves all of them;
* the releases are independent given each secret under each law, which must be argued for from outside.

Epsilons and rhos do not mix: a loss of epsilon is one of rho = epsilon^2 / 2 [bun2016, Proposition 1.4], and
is to be stated so first.

**In parallel.** Lemma 7 takes the largest epsilon of releases of disjoint parts of the data. As printed it is
false, too: the bits X_2 and X_1 xor X_2 can be two parts. It holds where the parts are independent of each
other given the public facts, under every law, and every pair of secrets is about one part. A public total
over the parts is enough to make them dependent.

What it costs to condition a release on public facts [partially-private-data, Lemma 8].

Let a mechanism on datasets lose at most epsilon for each record in which two differ, and let its release be
conditioned on a set that public facts allow. Between conforming datasets d records apart it then loses at
most (1 + gamma) epsilon d, with gamma in [0, 1], and 0 where the chance of the set is the same for all
conforming datasets [congenial-dp, Theorem 2.1]. By a coupling within Delta_z records,

    epsilon-TP at (1 + gamma) epsilon Delta_z.

The lemma prints 2 epsilon. That is the case Delta_z = 1, gamma = 1: public facts that allow or forbid records
one by one. Facts that tie records together make Delta_z larger, and the printed bound false [theory, 7]. The
mechanism `conditioned` computes its own gamma, and states the loss of the pairs that it protects;
`TPGuarantee.of` reads that as epsilon-TP.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from holdfast.privacy.claims import claim
from holdfast.privacy.evidence import Evidence, Proved
from holdfast.privacy.intensity import Pure, total
from holdfast.privacy.pufferfish.framework import DeltaZ, Framework, LawClass, Stated
from holdfast.privacy.pufferfish.guarantee import PureOrZeroConcentrated, TPGuarantee
from holdfast.system.errors import GuaranteeError
from holdfast.system.text import counted


def conditioned_intensity(per_record: Pure, delta: DeltaZ, gamma: Fraction = Fraction(1)) -> Pure:
    """Return what conditioning leaves of a loss per record; ``gamma`` is 1 where nothing else is known.

    >>> one_by_one = DeltaZ(Fraction(1), exact=True, evidence=())
    >>> conditioned_intensity(Pure(Fraction(1, 2)), one_by_one)
    Pure(epsilon=Fraction(1, 1))
    """
    if not 0 <= gamma <= 1:
        raise GuaranteeError(f"gamma = {gamma}: give what conditioning costs, from 0 to 1.")
    return Pure((1 + gamma) * per_record.epsilon * delta.finite)


def post_processed(guarantee: TPGuarantee) -> TPGuarantee:
    """Return the guarantee of any function of the release and of what is public: the same."""
    lemma = Proved(_processed(), "partially-private-data, Lemma 5")
    return (
        guarantee
        if lemma in guarantee.evidence
        else replace(guarantee, evidence=(*guarantee.evidence, lemma))
    )


def in_sequence(releases: Sequence[TPGuarantee], *, independent: Evidence | None = None) -> TPGuarantee:
    """Return the guarantee of several releases of the same data: their epsilons, or rhos, add up.

    ``independent`` says why the releases are independent given each secret, for those that are not
    pointwise. Raises GuaranteeError where neither condition is met.
    """
    first = _of_one_framework(releases)
    if (reason := why_not_in_sequence(releases)) and independent is None:
        raise GuaranteeError(reason)
    added = total([release.intensity for release in releases])
    if not isinstance(added, PureOrZeroConcentrated):
        raise TypeError("pure losses and zCDP add up to their own kind")
    rule = (_given_data if independent is None else _given_a_secret)(len(releases))
    known = {} if independent is None else {independent: None}
    evidence = {one: None for release in releases for one in release.evidence} | known
    nearest = min(
        (one.delta for one in releases if one.delta is not None), key=lambda d: d.finite, default=None
    )
    return TPGuarantee(
        first.framework, added, (*evidence, Proved(rule, "theory, 7")), nearest, pointwise=independent is None
    )


def why_not_in_sequence(releases: Sequence[TPGuarantee]) -> str:
    """Return what keeps epsilons from adding up, "" where nothing does."""
    if len(releases) < 2 or all(release.pointwise for release in releases):
        return ""
    return (
        "epsilon-TP alone does not add up over releases of the same data, as two that tell nothing of a"
        " secret may tell it together: use mechanisms that bound the loss between any two values within"
        " Delta_z, or say why the releases are independent given each secret."
    )


def in_parallel(parts: Mapping[str, TPGuarantee], *, independent: Evidence) -> TPGuarantee:
    """Return the guarantee of releases of disjoint parts: the largest epsilon.

    ``independent`` says why the parts are independent given what is public, under every law.
    """
    if not parts:
        raise GuaranteeError("no release is given: name the parts of the data with their guarantees.")
    releases = tuple(parts.values())
    if len({one.framework.digest_of_public for one in releases}) > 1:
        raise GuaranteeError("the releases take different facts to be public: state all of them for each.")
    if len({one.standard for one in releases}) > 1:
        raise GuaranteeError(
            "the releases are of different standards: state rho for all of them, or epsilon."
        )
    evidence = {one: None for release in releases for one in release.evidence} | {independent: None}
    return TPGuarantee(
        _together(parts),
        max(releases, key=lambda release: release.amount).intensity,
        (*evidence, Proved(_apart(), "theory, 7")),
    )


@claim("secrets-post-processing")
def _processed() -> str:
    return "what is computed from a release and public facts tells no more of the secrets"


@claim("secrets-in-sequence")
def _given_data(releases: int) -> str:
    return (
        f"{counted(releases, 'release')} that are independent given the data lose the sum of their losses"
        " between any two values that a coupling joins"
    )


@claim("secrets-in-sequence-independent")
def _given_a_secret(releases: int) -> str:
    return f"{counted(releases, 'release')} that are independent given a secret multiply their ratios"


@claim("secrets-in-parallel")
def _apart() -> str:
    return "a secret of one part tells nothing of the others, nor of their releases"


@claim("secrets-of-parts")
def _secrets_of(parts: int) -> str:
    return f"the secrets of {counted(parts, 'part')}"


@claim("pairs-of-parts")
def _pairs_of(parts: int) -> str:
    return f"the pairs of {counted(parts, 'part')}"


@claim("laws-of-parts")
def _laws_of(parts: int) -> str:
    return (
        f"laws of {counted(parts, 'part')} that are independent of each other given what is public, each of"
        " its own class"
    )


def _of_one_framework(releases: Sequence[TPGuarantee]) -> TPGuarantee:
    if not releases:
        raise GuaranteeError("no release is given: name their guarantees.")
    if len({release.framework.digest for release in releases}) > 1:
        raise GuaranteeError(
            "the releases have different frameworks: state the same public facts, secrets, laws and statistic"
            " for all of them."
        )
    return releases[0]


def _together(parts: Mapping[str, TPGuarantee]) -> Framework:
    frameworks = {name: release.framework for name, release in parts.items()}
    first = next(iter(frameworks.values()))
    number = len(parts)
    return Framework(
        first.public,
        Stated(_secrets_of(number), {name: dict(one.secrets.data) for name, one in frameworks.items()}),
        Stated(_pairs_of(number), {name: dict(one.pairs.data) for name, one in frameworks.items()}),
        LawClass(
            _laws_of(number),
            {name: {"kind": one.laws.kind, **one.laws.data} for name, one in frameworks.items()},
            "family",
        ),
        whom=first.whom,
    )
