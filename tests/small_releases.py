"""Small releases of every mechanism that can make one: what tests of certificates look at."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from holdfast.releases.prepare import prepare
from holdfast.releases.prepared import Prepared
from holdfast.releases.release import Release
from holdfast.sampling.entropy import SeededEntropy
from holdfast.spec.model import Spec

TABLE = "sex,age,n\nf,young,3\nf,middle,4\nf,old,5\nm,young,6\nm,middle,2\nm,old,0\n"
SQUARE = "sex,age,n\nf,young,3\nf,old,5\nm,young,6\nm,old,2\n"
STRATA = "stratum," + SQUARE.replace("\nf", "\n1,f").replace("\nm", "\n1,m") + "2,f,old,3\n2,m,young,9\n"
NESTED = "county,tract,sex,n\nA,1,f,3\nA,2,f,4\nB,3,f,5\nA,1,m,6\nB,3,m,2\nB,4,m,1\nB,4,f,2\n"
REGIONS = "state," + NESTED.replace("\n", "\nS,").removesuffix("S,")
WEIGHTS = "invariant,sex,age,weight\na,f,young,2\na,f,middle,2\na,f,old,2\n"

VISITS = "sex,age,visits,n\nf,20,0,3\nf,20,1,4\nm,20,2,5\nm,40,0,6\nf,40,2,2\nm,60,1,2\nf,60,2,1\n"
PAST = "sex,age,n\nf,young,30\nf,old,12\nm,young,9\nm,middle,1\n"
FLOORS = "sex,age,n\nf,young,2\nm,young,1\n"

PRESENCE = """
[model]
family = "presence"
size = 20

[[people]]
number = 30
inclusion = "2/3"
values = { "f, young" = "1/2", "m, old" = "1/2" }
"""
TABLES = """
[model]
family = "laws"
metric = "l1"
statistic = "table"
public = "one of two tables"

[points]
one = [4, 4, 4, 5, 2, 1]
other = [6, 4, 2, 3, 2, 3]

