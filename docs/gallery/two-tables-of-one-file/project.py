"""Two tables of the same people on one budget: release, check, and show both."""

import matplotlib.pyplot as plt

import holdfast as hf

written = hf.release("tables.toml", "release")
print("verified:", hf.verify("release").kept)
print("for both together: epsilon", written.certificate.guarantee.intensity["epsilon"])

figure, both = plt.subplots(1, 2, figsize=(7, 3.6), layout="constrained", sharey=True)
for axes, (table, margin) in zip(both, (("travel", "travel"), ("age", "age")), strict=True):
    counts = hf.read("release", table).interval("total", margin=["district", margin]).to_frame()
    for district, colour in zip(("North", "Centre", "South"), ("#1d6f6a", "#c2703d", "#5a5f99"), strict=True):
        rows = counts.filter(district=district)
        axes.errorbar(
            rows[margin],
            rows["estimate"],
            [rows["estimate"] - rows["low"], rows["high"] - rows["estimate"]],
            fmt="o",
            capsize=3,
            color=colour,
            label=district,
        )
    axes.set(title=f"By {margin}")
both[0].legend()
plt.savefig("picture.svg")
