"""How the modules of `tutti/` hang together: none imports itself by way of others, none a private name of another."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def modules_below(folder):
    """Name -> what is written there; that of a package is its __init__.py."""
    modules = {}
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder.parent).with_suffix("").parts
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path.read_text(encoding="utf-8")
    return modules


TUTTI = modules_below(ROOT / "tutti")


def imports_in(source, modules):
    """(module, name in it or None, name here) of each import of one of these modules, wherever it stands: also in a
    function, or for the types alone."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name in modules:
                    yield alias.name, None, alias.asname or alias.name
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "modules are imported by their whole names"
            for alias in node.names:
                here = alias.asname or alias.name
                if f"{node.module}.{alias.name}" in modules:
                    yield f"{node.module}.{alias.name}", None, here
                elif node.module in modules:
                    yield node.module, alias.name, here


def used_by_each(modules):
    """Module -> those that it imports, with the packages around them, which are imported first."""
    used = {}
    for name, source in modules.items():
        found = {module for module, _, _ in imports_in(source, modules)}
        around = {
            module.rsplit(".", depth)[0] for module in found for depth in range(1, module.count(".") + 1)
        }
        used[name] = sorted((found | around) - {name})
    return used


def circle(used):
    """Names of which each uses the next and the last the first; None if there is no such circle."""
    done = set()

    def follow(name, path):
        if name in path:
            return path[path.index(name) :]
        if name in done:
            return None
        for other in used[name]:
            found = follow(other, [*path, name])
            if found:
                return found
        done.add(name)
        return None

    return next(filter(None, (follow(name, []) for name in used)), None)


def private(name):
    return name.startswith("_") and not name.endswith("__")


def private_names_in(source, modules):
    """What begins with an underscore and belongs to a module that is imported."""
    here = {}
    for module, name, alias in imports_in(source, modules):
        if name is None:
            here[alias] = module
        elif private(name):
            yield f"{module}.{name}"
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and private(node.attr) and ast.unparse(node.value) in here:
            yield f"{here[ast.unparse(node.value)]}.{node.attr}"


def test_no_module_imports_itself_by_way_of_others():
    assert len(TUTTI) > 50
    assert circle(used_by_each(TUTTI)) is None


def test_no_package_uses_one_that_uses_it():
    """What lies in `tutti/` itself is for all, and uses whom it likes."""
    used = {}
    for name, others in used_by_each(TUTTI).items():
        packages = [other.split(".")[1] for other in (name, *others) if other.count(".") == 2]
        if name.count(".") == 2:
            used.setdefault(packages[0], set()).update(set(packages[1:]) - {packages[0]})
    assert {"bench", "launch", "tune"} <= set(used)
    assert circle(used) is None


@pytest.mark.parametrize("name", TUTTI)
def test_no_private_name_of_another_module_is_used(name):
    assert list(private_names_in(TUTTI[name], TUTTI)) == []


def test_packages_import_nothing():
    """`tutti run` passes through them."""
    packages = list((ROOT / "tutti").rglob("__init__.py"))
    for path in packages:
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        assert not [node for node in nodes if isinstance(node, (ast.Import, ast.ImportFrom))], path
    folders = {path.parent for path in (ROOT / "tutti").rglob("*.py")}
    assert {path.parent for path in packages} == folders, "a folder without __init__.py is not installed"


# --- that the checks find what they look for -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "back",
    [
        "import t.a",
        "from t import a",
        "from t.a import work as other",
        "def later():\n    from t.a import work",
        "TYPE_CHECKING = False\nif TYPE_CHECKING:\n    from t.a import Kind",
    ],
)
def test_a_circle_is_found_wherever_the_import_stands(back):
    modules = {"t": "", "t.a": "from t.b import x", "t.b": "import os\nfrom t import c", "t.c": back}
    assert circle(used_by_each(modules)) == ["t.a", "t.b", "t.c"]
    assert circle(used_by_each({**modules, "t.c": "from os import path"})) is None


def test_a_circle_through_a_package_is_found():
    modules = {"t": "", "t.p": "from t.b import x", "t.p.a": "", "t.b": "from t.p.a import y"}
    assert circle(used_by_each(modules)) == ["t.p", "t.b"]


@pytest.mark.parametrize(
    "source",
    [
        "from t.a import _y",
        "from t.a import _y as y",
        "from t import a\nprint(a._y)",
        "from t import a as other\nother._y()",
        "import t.a\nt.a._y = 1",
        "def later():\n    from t.a import _y",
    ],
)
def test_a_private_name_is_found(source):
    assert list(private_names_in(source, {"t": "", "t.a": ""})) == ["t.a._y"]


@pytest.mark.parametrize(
    "source",
    [
        "from t import __version__",
        "from t.a import y\ny._z",
        "import os\nos._exit(1)",
        "class A:\n    _x = 1\nA._x",
    ],
)
def test_what_is_nobody_elses_is_left_alone(source):
    assert list(private_names_in(source, {"t": "", "t.a": ""})) == []
