"""What the privacy budget of the 2020 US census is worth beside the exact populations of the states."""

from fractions import Fraction
from textwrap import fill

import matplotlib.pyplot as plt

import holdfast as hf
from holdfast.calculus import ZeroConcentrated

found = hf.audit.guarantee(
    ZeroConcentrated(Fraction("2.56")), delta=Fraction("1e-10"), spec="states.toml"
).to_dict()
print("records that change for one person:", found["semi_adjacency"])
for name in ("advertised", "effective"):
    print(f"epsilon, {name}: {found[name]['epsilon']:.1f}")

lines = [line.to_dict() for line in hf.audit.census_2020().lines]
labels = [f"{line['product']}; exact:\n{fill(line['invariants'], 44)}" for line in lines]
axes = plt.figure(figsize=(8, 3.8), layout="constrained").gca()
bars = axes.barh(labels, [line["effective"]["epsilon"] for line in lines], color="#1d6f6a")
axes.bar_label(bars, fmt="%.1f", padding=3)
axes.invert_yaxis()
axes.set(xlabel="epsilon at a delta of 1e-10", xlim=(0, 80))
plt.savefig("picture.svg")
