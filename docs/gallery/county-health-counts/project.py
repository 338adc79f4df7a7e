"""Cases of hepatitis C by county and age: release, check, and show the rate of every county."""

import matplotlib.pyplot as plt
import polars as pl

import holdfast as hf

hf.release("holdfast.toml", "release")
print("verified:", hf.verify("release").kept)

people = dict(pl.read_csv("population.csv").iter_rows())
rates = hf.read("release").rate("total", people, per=100_000, margin=["county"])
shown = rates.to_frame().sort("estimate")
print(shown.height, "rates of 100,000 people, each with an interval at 0.9")

axes = plt.figure(figsize=(7, 3.6), layout="constrained").gca()
axes.hlines(shown["county"], shown["low"].clip(0), shown["high"], color="#1d6f6a", lw=6, alpha=0.35)
axes.plot(shown["estimate"], shown["county"], "o", color="#14524e")
axes.set(title="Cases of 100,000 people, with intervals")
plt.savefig("picture.svg")
