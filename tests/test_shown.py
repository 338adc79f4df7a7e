"""No public object shows a confidential count, in any way of printing it, nor does any error."""

import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path

import polars as pl
import pytest

import holdfast
from holdfast import calculus, workshop
from holdfast.system.errors import HoldfastError

SECRET = [48271, 69621, 16807, 40014]
"""Counts that stand nowhere else; the release is drawn until none of them is published by chance."""


def shows(text: str) -> bool:
    return any(str(count) in text or f"{count:,}" in text for count in SECRET)


def frame() -> pl.DataFrame:
    return pl.DataFrame({"sex": ["f", "f", "m", "m"], "age": ["young", "old"] * 2, "n": SECRET})


def asked(**parts: object) -> holdfast.Spec:
    usual = {
        "data": holdfast.Data(cells=("sex", "age"), count="n"),
        "invariants": (holdfast.Invariant(margin=("sex",)),),
        "privacy": holdfast.Privacy(epsilon="1/1000"),
    }
    return holdfast.Spec(**{**usual, **parts})  # type: ignore[arg-type]


def objects(folder: Path) -> Iterator[object]:
    """Yield what the vocabulary is, and what its functions give for an example."""
    for module in (holdfast, calculus, workshop):
        yield from (getattr(module, name) for name in module.__all__)
    spec = asked()
    prepared = holdfast.prepare(spec, frame())
    release = prepared.release()
    written = holdfast.release(spec, folder / "made", data=frame())
    out = release.write(folder / "release")
    yield from (
        spec,
        prepared,
        prepared.table.reading,
        prepared.table.reading.table,
        prepared.public,
        prepared.mechanism,
    )
    yield prepared.table.reading.source
    yield from (prepared.guarantee, release, written, written.certificate, holdfast.verify(out))
    yield holdfast.audit.universe(spec, frame())
    yield holdfast.compare(spec, ["lattice-laplace"], data=frame(), draws=20)
    yield holdfast.plan(spec, frame())
    yield prepared.mechanism.law(prepared.table.reading.table.counts)
    bounded = asked(
        constraints=holdfast.Constraints(nonnegative=True),
        mechanism=holdfast.MechanismChoice(name="conditioned"),
    )
    within_bounds = holdfast.prepare(bounded, frame())
    yield within_bounds.mechanism
    yield within_bounds.mechanism.law(within_bounds.table.reading.table.counts)
    yield workshop.TwoByTwo.of(SECRET)
    yield holdfast.odds_ratio([*SECRET[:2], 3, 15], holdfast.Privacy(epsilon="1/1000"))


def within(root: object, depth: int = 4) -> Iterator[tuple[str, object]]:
    """Yield an object and what its fields hold, where they are values of this package or some of them."""
    yield type(root).__name__, root
    if depth == 0 or isinstance(root, type):
        return
    inner: list[object] = []
    if dataclasses.is_dataclass(root):
        inner = [getattr(root, field.name, None) for field in dataclasses.fields(root)]
    elif isinstance(root, Mapping):
        inner = [*root.values()]
    elif isinstance(root, tuple):
        inner = [*root]
    for one in inner:
        if type(one).__module__.startswith("holdfast") or isinstance(one, tuple | Mapping):
            yield from within(one, depth - 1)


def test_nothing_that_is_public_vocabulary_shows_a_count(tmp_path: Path) -> None:
    found = list(objects(tmp_path))
    assert len(found) > 100
    for root in found:
        for name, one in within(root):
            if name == "PublicTable":
                continue  # it was released
            for text in (repr(one), str(one), f"{one}"):
                assert not shows(text), name


def test_a_release_says_what_it_is_and_no_count() -> None:
    release = holdfast.prepare(asked(), frame()).release()
    assert repr(release) == "<release: table of 4 cells, by lattice-laplace>"
    assert not any(str(count) in repr(release) for count in release.table.counts.tolist())


def test_what_would_show_is_found() -> None:
    assert shows(repr(frame()))
    assert shows(str({"n": SECRET[0]}))


WRONG: dict[str, dict[str, object]] = {
    "every cell kept": {"invariants": (holdfast.Invariant(margin=("sex", "age")),)},
    "a zero that is none": {"constraints": holdfast.Constraints(structural_zeros=({"sex": "f"},))},
    "another column": {"data": holdfast.Data(cells=("sex", "agee"), count="n")},
    "an unknown level": {"data": holdfast.Data(cells=("sex", "age"), count="n", levels={"sex": ("f",)})},
    "repeated cells": {"data": holdfast.Data(cells=("sex",), count="n")},
    "an inequality beyond the data": {
        "mechanism": holdfast.MechanismChoice(name="conditioned"),
        "constraints": holdfast.Constraints(
            inequalities=(holdfast.Inequality(where={"age": "old"}, at_least=109_999),)
        ),
    },
    "an inequality beyond the invariants": {
        "mechanism": holdfast.MechanismChoice(name="conditioned"),
        "constraints": holdfast.Constraints(inequalities=(holdfast.Inequality(total=True, at_least=10**7),)),
    },
}


@pytest.mark.parametrize("parts", WRONG.values(), ids=WRONG)
def test_no_error_shows_a_count(parts: dict[str, object]) -> None:
    with pytest.raises(HoldfastError) as caught:
        holdfast.prepare(asked(**parts), frame())
    error: BaseException | None = caught.value
    while error is not None:
        assert not shows("".join(map(repr, error.args)))
        error = error.__cause__ or error.__context__


def test_an_inequality_that_invariants_forbid_is_named_with_them() -> None:
    with pytest.raises(HoldfastError, match=r"inequality 'total' asks for .* values of 'sex' has that"):
        holdfast.prepare(asked(**WRONG["an inequality beyond the invariants"]), frame())


def test_the_vocabulary_is_listed() -> None:
    assert set(holdfast.__all__) <= set(dir(holdfast))
    assert dir(holdfast) == sorted(dir(holdfast))
    assert "import_module" not in dir(holdfast)
