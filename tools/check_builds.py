"""Checks of the build files that no build here makes.

Usage: check_builds.py

The lists of the CMake build have to be those of Bazel (cmake_sources.py). Bazel 9
has no C++ rules of its own, nor CcInfo and cc_common: each file has to load those
that it uses. Python files have to parse. version.h, MODULE.bazel and CHANGELOG.md
have to agree on the version, and port/libtorch_version.h with the file of LibTorch's
versions. Objects that Bazel has made may have no symbols of Gloo but those that
LibTorch exports and that depend on no layout. Sources that leave products of matrices and the like
to LibTorch have to say in libtorch_products.txt why they may. Prints what is wrong
and exits with 1.
"""

import ast
import pathlib
import re
import subprocess
import sys

sys.dont_write_bytecode = True
import cmake_sources

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Stands in for rules_cc where the rules are Bazel's own.
EXEMPT = "third_party/debian/"

# Calls whose order of sums is that of MKL or oneDNN.
PRODUCTS = re.compile(
    r"(\.|->|at::)(matmul|mm|bmm|mv|dot|(addmm|addmv|baddbmm|addbmm|mm|bmm)(_|_out)?|einsum)\("
    r"|ATen/ops/(linear|linalg_\w+|fft_\w+|conv\w*|_?cdist\w*)\.h"
)

REMOVED = re.compile(r"((cc|java|objc|proto|py|sh)_[a-z_]+|CcInfo)$")


def missing_loads(text):
    """Names that Bazel no longer brings, and a file uses without loading them."""
    tree = ast.parse(text)
    known = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "load":
            known |= {argument.value for argument in node.args[1:]}
            known |= {keyword.arg for keyword in node.keywords}
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            known.add(node.id)
        elif isinstance(node, (ast.arg, ast.FunctionDef)):
            known.add(node.arg if isinstance(node, ast.arg) else node.name)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            if REMOVED.match(node.id) and node.id not in known:
                yield node.lineno, node.id
        elif isinstance(node, ast.Attribute):
            if REMOVED.match(node.attr) and getattr(node.value, "id", "") == "native":
                yield node.lineno, "native." + node.attr


