"""From the folder of a release and a model to a posterior.

Beside it stands the analysis that ignores the noise: the same model, with released counts taken for the true
ones. A negative count is taken for 0, and areas have the totals that this leaves.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.certificate.write import charged_draft
from holdfast.inference.posterior.draws import Draws
from holdfast.inference.posterior.forecast import Forecast, forecast
from holdfast.inference.posterior.gibbs import gibbs
from holdfast.inference.posterior.model import CountModel
from holdfast.inference.posterior.model_spec import ModelSpec, SamplerChoice, read_model
from holdfast.inference.posterior.problem import Problem, problem_of
from holdfast.inference.posterior.results import Posterior, write_posterior
from holdfast.inference.posterior.swapped import SwappedProblem, swapped_problem
from holdfast.inference.posterior.table_constraints import is_records, released_table
from holdfast.inference.posterior.whole_tables import importance, rejection
from holdfast.lattice.arrays import IntArray
from holdfast.system.drafts import drafted
from holdfast.system.errors import SpecError
from holdfast.system.ways import about, option

WARMUP = 200


def naive(model: CountModel, released: IntArray, *, draws: int, seed: int | None = None) -> Draws:
    """Return draws of the parameters as if the released counts were true, in one chain."""
    generator = np.random.default_rng(seed)
    counts = np.maximum(released, 0)
    if model.kind == "proportions":
        totals = np.bincount(model.stratum, weights=counts, minlength=model.totals.size)
        model = replace(model, totals=totals.astype(np.int64))
    numbers = np.tile(model.medians(), (draws, 1, 1))
    if not model.settled:
        now, sums = model.medians(), np.ascontiguousarray(model.sums(counts))
        for at in range(-WARMUP, draws):
            model.settle(now, sums, generator)
            numbers[max(at, 0)] = now
    tables = np.broadcast_to(counts, (1, draws, counts.size))
    return Draws.of(model, tables, numbers[None], generator, sampler="gibbs")


NAIVE_DRAWS = 4000


def infer(
    folder: str | Path,
    model: str | Path | Mapping[str, Any] | ModelSpec,
    out: str | Path | None = None,
    *,
    draws: int | None = None,
    seed: int | None = None,
    table: str | None = None,
    level: float = 0.9,
) -> Posterior:
    """Return the posterior of a model given a release, and write it to a new folder if one is named.

    ``model`` is a TOML file, or its values; ``draws`` replaces the number in it. The release is verified
    first; raises ViolatedError where it is not as certified. The seed decides the draws: the release is
    public, so any will do.

    >>> model = {"model": {"kind": "proportions", "areas": ["county"]}}
    >>> hf.infer(folder, model, draws=40, seed=1).draws.tables.shape
    (4, 10, 4)
    """
    spec = _spec(model, draws)
    if not 0 < level < 1:
        raise SpecError(f"the level is {level:g}: give a probability between 0 and 1, such as 0.9.")
    if out is None:
        return _posterior(spec, Path(folder), table, seed, level)
    with drafted(out, charged_draft) as draft:  # what cannot be written is refused first
        posterior = _posterior(spec, Path(folder), table, seed, level)
        write_posterior(posterior, draft)
    return posterior


def forecast_infer(
    folder: str | Path,
    model: str | Path | Mapping[str, Any] | ModelSpec,
    *,
    draws: int | None = None,
    table: str | None = None,
) -> Forecast:
    """Return what `infer` will take on this machine, in time and memory; nothing is drawn or written.

    >>> model = {"model": {"kind": "proportions", "areas": ["county"]}}
    >>> hf.forecast_infer(folder, model, draws=40).draws
    40
    """
    spec = _spec(model, draws)
    with about(spec.file):
        problem, _ = _problem(spec, Path(folder), table)
    by_sweeps = isinstance(problem, SwappedProblem) or spec.sampler.name == "gibbs"
    return forecast(problem, spec.sampler, by_sweeps=by_sweeps)


def _posterior(spec: ModelSpec, folder: Path, table: str | None, seed: int | None, level: float) -> Posterior:
    with about(spec.file):
        problem, release = _problem(spec, folder, table)
    found = _drawn(problem, spec.sampler, seed)
    ignoring = naive(problem.model, problem.released, draws=min(NAIVE_DRAWS, max(found.size, 400)), seed=seed)
    named = (problem.cells, problem.groups, problem.pools)
    return Posterior.of(spec, found, ignoring, named, level=level, release=release, seed=seed)


def _spec(model: str | Path | Mapping[str, Any] | ModelSpec, draws: int | None) -> ModelSpec:
    if isinstance(model, ModelSpec):
        spec = model
    else:
        spec = ModelSpec.of(model) if isinstance(model, Mapping) else read_model(model)
    if draws is None:
        return spec
    changed = SamplerChoice(**{**spec.sampler.model_dump(), "draws": draws})
    return spec.model_copy(update={"sampler": changed})


def _problem(
    spec: ModelSpec, folder: Path, table: str | None
) -> tuple[Problem | SwappedProblem, dict[str, Any]]:
    if is_records(folder):
        if table is not None:
            raise SpecError(
                f"{option('table')} is for several tables, and {folder} holds swapped records: leave it out."
            )
        swapped = swapped_problem(spec, folder)
        return swapped, _release(swapped.digest, swapped.mechanism, seeded=swapped.seeded)
    released = released_table(folder, table, level=spec.model.level)
    problem = problem_of(spec, released)
    return problem, _release(released.digest, released.mechanism, seeded=released.seeded)


def _release(digest: str, mechanism: str, *, seeded: bool) -> dict[str, Any]:
    return {"certificate_digest": digest, "mechanism": mechanism, "seeded": seeded}


def _drawn(problem: Problem | SwappedProblem, asked: SamplerChoice, seed: int | None) -> Draws:
    if isinstance(problem, SwappedProblem) or asked.name == "gibbs":
        return gibbs(
            problem,
            draws=asked.draws,
            chains=asked.chains,
            warmup=asked.warmup,
            thin=asked.thin,
            seed=seed,
        )
    sampler = rejection if asked.name == "rejection" else importance
    return sampler(problem, draws=asked.draws, proposals=asked.proposals, seed=seed)
