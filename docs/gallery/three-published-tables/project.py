"""What three tables of one county say together: what hidden counts can still be."""

import matplotlib.pyplot as plt

import holdfast as hf

found = hf.audit.publication("alpine.toml").to_dict()
for cell in found["determined"]:
    if not cell["printed"]:
        print("worked out:", " ".join(cell["levels"].values()), cell["least"])
for cell in found["narrow"]:
    print("nearly:", " ".join(cell["levels"].values()), cell["least"], "to", cell["largest"])

listed = [cell["levels"] for cell in found["determined"] if cell["printed"]]
hidden = [cell for cell in found["cells"] if cell["levels"] not in listed]
names = [" ".join(cell["levels"].values()) for cell in hidden]
axes = plt.figure(figsize=(7, 3.4), layout="constrained").gca()
axes.barh(names, [8] * len(names), left=1, color="#e4ecef", label="what the rule says: 1 to 9")
width = [max(cell["largest"] - cell["least"], 0.12) for cell in hidden]
axes.barh(
    names, width, left=[cell["least"] for cell in hidden], color="#a3211a", height=0.4, label="what all say"
)
axes.invert_yaxis()
axes.set(xlabel="people", xlim=(0, 13))
axes.legend(loc="lower right")
plt.savefig("picture.svg")
