"""The semi-private test of the odds ratio of a 2 x 2 table with both margins published [semi-dp, Theorem 37].

The release is U = x_11 + N with canonical noise N. The p-value, the decision, the estimate and the
confidence interval are computed from U and the margins alone. The odds ratio is
w = x_11 x_22 / (x_12 x_21): the paper's text gives its inverse, its mass function this one [theory, 9].
`odds_ratio_test` draws U by itself; `odds_ratio` makes a release of it, certified, charged and verified like
any other.

**Strata** that share an odds ratio are 2 x 2 tables, each with both margins published. Every stratum releases
U_s = x_11 + N_s with noise of its own, and T = sum U_s is compared with its law: the sum of noncentral
hypergeometric counts (a convolution) plus the sum of noise. Tables k records apart in all are k_s apart in
stratum s, so the strata together cost as much as one of them [theory, 10]; the mechanism has the argument.
The tests have their level, as for one table. That T is the best statistic is not claimed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from holdfast.certificate.certify import guarantee_section
from holdfast.certificate.protection import release_warnings
from holdfast.data.two_by_two import Margins, TwoByTwo
from holdfast.inference.count_test import (
    Alternative,
    CountLaw,
    OddsRatioInterval,
    confidence_interval,
    odds_with,
    p_values,
    require_question,
)
from holdfast.ledger.account import Ledger
from holdfast.mechanisms.canonical import CanonicalNoise, Normal, Tulap
from holdfast.mechanisms.canonical.noise import Noise
from holdfast.mechanisms.canonical.tulap import TulapSum
from holdfast.mechanisms.catalogue import NAMED, AnyMechanism
from holdfast.mechanisms.likelihood import NoisyStatistic
from holdfast.outputs import StatisticOutput
from holdfast.privacy.guarantee import Guarantee, Target
from holdfast.privacy.intensity import Intensity
from holdfast.public import public_margins
from holdfast.releases.handover import Handover
from holdfast.releases.prepare import prepare
from holdfast.releases.release import Release
from holdfast.sampling.entropy import Entropy, SystemEntropy
from holdfast.spec.constraints import Invariant
from holdfast.spec.data import Data
from holdfast.spec.mechanism import MechanismChoice, MechanismOptions
from holdfast.spec.model import Spec
from holdfast.spec.privacy import Privacy
from holdfast.system.errors import GuaranteeError

MECHANISM = "noisy-count"
TWO = ("1", "2")


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
    confidence: OddsRatioInterval
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
    return stratified_odds_ratio_test(
        [table], intensity, alternative=alternative, null=null, level=level, records=records, entropy=entropy
    )


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
    margins = [table.margins for table in strata]
    target, options = Target("semi", intensity, records), MechanismOptions(name=MECHANISM)
    mechanism = NAMED[MECHANISM].answer(public_margins(margins), target, options)
    source = SystemEntropy() if entropy is None else entropy
    drawn = mechanism.law(np.array(strata, dtype=np.int64).ravel()).sample(source, 1)[0]
    return _outcome(mechanism, margins, drawn, (alternative, null, level), secure=source.secure)


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


def _outcome(
    mechanism: AnyMechanism,
    margins: Sequence[Margins],
    drawn: Sequence[float],
    question: tuple[Alternative, float, float],
    *,
    secure: bool,
) -> OddsRatioTest:
    """Return all that follows from the released statistics, one for each stratum."""
    likelihood = mechanism.likelihood(np.asarray(drawn))
    if not isinstance(likelihood, NoisyStatistic):
        raise TypeError(f"{mechanism.name} releases no statistic of 2 x 2 tables")
    noise, error = summed(likelihood.noise, len(margins))
    (alternative, null, level), statistic = question, float(sum(drawn))
    law = CountLaw(tuple(margins))
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
        certified=mechanism.traits.kind == "exact",
        secure=secure,
    )


@dataclass(frozen=True, eq=False)
class OddsRatioReport:
    """The outcome of a test, and the release that it follows from."""

    test: OddsRatioTest
    release: Release

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is to be told of the release."""
        return release_warnings(self.release.certificate)

    @property
    def decision(self) -> str:
        """What the test says of the null hypothesis."""
        return "reject" if self.test.rejected else "do not reject"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name; infinite ends of an interval, which JSON lacks, are None."""
        test = self.test
        (margins,) = test.margins
        row = self.release.row
        return {
            "p_value": test.p_value,
            "statistic": test.statistic,
            "alternative": test.alternative,
            "null": test.null,
            "level": test.level,
            "decision": self.decision,
            "odds_ratio": _finite(test.estimate),
            "confidence_interval": [_finite(end) for end in test.confidence],
            "margins": {"rows": list(margins.rows), "columns": list(margins.columns)},
            "guarantee": {
                "statement": test.guarantee.statement,
                **guarantee_section(test.guarantee).model_dump(mode="json"),
            },
            "secure": test.secure,
            "warnings": list(self.warnings),
            "charged": None if row is None else {"row": row.index, "total": str(row.total)},
        }


def odds_ratio(
    counts: Sequence[int],
    privacy: Privacy,
    *,
    alternative: Alternative = "greater",
    null: float = 1,
    level: float = 0.05,
    entropy: Entropy | None = None,
    ledger: Ledger | None = None,
    out: str | Path | None = None,
    accept_no_protection: bool = False,
) -> OddsRatioReport:
    """Release x_11 of a 2 x 2 table with noise, charged first if there is a ledger, and test the odds ratio.

    ``counts`` are x11, x12, x21, x22; without ``entropy`` the noise is the operating system's.
    The release is written to a new folder ``out``, if there is one. A guarantee that is no protection
    to speak of is refused unless it is accepted.

    >>> report = hf.odds_ratio([10, 2, 3, 15], hf.Privacy(epsilon="1"), entropy=hf.SeededEntropy(1))
    >>> round(report.test.p_value, 4)
    0.0133
    """
    alternative = require_question(alternative, null, level)
    table = TwoByTwo.of(counts)
    spec = Spec(
        data=Data(cells=("row", "column"), count="count", levels={"row": TWO, "column": TWO}),
        invariants=(
            Invariant(name="row totals", margin=("row",)),
            Invariant(name="column totals", margin=("column",)),
        ),
        privacy=privacy,
        mechanism=MechanismChoice(name=MECHANISM),
    )
    frame = pl.DataFrame({"row": ["1", "1", "2", "2"], "column": ["1", "2", "1", "2"], "count": list(table)})
    prepared = prepare(spec, frame)
    if out is None:
        released = prepared.release(entropy, ledger=ledger, accept_no_protection=accept_no_protection)
    else:
        handover = Handover(
            out=out, entropy=entropy, ledger=ledger, accept_no_protection=accept_no_protection
        )
        written = handover.of(lambda: prepared, prepared.kinds)
        drawn = StatisticOutput.read(written.folder / "statistic.csv")
        released = Release(written.certificate, {"statistic": drawn}, written.row, prepared.size)
    question, secure = (alternative, null, level), released.certificate.randomness.secure
    test = _outcome(prepared.mechanism, [table.margins], released.statistics, question, secure=secure)
    return OddsRatioReport(test, released)


def _finite(value: float) -> float | None:
    return None if value == inf else value
