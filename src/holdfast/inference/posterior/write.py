"""The folder of a posterior: draws, summaries, a picture; all of it or nothing."""

import warnings
from pathlib import Path
from typing import Any

from holdfast.certificate.text import canonical
from holdfast.certificate.write import cannot_write
from holdfast.data.write import write_frame
from holdfast.drafts import Draft
from holdfast.inference.posterior.picture import draw
from holdfast.inference.posterior.results import Posterior
from holdfast.version import VERSION

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
