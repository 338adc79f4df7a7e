"""What it costs to condition a release on public facts [partially-private-data, Lemma 8].

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

from fractions import Fraction

from holdfast.errors import GuaranteeError
from holdfast.privacy.intensity import Pure
from holdfast.privacy.pufferfish.delta import DeltaZ


def conditioned_intensity(per_record: Pure, delta: DeltaZ, gamma: Fraction = Fraction(1)) -> Pure:
    """Return what conditioning leaves of a loss per record; ``gamma`` is 1 where nothing else is known.

    >>> one_by_one = DeltaZ(Fraction(1), exact=True, evidence=())
    >>> conditioned_intensity(Pure(Fraction(1, 2)), one_by_one)
    Pure(epsilon=Fraction(1, 1))
    """
    if not 0 <= gamma <= 1:
        raise GuaranteeError(f"gamma = {gamma}: give what conditioning costs, from 0 to 1.")
    return Pure((1 + gamma) * per_record.epsilon * delta.finite)
