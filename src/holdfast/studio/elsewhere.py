"""What a view shows as a command, in Python and in R: the same library is behind all of them."""

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Literal

COMMAND, PYTHON, R = "Copy as command", "Copy as Python", "Copy as R"
Ways = dict[str, str]
"""What a button copies, by the words on it."""


def release(name: str, out: str = "release", ledger: str | None = None) -> Ways:
    """Return how a spec is released elsewhere, in the folder of the studio.

    >>> for text in release("a b.toml", ledger="my.ledger").values():
    ...     print(text)
    holdfast release 'a b.toml' --out release --ledger my.ledger
    import holdfast as hf
    hf.release("a b.toml", "release", ledger="my.ledger")
    library(holdfast)
    release("a b.toml", "release", ledger = "my.ledger")
    """
    more = {"ledger": ledger} if ledger else {}
    words = ["release", name, "--out", out, *(["--ledger", ledger] if ledger else [])]
    return _ways(words, _called("hf.release", name, out, **more)) | in_r("release", name, out, **more)


def of_spec(name: str, view: str, kind: Literal["table", "tables", "records", "none"] = "table") -> Ways:
    """Return what a view of a spec tells, or else how the spec is released.

    >>> print(of_spec("a.toml", "/exact")["Copy as Python"])
    from holdfast import audit
    audit.exposure("a.toml")
    """
    if view == "/exact" and kind in ("table", "tables"):
        what = "exposure" if kind == "table" else "universe"
        return audit([what, name], what, name)
    if view == "/accuracy":
        return _ways(["plan", name], _called("hf.plan", name))
    return release(name)


def verify(folder: str) -> Ways:
    """Return how a release is verified."""
    return _ways(["verify", folder], _called("hf.verify", folder)) | in_r("verify", folder)


def verify_ledger(name: str, releases: Sequence[str]) -> Ways:
    """Return how an account is verified.

    >>> print(verify_ledger("a.ledger", ["out"])["Copy as command"])
    holdfast ledger verify a.ledger --release out
    """
    words = ["ledger", "verify", name, *(part for one in releases for part in ("--release", one))]
    return _ways(
        words, _called("hf.verify_ledger", name, **({"releases": list(releases)} if releases else {}))
    )


def intervals(folder: str, asked: tuple[str, Sequence[str], Mapping[str, Any]], table: str | None) -> Ways:
    """Return how a release is asked: a method of its reading, selections, and the rest.

    >>> for text in intervals("out", ("ratio", ["sex=f", "sex=m"], {"level": 0.5}), None).values():
    ...     print(text)
    holdfast intervals out --ratio sex=f --ratio sex=m --level 0.5
    import holdfast as hf
    hf.read("out").ratio("sex=f", "sex=m", level=0.5)
    library(holdfast)
    intervals("out", ratio = c("sex=f", "sex=m"), level = 0.5)
    """
    method, chosen, more = asked
    option = "term" if method == "interval" else method
    words = ["intervals", folder, *(part for one in chosen for part in (f"--{option}", one))]
    words += [part for name in ("margin",) if name in more for part in ("--margin", ",".join(more["margin"]))]
    words += [part for name in ("level",) if name in more for part in ("--level", f"{more['level']:g}")]
    words += ["--level", more["place"]] if "place" in more else []
    words += ["--table", table] if table else []
    named = {"table": table} if table else {}
    python = called("hf.read", folder, **named) + f".{called(method, *chosen, **more)}"
    of = (
        {"terms": Code(f"list(list(1, {_in_r(chosen[0])}))")}
        if method == "interval"
        else {method: list(chosen)}
    )
    return _ways(words, f"import holdfast as hf\n{python}") | in_r("intervals", folder, **of, **more, **named)


def audit(words: Sequence[str], function: str, *given: object, **named: object) -> Ways:
    """Return how an audit is made."""
    call = called(f"audit.{function}", *given, **named)
    kinds = ", ".join(kind for kind in ("GaussianDP", "Pure", "ZeroConcentrated") if f"{kind}(" in call)
    lines = [
        *(["from fractions import Fraction"] if "Fraction(" in call else []),
        "from holdfast import audit",
        *([f"from holdfast.calculus import {kinds}"] if kinds else []),
    ]
    python = "\n".join([*lines, call])
    return {COMMAND: shlex.join(["holdfast", "audit", *words]), PYTHON: python}


def in_r(function: str, *given: object, **named: object) -> Ways:
    """Return a call of the package for R."""
    parts = [*map(_in_r, given), *(f"{name} = {_in_r(value)}" for name, value in named.items())]
    return {R: f"library(holdfast)\n{function}({', '.join(parts)})"}


def called(function: str, *given: object, **named: object) -> str:
    """Return a call as Python has it; text that is Python already is a `Code`.

    >>> print(called("f", "it's", Code("g(1)"), n=2))
    f("it's", g(1), n=2)
    """
    parts = [*map(_in_python, given), *(f"{name}={_in_python(value)}" for name, value in named.items())]
    return f"{function}({', '.join(parts)})"


class Code(str):
    """A piece of a program, which is no text in it."""

    __slots__ = ()


def _ways(words: Sequence[str], python: str) -> Ways:
    return {COMMAND: shlex.join(["holdfast", *words]), PYTHON: python}


def _called(function: str, *given: object, **named: object) -> str:
    return f"import holdfast as hf\n{called(function, *given, **named)}"


def _in_python(value: object) -> str:
    if isinstance(value, Code):
        return str(value)
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str | list) else repr(value)


def _in_r(value: object) -> str:
    if isinstance(value, Code):
        return str(value)
    if isinstance(value, list):
        return f"c({', '.join(map(_in_r, value))})"
    return str(value) if isinstance(value, int | float) else json.dumps(value, ensure_ascii=False)
