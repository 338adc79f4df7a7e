"""The likelihood is the mechanism's own law, for releases of every mechanism, and samplers follow it."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.small_releases import KINDS, prepared, released

from holdfast.inference.posterior.gibbs import gibbs
from holdfast.inference.posterior.model_spec import ModelSpec
from holdfast.inference.posterior.problem import Problem, problem_of
from holdfast.inference.posterior.table_constraints import released_table
from holdfast.inference.posterior.walking import Walking
from holdfast.inference.posterior.whole_tables import importance, rejection
from holdfast.mechanisms.catalogue import NAMED, mechanisms
from holdfast.mechanisms.conditioned import Conditioned
from holdfast.mechanisms.k_norm import KNorm
from holdfast.mechanisms.likelihood import AddedNoise, NoisyStatistic
from holdfast.mechanisms.truncation.laws import AnyLaw, Exchanged, WithinBounds
from holdfast.releases.prepare import prepare
from holdfast.sampling.entropy import SeededEntropy
from holdfast.system.errors import ReleaseError, SamplingError
from holdfast.testing.goodness import LEVEL, p_value
from holdfast.testing.worlds import Case


def named(kind: str) -> str:
    """Return the mechanism of a kind of release."""
    return str(KINDS[kind].get("mechanism", {}).get("name", "lattice-laplace"))


RATES = ModelSpec.of({"model": {"kind": "rates", "areas": ["sex"]}, "prior": {"mean": 3.0, "shape": 1.0}})
WITHOUT_A_LAW = tuple(kind for kind in KINDS if kind.endswith("by a chain"))
WITHOUT_COUNTS = tuple(kind for kind in KINDS if NAMED[named(kind)].output == "estimate")
TOO_MANY_TABLES = ("conditioned, inequalities",)


def test_every_mechanism_is_looked_at() -> None:
    """Below, or as swapped records [holdfast, tests/inference/posterior/test_infer.py]."""
    looked_at = {*map(named, KINDS), "permutation-swapping"}
    by_floats = "projected-gaussian"  # which nothing is released with
    assert looked_at == {each.name for each in mechanisms() if each.released} - {by_floats}
    assert WITHOUT_A_LAW
    assert WITHOUT_COUNTS


def problem(kind: str, folder: Path) -> Problem:
    spec = RATES
    if kind.endswith("nested"):
        spec = ModelSpec.of(
            {"model": {"kind": "rates", "areas": ["county"]}, "prior": {"mean": 3.0, "shape": 1.0}}
        )
    return problem_of(spec, released_table(released(kind).write(folder / "out")))


@pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if kind not in (*WITHOUT_A_LAW, *WITHOUT_COUNTS, *TOO_MANY_TABLES)]
)
def test_every_release_has_a_posterior(kind: str, tmp_path: Path) -> None:
    """Also of mechanisms to come: those without a law of their own are asked for draws, slowly."""
    of = problem(kind, tmp_path)
    size = 4 if isinstance(of.likelihood, AnyLaw) else 40
    drawn = gibbs(of, draws=size, chains=2, warmup=size // 4, seed=1)
    assert of.constraints.hold(drawn.tables.reshape(size, -1)).all()
    assert np.isfinite(drawn.parameters).all()
    assert (drawn.parameters > 0).all()


@pytest.mark.parametrize("kind", WITHOUT_A_LAW)
def test_a_law_without_a_formula_is_refused(kind: str, tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="Markov chain"):
        problem(kind, tmp_path)


@pytest.mark.parametrize("kind", WITHOUT_COUNTS)
def test_a_release_without_counts_is_refused(kind: str, tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="no table"):
        problem(kind, tmp_path)


@pytest.mark.parametrize("kind", TOO_MANY_TABLES)
def test_inequalities_without_known_moves_are_refused(kind: str, tmp_path: Path) -> None:
    with pytest.raises(SamplingError, match="no moves are known"):
        _ = problem(kind, tmp_path).moves


@pytest.mark.parametrize("kind", ["noisy-count", "noisy-count, gaussian", "noisy-count, strata"])
def test_noisy_statistics_have_the_enumerated_posterior(kind: str, tmp_path: Path) -> None:
    of = problem(kind, tmp_path)
    assert isinstance(of.likelihood, NoisyStatistic)
    assert isinstance(of.mover, Walking)
    tables = listed_by_moves(of)
    law = weighed(of, tables, of.likelihood.log_prob(tables))
    drawn = gibbs(of, draws=1000, thin=5, warmup=20, seed=1).tables.reshape(1000, -1)
    assert p_value(drawn, law) > LEVEL
    assert p_value(rejection(of, draws=1000, seed=2).tables[0], law) > LEVEL


def test_k_norm_noise_has_the_enumerated_posterior(tmp_path: Path) -> None:
    """On 3 x 3 tables with both margins K is no l1 ball, so that each step asks for the norm."""
    asked = Case("3 x 3", {"epsilon": "4"}).spec(KNorm, tmp_path)
    folder = prepare(asked).release(SeededEntropy(2)).write(tmp_path / "out")
    model = {"model": {"kind": "rates", "areas": ["row"]}, "prior": {"mean": 1.0, "shape": 0.5}}
    of = problem_of(ModelSpec.of(model), released_table(folder))
    assert isinstance(of.likelihood, AddedNoise)
    assert of.likelihood.form is None
    tables = listed_by_moves(of)
    law = weighed(of, tables, of.likelihood.log_prob(tables))
    drawn = gibbs(of, draws=600, thin=3, warmup=20, seed=3, chains=2).tables.reshape(600, -1)
    assert p_value(drawn, law) > LEVEL


@pytest.mark.parametrize("kind", ["conditioned", "conditioned, below zero"])
def test_releases_within_bounds_have_the_enumerated_posterior(kind: str, tmp_path: Path) -> None:
    """Normalisers are summed here; the sampler never sees one."""
    of = problem(kind, tmp_path)
    assert isinstance(of.likelihood, WithinBounds)
    tables = listed_by_moves(of)
    log_likelihood = normalised(of.likelihood, tables)
    law = weighed(of, tables, log_likelihood)
    drawn = gibbs(of, draws=1200, thin=8, warmup=20, seed=4).tables.reshape(1200, -1)
    assert p_value(drawn, law) > LEVEL
    assert p_value(rejection(of, draws=300, seed=5).tables[0], law) > LEVEL


def test_leaving_normalisers_out_is_noticed(tmp_path: Path) -> None:
    of = problem("conditioned", tmp_path)
    assert isinstance(of.likelihood, WithinBounds)
    tables = listed_by_moves(of)
    far = np.abs(of.released - tables).sum(axis=1).astype(np.float64)
    without = weighed(of, tables, -float(of.likelihood.noise.epsilon) * far)
    drawn = gibbs(of, draws=2400, thin=5, warmup=20, seed=4).tables.reshape(2400, -1)
    assert p_value(drawn, weighed(of, tables, normalised(of.likelihood, tables))) > LEVEL
    assert p_value(drawn, without) < LEVEL / 100


def test_any_law_is_exchanged_the_same_way(tmp_path: Path) -> None:
    """A mechanism's own draws serve as well as those of its noise, only more slowly."""
    of = problem("conditioned", tmp_path)
    mechanism = prepared("conditioned").mechanism
    assert isinstance(mechanism, Conditioned)
    slow = AnyLaw(mechanism.law, of.released, np.arange(of.released.size))
    assert isinstance(slow, Exchanged)
    generator = np.random.default_rng(1)
    table = of.constraints.nearest(of.released)
    other = table + np.array([1, -1, 0, -1, 1, 0]) * (1 if table[1] and table[3] else -1)
    assert (slow.simulate(table, slow.chances(generator)) >= 0).all()
    quick = of.likelihood
    assert isinstance(quick, WithinBounds)
    chances = quick.chances(generator)
    ratios = [
        [like.log_ratio(table, other, source) for _ in range(40)]
        for like, source in ((slow, slow.chances(generator)), (quick, chances))
    ]
    assert np.std(ratios) > 0
    apart, error = np.mean(ratios[0]) - np.mean(ratios[1]), np.sqrt(np.var(ratios, axis=1).sum() / 40)
    assert abs(apart) < 4 * error


