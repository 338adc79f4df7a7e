"""A regression of wages on schooling beside an exact register: release, check, and draw the line."""

import matplotlib.pyplot as plt
import polars as pl

import holdfast as hf

hf.release("holdfast.toml", "release")
print("verified:", hf.verify("release").kept)

middle, slope = pl.read_csv("release/estimate.csv")["value"].cast(float)
print(f"{slope:.2f} more an hour for each year; {middle:.1f} in the middle of the years")

workers = pl.read_csv("wages.csv").group_by("schooling", "wage").agg(pl.col("workers").sum())
axes = plt.figure(figsize=(7, 3.6), layout="constrained").gca()
axes.scatter(workers["schooling"], workers["wage"], workers["workers"] * 4, color="#1d6f6a", alpha=0.3)
axes.plot([9, 18], [middle - 4.5 * slope, middle + 4.5 * slope], color="black", lw=2)
axes.set(title="Wage by years of schooling: the line alone is released, the dots are invented", ylim=(0, 44))
plt.savefig("picture.svg")
