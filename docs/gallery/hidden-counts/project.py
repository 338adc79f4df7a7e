"""The least suppression, recoding and rounding of one table, and what each leaves of the small counts."""

import matplotlib.pyplot as plt

import holdfast as hf

found = hf.coarsen("county.toml", out="coarser")
for way in found.ways:
    print(
        f"{way.method}: cost {way.cost}, no less than {way.bound};",
        "verified:",
        hf.verify(f"coarser/{way.method}").kept,
    )

small = [
    {"age": age, "sex": sex}
    for age, sex in (("18-19", "Female"), ("80-84", "Male"), ("85+", "Male"), ("85+", "Female"))
]
colours = dict(zip(("suppression", "recoding", "rounding"), ("#1d6f6a", "#c2703d", "#5a5f99"), strict=True))
axes = plt.figure(figsize=(7, 3.4), layout="constrained").gca()
for shift, way in enumerate(found.reached):
    known = [cell for cell in way.evidence.to_dict()["cells"] if cell["levels"] in small]
    places = [4 * place + shift for place in range(len(known))]
    low = [cell["least"] for cell in known]
    wide = [cell["largest"] - cell["least"] for cell in known]
    axes.barh(places, wide, left=low, color=colours[way.method], label=way.method)
axes.set_yticks(
    [4 * place + 1 for place in range(len(small))], [f"{one['age']} {one['sex']}" for one in small]
)
axes.invert_yaxis()
axes.set(xlabel="what the count of a cell can be")
axes.legend()
plt.savefig("picture.svg")
