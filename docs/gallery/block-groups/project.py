"""Block groups top-down: release, check, and map the share of children beside how sure it is."""

import matplotlib.pyplot as plt

import holdfast as hf

hf.release("topdown.toml", "release")
print("verified:", hf.verify("release").kept)

shares = hf.read("release").ratio("age=0-17", "total", place="block_group").to_frame()
print("block groups:", shares.height)
half = (shares["high"].clip(0, 1) - shares["low"].clip(0, 1)) / 2
maps = {"Share of children": shares["estimate"], "Half the width of its interval": half}

figure, both = plt.subplots(1, 2, figsize=(7, 3.6), layout="constrained")
for axes, (title, values) in zip(both, maps.items(), strict=True):
    tiles = axes.imshow(values.to_numpy().reshape(4, 4), cmap="YlGn", vmin=0)  # a tract is a row
    axes.set(title=title, xticks=[], yticks=range(4), yticklabels=[f"tract {tract}" for tract in "1234"])
    figure.colorbar(tiles, ax=axes, shrink=0.7)
plt.savefig("picture.svg")
