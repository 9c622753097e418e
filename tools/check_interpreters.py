"""Checks the Python package's sources by several interpreters.

Usage: check_interpreters.py [INTERPRETER...]

By default those from python3.10 to python3.14 that can be run. Each compiles every
source of python/tally without a warning, and has each name of its standard library that
they use. torch is not needed. Prints what is wrong, says which versions were asked, and
exits with 1 if one of them complains, or if none was there.
"""

import ast
import importlib
import pathlib
import subprocess
import sys
import warnings

sys.dont_write_bytecode = True

ROOT = pathlib.Path(__file__).resolve().parent.parent
OLDEST, NEWEST = 10, 14


def standard_names(tree):
    """(line, module, name or None) of what a source takes from the standard library."""
    modules = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name, None
                modules[alias.asname or alias.name] = alias.name
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                yield node.lineno, node.module, alias.name
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            module = modules.get(ast.unparse(node.value))
            if module:
                yield node.lineno, module, node.attr


def has(module, name):
    try:
        found = importlib.import_module(module)
        if name is not None and not hasattr(found, name):
            importlib.import_module(f"{module}.{name}")
    except ImportError:
        return False
    return True


def complaints(text):
    """(line, message) of what this interpreter has against a source."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            tree = compile(text, "source", "exec", ast.PyCF_ONLY_AST)
            compile(text, "source", "exec")
    except (SyntaxError, Warning) as error:
        yield getattr(error, "lineno", 0), str(error)
        return
    for line, module, name in standard_names(tree):
        if module.partition(".")[0] in sys.stdlib_module_names and not has(module, name):
            yield line, f"there is no {module}{f'.{name}' if name else ''}"


def check_here():
    version = ".".join(map(str, sys.version_info[:3]))
    found = [
        f"{path.relative_to(ROOT)}:{line}: Python {version}: {message}"
        for path in sorted((ROOT / "python" / "tally").rglob("*.py"))
        for line, message in complaints(path.read_text(encoding="utf-8"))
    ]
    print(*found, f"Python {version}: {len(found)} complaints", sep="\n")
    return 1 if found else 0


def runs(interpreter):
    try:
        return subprocess.run([interpreter, "-c", ""], capture_output=True).returncode == 0
    except OSError:
        return False


def main(arguments):
    if arguments == ["--here"]:
        return check_here()
    interpreters = arguments or [
        name for name in (f"python3.{minor}" for minor in range(OLDEST, NEWEST + 1))
        if runs(name)
    ]
    missing = [name for name in interpreters if not runs(name)]
    if missing or not interpreters:
        print("cannot be run:", *missing or ["any interpreter"])
        return 1
    return max(
        subprocess.run([interpreter, "-B", __file__, "--here"]).returncode
        for interpreter in interpreters
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
