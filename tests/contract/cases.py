"""What every mechanism is tried on: one entry a class, of one or more small cases.

A mechanism without an entry fails the contract.
"""

from collections.abc import Iterable
from typing import Any

from tests.contract.files import FILES

from holdfast.mechanisms.anchored_laplace import AnchoredLaplace
from holdfast.mechanisms.catalogue import AnyMechanism
from holdfast.mechanisms.conditioned import Conditioned
from holdfast.mechanisms.k_norm import KNorm
from holdfast.mechanisms.lattice_gaussian import LatticeGaussian
from holdfast.mechanisms.lattice_laplace import LatticeLaplace
from holdfast.mechanisms.mechanism import Mechanism
from holdfast.mechanisms.naive import NaiveGaussian, NaiveLaplace
from holdfast.mechanisms.noisy_count import NoisyCount
from holdfast.mechanisms.projected_gaussian import ProjectedGaussian
from holdfast.mechanisms.topdown.mechanism import TopDown
from holdfast.mechanisms.wasserstein.exponential import WassersteinExponential
from holdfast.mechanisms.wasserstein.gradient import KNormGradient
from holdfast.testing.worlds import Case

PURE = {"epsilon": "4"}
EACH = {"epsilon": "4", "adjacency": "unit"}
ZCDP = {"standard": "zcdp", "rho": "2"}
GAUSSIAN = {"standard": "gaussian", "mu": "2"}
NOT_NEGATIVE = {"nonnegative": True}
BITS = {"nonnegative": True, "inequalities": [{"margin": ["row", "column"], "at_most": 1}]}
AT_MOST = {"nonnegative": True, "inequalities": [{"where": {"row": "a", "column": "x"}, "at_most": 2}]}
FEW_X = {"inequalities": [{"where": {"sex": "x"}, "level": "state", "at_most": 2}]}
AT_LEAST = {"inequalities": [{"where": {"level": "a"}, "at_least": 1}]}

WITHIN = {"standard": "approximate", "epsilon": "2", "delta": "1/20"}
"""What noise within a bound is asked for: outputs are listed beyond the bound, as tables differ."""

COMES = {"epsilon": "3/2", "neighbours": "add-remove"}
COMES_EACH = {**COMES, "adjacency": "unit"}
COMES_ZCDP = {"standard": "zcdp", "rho": "1", "neighbours": "add-remove"}
NEIGHBOURS = {"neighbours": "add-remove"}
"""Records are added and removed."""

AB_OR_C = {"name": "ab or c", "marginal": ["level"], "recode": {"level": {"ab": ["a", "b"], "c": ["c"]}}}
ONLY_A = {"name": "only a", "marginal": [], "where": {"level": "a"}}
"""Queries that put levels together, and that leave some out."""
COLUMNS = {"marginal": ["column"], "weight": "3"}
CELLS = {"marginal": ["row", "column"]}
WEIGHTED = {"queries": [COLUMNS, CELLS]}
STATES = {"queries": [{"marginal": ["sex"], "level": "state"}, {"marginal": ["sex"], "weight": "2"}]}
SOME = {
    "queries": [
        {"weights": {"file": "weights.csv"}, "weight": "1/2"},
        {"where": {"level": ["a", "b"]}},
        {"marginal": ["level"]},
    ]
}
TWICE = {"queries": [{"weights": {"file": "weights.csv"}, "weight": "1/2"}, {"marginal": ["level"]}]}
"""Queries that weigh noise."""
WISHES = {"optimise_for": [{"marginal": ["column"]}, {"marginal": ["row", "column"]}]}
ALL = {"optimise_for": "all margins up to one"}
LEVELS = {"optimise_for": [{"marginal": []}, {"marginal": ["level"], "weight": "2"}]}
"""Margins that weights are best for."""
LEAST = {"optimise_for": "accuracy"}
GOALS = (
    {"marginal": ["column"], "within": "1", "level": "95/100"},
    {"cells": True, "within": "2", "level": "9/10"},
)
GOAL = ({"cells": True, "within": "1", "level": "9/10"},)
"""Targets that shape the noise, and that its budget follows from."""

