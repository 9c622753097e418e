"""Repository rules that find LibTorch.

Looked for in this order: $LIBTORCH, the cache that tools/bazel fills, a torch
that python3 can import. The first found is used, and must be a version that
Tally supports: a wrong one is an error rather than skipped, since the user who
set LIBTORCH wants that one or none.
"""

load(
    ":libtorch_versions.bzl",
    "UNTESTED",
    "is_supported",
    "parse_versions",
    "refusal",
    "standard_of",
    "supported",
    "version_in",
)

_CPU = ["libtorch_cpu.so", "libc10.so"]

_ENVIRON = ["LIBTORCH", "TALLY_CACHE", "XDG_CACHE_HOME", "HOME", "PATH", UNTESTED]

_HELP = """
Run ./tools/bazel, which fetches one, or set LIBTORCH to the folder of a LibTorch {} with include/ and lib/ in it (a Python package's torch folder is one)."""

_OLD_ABI = "{} (from {}) is compiled with _GLIBCXX_USE_CXX11_ABI=0, whose strings fit no library of this system: set LIBTORCH to the folder of one without; those of PyPI are, from 2.7 on."

def _versions(rctx):
    return parse_versions(rctx.read(Label("//port:libtorch_versions.txt")))

def _join(rctx, folder, relative):
    return rctx.path("{}/{}".format(folder, relative))

def _cache(rctx):
    env = rctx.os.environ
    if env.get("TALLY_CACHE"):
        return env["TALLY_CACHE"]
    if env.get("XDG_CACHE_HOME"):
        return env["XDG_CACHE_HOME"] + "/tally"
    return env.get("HOME", "/root") + "/.cache/tally"

def _importable(rctx):
    python = rctx.which("python3")
    if not python:
        return None
    result = rctx.execute([python, "-c", """
import importlib.util
spec = importlib.util.find_spec("torch")
print(spec.submodule_search_locations[0] if spec else "")
"""])
    return result.stdout.strip() if result.return_code == 0 else None

def _find(rctx, versions):
    """Returns the root (a path) and where it was found, in words."""
    given = rctx.os.environ.get("LIBTORCH")
    if given:
        return rctx.path(given), "LIBTORCH"
    cached = rctx.path("{}/libtorch-{}-cpu".format(_cache(rctx), versions["default"]))
    if cached.exists:
        return cached, "the cache"
    importable = _importable(rctx)
    if importable:
        return rctx.path(importable), "python3's torch"
    fail("No LibTorch was found." + _HELP.format(supported(versions)))

def _check_version(rctx, root, origin, versions):
    """Returns the version, if it is one that Tally takes."""
    help = _HELP.format(supported(versions))
    if not _join(rctx, root, "include/torch").exists:
        fail("{} (from {}) holds no LibTorch.{}".format(root, origin, help))
    for name in _CPU:
        if not _join(rctx, root, "lib/" + name).exists:
            fail("{} (from {}) has no lib/{}.{}".format(root, origin, name, help))
    header = _join(rctx, root, "include/torch/headeronly/version.h")
    version = version_in(rctx.read(header)) if header.exists else ""
    where = "{} (from {})".format(root, origin)
    refused = refusal(version, where, versions, rctx.os.environ.get(UNTESTED) == "1")
    if refused:
        fail(refused)
    if not is_supported(version, versions):
        # buildifier: disable=print
        print("{} is LibTorch {}; Tally was tested with {}.".format(where, version, supported(versions)))

    # Functions that take strings have it in their names.
    if rctx.execute(["grep", "-qF", "__cxx11", _join(rctx, root, "lib/libc10.so")]).return_code == 1:
        fail(_OLD_ABI.format(root, origin))
    return version

def _needed(rctx, library):
    """Returns the names of the libraries that a library is linked against."""
    readelf = rctx.which("readelf")
    if not readelf:
        fail("readelf is missing; install binutils.")
    result = rctx.execute([readelf, "-d", library])
    if result.return_code != 0:
        fail("{} cannot be read: {}".format(library, result.stderr))
    return [
        line.split("[")[1].split("]")[0]
        for line in result.stdout.split("\n")
        if "(NEEDED)" in line
    ]

def _library_folders(rctx, root):
    """Where LibTorch's libraries and those of NVIDIA's Python packages are."""
    folders = [root.get_child("lib")]
    nvidia = root.dirname.get_child("nvidia")
    if nvidia.exists:
        for package in nvidia.readdir():
            folder = package.get_child("lib")
            if folder.exists:
                folders.append(folder)
    return folders

