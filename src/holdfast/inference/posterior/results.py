"""What was found: quantities with their draws, summaries, and what the draws are worth.

The folder of a posterior: draws, summaries, and a picture of intervals beside those of the naive analysis.

All of it is written, or nothing.
"""

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from holdfast.certificate.text import canonical
from holdfast.certificate.write import cannot_write
from holdfast.data.table import write_frame
from holdfast.inference.notebook import as_html
from holdfast.inference.posterior.draws import Draws, diagnostics
from holdfast.inference.posterior.model_spec import ModelSpec
from holdfast.inference.posterior.problem import ParameterLabels
from holdfast.lattice.arrays import FloatArray
from holdfast.system.drafts import Draft
from holdfast.system.files import save_figure
from holdfast.system.notebook import label, new_axes
from holdfast.system.text import counted
from holdfast.system.ways import assigned, setting
from holdfast.version import VERSION

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FORMAT = "holdfast-posterior/1"
STATEMENT = (
    "These draws were made from the release and its certificate alone, so they cost no budget and have its"
    " guarantee, among tables with the same invariants [semi-dp, Proposition 23]. Every draw of the counts"
    " keeps all invariants and inequalities exactly. The naive analysis takes the released counts for the"
    " true ones."
)
MOST_R_HAT, FEWEST_DRAWS, MOST_K = 1.01, 400, 0.7
NUMBERS = ("mean", "sd", "median", "low", "high", "r_hat", "ess_bulk", "ess_tail")
TAKEN_FOR_TRUE = ("naive_mean", "naive_low", "naive_high")


@dataclass(frozen=True, eq=False)
class Quantity:
    """Picture of one kind: their draws, chains x draws x numbers, and those of the naive analysis."""

    name: str
    named: ParameterLabels
    values: FloatArray
    naive: FloatArray | None

    def columns(self) -> Iterator[tuple[str, FloatArray]]:
        """Yield each number by the name of its column."""
        for at, levels in enumerate(self.named.labels):
            yield f"{self.name}[{levels}]" if levels else self.name, self.values[..., at]


