"""From the root to the leaves: whole counts of every node of a tree, as in the census's TopDown.

    root      min sum_q w_q ||W_q x - v_q||^2  under all that is asked of it, then the nearest whole counts
    children  the same for all children of a parent at once, which add up to the parent's counts

What lower levels ask binds upper ones in sums. That is necessary [holdfast,
estimation/hierarchy/propagation.py], but not always enough: a parent's counts, once chosen, may have no
children that keep all they must. Then one level more is set free: the children of the grandparent are
estimated with its grandchildren, all that was measured of both in one objective. Where that has no counts
either one level more is set free, up to the root. There counts are found, or the constraints themselves
contradict. Only what lies below the node that stays fixed is changed.

The order in which families are solved, and where, makes no difference to the counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from holdfast.estimation.hierarchy.conflict import UnmetError, explained
from holdfast.estimation.hierarchy.family import FamilyTask, FamilyTasks, solved_alone
from holdfast.estimation.hierarchy.level import Level
from holdfast.estimation.hierarchy.passes import Passes
from holdfast.estimation.hierarchy.propagation import Propagation, propagated
from holdfast.estimation.hierarchy.run import Run, here, one_thread
from holdfast.estimation.hierarchy.subtree import Branch, Joint, Subtree
from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.system.errors import DataError, HoldfastError
from holdfast.system.paged import paged
from holdfast.system.progress import doing, sized_steps, steps


@dataclass(frozen=True)
class Fit:
    """How well counts fit what was measured, before they were rounded.

    Attributes:
        levels: the names of the levels that were estimated at once.
        families: how many of such problems there were.
        objective: the sum of their weighted sums of squares.
        gap: how far that is from the sum of the optima at most, each given the counts above.

    """

    levels: tuple[str, ...]
    families: int
    objective: float
    gap: float


@dataclass(frozen=True, eq=False, repr=False)
class Descent:
    """The counts of a tree.

    Attributes:
        counts: whole counts by level, root first, one line a node.
        fits: of each level; then of each subtree whose levels were estimated at once, as they came.
        reals: real estimates by level, where they were asked for.

    """

    counts: tuple[IntArray, ...]
    fits: tuple[Fit, ...]
    reals: tuple[FloatArray, ...] | None


def descend(
    parents: Sequence[IntArray], levels: Sequence[Level], *, run: Run = here, reals: bool = False
) -> Descent:
    """Return the counts of all nodes, or raise UnmetError where constraints contradict.

    Args:
        parents: for each level below the root, the place of each node's parent on the level above; they rise
            from 0 to the last in steps of at most 1.
        levels: what is known of each level, root first.
        run: runs tasks; see [holdfast, estimation/hierarchy/run.py].
        reals: whether real estimates are wanted.

    """
    _check(parents, levels)
    with one_thread():
        asked = propagated(parents, levels)
        if asked.wrong is not None:
            raise _unmet(parents, levels, [asked.wrong])
        tree = _PartialTree(parents, levels, asked, run, reals=reals)
        tree.root()
        below = [level.nodes for level in levels[1:]]
        for place in sized_steps(range(1, len(levels)), "estimating the tree", below):
            unmet = tree.children(place)
            if unmet.size:
                tree.rescue(place, unmet)
        return tree.descent()


def _check(parents: Sequence[IntArray], levels: Sequence[Level]) -> None:
    """Raise where the levels are not those of the tree."""
    nodes = [1, *(len(parent) for parent in parents)]
    if [level.nodes for level in levels] != nodes or len({level.cells for level in levels}) != 1:
        raise DataError(
            f"the tree has levels of {', '.join(f'{n:,}' for n in nodes)} nodes, and known are"
            f" {', '.join(f'{level.nodes:,} with {level.cells:,} cells' for level in levels)}:"
            " give one line a node on every level, over the same cells."
        )


def _unmet(
    parents: Sequence[IntArray], levels: Sequence[Level], nodes: Sequence[tuple[int, int]]
) -> HoldfastError:
    """Return what contradicts at the first of some nodes, given by level and place, where something does."""
    for place, node in nodes:
        found = explained(parents, levels, place, node)
        if found is not None:
            return UnmetError(found)
    return DataError(
        "the counts of this tree are out of the solver's reach: ask for fewer invariants or bounds."
    )


class _PartialTree:
    """A tree on the way down: all levels above one have their counts."""

    def __init__(
        self,
        parents: Sequence[IntArray],
        levels: Sequence[Level],
        asked: Propagation,
        run: Run,
        *,
        reals: bool,
    ) -> None:
        self._parents, self._own, self._asked = parents, levels, asked
        self._levels = [each.level for each in asked.levels]
        self._run = run
        self._counts: list[IntArray] = []
        self._reals: list[FloatArray] | None = [] if reals else None
        self._fits: list[_Fits] = []
        self._joint: list[Fit] = []

    def root(self) -> None:
        """Estimate the root."""
        level = self._levels[0].part(0, 1)
        with doing(f"estimating {level.name}"):
            found = Passes(level).solve(level, None, solved_alone)
        if found is None:
            raise _unmet(self._parents, self._own, [(0, 0)])
        self._counts.append(found.counts)
        self._fits.append(_Fits(np.array([found.estimate.objective]), np.array([found.estimate.gap])))
        if self._reals is not None:
            self._reals.append(found.estimate.counts.reshape(1, -1))

    def children(self, place: int) -> IntArray:
        """Estimate a level below its parents; return the parents without children that keep everything."""
        level, parent = self._levels[place], self._parents[place - 1]
        jobs = FamilyTasks(level, parent, self._counts[-1], reals=self._reals is not None)
        answers = self._run(FamilyTask.solve, jobs)
        counts = paged((level.nodes, level.cells), np.int64)
        fits = _Fits(np.empty(len(self._counts[-1])), np.empty(len(self._counts[-1])))
        met = np.empty(len(self._counts[-1]), dtype=np.bool_)
        reals = None if self._reals is None else np.empty(counts.shape)
        children = families = 0
        for each in steps(answers, f"estimating {level.name}", total=len(jobs)):
            own = slice(children, children := children + len(each.counts))
            some = slice(families, families := families + each.met.size)
            counts[own], met[some] = each.counts, each.met
            fits.objective[some], fits.gap[some] = each.objective, each.gap
            if reals is not None and each.reals is not None:
                reals[own] = each.reals
        self._counts.append(counts)
        self._fits.append(fits)
        if self._reals is not None and reals is not None:
            self._reals.append(reals)
        return np.flatnonzero(~met)

    def rescue(self, last: int, unmet: IntArray) -> None:
        """Estimate several levels at once below the nearest nodes whose counts can stay, or raise.

        ``unmet`` are parents of nodes of the last level. With each round one level more is free.
        """
        tops = unmet
        for free in reversed(range(last)):
            tops = np.unique(self._parents[free - 1][tops]) if free else np.zeros(1, dtype=np.int64)
            branches = [Branch.of(self._parents, max(free - 1, 0), top, last) for top in tops.tolist()]
            jobs = [self._subtree(branch, free) for branch in branches]
            words = f"estimating {self._levels[free].name} to {self._levels[last].name} at once"
            answers = steps(self._run(Subtree.solve, jobs), words, total=len(jobs))
            met = [
                self._taken(branch, free, job, answer)
                for branch, job, answer in zip(branches, jobs, answers, strict=True)
            ]
            tops = tops[~np.array(met)]
            if not tops.size:
                return
        # which of them can never be met is told from below: small subtrees are soon looked through
        nodes = [(last - 1, node) for node in unmet.tolist()]
        for place in reversed(range(last - 1)):
            unmet = np.unique(self._parents[place][unmet])
            nodes.extend((place, node) for node in unmet.tolist())
        raise _unmet(self._parents, self._own, nodes)

    def _subtree(self, branch: Branch, free: int) -> Subtree:
        """Return the nodes of a branch from the first free level on."""
        skip = free - branch.top
        parts = [
            self._levels[free + depth].part(begin, end)
            for depth, (begin, end) in enumerate(zip(branch.begins[skip:], branch.ends[skip:], strict=True))
        ]
        fixed = self._counts[branch.top][branch.begins[0]] if skip else None
        return Subtree(tuple(parts), branch.parents(self._parents)[skip:], fixed)

    def _taken(self, branch: Branch, free: int, job: Subtree, answer: Joint | None) -> bool:
        """Take the counts of a subtree, if there are any."""
        if answer is None:
            return False
        skip = free - branch.top
        reals = job.by_level(answer.estimate.counts)
        for depth, (begin, end) in enumerate(zip(branch.begins[skip:], branch.ends[skip:], strict=True)):
            self._counts[free + depth][begin:end] = answer.counts[depth]
            if self._reals is not None:
                self._reals[free + depth][begin:end] = reals[depth]
            if free + depth == 0:
                self._fits[0].leave_out(0, 1)
            else:
                above = depth + skip - 1
                self._fits[free + depth].leave_out(branch.begins[above], branch.ends[above])
        names = tuple(level.name for level in job.levels)
        self._joint.append(Fit(names, 1, answer.estimate.objective, answer.estimate.gap))
        return True

    def descent(self) -> Descent:
        """Return what was found."""
        fits = [fits.fit(level.name) for fits, level in zip(self._fits, self._levels, strict=True)]
        for counts in self._counts:
            counts.setflags(write=False)
        reals = None if self._reals is None else tuple(self._reals)
        return Descent(tuple(self._counts), (*fits, *self._joint), reals)


@dataclass(frozen=True, eq=False)
class _Fits:
    """The objective and the gap of each family of a level; NaN for those that were estimated with others."""

    objective: FloatArray
    gap: FloatArray

    def leave_out(self, begin: int, end: int) -> None:
        """Forget the families of some parents."""
        self.objective[begin:end] = self.gap[begin:end] = np.nan

    def fit(self, name: str) -> Fit:
        """Return the sums over all families that were estimated by themselves."""
        alone = ~np.isnan(self.objective)
        return Fit(
            (name,), int(alone.sum()), float(self.objective[alone].sum()), float(self.gap[alone].sum())
        )
