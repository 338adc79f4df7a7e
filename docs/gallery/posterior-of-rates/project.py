"""Infections by ward: release, check, and draw rates from their posterior, which knows of the noise."""

import matplotlib.pyplot as plt

import holdfast as hf

hf.release("holdfast.toml", "release")
print("verified:", hf.verify("release").kept)

posterior = hf.infer("release", "model.toml")
rates = posterior.to_frame().filter(quantity="rate").sort("mean")
print(rates.height, "rates from", posterior.draws.tables.shape[0] * posterior.draws.tables.shape[1], "draws")

axes = plt.figure(figsize=(7, 3.8), layout="constrained").gca()
wards, rows = rates["of ward"], range(rates.height)
axes.hlines([row + 0.2 for row in rows], rates["naive_low"], rates["naive_high"], color="#c2703d", lw=3)
axes.plot(
    rates["naive_mean"], [row + 0.2 for row in rows], "o", color="#c2703d", label="as if there were no noise"
)
axes.hlines(rows, rates["low"], rates["high"], color="#1d6f6a", lw=3)
axes.plot(rates["mean"], rows, "o", color="#1d6f6a", label="with the law of the noise")
axes.set_yticks(rows, wards)
axes.set(title="Infections in 1,000 days, with intervals at 0.9", xlim=(0, None))
axes.legend()
plt.savefig("picture.svg")