@dataclass(frozen=True, eq=False)
class Posterior:
    """The posterior of a model given a release.

    Attributes:
        spec: what was asked.
        draws: what was drawn.
        quantities: rates or proportions, counts, and the numbers of the prior that were learnt.
        level: the probability of the intervals.
        release: which release it was: the digest of its certificate, and its mechanism.
        seed: the seed of the draws; None where the system gave one.

    """

    spec: ModelSpec
    draws: Draws
    quantities: tuple[Quantity, ...]
    level: float
    release: Mapping[str, Any]
    seed: int | None

    @classmethod
    def of(
        cls,
        spec: ModelSpec,
        draws: Draws,
        ignoring: Draws,
        named: tuple[ParameterLabels, ParameterLabels, ParameterLabels],
        *,
        level: float,
        release: Mapping[str, Any],
        seed: int | None,
    ) -> "Posterior":
        """Take draws apart; ``named`` are the cells, the groups and the pools."""
        cells, groups, pools = named
        rates = spec.model.kind == "rates"
        scale = spec.model.per if rates else 1.0
        found = [
            Quantity(
                "rate" if rates else "proportion",
                groups,
                scale * draws.parameters,
                scale * ignoring.parameters[0],
            ),
            Quantity("count", cells, draws.tables.astype(np.float64), None),
        ]
        believed = (
            {"shape": spec.prior.shape, "mean": spec.prior.mean} if rates else {"weight": spec.prior.weight}
        )
        for at, (name, number) in enumerate(believed.items()):
            if number is not None and not number.known:
                times = scale if name == "mean" else 1.0
                values, others = (times * np.exp(one.numbers[..., at]) for one in (draws, ignoring))
                found.append(Quantity(name, pools, values, others[0]))
        return cls(spec, draws, tuple(found), level, release, seed)

    @cached_property
    def summaries(self) -> dict[str, dict[str, FloatArray]]:
        """The numbers of the summary, by quantity."""
        return {one.name: self._summary(one) for one in self.quantities}

    @property
    def worst(self) -> dict[str, float]:
        """The largest R-hat and the smallest effective sample sizes, over all numbers that vary."""
        found = {}
        for name, of in (("r_hat", np.max), ("ess_bulk", np.min), ("ess_tail", np.min)):
            told = [each for each in self.summaries.values() if name in each]
            values = np.concatenate([np.zeros(0), *(each[name][each["sd"] > 0] for each in told)])
            if values.size:
                found[name] = float(of(values))
        return found

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader should know before relying on it, a sentence each."""
        worst, told, found = self.worst, self.draws.statistics, []
        if worst.get("r_hat", 1.0) > MOST_R_HAT and "acceptance" not in told:
            found.append(
                f"the chains do not agree: R-hat is up to {worst['r_hat']:.3f}, and should be below"
                f" {MOST_R_HAT}, so ask for more draws or a larger thin in {setting('sampler')}."
            )
        few = min(worst.get("ess_bulk", np.inf), worst.get("ess_tail", np.inf))
        if few < FEWEST_DRAWS:
            found.append(
                f"the draws are worth as few as {few:,.0f} independent ones for some numbers: ask for more"
                " draws."
            )
        k = told.get("pareto_k")
        if k is not None and not k <= MOST_K:
            found.append(
                f"the weights have a tail of k = {k:.2f}, above {MOST_K}, so a few draws decide all: do not"
                f" rely on the estimates, and set {assigned('name', 'gibbs')} in {setting('sampler')}."
            )
        effective = told.get("effective_draws")
        if effective is not None and effective < FEWEST_DRAWS:
            found.append(
                f"the weighted draws are worth {counted(int(effective), 'independent one')}: ask for more."
            )
        return tuple(found)

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as plain values by name."""
        return {
            "format": FORMAT,
            "statement": STATEMENT,
            "release": dict(self.release),
            "model": self.spec.model_dump(mode="json"),
            "sampler": {
                "name": self.draws.sampler,
                "draws": self.draws.size,
                "chains": int(self.draws.tables.shape[0]),
                "seed": self.seed,
                **{name: value if isfinite(value) else None for name, value in self.draws.statistics.items()},
            },
            "level": self.level,
            "worst": self.worst,
            "warnings": list(self.warnings),
            "quantities": {
                one.name: [
                    {"of": dict(zip(one.named.attributes, levels, strict=True)), **numbers}
                    for levels, numbers in zip(one.named.levels, self._rows(one.name), strict=True)
                ]
                for one in self.quantities
            },
        }

    def to_frame(self) -> pl.DataFrame:
        """Return a row for each number: its quantity, the levels of its attributes, and its summary."""
        names = list(dict.fromkeys(name for one in self.quantities for name in one.named.attributes))
        rows = []
        for one in self.quantities:
            for levels, numbers in zip(one.named.levels, self._rows(one.name), strict=True):
                of = dict(zip(one.named.attributes, levels, strict=True))
                rows.append(
                    {"quantity": one.name, **{f"of {name}": of.get(name) for name in names}, **numbers}
                )
        keys = {"quantity": pl.String, **{f"of {name}": pl.String for name in names}}
        return pl.DataFrame(rows, schema={**keys, **dict.fromkeys((*NUMBERS, *TAKEN_FOR_TRUE), pl.Float64)})

    def _repr_html_(self) -> str:
        return as_html(self.to_frame())

    def plot(self, axes: "Axes | None" = None) -> "Axes":
        """Draw the rates or proportions on some axes, new ones unless given, and return these."""
        axes = new_axes(min(self.quantities[0].values.shape[-1], MOST_SHOWN)) if axes is None else axes
        draw_on(self, axes)
        return axes

    def draws_frame(self) -> pl.DataFrame:
        """Return a row for each draw: its chain and number, its weight if it has one, and all numbers."""
        chains, each = self.draws.tables.shape[:2]
        columns: dict[str, Any] = {
            "chain": np.repeat(np.arange(chains), each),
            "draw": np.tile(np.arange(each), chains),
        }
        if self.draws.log_weights is not None:
            columns["weight"] = self._weights()
        for one in self.quantities:
            whole = one.name == "count"
            for name, values in one.columns():
                columns[name] = values.ravel().astype(np.int64) if whole else values.ravel()
        return pl.DataFrame(columns)

    def _rows(self, name: str) -> Iterator[dict[str, float | None]]:
        summary = self.summaries[name]
        size = summary["mean"].size
        for at in range(size):
            yield {
                key: float(summary[key][at]) if key in summary and isfinite(summary[key][at]) else None
                for key in (*NUMBERS, *TAKEN_FOR_TRUE)
            }

    def _weights(self) -> FloatArray:
        logs = self.draws.log_weights
        if logs is None:
            return np.full(self.draws.size, 1 / self.draws.size)
        weights = np.exp(logs.ravel() - logs.max())
        return np.asarray(weights / weights.sum())

    def _summary(self, one: Quantity) -> dict[str, FloatArray]:
        ends = ((1 - self.level) / 2, 0.5, (1 + self.level) / 2)
        flat = one.values.reshape(self.draws.size, -1)
        weights = self._weights()
        mean = weights @ flat
        spread = np.sqrt(np.maximum(weights @ (flat - mean) ** 2, 0.0))
        low, median, high = _quantiles(flat, None if self.draws.log_weights is None else weights, ends)
        found = {"mean": mean, "sd": spread, "median": median, "low": low, "high": high}
        if self.draws.log_weights is None:
            found |= diagnostics(one.values, self.level)._asdict()
        if one.naive is not None:
            below, _, above = _quantiles(one.naive, None, ends)
            found |= {"naive_mean": one.naive.mean(axis=0), "naive_low": below, "naive_high": above}
        return found


