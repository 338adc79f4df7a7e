"""The odds ratio that strata share: each stratum is a 2 x 2 table with both margins published.

Every stratum releases U_s = x_11 + N_s with noise of its own, and T = sum U_s is compared with its law: the
sum of noncentral hypergeometric counts (a convolution) plus the sum of noise. Tables k records apart in all
are k_s apart in stratum s, so the strata together cost as much as one of them [theory, 10]; `NoisyCount`
has the argument. The tests have their level, as for one table. That T is the best statistic is not claimed.
"""

from collections.abc import Sequence
from math import sqrt

import numpy as np

from holdfast.data.two_by_two import TwoByTwo
from holdfast.errors import GuaranteeError
from holdfast.inference.count_test import Alternative, require_question
from holdfast.inference.odds_ratio import OddsRatioTest, outcome
from holdfast.mechanisms.canonical import CanonicalNoise, Normal, Tulap
from holdfast.mechanisms.canonical.noise import Noise
from holdfast.mechanisms.canonical.tulap_sum import TulapSum
from holdfast.mechanisms.noisy_count import NoisyCount
from holdfast.privacy.intensity import Intensity
from holdfast.sampling.entropy import Entropy, SystemEntropy


def stratified_odds_ratio_test(
    tables: Sequence[TwoByTwo | Sequence[int]],
    intensity: Intensity,
    *,
    alternative: Alternative = "greater",
    null: float = 1,
    level: float = 0.05,
    records: int | None = None,
    entropy: Entropy | None = None,
) -> OddsRatioTest:
    """Release each x_11 with noise and test the odds ratio that all strata share."""
    alternative = require_question(alternative, null, level)
    strata = [TwoByTwo.of(table) for table in tables]
    mechanism = NoisyCount.calibrate([table.margins for table in strata], intensity, records=records)
    noise, error = summed(mechanism.canonical, len(strata))
    source = SystemEntropy() if entropy is None else entropy
    return outcome(
        mechanism,
        noise,
        float(mechanism.law(np.array(strata, dtype=np.int64).ravel()).sample(source, 1).sum()),
        alternative=alternative,
        null=null,
        level=level,
        error=error,
        secure=source.secure,
    )


def summed(noise: CanonicalNoise, terms: int) -> tuple[Noise, float]:
    """Return the law of a sum of independent noise, and how far its distribution function may be off."""
    match noise:
        case _ if terms == 1:
            return noise, 0.0
        case Normal(mu):
            return Normal(type(mu)(float(mu) / sqrt(terms))), 0.0
        case Tulap():
            total = TulapSum.of(noise, terms)
            return total, total.error
    raise GuaranteeError(
        "sums of noise for a general tradeoff function are not worked out: give epsilon (and delta), mu or"
        " rho."
    )
