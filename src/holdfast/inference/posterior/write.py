"""The folder of a posterior: draws, summaries, and a picture of intervals beside those of the naive analysis.

All of it is written, or nothing.
"""

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.certificate.text import canonical
from holdfast.certificate.write import cannot_write
from holdfast.data.table import write_frame
from holdfast.inference.posterior.results import Posterior
from holdfast.system.drafts import Draft
from holdfast.system.files import save_figure
from holdfast.system.text import visible
from holdfast.version import VERSION

MOST_SHOWN = 70
WIDE = 100
"""Rates that are farther apart than this factor stand on a logarithmic axis."""
OURS, NAIVE = "#1f5a73", "#c98b4b"


def draw(posterior: Posterior, path: Path) -> None:
    """Draw the rates or proportions, the largest on top; of many, as many as can be read."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - loaded late

    one = posterior.quantities[0]
    summary = posterior.summaries[one.name]
    order = np.argsort(summary["mean"])
    every = order.size
    if every > MOST_SHOWN:  # evenly over all of them
        order = order[np.linspace(0, every - 1, MOST_SHOWN).round().astype(np.int64)]
    figure = Figure(figsize=(8, 1.8 + 0.22 * order.size), layout="constrained")
    axes = figure.subplots()
    places = np.arange(order.size)
    for shift, colour, label, keys in (
        (0.16, OURS, "posterior, with the noise", ("low", "mean", "high")),
        (-0.16, NAIVE, "naive, release taken for true", ("naive_low", "naive_mean", "naive_high")),
    ):
        low, mean, high = (summary[key][order] for key in keys)
        axes.hlines(places + shift, low, high, color=colour, linewidth=1.6, label=label)
        axes.plot(mean, places + shift, "o", color=colour, markersize=3)
    labels = [_short(visible(one.named.labels[at])) for at in order]
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
    save_figure(figure, path)


def _short(label: str) -> str:
    return (label if len(label) <= 40 else f"{label[:38]}...").replace("$", r"\$")


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
