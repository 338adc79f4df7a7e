"""Free lunches by school and grade, beside enrolment that is exact: release, check, and show shares."""

import matplotlib.pyplot as plt

import holdfast as hf

hf.release("holdfast.toml", "release")
print("verified:", hf.verify("release").kept)

reading = hf.read("release")
print("students:", reading.interval("total").to_frame().row(0))
shares = reading.ratio("lunch=free", "total", margin=["school"]).to_frame().sort("estimate")

axes = plt.figure(figsize=(7, 3.4), layout="constrained").gca()
axes.barh(shares["school"], shares["estimate"], color="#1d6f6a", alpha=0.55)
axes.hlines(shares["school"], shares["low"], shares["high"], color="black", lw=2)
axes.set(title="Share of students with free lunch; enrolment is exact", xlim=(0, 1))
plt.savefig("picture.svg")
