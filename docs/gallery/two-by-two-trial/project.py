"""Did antisepsis help? A private test on a 2 x 2 table, and how often other budgets would have seen it."""

import matplotlib.pyplot as plt
import polars as pl

import holdfast as hf

hf.release("trial.toml", "release")
print("verified:", hf.verify("release").kept)

counts = pl.read_csv("surgery.csv")["patients"].to_list()
test = hf.odds_ratio(counts, hf.read_spec("trial.toml").privacy).test
odds = test.confidence
print(f"a p-value of {test.p_value:.3f}, an odds ratio from {odds.lower:.2f} to {odds.upper:.2f}")

axes = plt.figure(figsize=(7, 3.2), layout="constrained").gca()
for place, epsilon in enumerate(("1/4", "1/2", "1", "2")):  # a study: these counts are public
    budget = hf.Privacy(epsilon=epsilon)
    found = [hf.odds_ratio(counts, budget, entropy=hf.SeededEntropy(seed)).test.p_value for seed in range(60)]
    axes.plot(found, [place + (i % 12 - 6) / 30 for i in range(60)], "o", color="#1d6f6a", alpha=0.4)
axes.axvline(0.05, color="black", lw=1)
axes.set_yticks(range(4), ["epsilon 1/4", "epsilon 1/2", "epsilon 1", "epsilon 2"])
axes.set(title="Sixty p-values at each budget; the line is 0.05", xscale="log", xlim=(1e-4, 1.2))
plt.savefig("picture.svg")
