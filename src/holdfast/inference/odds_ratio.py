"""The semi-private test of the odds ratio of a 2 x 2 table with both margins published [semi-dp, Theorem 37].

The release is U = x_11 + N with canonical noise N. The p-value, the decision, the estimate and the
confidence interval are computed from U and the margins alone. The odds ratio is
w = x_11 x_22 / (x_12 x_21): the paper's text gives its inverse, its mass function this one [theory, 9].
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from holdfast.data.two_by_two import Margins, TwoByTwo
from holdfast.inference.count_law import CountLaw
from holdfast.inference.count_test import (
    Alternative,
    Interval,
    confidence_interval,
    odds_with,
    p_values,
    require_question,
)
from holdfast.mechanisms.canonical.noise import Noise
from holdfast.mechanisms.noisy_count import NoisyCount
from holdfast.privacy.guarantee import Guarantee
from holdfast.privacy.intensity import Intensity
from holdfast.sampling.entropy import Entropy, SystemEntropy


@dataclass(frozen=True)
class OddsRatioTest:
    """The outcome of a test, with the guarantee of its release: nothing else depends on the table.

    Attributes:
        statistic: U, or its sum over strata.
        estimate: the odds ratio under which U is its own median; 0 or infinite beyond all counts.
        confidence: the odds ratios that the test at this level does not reject.
        error: how far the p-value may be off by the numerical convolution of noise; 0 for one table.
        certified: whether the noise was drawn exactly; if not, the outcome serves studies only.
        secure: whether it was drawn from the operating system's randomness.

    """

    margins: tuple[Margins, ...]
    statistic: float
    p_value: float
    alternative: Alternative
    null: float
    level: float
    estimate: float
    confidence: Interval
    error: float
    guarantee: Guarantee
    certified: bool
    secure: bool

    @property
    def rejected(self) -> bool:
        """Whether the null hypothesis is rejected at the level."""
        return self.p_value + self.error <= self.level


def odds_ratio_test(
    table: TwoByTwo | Sequence[int],
    intensity: Intensity,
    *,
    alternative: Alternative = "greater",
    null: float = 1,
    level: float = 0.05,
    records: int | None = None,
    entropy: Entropy | None = None,
) -> OddsRatioTest:
    """Release x_11 with noise and test the odds ratio; without ``entropy`` from the system's randomness.

    >>> from fractions import Fraction
    >>> from holdfast.privacy.intensity import Pure
    >>> from holdfast.sampling.entropy import SeededEntropy
    >>> test = odds_ratio_test([30, 5, 6, 40], Pure(Fraction(1)), entropy=SeededEntropy(7))
    >>> test.rejected, test.guarantee.unit.distance
    (True, 3)
    """
    alternative = require_question(alternative, null, level)
    counts = TwoByTwo.of(table)
    mechanism = NoisyCount.calibrate([counts.margins], intensity, records=records)
    source = SystemEntropy() if entropy is None else entropy
    statistic = float(mechanism.law(np.array(counts, dtype=np.int64)).sample(source, 1)[0, 0])
    return outcome(
        mechanism,
        mechanism.canonical,
        statistic,
        alternative=alternative,
        null=null,
        level=level,
        error=0.0,
        secure=source.secure,
    )


def outcome(
    mechanism: NoisyCount,
    noise: Noise,
    statistic: float,
    *,
    alternative: Alternative,
    null: float,
    level: float,
    error: float,
    secure: bool,
) -> OddsRatioTest:
    """Return all that follows from a released statistic, whose noise has the law ``noise``."""
    law = CountLaw(mechanism.margins)
    p_value = p_values(np.array([statistic]), law, noise, alternative=alternative, null=null)[0]
    return OddsRatioTest(
        margins=law.margins,
        statistic=statistic,
        p_value=float(p_value),
        alternative=alternative,
        null=float(null),
        level=level,
        estimate=odds_with(statistic, law, noise, above=0.5),
        confidence=confidence_interval(statistic, law, noise, level=level, alternative=alternative),
        error=error,
        guarantee=mechanism.guarantee,
        certified=mechanism.canonical.certified,
        secure=secure,
    )
