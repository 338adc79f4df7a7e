"""The house stays as it is drawn: imports point one way, and pages import from the public rooms only."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from tests.sources import PACKAGE, ROOT, nodes, tree

import holdfast
from holdfast import calculus, lab, workshop
from holdfast.mechanisms.catalogue import MECHANISMS

pytestmark = pytest.mark.quick

FLOW = (
    ("version",),
    ("system",),
    ("engines",),
    ("registry",),
    ("lattice",),
    ("programs",),
    ("sampling",),
    ("spec",),
    ("data",),
    ("universe",),
    ("estimation",),
    ("privacy",),
    ("public",),
    ("laws",),
    ("outputs",),
    ("mechanisms",),
    ("certificate",),
    ("formats",),
    ("ledger",),
    ("releases",),
    ("derivation",),
    ("comparison",),
    ("processing",),
    ("publication",),
    ("verification",),
    ("inference",),
    ("audit",),
    ("exports",),
    ("calculus",),
    ("workshop",),
    ("lab",),
    ("testing",),
    ("studio",),
    ("health",),
    ("cli",),
    ("__main__",),
)
"""Rooms in the order of the flow: each may import from those before it, and from itself."""
PLACE = {room: place for place, rooms in enumerate(FLOW) for room in rooms}


def imports(path: Path, *, types: bool = True) -> Iterator[str]:
    """Yield the modules of the package that a file imports, early or late, for types alone or not."""
    yield from (name for name, guarded in _imported(path) if types or not guarded)


@cache
def _imported(path: Path) -> tuple[tuple[str, bool], ...]:
    """Return the modules that a file imports, each with whether that is for types alone."""
    guarded = {
        id(inner)
        for node in nodes(path)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    found = []
    for node in nodes(path):
        names = []
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        found += [
            (name.removeprefix("holdfast."), id(node) in guarded)
            for name in names
            if name.startswith("holdfast.")
        ]
    return tuple(found)


def test_every_sample_takes_its_arguments_in_one_order() -> None:
    """`sample(entropy, size)`, whatever is drawn from."""
    found = {
        (path.name, node.lineno): [each.arg for each in (*node.args.posonlyargs, *node.args.args)]
        for room in (PACKAGE, ROOT / "studies", ROOT / "benchmarks")
        for path in sorted(room.rglob("*.py"))
        for node in nodes(path)
        if isinstance(node, ast.FunctionDef) and node.name == "sample"
    }
    assert len(found) > 30
    assert {place: names for place, names in found.items() if names != ["self", "entropy", "size"]} == {}


@cache
def files() -> list[Path]:
    return [path for path in sorted(PACKAGE.rglob("*.py")) if path != PACKAGE / "__init__.py"]


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def test_every_room_has_its_place() -> None:
    assert {room(path) for path in files()} == set(PLACE)


@pytest.mark.parametrize("name", PLACE)
def test_imports_point_one_way(name: str) -> None:
    wrong = {
        f"{path.relative_to(PACKAGE)} imports {module}"
        for path in files()
        if room(path) == name
        for module in imports(path)
        if (other := module.partition(".")[0]) != name and PLACE.get(other, -1) >= PLACE[name]
    }
    assert not wrong


def test_no_module_imports_itself_in_a_circle() -> None:
    """Within a room, too: no cycle of modules that run, early or late."""
    known = {".".join(path.relative_to(PACKAGE).with_suffix("").parts): path for path in files()}
    edges = {name: set(imports(path, types=False)) & set(known) for name, path in known.items()}
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, " -> ".join((*trail[trail.index(name) :], name))
        if name not in done:
            for other in edges[name] - {name}:
                visit(other, (*trail, name))
            done.add(name)

    for name in known:
        visit(name, ())


def test_no_release_leads_to_the_lab() -> None:
    """What floats and chains of papers draw is for studies: no file outside imports it, early or late."""
    leading = {
        str(path.relative_to(PACKAGE)): module
        for path in files()
        if room(path) != "lab"
        for module in imports(path)
        if module.partition(".")[0] == "lab"
    }
    assert leading == {}


def test_an_edge_against_the_flow_is_seen(tmp_path: Path) -> None:
    late = tmp_path / "late.py"
    late.write_text("def f():\n    from holdfast.cli import app\n    import holdfast.spec.model\n")
    assert {"cli", "cli.app", "spec.model"} == set(imports(late))


ROOMS = ("holdfast", "holdfast.calculus", "holdfast.lab", "holdfast.testing", "holdfast.workshop")


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))], ids=lambda page: page.name
)
def test_pages_import_from_the_public_rooms_only(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    asked = set(re.findall(r"^(?:>>>|\.\.\.)\s+(?:from|import) (holdfast[\w.]*)", text, re.M))
    assert asked <= set(ROOMS)


def test_public_names_are_there_and_told() -> None:
    for name in (*holdfast.__all__, *holdfast.__dict__["_HOME"]):
        assert getattr(holdfast, name) is not None
    errors = {name for name in holdfast.__all__ if name.endswith("Error") and name != "ViolatedError"}
    assert set(holdfast.__dict__["_HOME"]) | errors | {"__version__"} == set(holdfast.__all__)
    for module in (calculus, lab, workshop):
        assert sorted(module.__all__) == sorted(name for name in module.__all__ if hasattr(module, name))
    guide = (ROOT / "docs" / "guides" / "python.md").read_text(encoding="utf-8")
    assert [name for name in holdfast.__all__ if f"hf.{name}" not in guide] == []


def test_a_class_name_stands_for_one_class() -> None:
    named: dict[str, list[str]] = {}
    for path in files():
        for node in tree(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                named.setdefault(node.name, []).append(str(path.relative_to(PACKAGE)))
    assert {name: places for name, places in named.items() if len(places) > 1} == {}


MOODS = ("asked", "book", "carry", "doubt", "fact", "shown", "told", "whom")
"""They read well in a sentence, and nobody searches for them."""


def test_modules_and_classes_have_the_nouns_of_the_field() -> None:
    names = {path.stem for path in files()} | {
        node.name.lstrip("_")
        for path in files()
        for node in tree(path).body
        if isinstance(node, ast.ClassDef)
    }
    first = {name: re.findall(r"[A-Z]?[a-z]+", name)[0].lower() for name in names if re.search("[a-z]", name)}
    assert {name for name, word in first.items() if word.rstrip("s") in MOODS} == set()


# mechanisms own what is asked of them

VOCABULARY = ("__init__.py", "workshop.py")
"""They give mechanisms their public names."""


@cache
def concrete() -> tuple[set[str], set[str], set[str]]:
    """Return the modules that define mechanisms, the classes of these and of their records, their names."""
    modules, classes, names = set(), set(), set()
    for kind in MECHANISMS:
        modules.add(kind.__module__.removeprefix("holdfast."))
        classes |= {kind.__name__, kind.Record.__name__}
        names.add(kind.name)
    return modules, classes, names


def questions(path: Path) -> Iterator[str]:
    """Yield where a file imports a mechanism, or asks which one a value is by its class or its name."""
    modules, classes, names = concrete()
    yield from (f"imports {module}" for module in imports(path) if module in modules)
    for node in nodes(path):
        match node:
            case ast.Call(func=ast.Name(id="isinstance"), args=[_, kind]):
                asked = {each.id for each in ast.walk(kind) if isinstance(each, ast.Name)} & classes
                yield from (f"line {node.lineno} asks for {name}" for name in sorted(asked))
            case ast.MatchClass(cls=ast.Name(id=name)) if name in classes:
                yield f"line {node.lineno} asks for {name}"
            case ast.Compare():
                found = {each.value for each in ast.walk(node) if isinstance(each, ast.Constant)}
                texts = {value for value in found if isinstance(value, str)} & names
                yield from (f"line {node.lineno} compares with {name!r}" for name in sorted(texts))


def test_nobody_asks_which_mechanism_it_is() -> None:
    asking = {
        str(path.relative_to(PACKAGE)): list(questions(path))
        for path in files()
        if room(path) not in ("mechanisms", "lab") and path.name not in VOCABULARY
    }
    assert {name: found for name, found in asking.items() if found} == {}


def test_a_question_is_seen(tmp_path: Path) -> None:
    asking = tmp_path / "asking.py"
    asking.write_text(
        "from holdfast.mechanisms.conditioned import Conditioned\n"
        "isinstance(x, Conditioned | int)\nx == 'topdown'\n"
        "match x:\n    case Conditioned(): pass\n"
    )
    assert len(list(questions(asking))) == 4