def test_a_law_that_cannot_be_weighed_says_so(tmp_path: Path) -> None:
    with pytest.raises(SamplingError, match="another normaliser"):
        importance(problem("conditioned", tmp_path), draws=100, seed=1)


def test_a_likelihood_is_largest_where_nothing_was_moved(tmp_path: Path) -> None:
    for number, kind in enumerate(("lattice-laplace", "lattice-laplace, l2", "lattice-gaussian", "k-norm")):
        folder = tmp_path / str(number)
        folder.mkdir()
        of = problem(kind, folder)
        assert isinstance(of.likelihood, AddedNoise)
        draws = of.likelihood.around(SeededEntropy(1), 200)
        found = of.likelihood.log_prob(draws)
        assert (found <= 0).all()
        assert of.likelihood.log_prob(of.likelihood.released[None])[0] == 0
        form = of.likelihood.form
        assert form is not None
        noise = of.likelihood.released - draws
        size = {
            "l1": np.abs(noise).sum(axis=1),
            "squared": (noise**2).sum(axis=1),
            "l2": np.sqrt((noise**2).sum(axis=1)),
        }[form.norm]
        assert np.allclose(found, -form.rate * size)


def listed_by_moves(of: Problem) -> NDArray[np.int64]:
    """Return every table that the moves reach, from one that agrees with the facts."""
    moves = of.moves.listing(of.constraints.cells).toarray()
    first = of.constraints.nearest(of.released)
    found, edge = {tuple(first.tolist())}, [first]
    while edge:
        table = edge.pop()
        for step in np.concatenate([moves, -moves]):
            other = table + step
            if tuple(other.tolist()) not in found and of.constraints.hold(other[None])[0]:
                found.add(tuple(other.tolist()))
                edge.append(other)
    return np.array(sorted(found), dtype=np.int64)


def weighed(
    of: Problem, tables: NDArray[np.int64], log_likelihood: NDArray[np.float64]
) -> dict[tuple[int, ...], float]:
    numbers = np.tile(of.model.medians(), (len(tables), 1, 1))
    logs = of.model.log_prob(tables, numbers) + log_likelihood
    shares = np.exp(logs - logs.max())
    shares /= shares.sum()
    return dict(zip(map(tuple, tables.tolist()), shares.tolist(), strict=True))


def normalised(of: WithinBounds, tables: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return log p(y | x), with a sum over all releases within the bounds that are not too far."""
    draws = of.noise.sample(SeededEntropy(0), 200_000)
    noise = np.unique(draws, axis=0)
    logs = -float(of.noise.epsilon) * np.abs(noise).sum(axis=1)
    found = []
    for table in tables:
        release = table + noise
        inside = (release @ of.rows.T >= of.least).all(axis=1)
        if of.nonnegative:
            inside &= (release >= 0).all(axis=1)
        own = -float(of.noise.epsilon) * np.abs(of.released - table).sum()
        found.append(own - np.log(np.exp(logs[inside]).sum()))
    return np.array(found)