def _quantiles(values: FloatArray, weights: FloatArray | None, ends: tuple[float, ...]) -> FloatArray:
    """Return quantiles of each column, weighted or not."""
    if weights is None:
        return np.asarray(np.quantile(values, ends, axis=0))
    order = np.argsort(values, axis=0)
    reached = np.cumsum(weights[order], axis=0)
    places = [np.minimum((reached < end).sum(axis=0), len(values) - 1) for end in ends]
    sorted_values = np.take_along_axis(values, order, axis=0)
    return np.stack([np.take_along_axis(sorted_values, place[None], axis=0)[0] for place in places])


MOST_SHOWN = 70
WIDE = 100
"""Rates that are farther apart than this factor stand on a logarithmic axis."""
OURS, NAIVE = "#1f5a73", "#c98b4b"


def draw(posterior: Posterior, path: Path) -> None:
    """Draw the rates or proportions to a file."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - loaded late

    rows = min(posterior.quantities[0].values.shape[-1], MOST_SHOWN)
    figure = Figure(figsize=(8, 1.8 + 0.22 * rows), layout="constrained")
    draw_on(posterior, figure.subplots())
    save_figure(figure, path)


def draw_on(posterior: Posterior, axes: "Axes") -> None:
    """Draw the rates or proportions, the largest on top; of many, as many as can be read."""
    one = posterior.quantities[0]
    summary = posterior.summaries[one.name]
    order = np.argsort(summary["mean"])
    every = order.size
    if every > MOST_SHOWN:  # evenly over all of them
        order = order[np.linspace(0, every - 1, MOST_SHOWN).round().astype(np.int64)]
    places = np.arange(order.size)
    for shift, colour, name, keys in (
        (0.16, OURS, "posterior, with the noise", ("low", "mean", "high")),
        (-0.16, NAIVE, "naive, release taken for true", ("naive_low", "naive_mean", "naive_high")),
    ):
        low, mean, high = (summary[key][order] for key in keys)
        axes.hlines(places + shift, low, high, color=colour, linewidth=1.6, label=name)
        axes.plot(mean, places + shift, "o", color=colour, markersize=3)
    labels = [label(one.named.levels[at]) for at in order]
    axes.set_yticks(places, labels, fontsize=7)
    axes.set_ylim(-0.8, order.size - 0.2)
    per = posterior.spec.model.per
    axes.set_xlabel(one.name + (f" per {per:,g}" if per != 1 else ""))
    if one.name == "rate" and summary["mean"].max() > WIDE * summary["mean"].min():
        axes.set_xscale("log")
    shown = "" if order.size == every else f", {order.size} of {every:,}"
    axes.set_title(f"{posterior.level:.0%} intervals{shown}", fontsize=10)
    axes.legend(fontsize=8, frameon=False, loc="lower right")
    axes.spines[["top", "right"]].set_visible(False)


DRAWS, SUMMARY, REPORT, PICTURE, ARVIZ = (
    "draws.parquet",
    "summary.csv",
    "posterior.json",
    "posterior.png",
    "posterior.nc",
)


def write_posterior(posterior: Posterior, draft: Draft) -> bool:
    """Fill a folder; returns whether it has the draws for ArviZ, which need the extra `infer`."""
    with cannot_write(draft.folder):
        inside = draft.inside
        for name, frame in ((DRAWS, posterior.draws_frame()), (SUMMARY, posterior.to_frame())):
            with inside.create(name) as file:
                write_frame(frame, name, file)
        inside.write(REPORT, canonical(posterior.to_dict()).encode("utf-8"))
        draw(posterior, inside.named(PICTURE))
        told = _write_inference_data(posterior, inside.named(ARVIZ))
        draft.seal()
    draft.publish()
    return told


def _write_inference_data(posterior: Posterior, path: Path) -> bool:
    """Write the draws as ArviZ's InferenceData, where it is installed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of its own future
            import arviz  # noqa: PLC0415 - an extra

            inference_data(posterior, arviz).to_netcdf(str(path), compress=False)  # draws hardly shrink
    except ImportError:
        return False
    return True


def inference_data(posterior: Posterior, arviz: Any) -> Any:
    """Return the draws as InferenceData: a variable for each quantity, with labels along its last axis."""
    named = {one.name: one for one in posterior.quantities}
    found: dict[str, Any] = {
        "posterior": {
            name: one.values.astype("int64") if name == "count" else one.values for name, one in named.items()
        },
        "dims": {name: [f"{name}_of"] for name in named},
        "coords": {f"{name}_of": list(one.named.labels) for name, one in named.items()},
        "attrs": {
            "inference_library": "holdfast",
            "inference_library_version": VERSION,
            "release": posterior.release["certificate_digest"],
        },
    }
    if posterior.draws.log_weights is not None:
        found["sample_stats"] = {"log_weight": posterior.draws.log_weights}
    return arviz.from_dict(**found)
