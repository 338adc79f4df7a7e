"""Three years of patients on one ledger: each is charged before it is drawn, the fourth is refused."""

from fractions import Fraction

import matplotlib.pyplot as plt

import holdfast as hf

spec = hf.read_spec("holdfast.toml")
ledger = hf.Ledger.create("patients.ledger", standard="pure", budget=Fraction(3, 2))
spent, years = [Fraction(0)], ("2023", "2024", "2025")
for year in years:
    hf.prepare(spec, data=f"visits-{year}.csv").publish(f"release-{year}", ledger=ledger)
    spent.append(ledger.spent())
    print(
        year, "verified:", hf.verify(f"release-{year}").kept, "spent:", ledger.spent(), "left:", ledger.left()
    )
try:
    hf.prepare(spec, data="visits-2025.csv").publish("again", ledger=ledger)
except hf.BudgetError:
    print("a fourth release is refused, and nothing is drawn")

axes = plt.figure(figsize=(7, 1.6), layout="constrained").gca()
for year, before, after in zip(years, spent, spent[1:], strict=False):
    axes.barh("budget", float(after - before), left=float(before), color="#1d6f6a", edgecolor="white")
    axes.text(float(before + after) / 2, 0, year, ha="center", va="center", color="white")
axes.axvline(1.5, color="black", lw=2)
axes.set(title="What three years have spent of epsilon 3/2", xlim=(0, 1.7), yticks=[])
plt.savefig("picture.svg")
