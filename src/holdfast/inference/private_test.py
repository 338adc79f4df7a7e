"""A test of an odds ratio as a release: certified, charged and verified like any other."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

import polars as pl

from holdfast.certificate.certify import guarantee_section
from holdfast.certificate.told import told
from holdfast.certificate.write import charged_draft
from holdfast.data.two_by_two import TwoByTwo
from holdfast.drafts import drafted
from holdfast.inference.count_test import Alternative, require_question
from holdfast.inference.odds_ratio import OddsRatioTest, outcome
from holdfast.mechanisms.noisy_count import NoisyCount
from holdfast.privacy.ledger.account import Ledger
from holdfast.release import Release, prepare
from holdfast.sampling.entropy import Entropy
from holdfast.spec.model import Data, Invariant, MechanismChoice, Privacy, Spec

TWO = ("1", "2")


@dataclass(frozen=True, eq=False)
class OddsRatioReport:
    """The outcome of a test, and the release that it follows from."""

    test: OddsRatioTest
    release: Release

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is to be told of the release."""
        return told(self.release.certificate)

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
            "guarantee": guarantee_section(test.guarantee).model_dump(mode="json"),
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
        mechanism=MechanismChoice(name=NoisyCount.name),
    )
    frame = pl.DataFrame({"row": ["1", "1", "2", "2"], "column": ["1", "2", "1", "2"], "count": list(table)})
    prepared = prepare(spec, frame)
    mechanism = prepared.mechanism
    if not isinstance(mechanism, NoisyCount):
        raise TypeError("a spec that names noisy-count has another mechanism")
    if out is None:
        released = prepared.release(entropy, ledger=ledger, accept_no_protection=accept_no_protection)
    else:
        with drafted(out, charged_draft) as draft:
            released = prepared.publish(
                draft, entropy, ledger=ledger, accept_no_protection=accept_no_protection
            )
    (statistic,) = released.statistics
    test = outcome(
        mechanism,
        mechanism.canonical,
        statistic,
        alternative=alternative,
        null=null,
        level=level,
        error=0.0,
        secure=released.certificate.randomness.secure,
    )
    return OddsRatioReport(test, released)


def _finite(value: float) -> float | None:
    return None if value == inf else value