CASES: dict[type[AnyMechanism], tuple[Case, ...]] = {
    LatticeLaplace: (
        Case("2 x 2", PURE),
        Case("2 x 3", {"epsilon": "4", "distance": 4}),
        Case("3 x 3", PURE, reach=7),
        Case("two states", EACH),
        Case("one total", PURE),
        Case("selections", PURE, {"norm": "l1"}),
        Case("weights", PURE, {"norm": "l2"}),
        Case("a structural zero", PURE, {"norm": "l2"}, reach=16),
        Case("2 x 3", EACH, {"norm": "l2"}),
        Case("2 x 2", {}, {"epsilon_per_unit": "3/4"}),
        Case("two states", PURE, {"norm": "l2", **WEIGHTED}, reach=24),
        Case("two states", PURE, {"norm": "l2", **WISHES}, reach=24),
        Case("one total", EACH, {"norm": "l2", **SOME}, reach=14),
        Case("two states", {"standard": "pure"}, {"norm": "l2", **LEAST}, reach=24, accuracy=GOALS),
        Case("nothing kept", COMES, reach=14),
        Case("nothing kept", COMES_EACH, {"norm": "l2"}, reach=24),
        Case("nothing kept", {**COMES, "distance": 2}, reach=22),
        Case("women", {**COMES, "epsilon": "4"}, reach=9),
        Case("women by county", COMES_EACH, reach=14),
        Case("2 x 2", {**COMES, "epsilon": "4"}),
        Case("selections", {**COMES, "epsilon": "4"}),
        Case("one total", {**COMES_EACH, "epsilon": "2"}),
        Case("2 x 2", WITHIN, {"bound": 8}, reach=12),
        Case("one total", {**WITHIN, "delta": "1/1000"}, {"bound": 8}, reach=12),
        Case("two states", EACH, {"repeatable": True}),
        Case("2 x 2", WITHIN, {"bound": 8, "repeatable": True}, reach=12),
        Case("two states", WITHIN, {"bound": 8, "norm": "l2"}, reach=12),
        Case("2 x 3", {**WITHIN, "epsilon": "3"}, {"bound": 8, "norm": "l2", **WEIGHTED}, reach=10),
        Case("nothing kept", {**WITHIN, **NEIGHBOURS, "distance": 2}, {"bound": 12}, reach=16),
    ),
    LatticeGaussian: (
        Case("2 x 2", ZCDP),
        Case("3 x 3", ZCDP, reach=6),
        Case("two states", {**ZCDP, "adjacency": "unit"}),
        Case("weights", ZCDP),
        Case("a structural zero", ZCDP),
        Case("selections", {"standard": "approximate", "epsilon": "4", "delta": "1/100"}),
        Case("2 x 2", {"standard": "gaussian", "mu": "3/2"}),
        Case("one total", {"standard": "gaussian", "mu": "1"}, SOME, attained=False),
        Case("two states", ZCDP, WEIGHTED),
        Case("two states", {**ZCDP, "adjacency": "unit"}, WEIGHTED),
        Case("3 x 3", ZCDP, WEIGHTED, reach=6),
        Case("one total", ZCDP, SOME),
        Case("one total", {**ZCDP, "adjacency": "unit"}, SOME),
        Case("a geography", ZCDP, STATES),
        Case("two states", ZCDP, WISHES),
        Case("two states", {**ZCDP, "adjacency": "unit"}, ALL, reach=24),  # wide where nothing is asked
        Case("two states", {"standard": "zcdp"}, LEAST, accuracy=GOALS),
        Case("one total", {"standard": "gaussian"}, LEAST, attained=False, accuracy=GOAL),
        Case("nothing kept", {"standard": "zcdp", **NEIGHBOURS}, LEAST, accuracy=GOAL),
        Case("nothing kept", COMES_ZCDP),
        Case("nothing kept", {**COMES_ZCDP, "adjacency": "unit"}),
        Case("women", COMES_ZCDP, reach=9),
        Case("women by county", COMES_ZCDP),
        Case("3 x 3", {**COMES_ZCDP, "rho": "2"}, reach=6),
        Case("2 x 2", {**COMES_ZCDP, "rho": "2"}, WEIGHTED),
        Case("nothing kept", COMES_ZCDP, TWICE),
        Case("nothing kept", COMES_ZCDP, LEVELS),
        Case("two states", {**COMES_ZCDP, "rho": "2"}, WISHES),
        Case("2 x 2", WITHIN, {"bound": 8}, reach=12),
        Case("3 x 3", {**WITHIN, "epsilon": "4"}, {"bound": 6}, reach=6),
        Case("one total", {**WITHIN, "delta": "1/1000"}, {"bound": 12}, reach=16),
        Case("two states", {**WITHIN, "adjacency": "unit"}, {"bound": 8}, reach=12),
        Case("two states", WITHIN, {"bound": 8, **WEIGHTED}, reach=12),
        Case("women", {**WITHIN, **NEIGHBOURS}, {"bound": 8}, reach=12),
        Case("2 x 2", ZCDP, {"repeatable": True}),
        Case("two states", WITHIN, {"bound": 8, "repeatable": True, **WEIGHTED}, reach=12),
    ),
    KNorm: (
        Case("2 x 2", PURE),
        Case("2 x 3", PURE, reach=5),
        Case("one total", PURE),
        Case("a structural zero", {"epsilon": "6"}, reach=8),
        Case("nothing kept", COMES, reach=14),
        Case("women", {**COMES, "epsilon": "8"}, reach=5),
    ),
    Conditioned: (
        Case("2 x 3", PURE, constraints=NOT_NEGATIVE),
        Case("two states", EACH, constraints=NOT_NEGATIVE),
        Case("a structural zero", PURE, constraints=NOT_NEGATIVE),
        Case("weights", PURE, constraints=NOT_NEGATIVE),
        Case("one total", PURE, constraints={**NOT_NEGATIVE, **AT_LEAST}),
        Case("bits", PURE, constraints=BITS),
        Case("bits", EACH, constraints=BITS),
        Case("2 x 3", PURE, constraints=AT_MOST),
        Case("one total", PURE, constraints=AT_LEAST, attained=False, reach=12),
        Case(
            "2 x 2",
            {"standard": "approximate", "epsilon": "2", "delta": "1/10"},
            {"chain": True},
            NOT_NEGATIVE,
            attained=False,
        ),
    ),
    WassersteinExponential: (
        Case("one total", PURE),
        Case("2 x 3", PURE, {"loss": "l2"}, reach=10),
        Case("one total", EACH, {"loss": "l1"}, NOT_NEGATIVE),
        Case("one total", PURE, {"prior": "past.csv"}, NOT_NEGATIVE),
        Case(
            "one total", PURE, {"prior": "past.csv", "loss": "l2", "floor": "2"}, {**NOT_NEGATIVE, **AT_LEAST}
        ),
        Case("one total", EACH, {"prior": "past.csv", "loss": "linf", "concentration": "1/3"}, NOT_NEGATIVE),
        Case("one total", PURE, {"prior": "past.csv", "floor": "0"}, NOT_NEGATIVE),
        Case("one total", PURE, {"loss": "squared"}, NOT_NEGATIVE),
        Case("one total", EACH, {"loss": "squared", "prior": "past.csv"}, NOT_NEGATIVE),
        Case("2 x 3", PURE, {"loss": "squared"}, NOT_NEGATIVE),
        Case("one total", PURE, {"loss": "linf", "queries": "weights.csv"}, NOT_NEGATIVE),
        Case("one total", PURE, {"loss": "linf"}, reach=14),
        Case("2 x 3", PURE, {"loss": "l2"}, NOT_NEGATIVE),
        Case("bits", PURE, {"loss": "l2"}, BITS),
        Case("2 x 3", PURE, {"loss": "l1"}, AT_MOST),
        Case("one total", PURE, {"base": "counting"}, reach=12),
        Case(
            "cases and deaths",
            PURE,
            {"prior": "past.csv", "prior_where": {"kind": "c"}},
            {**NOT_NEGATIVE, "inequalities": [{"weights": {"file": "weights.csv"}, "at_least": 0}]},
        ),
        Case(
            "2 x 2",
            {"standard": "approximate", "epsilon": "2", "delta": "1/10"},
            {"chain": True, "loss": "l2"},
            NOT_NEGATIVE,
            attained=False,
        ),
    ),
    KNormGradient: (
        Case("scores", PURE, {"of": "score", "steps": 12}, attained=False, reach=3, steps=4),
        Case(
            "scores",
            EACH,
            {
                "estimate": "quantile",
                "of": "score",
                "level": "1/3",
                "steps": 12,
                "where": {"score": ["1", "2", "3"]},
            },
            attained=False,
            reach=3,
            steps=4,
        ),
        Case(
            "two groups",
            {"epsilon": "8"},
            {"estimate": "linear", "of": "score", "on": ["group"], "bound": "2", "steps": 8},
            attained=False,
            reach=2,
            steps=4,
        ),
        Case(
            "two arms",
            {"epsilon": "24"},
            {"estimate": "logistic", "of": "cured", "on": ["arm"], "event": "y", "bound": "2", "steps": 8},
            attained=False,
            reach=4,
            steps=2,
        ),
    ),
    ProjectedGaussian: (
        Case("2 x 2", GAUSSIAN, steps=16),
        Case("one total", ZCDP, steps=8, reach=4),
        Case("a structural zero", GAUSSIAN, steps=4, reach=12),
    ),
    NaiveLaplace: (
        Case("one total", PURE, reach=12),
        Case("weights", PURE, reach=12),
        Case("one total", EACH, reach=12),
    ),
    NaiveGaussian: (
        Case("one total", ZCDP),
        Case("weights", ZCDP),
        Case("one total", {**ZCDP, "adjacency": "unit"}),
        Case("women", {**COMES_ZCDP, "rho": "4"}, reach=6),
    ),
    TopDown: (
        Case("one total", ZCDP),
        Case("one total", PURE, reach=12),
        Case("states alone", {**ZCDP, "adjacency": "unit"}),
        Case("a geography", {"standard": "zcdp", "rho": "8", "adjacency": "unit"}, reach=3),
        Case("a geography", {"standard": "zcdp", "rho": "32"}, reach=3),
        Case(
            "a geography",
            {"standard": "zcdp", "rho": "16"},
            {"allocation": {"nation": "0", "state": "1"}, "queries": [{"marginal": ["sex"]}]},
            reach=5,
        ),
        Case("a structural zero", {"standard": "zcdp", "rho": "64"}, reach=2, attained=False),
        Case("2 x 2", {"standard": "zcdp", "rho": "16"}, reach=5, attained=False),
        Case("one total", ZCDP, constraints=AT_LEAST),
        Case("one total", ZCDP, {"queries": [AB_OR_C]}),
        Case("nothing kept", {**ZCDP, "adjacency": "unit"}, {"queries": [ONLY_A]}),
        Case("nothing kept", {**COMES_ZCDP, "rho": "2"}, {"queries": [ONLY_A]}),
        Case(
            "states alone",
            {**ZCDP, "adjacency": "unit"},
            {
                "queries": [{"marginal": [], "weight": {"state": "2"}}],
                "allocation": {"nation": "0", "state": "1"},
            },
        ),
        Case(
            "one total",
            {**ZCDP, "rho": "4"},
            {"queries": [{"marginal": ["level"]}, AB_OR_C], "passes": [["ab or c"], ["level"]]},
            reach=4,
            attained=False,
        ),
        Case("nations", {**COMES_ZCDP, "rho": "8"}, reach=4),
        Case("nations", {**COMES, "epsilon": "6", "adjacency": "unit"}, reach=9),
        Case("nothing kept", {**COMES_ZCDP, "rho": "2"}),
        Case("a geography", {"standard": "zcdp", "rho": "32"}, constraints=FEW_X, reach=3),
    ),
    NoisyCount: (
        Case("2 x 2", PURE, steps=16),
        Case("equal margins", {"epsilon": "4", "distance": 5}, reach=10, steps=16),
        Case("2 x 2", {"standard": "approximate", "epsilon": "2", "delta": "1/20"}, reach=4, steps=1024),
        Case("2 x 2", ZCDP, steps=16),
        Case("two strata", GAUSSIAN, reach=4, steps=16),
        Case("two strata", PURE, steps=4),
    ),
    AnchoredLaplace: (
        Case("one total", PURE),
        Case("one total", EACH),
        Case("one total", PURE, {"anchors": {"level": "c"}}, reach=11),
        Case("2 x 2", PURE),
        Case("2 x 2", {**EACH, "epsilon": "1"}),
        Case("2 x 3", PURE),
        Case("2 x 3", EACH),
        Case("2 x 3", {"epsilon": "6", "distance": 4}, {"anchors": {"row": "b", "column": "y"}}, reach=10),
        Case("3 x 3", {"epsilon": "8"}, reach=7),
        Case("two states", PURE),
        Case("two states", EACH),
        Case("nested", PURE),
        Case("nested", EACH),
        Case("two strata", PURE),
        Case("three margins", {"epsilon": "16"}, reach=6),
        Case("selections", PURE),
        Case("weights", PURE),
        Case("a structural zero", PURE, reach=16),
        Case("nothing kept", COMES, reach=14),
        Case("women by county", COMES_EACH, reach=14),
        Case("women", {**COMES, "epsilon": "4"}, reach=9),
        Case("2 x 2", {**COMES, "epsilon": "4"}),
    ),
}


def uncovered(mechanisms: Iterable[type[Mechanism[Any, Any]]]) -> list[str]:
    """Return the names of mechanisms that no case tries, of tables or of files."""
    covered = {kind for cases in (CASES, FILES) for kind, tried in cases.items() if tried}
    return [kind.name for kind in mechanisms if kind not in covered]
