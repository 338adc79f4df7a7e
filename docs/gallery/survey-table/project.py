"""A survey in which taking part is protected as well: release, check, and compare answers by region."""

import matplotlib.pyplot as plt

import holdfast as hf

hf.release("holdfast.toml", "release")
print("verified:", hf.verify("release").kept)

reading = hf.read("release")
valid = {"answer": ["yes", "no"]}
axes = plt.figure(figsize=(7, 3.4), layout="constrained").gca()
for place, (home, colour) in enumerate({"rent": "#c2703d", "own": "#1d6f6a"}.items()):
    shares = reading.ratio(
        {"answer": "yes", "home": home}, valid | {"home": home}, margin=["region"]
    ).to_frame()
    at = [row + place / 5 for row in range(shares.height)]
    axes.vlines(at, shares["low"].clip(0, 1), shares["high"].clip(0, 1), color=colour, lw=7, alpha=0.35)
    axes.plot(at, shares["estimate"], "o", color=colour, label=home)
    print(home, "by", shares["region"].to_list())
axes.set(title="Share of yes among answers, with intervals", ylim=(0, 1))
axes.set_xticks([0.1, 1.1, 2.1, 3.1], shares["region"])
axes.legend()
plt.savefig("picture.svg")