def listed(*patterns):
    files = subprocess.run(
        ["git", "ls-files", "--", *patterns],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout.split()
    return [file for file in files if (ROOT / file).exists()]


def check_python():
    for file in [*listed("*.py"), "tools/wheel"]:
        try:
            ast.parse((ROOT / file).read_text(encoding="utf-8"))
        except SyntaxError as error:
            yield f"{file}:{error.lineno}: {error.msg}"


def check_loads():
    for file in listed("*BUILD", "*.BUILD", "*.BUILD.tpl", "*.bzl"):
        if file.startswith(EXEMPT):
            continue
        # Where a template has lines, nothing is loaded.
        text = re.sub(r"%\{\w+\}", "", (ROOT / file).read_text(encoding="utf-8"))
        for line, name in missing_loads(text):
            yield f"{file}:{line}: {name} is not loaded"


def check_versions():
    def find(file, pattern):
        found = re.search(pattern, (ROOT / file).read_text(encoding="utf-8"), re.M)
        return ".".join(found.groups()) if found else "none"

    parts = "".join(
        rf"#define TALLY_VERSION_{part} (\d+)\n" for part in ("MAJOR", "MINOR", "PATCH")
    )
    version = find("version.h", parts)
    for file, pattern in {
        "version.h": r'^#define TALLY_VERSION "(.+)"$',
        "MODULE.bazel": r'^    version = "(.+)",$',
        "examples/workspace/MODULE.bazel": r'^bazel_dep\(name = "tally", version = "(.+)"\)$',
        "CHANGELOG.md": r"^## (\d\S+)",
    }.items():
        found = find(file, pattern)
        if found != version:
            yield f"{file}: the version is {found}, in version.h {version}"


def check_libtorch_versions():
    header = (ROOT / "port/libtorch_version.h").read_text(encoding="utf-8")
    page = (ROOT / "port/libtorch_versions.txt").read_text(encoding="utf-8")
    for name, pattern in {
        "oldest": r"static_assert\(TALLY_LIBTORCH_AT_LEAST\((\d+), (\d+)\)",
        "cxx20": r"#if TALLY_LIBTORCH_AT_LEAST\((\d+), (\d+)\) && __cplusplus",
    }.items():
        wanted = re.search(rf"^{name} (.+)$", page, re.M)[1]
        found = re.search(pattern, header)
        if not found or ".".join(found.groups()) != wanted:
            yield f"port/libtorch_version.h: {name} is not {wanted}, as in libtorch_versions.txt"


# Of Gloo's own classes; those of LibTorch have others' names around.
OF_GLOO = re.compile(r"^(?:(?:vtable|typeinfo|typeinfo name|VTT) for )?(?:non-virtual thunk to )?gloo::")
ALLOWED = {"gloo::Context::closeConnections()"}
TABLE_OF_STORE = re.compile(r"(vtable|typeinfo) for c10d::ProcessGroupGloo::\w+$")


def symbols_of_gloo(names):
    """Those of the demangled names that no object of ours may have: what of Gloo is
    compiled or called here by declarations that need not be LibTorch's."""
    for name in names:
        if TABLE_OF_STORE.match(name) or (OF_GLOO.match(name) and name not in ALLOWED):
            yield name


def check_gloo():
    binaries = ROOT / "bazel-bin"
    objects = [
        str(path) for folder in ("port", "sync", "testing")
        for path in sorted((binaries / folder).rglob("*.o"))
    ]
    if not any("/port/" in path for path in objects):
        yield "bazel-bin/port: there is no object to look for Gloo's symbols in: build //port/..."
        return
    listing = subprocess.run(
        ["nm", "-C", "--format=posix", "--print-file-name", *objects],
        check=True, stdout=subprocess.PIPE, text=True,
    ).stdout
    for line in listing.splitlines():
        file, _, rest = line.partition(": ")
        # Name, letter and, where it is defined, value and size.
        name = re.sub(r" [A-Za-z](?: +[0-9a-f]*)*$", "", rest)
        for found in symbols_of_gloo([name]):
            yield f"{pathlib.Path(file).relative_to(binaries)}: {found}: see port/gloo"


# Functions with a version of their own since glibc 2.35, which wheels need not have.
NEWER_GLIBC = re.compile(r"\bhypot[fl]?\(")


def check_glibc():
    for folder in ("state", "sync", "metrics", "losses", "training", "python"):
        for file in listed(f"{folder}/*.cc", f"{folder}/*.h"):
            lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
            for number, line in enumerate(lines, 1):
                if NEWER_GLIBC.search(line.partition("//")[0]):
                    yield f"{file}:{number}: needs glibc 2.35, and the wheel 2.34: use std::sqrt"


def check_products():
    """Each source with such calls is in the list, and nothing else is."""
    page = "tools/libtorch_products.txt"
    reasons = {}
    for line in (ROOT / page).read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            file, _, reason = line.partition("  ")
            reasons[file] = reason
    files = listed("metrics/*.cc", "metrics/*.h", "losses/*.cc", "losses/*.h")
    users = set()
    for file in files:
        lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
        if any(PRODUCTS.search(line.partition("//")[0]) for line in lines):
            users.add(file)
    for file in sorted(users - reasons.keys()):
        yield f"{file}: leaves sums to LibTorch, and {page} does not say why it may"
    for file in sorted(reasons):
        if file not in users or not reasons[file]:
            yield f"{page}: {file} leaves no sums to LibTorch, or for no reason"


def main():
    found = [*check_loads(), *check_python(), *check_versions(),
             *check_libtorch_versions(), *check_gloo(), *check_glibc(), *check_products()]
    for line in found:
        print(line)
    return 1 if found or cmake_sources.main(["--check"]) else 0


if __name__ == "__main__":
    sys.exit(main())