[[laws]]
secrets = ["Ann is young", "Ann is old"]
one = { one = "1" }
other = { one = "1/3", other = "2/3" }
"""

MARGINS = [{"margin": ["sex"]}, {"margin": ["age"]}]
ZERO = {"structural_zeros": [{"sex": "m", "age": "old"}]}
BOTH = [{"margin": ["stratum", "sex"]}, {"margin": ["stratum", "age"]}]
ZCDP = {"standard": "zcdp", "rho": "1/2"}
APPROXIMATE = {"standard": "approximate", "epsilon": "1", "delta": "1/10"}
GAUSSIAN = {"standard": "gaussian", "mu": "1"}
CONDITIONED = {"name": "conditioned"}
NOISY = {"name": "noisy-count"}
WASSERSTEIN = {"name": "wasserstein-exponential"}
GRADIENT = {"name": "wasserstein-k-norm-gradient", "steps": 60}
LOW = {"where": {"age": "old"}, "at_least": 2}
EACH = {"margin": ["sex"], "where": {"age": ["young", "middle"]}, "at_least": 1}
WEIGHTED = {"name": "weighted", "weights": {"file": "w.csv"}, "at_least": 12}

KINDS: dict[str, dict[str, Any]] = {
    "lattice-laplace": {},
    "lattice-laplace, told": {
        "invariants": MARGINS[:1],
        "publication": {"title": "Households", "status": True, "formats": ["csv", "json-stat", "rocrate"]},
    },
    "lattice-laplace, bounded noise": {
        "mechanism": {"bound": 8},
        "privacy": {"standard": "approximate", "epsilon": "1", "delta": "1/10"},
    },
    "lattice-laplace, l2": {"mechanism": {"norm": "l2"}},
    "lattice-laplace, by distance": {"privacy": {"epsilon": "1", "adjacency": "unit"}},
    "lattice-laplace, farther": {"privacy": {"epsilon": "1", "distance": 5}},
    "lattice-laplace, secrets": {"privacy": {"epsilon": "1", "laws": "pairs"}},
    "lattice-laplace, independent secrets": {
        "privacy": {"epsilon": "1/4", "adjacency": "unit", "laws": "independent"},
    },
    "lattice-laplace, modelled secrets": {
        "invariants": [{"total": True}],
        "privacy": {"epsilon": "1", "laws": "presence.toml"},
    },
    "lattice-gaussian, modelled secrets": {
        "mechanism": {"name": "lattice-gaussian"},
        "privacy": {**ZCDP, "laws": "tables.toml"},
    },
    "lattice-laplace, per unit": {"privacy": {}, "mechanism": {"epsilon_per_unit": "1/7"}},
    "lattice-laplace, nothing kept": {"invariants": []},
    "lattice-laplace, added": {"invariants": [], "privacy": {"epsilon": "1", "neighbours": "add-remove"}},
    "lattice-gaussian, added": {
        "mechanism": {"name": "lattice-gaussian"},
        "invariants": [{"margin": ["age"], "where": {"sex": "f"}, "name": "women"}],
        "privacy": {**ZCDP, "neighbours": "add-remove", "unit": "household", "records_per_unit": 2},
    },
    "topdown, added, regions": {
        "mechanism": {"name": "topdown"},
        "privacy": {**ZCDP, "neighbours": "add-remove", "adjacency": "unit"},
        "invariants": [],
    },
    "lattice-laplace, zeros and weights": {
        "invariants": [*MARGINS, {"name": "weighted", "weights": {"file": "w.csv"}}],
        "constraints": ZERO,
    },
    "anchored-laplace": {"mechanism": {"name": "anchored-laplace"}},
    "anchored-laplace, preferred": {
        "mechanism": {"name": "anchored-laplace", "anchors": {"sex": "m"}},
        "privacy": {"epsilon": "1", "adjacency": "unit"},
    },
    "household": {
        "privacy": {"epsilon": "1", "unit": "household", "records_per_unit": 2},
        "publication": {
            "title": "Households",
            "publisher": "An office",
            "contact": "office@example.org",
            "period": "2024",
            "url": "https://example.org/",
            "licence": "CC BY 4.0",
        },
    },
    "lattice-laplace, nested": {"invariants": [{"margin": ["county"]}, {"margin": ["sex"]}]},
    "lattice-gaussian": {"mechanism": {"name": "lattice-gaussian"}, "privacy": ZCDP},
    "lattice-gaussian, by distance": {
        "mechanism": {"name": "lattice-gaussian"},
        "privacy": {**ZCDP, "adjacency": "unit"},
    },
    "lattice-gaussian, weighted": {
        "mechanism": {
            "name": "lattice-gaussian",
            "queries": [
                {"marginal": ["age"], "weight": "3"},
                {"marginal": ["sex"], "where": {"age": ["young", "old"]}},
                {"marginal": ["sex", "age"]},
                {"weights": {"file": "w.csv"}, "weight": "1/2"},
            ],
        },
        "privacy": ZCDP,
        "invariants": [{"total": True}],
    },
    "lattice-gaussian, weighted levels, regions": {
        "mechanism": {
            "name": "lattice-gaussian",
            "queries": [
                {"marginal": ["sex"], "level": "tract"},
                {"marginal": ["sex"], "level": "county", "weight": "2"},
                {"marginal": ["sex"]},
            ],
        },
        "privacy": {**ZCDP, "adjacency": "unit"},
        "invariants": [{"total": True, "level": "county"}],
    },
    "lattice-laplace, weighted": {
        "mechanism": {"norm": "l2", "queries": [{"marginal": ["age"]}, {"marginal": ["sex", "age"]}]},
        "invariants": [{"margin": ["sex"]}],
    },
    "lattice-gaussian, approximate": {"mechanism": {"name": "lattice-gaussian"}, "privacy": APPROXIMATE},
    "lattice-gaussian, in mu": {"mechanism": {"name": "lattice-gaussian"}, "privacy": GAUSSIAN},
    "k-norm": {"mechanism": {"name": "k-norm"}},
    "conditioned": {"mechanism": CONDITIONED, "constraints": {"nonnegative": True}},
    "conditioned, inequalities": {
        "mechanism": CONDITIONED,
        "constraints": {"nonnegative": True, "inequalities": [LOW, EACH, WEIGHTED]},
        "invariants": [{"total": True}],
    },
    "conditioned, below zero": {"mechanism": CONDITIONED, "constraints": {"inequalities": [LOW], **ZERO}},
    "conditioned, by a chain": {
        "mechanism": {**CONDITIONED, "chain": True},
        "constraints": {"nonnegative": True},
        "privacy": APPROXIMATE,
    },
    "topdown, regions": {
        "mechanism": {"name": "topdown"},
        "privacy": {**ZCDP, "adjacency": "unit"},
        "invariants": [{"total": True, "level": "county"}],
    },
    "topdown, bounds, regions": {
        "mechanism": {
            "name": "topdown",
            "allocation": {"state": "0", "county": "1/4", "tract": "3/4"},
            "queries": [{"marginal": ["sex"], "weight": "3"}, {"marginal": []}],
        },
        "invariants": [{"total": True}, {"where": {"sex": "f"}, "level": "county"}],
        "constraints": {
            "structural_zeros": [{"tract": "4", "sex": "f"}],
            "inequalities": [{"total": True, "level": "tract", "at_least": 1, "at_most": 20}],
        },
    },
    "wasserstein-exponential": {"mechanism": WASSERSTEIN},
    "wasserstein-exponential, prior and secrets": {
        "mechanism": {**WASSERSTEIN, "loss": "l2", "prior": "past.csv", "concentration": "1/2"},
        "constraints": {"nonnegative": True, "floors": {"file": "floors.csv"}},
        "invariants": [{"total": True}],
        "privacy": {"epsilon": "1", "laws": "pairs"},
    },
    "wasserstein-exponential, queries": {
        "mechanism": {**WASSERSTEIN, "loss": "linf", "queries": "w.csv"},
        "constraints": {"nonnegative": True},
    },
    "wasserstein-exponential, by a chain": {
        "mechanism": {**WASSERSTEIN, "loss": "l2", "chain": True},
        "constraints": {"nonnegative": True},
        "privacy": APPROXIMATE,
    },
    "k-norm-gradient": {"mechanism": {**GRADIENT, "of": "visits"}, "invariants": [{"margin": ["sex"]}]},
    "k-norm-gradient, quantile": {
        "mechanism": {
            **GRADIENT,
            "estimate": "quantile",
            "of": "visits",
            "level": "1/4",
            "where": {"sex": "f"},
            "high": "3",
        },
        "invariants": [{"total": True}],
        "privacy": {"epsilon": "1", "adjacency": "unit"},
    },
    "k-norm-gradient, linear": {
        "mechanism": {**GRADIENT, "estimate": "linear", "of": "visits", "on": ["age"], "bound": "3"},
        "invariants": [{"margin": ["sex", "age"]}],
        "privacy": {"epsilon": "1", "laws": "pairs"},
    },
    "k-norm-gradient, logistic": {
        "mechanism": {**GRADIENT, "estimate": "logistic", "of": "sex", "on": ["age"], "event": "f"},
        "invariants": [{"margin": ["age"]}],
    },
    "noisy-count": {"mechanism": NOISY},
    "noisy-count, approximate": {"mechanism": NOISY, "privacy": APPROXIMATE},
    "noisy-count, zcdp": {"mechanism": NOISY, "privacy": ZCDP},
    "noisy-count, gaussian": {"mechanism": NOISY, "privacy": GAUSSIAN},
    "noisy-count, strata": {"mechanism": NOISY, "invariants": BOTH},
}
"""What each says beside the data, one margin each of sex and age, and epsilon 1."""


@cache
def prepared(kind: str) -> Prepared:
    """Return a small table with everything settled; its levels are taken from it."""
    with TemporaryDirectory() as folder:
        return prepare(spec(kind, Path(folder)))


def spec(kind: str, folder: Path) -> Spec:
    """Write a table, and return what is asked of it."""
    rows = STRATA if kind == "noisy-count, strata" else SQUARE if kind.startswith("noisy-count") else TABLE
    rows = NESTED if kind.endswith("nested") else REGIONS if kind.endswith("regions") else rows
    rows = VISITS if kind.startswith("k-norm-gradient") else rows
    if "bounds" in kind:
        rows = rows.removesuffix("S,B,4,f,2\n")
    (folder / "data.csv").write_text(rows)
    (folder / "w.csv").write_text(WEIGHTS)
    (folder / "past.csv").write_text(PAST)
    (folder / "floors.csv").write_text(FLOORS)
    (folder / "presence.toml").write_text(PRESENCE)
    (folder / "tables.toml").write_text(TABLES)
    data: dict[str, Any] = {"path": "data.csv", "cells": rows.partition(",n\n")[0].split(","), "count": "n"}
    if kind.endswith("nested"):
        data["within"] = {"tract": "county"}
    if kind.endswith("regions"):
        data |= {"cells": ["sex"], "geography": {"columns": ["state", "county", "tract"]}}
    asked = {"data": data, "invariants": MARGINS, "privacy": {"epsilon": "1"}, **KINDS[kind]}
    return Spec.of(asked, folder=folder)


@cache
def released(kind: str) -> Release:
    """Return a release of it, from a seed."""
    return prepared(kind).release(SeededEntropy(1))