def _closure(rctx, root, names):
    """Finds libraries, and all that they need and LibTorch brings.

    Their own run paths lead nowhere once Bazel has linked them into a folder
    of its own, so each has to be listed as a direct dependency.

    Args:
      rctx: the repository context.
      root: LibTorch's folder.
      names: file names.

    Returns:
      A dictionary from file name to path; the first of names come first.
    """
    folders = _library_folders(rctx, root)
    found = {}
    wanted = list(names)

    # The closure is small; Starlark has no while.
    for _ in range(1000):
        if not wanted:
            break
        name = wanted.pop(0)
        if name in found:
            continue
        for folder in folders:
            library = folder.get_child(name)
            if library.exists:
                found[name] = library
                wanted += _needed(rctx, library)
                break
    return found

def _link(rctx, libraries):
    """Links libraries into lib/ and returns them as lines of a BUILD file."""
    lines = ""
    for name, path in libraries.items():
        rctx.symlink(path, "lib/" + name)
        lines += "        \"lib/{}\",\n".format(name)
    return lines

# LibTorch's headers bring copies of other projects' headers with them. These
# would stand in front of the projects' own.
_FOREIGN_HEADERS = ["google", "nlohmann"]

def _link_headers(rctx, root):
    for entry in root.get_child("include").readdir():
        if entry.basename not in _FOREIGN_HEADERS:
            rctx.symlink(entry, "include/" + entry.basename)

def _libtorch_impl(rctx):
    versions = _versions(rctx)
    root, origin = _find(rctx, versions)
    version = _check_version(rctx, root, origin, versions)
    libraries = _closure(rctx, root, _CPU)
    _link_headers(rctx, root)
    rctx.file("origin.txt", "{} {}\n".format(version, root))
    rctx.file("version.bzl", "VERSION = \"{}\"\nSTANDARD = \"{}\"\n".format(
        version,
        standard_of(version, versions),
    ))
    rctx.template(
        "BUILD",
        Label("//third_party:libtorch.BUILD.tpl"),
        {"%{libraries}": _link(rctx, libraries)},
    )

libtorch_repository = repository_rule(
    implementation = _libtorch_impl,
    environ = _ENVIRON,
    local = True,
)

_NCCL_HELP = """
--config=nccl needs a LibTorch with CUDA and NCCL: install torch with all its dependencies in a virtual environment, and set LIBTORCH to its torch folder."""

def _find_header(header, folders):
    for folder in folders:
        if folder.get_child(header).exists:
            return folder
    fail("{} is in none of: {}.{}".format(
        header,
        ", ".join([str(folder) for folder in folders]),
        _NCCL_HELP,
    ))

def _libtorch_nccl_impl(rctx):
    versions = _versions(rctx)
    root, origin = _find(rctx, versions)
    _check_version(rctx, root, origin, versions)
    wanted = ["libtorch_cuda.so", "libc10_cuda.so"]
    for name in wanted:
        if not _join(rctx, root, "lib/" + name).exists:
            fail("{} (from {}) has no lib/{}.{}".format(
                root,
                origin,
                name,
                _NCCL_HELP,
            ))

    nvidia = root.dirname.get_child("nvidia")
    packages = nvidia.readdir() if nvidia.exists else []
    folders = [package.get_child("include") for package in packages]
    toolkit = rctx.os.environ.get("CUDA_HOME", "/usr/local/cuda")
    folders += [rctx.path(toolkit + "/include"), rctx.path("/usr/include")]
    rctx.symlink(_find_header("cuda_runtime_api.h", folders), "include/cuda")
    nccl = _find_header("nccl.h", folders)
    rctx.symlink(nccl.get_child("nccl.h"), "include/nccl/nccl.h")

    # What @libtorch has already is left to it: the same library from two
    # folders would be loaded twice.
    base = _closure(rctx, root, _CPU)
    libraries = {
        name: path
        for name, path in _closure(rctx, root, wanted).items()
        if name not in base
    }
    rctx.template(
        "BUILD",
        Label("//third_party:libtorch_nccl.BUILD.tpl"),
        {"%{libraries}": _link(rctx, libraries)},
    )

libtorch_nccl_repository = repository_rule(
    implementation = _libtorch_nccl_impl,
    environ = _ENVIRON + ["CUDA_HOME"],
    local = True,
)
