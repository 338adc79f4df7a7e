"""Births by month, from dates: release, check, and show the year with a ribbon that covers all of it."""

import matplotlib.pyplot as plt

import holdfast as hf

hf.release("holdfast.toml", "release")
print("verified:", hf.verify("release").kept)

year = hf.read("release").interval("total", margin=["month"], together=True).to_frame()
year = year.sort(year["month"].cast(int))
print("months:", year.height, "births:", int(year["estimate"].sum()))

axes = plt.figure(figsize=(7, 3.4), layout="constrained").gca()
axes.fill_between(year["month"], year["low"], year["high"], color="#1d6f6a", alpha=0.25)
axes.plot(year["month"], year["estimate"], "o-", color="#14524e")
axes.set(title="Births by month; with probability 0.9 all twelve are in the ribbon", ylim=(0, None))
plt.savefig("picture.svg")
