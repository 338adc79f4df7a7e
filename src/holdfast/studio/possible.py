"""Possible releases of invented counts, to flip through, and how often a ranking or threshold is another."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from holdfast.comparison.habits import invented
from holdfast.lattice.arrays import IntArray
from holdfast.mechanisms.errors.counts import Counts
from holdfast.public import Public
from holdfast.sampling.entropy import SeededEntropy
from holdfast.studio.expected import WAIT, Settled
from holdfast.studio.pages import Visit

RELEASES, MOST_ENTRIES = 20, 12
"""Possible releases to flip through, and the entries of each that are shown, the largest first."""


def flips(visit: Visit, settled: Settled, choices: Sequence[Counts]) -> Mapping[str, Any] | None:
    """Return possible releases of invented counts: entries of one kind of counts, the largest first."""
    mechanism, public = settled.prepared.mechanism, settled.prepared.public
    noise = mechanism.noise
    if not choices or (noise is None and not mechanism.estimated):
        return None
    chosen = visit.one("of", "0")
    place = int(chosen) if chosen.isdecimal() and int(chosen) < len(choices) else 0
    counts, threshold = choices[place], visit.one("threshold").strip()
    limit = int(threshold) if threshold.isdecimal() and len(threshold) < 12 else None
    if noise is None:
        made = visit.desk.soon(("possible", *settled.key), lambda: mechanism.possible(public, RELEASES), WAIT)
        if made is None:
            return {"waiting": True}
        if not made.asks(counts.names):
            place, counts = next((at, each) for at, each in enumerate(choices) if made.asks(each.names))
        labels, sums, tables = made.sums(counts.names)
        noisy, part = tables.T, not made.whole
    else:
        drawn = visit.desk.soon(
            ("draws", *settled.key), lambda: np.asarray(noise.sample(SeededEntropy(0), RELEASES)), WAIT
        )
        if drawn is None:
            return {"waiting": True}
        truth = invented(public)
        rows, part = counts.rows(public), False
        sums = np.asarray(rows @ truth).ravel()
        noisy = np.rint(np.asarray(rows @ (truth + drawn).T)).astype(np.int64)
        labels = _labels(counts, public)
    order = np.argsort(-sums, kind="stable")[:MOST_ENTRIES]
    return {
        "waiting": False,
        "estimated": noise is None,
        "part": part,
        "place": place,
        "words": counts.words,
        "threshold": threshold if limit is not None else "",
        "limit": limit,
        "releases": [_flip(sums[order], noisy[order, one], limit) for one in range(noisy.shape[1])],
        "labels": [labels[entry] for entry in order],
        "truth": [int(sums[entry]) for entry in order],
        **_flipped(sums[order], noisy[order], limit),
    }


def _flip(truth: IntArray, noisy: IntArray, limit: int | None) -> Sequence[tuple[int, int, bool]]:
    """Return, for each entry, its released count, its rank, and whether it crosses the threshold."""
    ranks = np.empty(len(noisy), dtype=np.int64)
    ranks[np.argsort(-noisy, kind="stable")] = np.arange(1, len(noisy) + 1)
    crossed = np.zeros(len(noisy), bool) if limit is None else (truth >= limit) != (noisy >= limit)
    return [(int(a), int(b), bool(c)) for a, b, c in zip(noisy, ranks, crossed, strict=True)]


def _flipped(truth: IntArray, noisy: IntArray, limit: int | None) -> Mapping[str, Any]:
    """Count in how many releases the first changes, the order changes, or an entry crosses the threshold."""
    first = int((noisy.argmax(axis=0) != 0).sum())
    order = int((np.diff(noisy, axis=0) > 0).any(axis=0).sum())
    crossed = (
        None if limit is None else int(((truth >= limit)[:, None] != (noisy >= limit)).any(axis=0).sum())
    )
    return {"first": first, "order": order, "crossed": crossed}


def _labels(counts: Counts, public: Public) -> Sequence[str]:
    """Return the names of the sums, in the order of their rows."""
    if not counts.names:
        return ["total"]
    grid = public.schema.grid.over(counts.names)
    of_cell = public.schema.grid.rows(grid)[public.possible]
    named = {}
    for cell, entry in zip(public.possible.tolist(), of_cell.tolist(), strict=True):
        if entry not in named:
            levels = dict(zip(public.schema.names, public.schema.cell(cell), strict=True))
            named[entry] = ", ".join(levels[name] for name in counts.names)
    return [named[entry] for entry in sorted(named)]
