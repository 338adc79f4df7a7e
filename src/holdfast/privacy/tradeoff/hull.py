"""Convex hulls of points in the plane."""

from holdfast.privacy.tradeoff.function import Floats


def lower_hull(x: Floats, y: Floats) -> list[int]:
    """Return the indices of the lower convex hull's corners, for points sorted by x (Andrew's chain).

    Of several points with one x the first is used, so sort those by y.
    """
    xs, ys = x.tolist(), y.tolist()
    hull: list[int] = []
    for k in range(len(xs)):
        if hull and xs[k] == xs[hull[-1]]:
            continue
        while len(hull) > 1:
            i, j = hull[-2], hull[-1]
            if (xs[j] - xs[i]) * (ys[k] - ys[i]) > (ys[j] - ys[i]) * (xs[k] - xs[i]):
                break
            hull.pop()
        hull.append(k)
    return hull
