"""Households that exchange their towns: release, check, and see what a table of towns loses."""

import matplotlib.pyplot as plt
import polars as pl

import holdfast as hf

written = hf.release("swap.toml", "release")
print("verified:", hf.verify("release").kept)
strata = written.certificate.records.details.strata
print("largest stratum:", strata.largest, "households; alone in theirs:", strata.singletons)


def owners(file):
    """Return the share of owners in each town."""
    towns = pl.read_csv(file).group_by("town").agg((pl.col("tenure") == "own").mean().alias("share"))
    return towns.sort("town")


before, after = owners("households.csv"), owners("release/microdata.csv")
axes = plt.figure(figsize=(7, 3.2), layout="constrained").gca()
axes.hlines(before["town"], before["share"], after["share"], color="#8888", lw=3)
axes.plot(before["share"], before["town"], "o", color="#c2703d", label="before, for the curator alone")
axes.plot(after["share"], after["town"], "o", color="#1d6f6a", label="after")
axes.set(title="Share of owners: swapping makes towns alike", xlim=(0, 1))
axes.legend()
plt.savefig("picture.svg")
